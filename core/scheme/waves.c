/* SPDX-License-Identifier: MIT */
#include "core/scheme/waves.h"

enum pe_status pe_waves_prepare(struct pe_scheme *scheme, const struct pe_powers *powers,
                                struct pe_work *work, struct pe_error *err)
{
    struct pe_waves *waves = scheme->state;
    const struct pe_frequencies_spec spec = {.count = waves->pairs,
                                             .powers = *powers,
                                             .context = scheme,
                                             .work = pe_scheme_work(scheme) / (double)waves->pairs};

    return pe_frequencies_new(&waves->frequencies, &spec, work, err);
}

void pe_waves_close(void *state)
{
    pe_frequencies_free(((struct pe_waves *)state)->frequencies);
}
