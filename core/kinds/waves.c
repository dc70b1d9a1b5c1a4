/* SPDX-License-Identifier: MIT */
#include "core/kinds/waves.h"

const struct pe_waves *pe_waves_of(const struct pe_scheme *scheme)
{
    return scheme->encoding->has_waves ? scheme->state : NULL;
}

double pe_waves_bound(const struct pe_scheme *scheme)
{
    const struct pe_waves *waves = pe_waves_of(scheme);

    return waves ? waves->bound : 0;
}

enum pe_status pe_waves_prepare(struct pe_scheme *scheme, pe_real *frequency, struct pe_work *work,
                                struct pe_error *err)
{
    struct pe_waves *waves = scheme->state;
    const struct pe_frequencies_spec spec = {.count = waves->pairs,
                                             .frequency = frequency,
                                             .context = scheme,
                                             .work = pe_scheme_work(scheme) / (double)waves->pairs};

    return pe_frequencies_new(&waves->frequencies, &spec, work, err);
}

void pe_waves_close(void *state)
{
    pe_frequencies_free(((struct pe_waves *)state)->frequencies);
}
