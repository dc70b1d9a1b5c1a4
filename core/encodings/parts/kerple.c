/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/kerple.h"

#include "core/encodings/parts/heads.h"

struct pe_exact pe_kerple_distance(const struct pe_kerple *element)
{
    const double high = (double)element->distance;

    return (struct pe_exact){high, (double)(element->distance - (int64_t)high)};
}

void pe_kerple_distance_set(mpfr_ptr out, const struct pe_kerple *element)
{
    const struct pe_exact distance = pe_kerple_distance(element);

    mpfr_set_d(out, distance.hi, MPFR_RNDN);
    mpfr_add_d(out, out, distance.lo, MPFR_RNDN);
}

void pe_kerple_row(const struct pe_scheme *scheme, size_t head, double query, size_t key_begin,
                   size_t key_count, enum pe_dtype dtype, void *out, pe_kerple_write *write)
{
    const size_t size = pe_dtype_info(dtype)->size;
    const double zero = 0;
    struct pe_kerple element = {pe_head_number(scheme, "a", head),
                                pe_head_number(scheme, "p", head), 0};

    for (size_t i = 0; i < key_count; i++) {
        char *to = (char *)out + i * size;
        const int64_t distance = (int64_t)(key_begin + i) - (int64_t)query;
        element.distance = distance < 0 ? -distance : distance;
        if (distance == 0)
            pe_from_f64(to, dtype, &zero, 1);
        else
            write(&element, dtype, to);
    }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}
