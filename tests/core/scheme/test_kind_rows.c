/* SPDX-License-Identifier: MIT */
#include "tests/core/kinds_fixture.h"

/* The contract of kind rows, for every encoding that implements it. */

enum { ROWS = 16 };

/* Parameters of a table: positions if the caller chooses them, else the view's example. */
static const char *places_of(const struct pe_encoding *encoding)
{
    return pe_rows_are_free(encoding) ? "length=16" : NULL;
}

TEST(tables)
{
    size_t encodings = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        if (!encoding->rows)
            continue;
        struct pe_scheme *scheme = catalogue_scheme(encoding);
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            struct pe_view *view = catalogue_view(scheme, "table", places_of(encoding), dtype);
            ck_assert_uint_eq(pe_view_output(view, 0)->shape[1], encoding->rows->width(scheme));
            pieces_alike(view);
            pe_view_free(view);
        }
        dtypes_alike(scheme, "table", places_of(encoding), 0);
        pe_scheme_free(scheme);
        encodings++;
    }
    ck_assert_uint_ge(encodings, 13);
}

/* Rows by the kind's `fill`. */
static void kind_fill(const struct pe_scheme *scheme, const struct pe_positions *positions,
                      enum pe_dtype dtype, void *out)
{
    const struct pe_rows_part part = {positions, 0, positions->count, dtype};

    ck_assert(!scheme->encoding->rows->fill(scheme, &part, out, NULL, &(struct pe_error){0}));
}

/* The step of one position is not used, so that any step is taken. Points are listed: they have no
 * step. */
TEST(one_position_has_no_step)
{
    size_t whole = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        if (!encoding->rows || !encoding->rows->positions_check || encoding->rows->grid)
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(encoding);
        for (size_t count = 0; count < 3; count++) {
            const struct pe_positions places = {.start = 1, .step = 0.5, .count = count};
            const enum pe_status status =
                encoding->rows->positions_check(scheme, &places, &(struct pe_error){0});
            ck_assert_msg((status == PE_OK) == (count < 2), "%s: %zu positions",
                          encoding->info.name, count);
        }
        whole++;
    }
    ck_assert_uint_ge(whole, 2);
}

TEST(equal_steps_are_as_good_as_a_list)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        if (!pe_rows_are_free(encoding))
            continue;
        const bool any = !encoding->rows->positions_check;
        struct pe_positions steps = {
            .start = any ? -3.5 : 1, .step = any ? 0.75 : 1, .count = ROWS - 1};
        double values[ROWS];
        for (size_t row = 0; row < steps.count; row++)
            values[row] = steps.start + steps.step * (double)row;
        const struct pe_positions listed = {.values = values, .count = steps.count};
        OWNED_SCHEME scheme = catalogue_scheme(encoding);
        const size_t elements = steps.count * encoding->rows->width(scheme);
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            const size_t size = elements * pe_dtype_info(dtype)->size;
            void *a = malloc(size), *b = malloc(size);
            kind_fill(scheme, &steps, dtype, a);
            kind_fill(scheme, &listed, dtype, b);
            ck_assert_msg(memcmp(a, b, size) == 0, "%s", pe_encoding_info(encoding)->name);
            free(a);
            free(b);
        }
    }
}

/* Each column is the sine or cosine of its pair: 0 or 1 at position 0, and of size 1 at most. */
TEST(columns)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        if (!encoding->rows || !encoding->rows->sines)
            continue;
        const struct pe_sines *sines = encoding->rows->sines;
        OWNED_SCHEME scheme = catalogue_scheme(encoding);
        const size_t width = encoding->rows->width(scheme);
        const struct pe_positions two = {.step = 3, .count = 2};
        OWNED_MEMORY double *rows = malloc(2 * width * sizeof(*rows));
        ck_assert(encoding->has_waves);
        kind_fill(scheme, &two, PE_F64, rows);
        for (size_t column = 0; column < width; column++) {
            ck_assert(rows[column] == 0 || (rows[column] == 1 && sines->column_pair));
            ck_assert_double_le(fabs(rows[width + column]), 1);
            if (sines->column_pair)
                ck_assert_uint_lt(sines->column_pair(scheme, column), pe_scheme_pairs(scheme));
        }
        if (sines->complete_pairs && sines->complete_pairs(scheme))
            ck_assert_uint_le(2 * pe_scheme_pairs(scheme), width);
    }
}

/* A view of another encoding is refused, also if the two are alike. */
TEST(views_of_others)
{
    const struct pe_params none = {0};
    struct pe_error err;
    struct pe_view *view;
    size_t refused = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        for (size_t j = 0; pe_encoding_at(j); j++)
            for (size_t v = 0; pe_encoding_view_at(pe_encoding_at(j), v); v++) {
                const struct pe_view_type *type = pe_encoding_view_at(pe_encoding_at(j), v);
                if (type->of(pe_encoding_at(i)) == type)
                    continue;
                err = (struct pe_error){0};
                ck_assert_int_eq(pe_view_new(&view, scheme, type, &none, PE_F32, NULL, &err),
                                 PE_UNSUPPORTED);
                ck_assert_ptr_null(view);
                refused++;
            }
    }
    ck_assert_uint_gt(refused, 500);
}

TEST(cancelled)
{
    struct pe_work *work = ended_work();
    char out[1 << 12];

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        if (!pe_encoding_view(encoding, "table"))
            continue;
        struct pe_error err = {0};
        OWNED_SCHEME scheme = catalogue_scheme(encoding);
        struct pe_view *view = catalogue_view(scheme, "table", NULL, PE_F32);
        ck_assert_int_eq(pe_view_fill(view, 0, 0, 1, out, work, &err), PE_CANCELLED);
        pe_view_free(view);
    }
    pe_work_free(work);
}

/* Tables whose bytes have no size_t are refused before anything is allocated. */
TEST(tables_that_no_memory_holds)
{
    static const char *const lengths[] = {"length=4503599627370496", "length=9007199254740991"};
    OWNED_SCHEME scheme = scheme_new("rope", "dim=1024");
    const struct pe_view_type *type = pe_encoding_view(scheme->encoding, "table");
    const struct pe_view_info *info = pe_view_info(type);

    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++)
        for (size_t i = 0; i < COUNT_OF(lengths); i++) {
            struct pe_view *view = NULL;
            struct pe_params params;
            struct pe_error err = {0};
            pe_params_init(&params, info->params, info->params_count);
            ck_assert(!pe_params_set_pairs(&params, lengths[i], &err));
            ck_assert(!pe_params_finish(&params, &err));
            ck_assert_int_eq(pe_view_new(&view, scheme, type, &params, dtype, NULL, &err),
                             PE_TOO_LARGE);
            ck_assert_ptr_null(view);
            pe_params_free(&params);
        }
}
