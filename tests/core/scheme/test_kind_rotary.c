/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "posenc/attention.h"
#include "posenc/rotation.h"
#include "tests/check_main.h"
#include "tests/core/kinds_fixture.h"

/* The contract of kind rotary, for every encoding that implements it. */

enum { TOKENS = 6 };

/* Listed whole positions, with as many coordinates as the scheme has. */
static struct pe_positions places_of(const struct pe_scheme *scheme, double *values)
{
    const size_t axes = pe_scheme_axes(scheme) > 0 ? pe_scheme_axes(scheme) : 1;

    for (size_t i = 0; i < axes * TOKENS; i++)
        values[i] = (double)(i * 5 % 13);
    return (struct pe_positions){.values = values, .count = TOKENS, .axes = axes};
}

TEST(tables)
{
    size_t encodings = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        if (!pe_encoding_at(i)->rotary)
            continue;
        struct pe_scheme *scheme = catalogue_scheme(pe_encoding_at(i));
        const bool axes = pe_encoding_at(i)->rotary->table != NULL;
        const struct pe_view_info *info =
            pe_view_info(pe_encoding_view(pe_encoding_at(i), "table"));
        const bool is_grid = info->example && strstr(info->example, "shape=");
        const char *places = is_grid ? "shape=1,3,5" : axes ? "width=3 height=5" : "length=15";
        char text[80];
        ck_assert(pe_encoding_at(i)->has_waves);
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            struct pe_view *both = catalogue_view(scheme, "table", places, dtype);
            const size_t size = pe_dtype_info(dtype)->size, pairs = pe_scheme_pairs(scheme);
            char *cos = catalogue_fill(both, 0), *sin = catalogue_fill(both, 1);
            snprintf(text, sizeof(text), "%s part=complex", places);
            struct pe_view *complex = catalogue_view(scheme, "table", text, dtype);
            OWNED_MEMORY char *together = catalogue_fill(complex, 0);
            pieces_alike(both);
            for (size_t e = 0; e < 15 * pairs; e++) {
                ck_assert(memcmp(together + 2 * e * size, cos + e * size, size) == 0);
                ck_assert(memcmp(together + (2 * e + 1) * size, sin + e * size, size) == 0);
            }
            free(cos);
            free(sin);
            pe_view_free(complex);
            pe_view_free(both);
        }
        dtypes_alike(scheme, "table", places, 0);
        dtypes_alike(scheme, "table", places, 1);
        pe_scheme_free(scheme);
        encodings++;
    }
    ck_assert_uint_ge(encodings, 4);
}

/* Every pair rotates with one coordinate, and the grouped frequencies are those of the scheme. */
TEST(axes)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_rotary_kind *kind = pe_encoding_at(i)->rotary;
        if (!kind || !kind->axes)
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        const struct pe_rotary *rotary = pe_rotary_of(scheme);
        size_t pairs = 0;
        ck_assert_uint_ge(rotary->axes_count, 2);
        for (size_t axis = 0; axis < rotary->axes_count; axis++)
            for (size_t k = 0; k < rotary->axes[axis].count; k++, pairs++) {
                const size_t pair = rotary->axes[axis].pairs[k];
                ck_assert_uint_eq(kind->axes->pair_axis(scheme, pair), axis);
                ck_assert_double_eq(pe_frequencies_near(rotary->axes[axis].frequencies, k),
                                    pe_frequencies_near(rotary->waves.frequencies, pair));
            }
        ck_assert_uint_eq(pairs, rotary->waves.pairs);
    }
}

/* The scale of a key is one over that of a query, and within `reach`. */
TEST(scales)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_rotary_kind *kind = pe_encoding_at(i)->rotary;
        if (!kind || !kind->scale)
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        for (size_t pair = 0; pair < pe_scheme_pairs(scheme); pair++)
            for (double t = -40; t <= 40; t += 20) {
                struct pe_scale_at at = {
                    .scheme = scheme, .pair = pair, .position = {{t, 0, 0}}, .sign = 1};
                struct pe_scale query, key;
                kind->scale->at(&query, &at);
                at.sign = -1;
                kind->scale->at(&key, &at);
                ck_assert_double_eq_tol(query.value.hi * key.value.hi, 1, 1e-15);
                ck_assert_double_le(fabs(log(query.value.hi)),
                                    kind->scale->reach(scheme, t, false) * (1 + 1e-12));
            }
    }
}

static void rotate(const struct pe_scheme *scheme, bool inverse, double *data)
{
    double values[PE_ROTARY_AXES_MAX * TOKENS];
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .layout = PE_LAYOUT_HALF,
              .output_layout = PE_LAYOUT_HALF, .positions = places_of(scheme, values),
              .inverse = inverse);
    const struct pe_axes shape = {1, 1, TOKENS, 1, pe_scheme_head_dim(scheme)};
    struct pe_rotation *rotation;
    struct pe_error err = {0};

    ck_assert_msg(!pe_rotation_new(&rotation, &spec, PE_F64, NULL, NULL, &err), "%s", err.detail);
    ck_assert(!pe_rotate(rotation, data, &shape, 0, TOKENS, NULL, &err));
    pe_rotation_free(rotation);
}

TEST(there_and_back)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        if (!pe_encoding_at(i)->rotary)
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        const size_t count = TOKENS * pe_scheme_head_dim(scheme);
        double *data = malloc(count * sizeof(*data)), moved = 0;
        for (size_t e = 0; e < count; e++)
            data[e] = sin((double)e);
        rotate(scheme, false, data);
        for (size_t e = 0; e < count; e++)
            moved = fmax(moved, fabs(data[e] - sin((double)e)));
        rotate(scheme, true, data);
        ck_assert_double_gt(moved, 0.1);
        for (size_t e = 0; e < count; e++)
            ck_assert_double_eq_tol(data[e], sin((double)e), 1e-14);
        free(data);
    }
}

TEST(width_of_a_head)
{
    const struct pe_attention_spec spec = {
        .size = sizeof(spec), .q = {.dtype = PE_F32, .rank = 4, .shape = {1, 2, 3, 24}}};

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        struct pe_error err = {0};
        struct pe_params params;
        if (!encoding->rotary)
            continue;
        pe_params_init(&params, encoding->info.params, encoding->info.params_count);
        ck_assert(!pe_attention_infer(encoding, &params, &spec, &err));
        ck_assert_double_eq(pe_param_number(&params, "dim"), 24);
        ck_assert(pe_param_given(&params, "dim"));
        pe_params_free(&params);
    }
}

TEST(cancelled)
{
    struct pe_work *work = ended_work();

    for (size_t i = 0; pe_encoding_at(i); i++) {
        if (!pe_encoding_at(i)->rotary)
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        double values[PE_ROTARY_AXES_MAX * TOKENS];
        const struct pe_rotation_spec spec =
            SIZED(pe_rotation_spec, .scheme = scheme, .positions = places_of(scheme, values));
        struct pe_rotation *rotation;
        struct pe_error err = {0};
        ck_assert_int_eq(pe_rotation_new(&rotation, &spec, PE_F32, NULL, work, &err), PE_CANCELLED);
        ck_assert_ptr_null(rotation);
    }
    pe_work_free(work);
}
