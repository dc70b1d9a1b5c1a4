/* SPDX-License-Identifier: MIT */

/* The signed buckets of DeBERTa, compared with the formula as an inequality of integers, and with
 * its float32 evaluation in other code. */

#include <gmp.h>

#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

static struct viewed row_new(const char *text, long first, size_t count)
{
    char view[120];

    snprintf(view, sizeof(view), "query_length=1 key_length=%zu query_start=%ld", count, -first);
    return viewed_new("deberta-log", text, "bias", view, NULL, PE_F32);
}

static const struct sizes {
    const char *text;
    unsigned long buckets, positions;
} sizes[] = {
    {"", 256, 512},
    {"position_buckets=32 max_relative_positions=128", 32, 128},
    {"position_buckets=9 max_relative_positions=65", 9, 65},
    {"position_buckets=8 max_relative_positions=6", 8, 6},
    {"position_buckets=5 max_relative_positions=50", 5, 50},
    {"position_buckets=4 max_relative_positions=33", 4, 33},
    {"position_buckets=3 max_relative_positions=9", 3, 9},
    {"position_buckets=2 max_relative_positions=3", 2, 3},
    {"position_buckets=64 max_relative_positions=1025", 64, 1025},
};

enum { SIZES = COUNT_OF(sizes) };

/* The least c with n^(m-1) m^c <= (positions - 1)^c m^(m-1), without a root or a logarithm. */
static unsigned long steps_of(const struct sizes *s, unsigned long n, bool *equal)
{
    const unsigned long m = s->buckets / 2;
    unsigned long c = 0;
    mpz_t left, right, factor;

    mpz_inits(left, right, factor, NULL);
    mpz_ui_pow_ui(left, n, m - 1);
    mpz_ui_pow_ui(right, m, m - 1);
    while (mpz_cmp(left, right) > 0 && c < s->buckets - m) {
        mpz_mul_ui(left, left, m);
        mpz_mul_ui(right, right, s->positions - 1);
        c++;
    }
    *equal = mpz_cmp(left, right) == 0;
    mpz_clears(left, right, factor, NULL);
    return c;
}

static int64_t bucket_of(const struct sizes *s, int64_t r)
{
    const int64_t m = (int64_t)s->buckets / 2, most = (int64_t)s->buckets - 1;
    bool equal;

    if (r >= -m && r <= m)
        return r;
    const int64_t far = m + (int64_t)steps_of(s, (unsigned long)llabs(r), &equal);
    return r < 0 ? -far : far < most ? far : most;
}

TEST_LOOP(SIZES, buckets_are_those_of_the_inequality)
{
    const struct sizes *s = &sizes[_i];
    const long reach = (long)s->positions + 30;
    char text[120];

    for (int direction = 0; direction < 2; direction++) {
        snprintf(text, sizeof(text), "%s direction=%s", s->text, direction ? "j-i" : "i-j");
        OWNED_VIEWED row = row_new(text, -reach, 2 * (size_t)reach + 1);
        ck_assert_str_eq(row.output->name, "buckets");
        ck_assert_int_eq(row.output->dtype, PE_I64);
        for (long distance = -reach; distance <= reach; distance++)
            ck_assert_int_eq(((int64_t *)row.data)[distance + reach],
                             bucket_of(s, direction ? distance : -distance));
    }
}

/* With the published size, distances 0 .. 511 end at bucket 255, and none is clipped. */
TEST(published_size)
{
    OWNED_VIEWED row = row_new("direction=j-i", 0, 600);
    const int64_t *buckets = row.data;

    ck_assert(buckets[128] == 128 && buckets[129] == 129 && buckets[511] == 255);
    ck_assert(buckets[512] == 255 && buckets[599] == 255);
    for (size_t i = 1; i < 512; i++)
        ck_assert(buckets[i] >= buckets[i - 1] && buckets[i] <= buckets[i - 1] + 1);
}

/* As Hugging Face's code computes. */
static unsigned long steps_in_float(const struct sizes *s, unsigned long n)
{
    const unsigned long m = s->buckets / 2;
    const float logarithm = (float)log((double)((float)n / (float)m));
    const float ratio = (float)((double)(s->positions - 1) / (double)m);
    const float whole = (float)log((double)ratio);

    return (unsigned long)ceilf(logarithm / whole * (float)(m - 1));
}

/* All places where float32 is wrong by one, for every even size up to 128 with these distances. All
 * but the last but one are distances where the logarithm is an integer, and float32 exceeds it. */
static const struct difference {
    unsigned long buckets, positions, distance;
    int64_t bucket, rough;
} differences[] = {
    {18, 17, 12, 13, 14},    {18, 65, 24, 13, 14},   {50, 37, 30, 37, 38},
    {50, 65, 40, 37, 38},    {50, 145, 60, 37, 38},  {54, 49, 36, 40, 41},
    {54, 193, 72, 40, 41},   {90, 81, 60, 67, 68},   {98, 65, 56, 73, 74},
    {98, 101, 70, 73, 74},   {98, 257, 112, 73, 74}, {98, 1025, 224, 73, 74},
    {100, 171, 114, 84, 83}, {126, 113, 84, 94, 95},
};

enum { DIFFERENCES = COUNT_OF(differences) };

static const unsigned long far_away[] = {256, 257, 320, 400, 511, 512, 513, 640, 1024, 1025};

static size_t differences_find(unsigned long buckets, unsigned long positions, size_t seen)
{
    const struct sizes s = {.buckets = buckets, .positions = positions};
    const size_t first = seen;
    char text[80];

    snprintf(text, sizeof(text), "position_buckets=%lu max_relative_positions=%lu direction=j-i",
             buckets, positions);
    struct viewed row = row_new(text, 0, positions);
    for (unsigned long n = buckets / 2 + 1; n < positions; n++) {
        const int64_t exact = ((int64_t *)row.data)[n];
        const int64_t rough = (int64_t)(buckets / 2 + steps_in_float(&s, n));
        const struct difference *d = &differences[seen];
        bool equal = false;
        if (exact == rough)
            continue;
        steps_of(&s, n, &equal);
        printf("deberta-log %s: distance %lu has bucket %ld, float32 says %ld\n", text, n,
               (long)exact, (long)rough);
        ck_assert(seen < DIFFERENCES && d->buckets == buckets && d->positions == positions);
        ck_assert(d->distance == n && d->bucket == exact && d->rough == rough);
        ck_assert(equal == (rough > exact) && exact == bucket_of(&s, (int64_t)n));
        seen++;
    }
    viewed_free(&row);
    return seen - first;
}

TEST(where_float32_differs)
{
    size_t seen = 0;

    for (unsigned long buckets = 4; buckets <= 128; buckets += 2) {
        for (unsigned long positions = buckets / 2 + 2; positions < 200; positions++)
            seen += differences_find(buckets, positions, seen);
        for (size_t i = 0; i < COUNT_OF(far_away); i++)
            seen += differences_find(buckets, far_away[i], seen);
    }
    ck_assert_uint_eq(seen, DIFFERENCES);
}

TEST(refused)
{
    static const struct refused cases[] = {
        {"position_buckets=1", PE_OUT_OF_RANGE, "position_buckets"},
        {"position_buckets=4097", PE_OUT_OF_RANGE, "position_buckets"},
        {"position_buckets=8 num_buckets=9", PE_CONFLICT, "position_buckets"},
        {"max_relative_positions=2", PE_OUT_OF_RANGE, "max_relative_positions"},
        {"max_relative_positions=129", PE_OUT_OF_RANGE, "max_relative_positions"},
        {"max_relative_positions=1e300", PE_OUT_OF_RANGE, "max_relative_positions"},
        {"max_relative_positions=few", PE_INVALID, "max_relative_positions"},
        {"direction=k-q", PE_INVALID, "direction"},
        {"max_relative_positions=130", PE_OK, ""},
        {"position_buckets=4095 max_relative_positions=1073741824", PE_OK, ""},
    };

    refusals_check("deberta-log", cases, COUNT_OF(cases));
}
