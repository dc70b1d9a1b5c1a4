/* SPDX-License-Identifier: MIT */
/* Attention from unpacked tensors to the output. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/workers/library.h"

enum { WINDOW = 64, BLOCK_ROWS = 96 }; /* Shaw's; rows of a block */

struct attended {
    struct pe_job job;
    struct pe_attention_spec spec;
    struct pe_scheme *scheme;
    struct pe_pool *pool;
    struct pe_attention *attention; /* while it is made */
    size_t rows, row_size;
    char *out;
};

static void block_run(struct pe_job *job, size_t block)
{
    struct attended *attended = (struct attended *)job;
    const size_t begin = block * BLOCK_ROWS, most = begin + BLOCK_ROWS;
    struct pe_error err = {0};

    if (pe_attention_fill(attended->attention, begin, most < attended->rows ? most : attended->rows,
                          attended->out + begin * attended->row_size, NULL, &err))
        library_fail(&err);
}

static void run(void *state)
{
    struct attended *attended = state;
    const struct pe_output *output;
    struct pe_error err = {0};

    if (pe_attention_new(&attended->attention, &attended->spec, attended->pool, NULL, &err))
        library_fail(&err);
    output = pe_attention_output(attended->attention);
    attended->rows = output->rows;
    attended->row_size = output->row_elements * pe_dtype_info(output->dtype)->size;
    attended->job =
        (struct pe_job){.run = block_run, .blocks = (output->rows + BLOCK_ROWS - 1) / BLOCK_ROWS};
    pe_pool_run(attended->pool, &attended->job);
    pe_attention_free(attended->attention);
}

static void end(void *state)
{
    struct attended *attended = state;
    const struct pe_attention_spec *spec = &attended->spec;
    void *const values[] = {spec->q.data, spec->k.data, spec->v.data, spec->rel_k.data,
                            spec->rel_v.data};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        free(values[i]);
    pe_scheme_free(attended->scheme);
    pe_pool_free(attended->pool);
    free(attended->out);
    free(attended);
}

static struct pe_tensor tensor_new(enum pe_dtype dtype, unsigned rank, size_t heads, size_t rows,
                                   size_t width)
{
    const size_t count = (rank == 4 ? heads : 1) * rows * width;
    struct pe_tensor tensor = {.dtype = dtype, .rank = rank};
    const size_t shape[] = {1, heads, rows, width};

    memcpy(tensor.shape, shape + 4 - rank, rank * sizeof(*shape));
    tensor.data = library_values(dtype, count);
    return tensor;
}

bool attention_open(struct subject *subject, char *const words[WORDS_MAX], size_t count)
{
    const size_t queries = strtoul(words[3], NULL, 10), keys = strtoul(words[4], NULL, 10);
    const size_t width = strtoul(words[5], NULL, 10), heads = strtoul(words[6], NULL, 10);
    const size_t threads = strtoul(words[7], NULL, 10);
    const enum pe_dtype dtype = library_dtype(words[8][0] ? words[8] : "f32");
    struct attended *attended = calloc(1, sizeof(*attended));

    if (count < 8 || !attended || !queries || !keys || !width || !heads)
        return false;
    if (strcmp(words[1], "none") != 0)
        attended->scheme = library_scheme(words[1], words[2]);
    attended->spec = (struct pe_attention_spec){.size = sizeof(attended->spec),
                                                .scheme = attended->scheme,
                                                .layout = PE_LAYOUT_HALF,
                                                .q = tensor_new(dtype, 4, heads, queries, width),
                                                .k = tensor_new(dtype, 4, heads, keys, width),
                                                .v = tensor_new(dtype, 4, heads, keys, width),
                                                .scale = NAN,
                                                .query_start = NAN,
                                                .softcap = strtod(words[9], NULL),
                                                .output = PE_ATTENTION_OUTPUT};
    if (strcmp(words[1], "shaw") == 0) {
        attended->spec.rel_k = tensor_new(dtype, 2, 0, 2 * WINDOW + 1, width);
        attended->spec.rel_v = tensor_new(dtype, 2, 0, 2 * WINDOW + 1, width);
    }
    attended->pool = library_pool(threads);
    attended->out = worker_memory(heads * queries * width * sizeof(double));
    *subject = (struct subject){attended, run, end, threads > 1};
    return true;
}
