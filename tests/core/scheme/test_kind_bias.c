/* SPDX-License-Identifier: MIT */
#include "posenc/attention.h"
#include "tests/core/kinds_fixture.h"

/* The contract of kind bias, for every encoding that implements it. */

enum { QUERIES = 7, KEYS = 23 };
static const char place[] = "query_length=7 key_length=23 query_start=11";

static bool has_numbers(const struct pe_encoding *encoding)
{
    return pe_bias_is_known(encoding);
}

TEST(views)
{
    size_t encodings = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        if (!pe_encoding_at(i)->bias)
            continue;
        struct pe_scheme *scheme = catalogue_scheme(pe_encoding_at(i));
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            struct pe_view *view = catalogue_view(scheme, "bias", place, dtype);
            ck_assert_uint_eq(pe_view_queries(view), QUERIES);
            ck_assert_uint_eq(pe_view_keys(view), KEYS);
            pieces_alike(view);
            pe_view_free(view);
        }
        if (has_numbers(pe_encoding_at(i)))
            dtypes_alike(scheme, "bias", place, 0);
        pe_scheme_free(scheme);
        encodings++;
    }
    ck_assert_uint_ge(encodings, 7);
}

/* Rows of the kind, with and without shared numbers, complete and from a key on, equal those of the
 * view. By distance, each row is the one before shifted by a key. */
TEST(rows)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_bias_kind *kind = pe_encoding_at(i)->bias;
        if (!has_numbers(pe_encoding_at(i)))
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        struct pe_error err = {0};
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            const size_t size = pe_dtype_info(dtype)->size;
            struct pe_view *view = catalogue_view(scheme, "bias", place, dtype);
            char *all = catalogue_fill(view, 0), row[KEYS * 8];
            struct pe_bias_common *common;
            ck_assert(!pe_bias_common_new(&common, scheme, -17, 12, dtype, NULL, &err));
            ck_assert_int_eq(common != NULL, kind->common_make != NULL);
            for (size_t r = 0; r < pe_bias_heads(scheme) * QUERIES; r++) {
                const size_t from = r % 5, query = r % QUERIES;
                const struct pe_bias_part part = {.scheme = scheme,
                                                  .head = r / QUERIES,
                                                  .query = 11 + (double)query,
                                                  .key_begin = from,
                                                  .key_count = KEYS - from,
                                                  .dtype = dtype,
                                                  .common = r % 2 ? common : NULL};
                ck_assert(!kind->row(&part, row, NULL, &err));
                ck_assert_msg(memcmp(row, all + (r * KEYS + from) * size, (KEYS - from) * size) ==
                                  0,
                              "%s", pe_encoding_info(pe_encoding_at(i))->name);
                if (kind->by_distance && query > 0)
                    ck_assert(memcmp(all + (r * KEYS + 1) * size, all + (r - 1) * KEYS * size,
                                     (KEYS - 1) * size) == 0);
            }
            pe_bias_common_free(common);
            free(all);
            pe_view_free(view);
        }
    }
}

TEST(causal)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        if (!has_numbers(pe_encoding_at(i)))
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        char text[80];
        snprintf(text, sizeof(text), "%s causal=true", place);
        struct pe_view *plain = catalogue_view(scheme, "bias", place, PE_F64);
        struct pe_view *masked = catalogue_view(scheme, "bias", text, PE_F64);
        double *want = catalogue_fill(plain, 0), *got = catalogue_fill(masked, 0);
        for (size_t e = 0; e < pe_bias_heads(scheme) * QUERIES * KEYS; e++) {
            const size_t key = e % KEYS, query = 11 + e / KEYS % QUERIES;
            ck_assert_double_eq(got[e], key > query ? -INFINITY : want[e]);
        }
        free(want);
        free(got);
        pe_view_free(plain);
        pe_view_free(masked);
    }
}

/* The decay at an offset is the bias of a query and a key at that distance. */
TEST(decay)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        if (!has_numbers(pe_encoding_at(i)))
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        struct pe_view *far = catalogue_view(scheme, "decay", "min_offset=-9 max_offset=9", PE_F64);
        struct pe_view *bias =
            catalogue_view(scheme, "bias", "query_length=1 key_length=19 query_start=9", PE_F64);
        double *got = catalogue_fill(far, 0), *want = catalogue_fill(bias, 0);
        ck_assert_mem_eq(got, want, pe_bias_heads(scheme) * 19 * sizeof(*got));
        free(got);
        free(want);
        pe_view_free(far);
        pe_view_free(bias);
    }
}

TEST(buckets)
{
    size_t encodings = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_bias_kind *kind = pe_encoding_at(i)->bias;
        if (!kind || !kind->bucket)
            continue;
        struct pe_scheme *scheme = catalogue_scheme(pe_encoding_at(i));
        int64_t least = INT64_MAX, most = INT64_MIN;
        for (int64_t distance = -5000; distance <= 5000; distance++) {
            const int64_t bucket = kind->bucket(scheme, distance);
            least = bucket < least ? bucket : least;
            most = bucket > most ? bucket : most;
        }
        if (kind->buckets_count) {
            ck_assert_int_ge(least, 0);
            ck_assert_int_eq(most, (int64_t)kind->buckets_count(scheme) - 1);
        }
        ck_assert_int_lt(least, most);
        pe_scheme_free(scheme);
        encodings++;
    }
    ck_assert_uint_ge(encodings, 3);
}

/* Weights that are no number are refused by bucket and head. */
TEST(weights_that_are_not_finite)
{
    enum { BUCKETS_MAX = 700, HEADS = 3 };
    static float weights[BUCKETS_MAX * HEADS];
    size_t learning = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        if (!encoding->bias || !encoding->bias->buckets_count)
            continue;
        learning++;
        struct pe_scheme *scheme;
        struct pe_params params;
        ck_assert(!pe_params_parse(&params, encoding->info.name, "", &(struct pe_error){0}));
        ck_assert(!pe_scheme_open(&scheme, encoding, &params, NULL, &(struct pe_error){0}));
        pe_params_free(&params);
        const size_t buckets = encoding->bias->buckets_count(scheme);
        const struct pe_tensor tensor = {PE_F32, 2, {buckets, HEADS}, weights};
        ck_assert_uint_le(buckets, BUCKETS_MAX);
        for (size_t at = 0; at < buckets * HEADS; at += 4) {
            struct pe_error err = {0};
            char text[60];
            weights[at] = at % 8 ? NAN : INFINITY;
            snprintf(text, sizeof(text), "bucket %zu and head %zu is", at / HEADS, at % HEADS);
            ck_assert_msg(pe_scheme_give(scheme, "weights", &tensor, NULL, &err) == PE_OUT_OF_RANGE,
                          "%s", err.detail);
            ck_assert_msg(strstr(err.detail, text) != NULL, "%s: %s", text, err.detail);
            weights[at] = 0;
        }
        pe_scheme_free(scheme);
    }
    ck_assert_uint_gt(learning, 0);
}

TEST(number_of_heads)
{
    const struct pe_attention_spec spec = {
        .size = sizeof(spec), .q = {.dtype = PE_F32, .rank = 4, .shape = {1, 5, 3, 24}}};

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        struct pe_error err = {0};
        struct pe_params params;
        if (!has_numbers(encoding))
            continue;
        pe_params_init(&params, encoding->info.params, encoding->info.params_count);
        ck_assert(!pe_attention_infer(encoding, &params, &spec, &err));
        if (pe_params_find(&params, "heads") >= 0)
            ck_assert_double_eq(pe_param_number(&params, "heads"), 5);
        pe_params_free(&params);
    }
}

TEST(cancelled)
{
    struct pe_work *work = ended_work();

    for (size_t i = 0; pe_encoding_at(i); i++) {
        if (!has_numbers(pe_encoding_at(i)))
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        const struct pe_bias_part part = {.scheme = scheme, .key_count = KEYS, .dtype = PE_F32};
        struct pe_error err = {0};
        float row[KEYS];
        ck_assert_int_eq(scheme->encoding->bias->row(&part, row, work, &err), PE_CANCELLED);
    }
    pe_work_free(work);
}
