/* SPDX-License-Identifier: MIT */
#include "tests/core/learned_fixture.h"

struct pe_tensor matrix(enum pe_dtype dtype, size_t rows, size_t width, void *data)
{
    return (struct pe_tensor){.dtype = dtype, .rank = 2, .shape = {rows, width}, .data = data};
}

void *learned_rows(const char *encoding, const char *text, const struct pe_tensor *table,
                   const char *view_text, enum pe_dtype dtype, size_t *rows)
{
    struct opened opened =
        request_open(&(const struct request){encoding, text, "table", view_text, dtype, table});
    const struct pe_output *output = pe_view_output(opened.view, 0);
    const size_t size = output->row_elements * pe_dtype_info(dtype)->size;
    ck_assert_str_eq(output->name, "table");
    ck_assert_uint_eq(output->row_elements, table->shape[1]);
    *rows = output->rows;
    char *data = malloc(*rows * size + 1);
    rows_fill(opened.view, 0, *rows / 2, *rows, data + *rows / 2 * size);
    rows_fill(opened.view, 0, 0, *rows / 2, data);
    opened_free(&opened);
    return data;
}

void learned_refused(const char *encoding, const struct pe_tensor *table,
                     const struct learned_refusal *cases, size_t count)
{
    for (const struct learned_refusal *at = cases; at < cases + count; at++)
        request_refused(
            &(const struct request){encoding, at->text, "table", at->view, PE_F32, table},
            at->status, at->where);
}

double any_double(uint64_t *seed, int exponents)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t high = *seed >> 32;
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t low = *seed >> 32;
    const double digits = high % 3 == 0 ? (double)(low % 15) - 7
                                        : ((double)(int64_t)(low << 21 ^ high) - 0x1p52) * 0x1p-52;

    return ldexp(digits, exponents ? (int)(high >> 4) % exponents - exponents / 2 : 0);
}
