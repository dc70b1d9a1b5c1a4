/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_WAVES_H
#define CORE_SCHEME_WAVES_H

#include "core/scheme/encoding.h"
#include "core/tables/frequencies.h"

/* The beginning of the state of a scheme that is made of sines and cosines. */
struct pe_waves {
    size_t pairs;                       /* half of the width that they turn; set by `check` */
    double bound;                       /* no frequency is above it, set by `check`; 0: 1 */
    bool meets_axes;                    /* many angles are whole quarter turns; set by `check` */
    struct pe_frequencies *frequencies; /* of them; NULL until the scheme is prepared */
};

/* NULL: the scheme has none. */
static inline const struct pe_waves *pe_waves_of(const struct pe_scheme *scheme)
{
    return scheme->encoding->has_waves ? scheme->state : NULL;
}

/* 0 where the scheme has none, or none above 1. */
static inline double pe_waves_bound(const struct pe_scheme *scheme)
{
    const struct pe_waves *waves = pe_waves_of(scheme);

    return waves ? waves->bound : 0;
}

/* Computes scheme->state's frequencies, as many as it has pairs, from powers whose context is the
 * scheme: the `prepare` of most encodings of sines. */
enum pe_status pe_waves_prepare(struct pe_scheme *scheme, const struct pe_powers *powers,
                                struct pe_work *work, struct pe_error *err);

/* The `close` of a state that is struct pe_waves. */
void pe_waves_close(void *state);

#endif
