/* SPDX-License-Identifier: MIT */
/* Tables against the speed at which the same bytes can be stored, in turns, on one thread.
 *     tables [ROUNDS]
 * prints an object a line: {"row": .., "who": "posencd" or "limit", "round": .., "value": ..,
 * "unit": "ns/element"}, by the clock of the thread. POSENC_ISA chooses the instructions. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "posenc/posenc.h"

enum { BLOCK_SIZE = 1 << 18, REPEATS = 8 }; /* a block as the service asks for them */

static const struct {
    const char *name, *encoding, *scheme, *view;
    enum pe_dtype dtype;
} rows[] = {
    {"table-f32", "rope", "dim=128 base=10000", "length=8192 part=cos", PE_F32},
    {"table-f32-1e6", "rope", "dim=128 base=1e6", "length=8192 part=cos", PE_F32},
    {"table-f32-late", "rope", "dim=128 base=5e5", "length=8192 start=1e12 part=cos", PE_F32},
    {"table-f32-sin", "rope", "dim=128 base=1e6", "length=8192 part=sin", PE_F32},
    {"table-f32-both", "sinusoidal", "dim=128 base=10000", "length=8192", PE_F32},
    {"table-f32-wide", "sinusoidal", "dim=4096 base=10000", "length=256", PE_F32},
    {"table-f32-list", "rope", "dim=128 base=10000", "positions=0..8191 part=cos", PE_F32},
    {"table-f16", "rope", "dim=128 base=10000", "length=8192 part=cos", PE_F16},
    {"table-bf16", "rope", "dim=128 base=10000", "length=8192 part=cos", PE_BF16},
    {"table-f64", "rope", "dim=128 base=10000", "length=8192 part=cos", PE_F64},
    {"table-f64-list", "rope", "dim=128 base=10000", "positions=0..4095,1..4095 part=cos", PE_F64},
    {"table-hf", "rope", "dim=128 base=10000 arithmetic=hf", "length=8192 part=cos", PE_F32},
    {"table-xpos", "xpos", "dim=128 t_center=0", "length=8192 part=cos", PE_F32},
    {"table-mrope", "mrope", "dim=128 mrope_section=16,24,24", "positions=0..8191 part=cos",
     PE_F32},
    {"table-2d", "rope-2d", "dim=64", "height=64 width=64", PE_F32},
    {"table-index", "index", "", "length=1048576", PE_F32},
    {"table-binary", "binary", "dim=16", "length=65536", PE_F32},
};

static void fail(const struct pe_error *err)
{
    fprintf(stderr, "%s: %s\n", err->where, err->detail);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct pe_scheme *scheme_new(size_t row)
{
    const struct pe_encoding *encoding = pe_encoding_find(rows[row].encoding);
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_params params;

    if (pe_params_parse(&params, rows[row].encoding, rows[row].scheme, &err) ||
        pe_scheme_new(&scheme, encoding, &params, NULL, &err))
        fail(&err);
    pe_params_free(&params);
    return scheme;
}

static struct pe_view *view_new(struct pe_scheme *scheme, size_t row)
{
    const struct pe_view_type *type = pe_encoding_view(pe_scheme_encoding(scheme), "table");
    const struct pe_view_info *info = pe_view_info(type);
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_view *view;

    pe_params_init(&params, info->params, info->params_count);
    if (pe_params_set_pairs(&params, rows[row].view, &err) || pe_params_finish(&params, &err) ||
        pe_view_new(&view, scheme, type, &params, rows[row].dtype, NULL, &err))
        fail(&err);
    pe_params_free(&params);
    return view;
}

static void table_make(const struct pe_view *view, size_t row_size, char *out)
{
    const size_t total = pe_view_output(view, 0)->rows, most = BLOCK_SIZE / row_size;
    struct pe_error err = {0};

    for (size_t begin = 0; begin < total; begin += most)
        if (pe_view_fill(view, 0, begin, begin + most < total ? begin + most : total,
                         out + begin * row_size, NULL, &err))
            fail(&err);
}

/* Plain stores, as a table's: its answer is sent from the cache. */
static void pattern_store(char *out, size_t size, unsigned char value)
{
    memset(out, value, size);
    __asm__ volatile("" ::"r"(out) : "memory");
}

static void print(size_t row, const char *who, int round, double time, size_t elements)
{
    printf("{\"row\": \"%s\", \"who\": \"%s\", \"round\": %d, \"value\": %.4f, "
           "\"unit\": \"ns/element\"}\n",
           rows[row].name, who, round, time * 1e9 / (double)elements / REPEATS);
}

static void measure(size_t row, int rounds)
{
    struct pe_scheme *scheme = scheme_new(row);
    struct pe_view *view = view_new(scheme, row);
    const struct pe_output *output = pe_view_output(view, 0);
    const size_t row_size = output->row_elements * pe_dtype_info(rows[row].dtype)->size;
    const size_t size = output->rows * row_size, elements = output->rows * output->row_elements;
    char *out = malloc(size);

    if (!out)
        exit(1);
    table_make(view, row_size, out);
    for (int round = 0; round < rounds; round++) {
        const double start = seconds();
        for (int i = 0; i < REPEATS; i++)
            table_make(view, row_size, out);
        const double middle = seconds();
        for (int i = 0; i < REPEATS; i++)
            pattern_store(out, size, (unsigned char)(i + 1));
        const double end = seconds();
        print(row, "posencd", round, middle - start, elements);
        print(row, "limit", round, end - middle, elements);
    }
    free(out);
    pe_view_free(view);
    pe_scheme_free(scheme);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 5;

    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        measure(row, rounds);
    return 0;
}
