/* SPDX-License-Identifier: MIT */
/* Rotation in place, cos and sin at hand. */
#include <stdlib.h>
#include <string.h>

#include "bench/workers/library.h"

enum { HEADS = 32, HEAD_DIM = 128, BLOCKS = 64 };

struct turned {
    struct pe_job job;
    struct pe_scheme *scheme;
    struct pe_rotation *rotation;
    struct pe_axes axes;
    struct pe_pool *pool;
    void *data;
};

static void block_run(struct pe_job *job, size_t block)
{
    struct turned *turned = (struct turned *)job;
    const size_t tokens = turned->axes.sequence;
    struct pe_error err = {0};

    if (pe_rotate(turned->rotation, turned->data, &turned->axes, tokens * block / job->blocks,
                  tokens * (block + 1) / job->blocks, NULL, &err))
        library_fail(&err);
}

static void run(void *state)
{
    struct turned *turned = state;

    turned->job = (struct pe_job){.run = block_run, .blocks = turned->pool ? BLOCKS : 1};
    pe_pool_run(turned->pool, &turned->job);
}

static void end(void *state)
{
    struct turned *turned = state;

    pe_rotation_free(turned->rotation);
    pe_scheme_free(turned->scheme);
    pe_pool_free(turned->pool);
    free(turned->data);
    free(turned);
}

bool rotation_open(struct subject *subject, char *const words[WORDS_MAX], size_t count)
{
    const enum pe_dtype dtype = library_dtype(words[1]);
    const size_t tokens = strtoul(words[3], NULL, 10), threads = strtoul(words[4], NULL, 10);
    const enum pe_layout layout =
        strcmp(words[2], "half") == 0 ? PE_LAYOUT_HALF : PE_LAYOUT_INTERLEAVED;
    struct pe_rotation_spec spec = {.size = sizeof(spec),
                                    .layout = layout,
                                    .output_layout = layout,
                                    .positions = {.step = 1, .count = tokens}};
    struct turned *turned = calloc(1, sizeof(*turned));
    struct pe_error err = {0};

    if (count != 5 || !tokens || !turned)
        return false;
    turned->scheme = library_scheme("rope", "dim=128");
    spec.scheme = turned->scheme;
    if (pe_rotation_new(&turned->rotation, &spec, dtype, NULL, NULL, &err))
        library_fail(&err);
    turned->axes = (struct pe_axes){1, 1, tokens, HEADS, HEAD_DIM};
    turned->pool = library_pool(threads);
    turned->data = library_values(dtype, tokens * HEADS * HEAD_DIM);
    *subject = (struct subject){turned, run, end, threads > 1};
    return true;
}
