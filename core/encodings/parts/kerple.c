/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/kerple.h"

enum {
    CHECK_KEYS = 512
}; /* between two looks at the work: a millisecond where wide numbers decide */

struct pe_exact pe_kerple_distance(const struct pe_kerple *element)
{
    const double high = (double)element->distance;

    return (struct pe_exact){high, (double)(element->distance - (int64_t)high)};
}

enum pe_status pe_kerple_check(struct pe_scheme *scheme, struct pe_error *err)
{
    /* In the order in which the encoding lists them. */
    const bool a_first =
        pe_params_find(&scheme->params, "a") < pe_params_find(&scheme->params, "p");

    return pe_heads_check(
        scheme, (const char *const[]){a_first ? "a" : "p", a_first ? "p" : "a", NULL}, err);
}

bool pe_kerple_is_slow(const struct pe_scheme *scheme)
{
    bool slow = false;

    for (size_t head = 0; head < pe_heads_count(scheme) && !slow; head++)
        slow = pe_head_number(scheme, "a", head) <= PE_KERPLE_LEAST ||
               pe_head_number(scheme, "p", head) <= PE_KERPLE_LEAST;
    return slow;
}

enum pe_status pe_kerple_row(const struct pe_bias_part *part, void *out, pe_kerple_write *write,
                             struct pe_work *work, struct pe_error *err)
{
    const size_t size = pe_dtype_info(part->dtype)->size;
    const double zero = 0;
    struct pe_kerple element = {pe_head_number(part->scheme, "a", part->head),
                                pe_head_number(part->scheme, "p", part->head), 0};

    for (size_t i = 0; i < part->key_count; i++) {
        char *to = (char *)out + i * size;
        const int64_t distance = (int64_t)(part->key_begin + i) - (int64_t)part->query;
        if (i % CHECK_KEYS == 0 && pe_work_check(work, err))
            break;
        element.distance = distance < 0 ? -distance : distance;
        if (distance == 0)
            pe_from_f64(to, part->dtype, &zero, 1);
        else
            write(&element, part->dtype, to);
    }
    return err->status;
}
