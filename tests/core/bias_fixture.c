/* SPDX-License-Identifier: MIT */
#include "tests/core/bias_fixture.h"

size_t bias_compare(const char *encoding, const char *text, size_t near_keys,
                    void (*want_write)(const void *kernel, double distance, enum pe_dtype dtype,
                                       void *out),
                    const void *kernel)
{
    static const enum pe_dtype dtypes[] = {PE_F64, PE_F32, PE_F16, PE_BF16};
    static const double starts[] = {20, 123456789012, -9007199254740991, 9007199254740990};
    const size_t queries[] = {1, 3, 2, 2}, keys[] = {near_keys, 40, 40, 9};
    unsigned char want[8];
    size_t compared = 0;
    char parameters[120], place[120];

    snprintf(parameters, sizeof(parameters), "heads=1 %s", text);
    for (size_t i = 0; i < 16; i++) {
        const enum pe_dtype dtype = dtypes[i / 4];
        const size_t size = pe_dtype_info(dtype)->size;
        snprintf(place, sizeof(place), "query_length=%zu key_length=%zu query_start=%.0f",
                 queries[i % 4], keys[i % 4], starts[i % 4]);
        struct viewed got = viewed_new(encoding, parameters, "bias", place, NULL, dtype);
        ck_assert_uint_eq(got.count, queries[i % 4] * keys[i % 4]);
        for (size_t e = 0; e < got.count; e++) {
            /* The distance has 54 bits where the query is at the end: two doubles hold it. */
            const double key = (double)(e % keys[i % 4]);
            const double query = starts[i % 4] + (double)(e / keys[i % 4]);
            if (key - query != floor(key - query) || (key - query) + query != key)
                continue;
            want_write(kernel, key - query, dtype, want);
            ck_assert_msg(memcmp(want, (char *)got.data + e * size, size) == 0, "%s %zu",
                          parameters, e);
            compared++;
        }
        viewed_free(&got);
    }
    printf("%s: %zu elements of %s rounded as by MPFR\n", encoding, compared, text);
    return compared;
}
