/* SPDX-License-Identifier: MIT */

/* The buckets of T5, compared with the formula as an inequality of integers, and with its float32
 * evaluation in other code. */

#include <gmp.h>

#include "tests/check_main.h"
#include "tests/core/attention_reference.h"
#include "tests/core/scheme_fixture.h"

/* One row of buckets: the query at 0, keys from `first` on. */
static struct viewed row_new(const char *text, long first, size_t count)
{
    char view[120];

    snprintf(view, sizeof(view), "query_length=1 key_length=%zu query_start=%ld", count, -first);
    return viewed_new("t5", text, "bias", view, NULL, PE_F32);
}

static const struct sizes {
    const char *text;
    unsigned long side, farthest; /* buckets of one direction, max_distance */
} sizes[] = {
    {"bidirectional=false", 32, 128},
    {"", 16, 128},
    {"num_buckets=320 max_distance=800", 160, 800},
    {"num_buckets=64 max_distance=256", 32, 256},
    {"num_buckets=32 max_distance=9", 16, 9},
    {"num_buckets=15 max_distance=4", 7, 4},
    {"num_buckets=4 max_distance=2", 2, 2},
    {"num_buckets=2 max_distance=5 bidirectional=false", 2, 5},
    {"num_buckets=97 max_distance=1000 bidirectional=false", 97, 1000},
    {"num_buckets=24 max_distance=4096 bidirectional=false", 24, 4096},
};

enum { SIZES = COUNT_OF(sizes) };

/* The largest k, at most m - 1, with n^m >= farthest^k exact^(m - k), in integers. *equal: both
 * sides are equal. */
static unsigned long steps_of(const struct sizes *s, unsigned long n, bool *equal)
{
    const unsigned long exact = s->side / 2, m = s->side - exact;
    unsigned long k;
    mpz_t left, right, factor;

    mpz_inits(left, right, factor, NULL);
    mpz_ui_pow_ui(left, n, m);
    for (k = m - 1; k > 0; k--) {
        mpz_ui_pow_ui(right, s->farthest, k);
        mpz_ui_pow_ui(factor, exact, m - k);
        mpz_mul(right, right, factor);
        if (mpz_cmp(left, right) >= 0)
            break;
    }
    *equal = k > 0 && mpz_cmp(left, right) == 0;
    mpz_clears(left, right, factor, NULL);
    return k;
}

TEST_LOOP(SIZES, buckets_are_those_of_the_inequality)
{
    const struct sizes *s = &sizes[_i];
    const bool both = !strstr(s->text, "bidirectional=false");
    const size_t count = s->farthest + 20;
    OWNED_VIEWED behind = row_new(s->text, 1, count);
    OWNED_VIEWED before = row_new(s->text, -(long)count, count + 1);

    for (size_t n = 1; n <= count; n++) {
        bool equal;
        const unsigned long exact = s->side / 2;
        const int64_t want =
            (int64_t)(n < exact ? n : exact + steps_of(s, (unsigned long)n, &equal));
        ck_assert_int_eq(((int64_t *)before.data)[count - n], want);
        ck_assert_int_eq(((int64_t *)behind.data)[n - 1], both ? (int64_t)s->side + want : 0);
    }
    ck_assert_int_eq(((int64_t *)before.data)[count], 0);
    ck_assert_int_eq(((int64_t *)before.data)[0], (int64_t)s->side - 1);
}

/* As Hugging Face's code computes: a float32 logarithm, divided by a float32 and multiplied. */
static unsigned long steps_in_float(const struct sizes *s, unsigned long n)
{
    const unsigned long exact = s->side / 2, m = s->side - exact;
    const float logarithm = (float)log((double)((float)n / (float)exact));
    const float whole = (float)log((double)s->farthest / (double)exact);
    const unsigned long k = (unsigned long)(logarithm / whole * (float)m);

    return k < m - 1 ? k : m - 1;
}

/* Every causal size up to 65 buckets with these distances: all twelve places where float32 is
 * wrong, one bucket too low each, and each at a distance where the logarithm is a whole number. The
 * sizes that T5, its successors and WavLM were published with are not among them. */
static const struct difference {
    unsigned long side, farthest, distance;
    int64_t bucket; /* the exact one */
} differences[] = {
    {17, 27, 12, 11},  {17, 27, 18, 14}, {19, 25, 15, 14},  {36, 50, 30, 27},
    {48, 81, 36, 32},  {48, 81, 54, 40}, {51, 49, 35, 38},  {51, 81, 45, 38},
    {54, 125, 45, 36}, {55, 75, 45, 41}, {65, 108, 48, 43}, {65, 108, 72, 54},
};

enum { DIFFERENCES = COUNT_OF(differences) };

static const unsigned long far_away[] = {160, 192, 200, 243, 256, 300, 320, 384,
                                         400, 500, 512, 600, 640, 768, 800, 1024};

/* Compares one size; returns how many distances differ, which must be the next of the list. */
static size_t differences_find(unsigned long side, unsigned long farthest, size_t seen)
{
    const size_t first = seen;
    const struct sizes s = {.side = side, .farthest = farthest};
    char text[80];

    snprintf(text, sizeof(text), "num_buckets=%lu max_distance=%lu bidirectional=false", side,
             farthest);
    struct viewed row = row_new(text, -(long)farthest, farthest + 1);
    for (unsigned long n = side / 2; n <= farthest; n++) {
        const int64_t exact = ((int64_t *)row.data)[farthest - n];
        const int64_t rough = (int64_t)(side / 2 + steps_in_float(&s, n));
        const struct difference *d = &differences[seen];
        bool equal = false;
        if (exact == rough)
            continue;
        steps_of(&s, n, &equal);
        printf("t5 %s: distance %lu has bucket %ld, float32 says %ld\n", text, n, (long)exact,
               (long)rough);
        ck_assert(seen < DIFFERENCES && d->side == side && d->farthest == farthest);
        ck_assert(d->distance == n && d->bucket == exact && rough == exact - 1 && equal);
        seen++;
    }
    viewed_free(&row);
    return seen - first;
}

TEST(where_float32_differs)
{
    size_t seen = 0;

    for (unsigned long side = 4; side <= 65; side++) {
        for (unsigned long farthest = side / 2 + 1; farthest < 140; farthest++)
            seen += differences_find(side, farthest, seen);
        for (size_t i = 0; i < COUNT_OF(far_away); i++)
            seen += differences_find(side, far_away[i], seen);
    }
    ck_assert_uint_eq(seen, DIFFERENCES);
}

/* ---- the view -------------------------------------------------------------------------------- */

/* Each row of the matrix is the row of its query's position. */
TEST(buckets_depend_on_the_distance_alone)
{
    static const double starts[] = {0, -7, 40, 1e9, -0x1p53 + 1, 0x1p53 - 6};

    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        char view[120];
        snprintf(view, sizeof(view), "query_length=5 key_length=40 query_start=%.17g", starts[i]);
        OWNED_VIEWED all = viewed_new("t5", "", "bias", view, NULL, PE_F16);
        ck_assert_str_eq(all.output->name, "buckets");
        ck_assert(all.output->dtype == PE_I64 && all.output->rank == 2);
        for (size_t row = 0; row < 5; row++) {
            const double distance = -(starts[i] + (double)row);
            const int64_t *at = (int64_t *)all.data + row * 40;
            if (fabs(distance) < 1e6) {
                OWNED_VIEWED one = row_new("", (long)distance, 40);
                ck_assert(memcmp(at, one.data, 40 * sizeof(*at)) == 0);
            } else {
                for (size_t key = 0; key < 40; key++)
                    ck_assert_int_eq(at[key], distance < 0 ? 15 : 31);
            }
        }
    }
}

/* bias[h, i, j] = W[bucket, h], rounded once, and -inf after the query where that is masked. */
TEST(weights_are_looked_up)
{
    static const enum pe_dtype dtypes[] = {PE_F64, PE_F32, PE_F16, PE_BF16};
    const char *view = "query_length=9 key_length=30 query_start=11";
    double weights[32 * 3], want;
    const struct pe_tensor tensor = {.dtype = PE_F64, .rank = 2, .shape = {32, 3}, .data = weights};
    unsigned char rounded[8];

    for (size_t i = 0; i < 96; i++)
        weights[i] = sin((double)i + 0.5) * 7;
    OWNED_VIEWED buckets = viewed_new("t5", "", "bias", view, NULL, PE_F32);
    for (size_t d = 0; d < 8; d++) {
        const size_t size = pe_dtype_info(dtypes[d / 2])->size;
        char text[120];
        snprintf(text, sizeof(text), "%s causal=%d", view, (int)(d % 2));
        OWNED_VIEWED bias = viewed_new("t5", "", "bias", text, &tensor, dtypes[d / 2]);
        ck_assert_str_eq(bias.output->name, "bias");
        ck_assert(bias.output->shape[0] == 3 && bias.count == 3 * 9 * 30);
        for (size_t i = 0; i < bias.count; i++) {
            const size_t key = i % 30, query = i / 30 % 9, head = i / 270;
            want = weights[((int64_t *)buckets.data)[query * 30 + key] * 3 + (int64_t)head];
            if (d % 2 && key > query + 11)
                want = -INFINITY;
            pe_from_f64(rounded, dtypes[d / 2], &want, 1);
            ck_assert(memcmp(rounded, (char *)bias.data + i * size, size) == 0);
        }
    }
}

TEST(refused)
{
    static const struct refused cases[] = {
        {"num_buckets=1", PE_OUT_OF_RANGE, "num_buckets"},
        {"num_buckets=3", PE_OUT_OF_RANGE, "num_buckets"},
        {"num_buckets=4097", PE_OUT_OF_RANGE, "num_buckets"},
        {"num_buckets=1e300", PE_OUT_OF_RANGE, "num_buckets"},
        {"num_buckets=32.5", PE_INVALID, "num_buckets"},
        {"num_buckets=many", PE_INVALID, "num_buckets"},
        {"max_distance=0", PE_OUT_OF_RANGE, "max_distance"},
        {"max_distance=8", PE_OUT_OF_RANGE, "max_distance"},
        {"max_distance=16 bidirectional=false", PE_OUT_OF_RANGE, "max_distance"},
        {"max_distance=1073741825", PE_OUT_OF_RANGE, "max_distance"},
        {"max_distance=9.5", PE_INVALID, "max_distance"},
        {"bidirectional=perhaps", PE_INVALID, "bidirectional"},
        {"num_buckets=4 max_distance=2", PE_OK, ""},
        {"num_buckets=4096 max_distance=1073741824", PE_OK, ""},
    };

    refusals_check("t5", cases, COUNT_OF(cases));
}

static enum pe_status weights_status(const char *encoding, const char *text,
                                     struct pe_tensor tensor, struct pe_error *err)
{
    struct pe_params params;
    struct pe_scheme *scheme;

    ck_assert(!pe_params_parse(&params, encoding, text, err));
    ck_assert(!pe_scheme_open(&scheme, pe_encoding_find(encoding), &params, NULL, err));
    pe_params_free(&params);
    pe_scheme_give(scheme, "weights", &tensor, NULL, err);
    pe_scheme_free(scheme);
    return err->status;
}

TEST(weights_refused)
{
    double data[64] = {0};
    const struct pe_tensor good = {.dtype = PE_F64, .rank = 2, .shape = {32, 2}, .data = data};
    struct pe_tensor tensors[] = {good, good, good, good, good, good};
    static const enum pe_status want[] = {PE_OK,          PE_SHAPE_MISMATCH, PE_SHAPE_MISMATCH,
                                          PE_UNSUPPORTED, PE_SHAPE_MISMATCH, PE_SHAPE_MISMATCH};

    tensors[1].shape[0] = 31;
    tensors[2].rank = 1;
    tensors[3].dtype = PE_I64;
    tensors[4].shape[1] = 0;
    tensors[5].rank = 0;
    for (size_t i = 0; i < 6; i++) {
        struct pe_error err = {0};
        ck_assert_msg(weights_status("t5", "", tensors[i], &err) == want[i], "%zu: %s", i,
                      err.detail);
        ck_assert_str_eq(err.where, i ? "tensor:weights" : "");
    }
    data[63] = NAN;
    ck_assert_int_eq(weights_status("t5", "", good, &(struct pe_error){0}), PE_OUT_OF_RANGE);
    data[63] = -INFINITY;
    ck_assert_int_eq(weights_status("t5", "", good, &(struct pe_error){0}), PE_OUT_OF_RANGE);
    ck_assert_int_eq(weights_status("alibi", "heads=2", good, &(struct pe_error){0}), PE_CONFLICT);
}
