/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "core/exact/elementary.h"
#include "core/views/analysis.h"

/* Where an offset stands on a scale that is dense around 0, and which offset stands there. The
 * functions are the library's own, so that samples are the same on every machine. */
static double place_of(double offset)
{
    return offset == 0 ? 0 : copysign(pe_log1p(fabs(offset)), offset);
}

static double offset_of(double place)
{
    return copysign(round(pe_exp(fabs(place)) - 1), place);
}

static double sample_of(const struct pe_offsets *offsets, double share, bool dense)
{
    const double first = (double)offsets->first, last = (double)offsets->last;

    if (!dense)
        return round(first + share * (last - first));
    return offset_of(place_of(first) + share * (place_of(last) - place_of(first)));
}

/* Neighbours that fall together are one. Ends are themselves, whatever was rounded, and what is
 * dense around 0 has 0. */
static enum pe_status samples_make(struct pe_offsets *offsets, size_t samples, bool dense,
                                   struct pe_error *err)
{
    size_t count = 0;

    offsets->samples = malloc(samples * sizeof(*offsets->samples));
    if (!offsets->samples)
        return pe_no_memory(err, "the samples");
    offsets->samples[count++] = offsets->first;
    for (size_t i = 1; i + 1 < samples; i++) {
        const double share = (double)i / (double)(samples - 1);
        int64_t offset = (int64_t)sample_of(offsets, share, dense);
        if (dense && offsets->samples[count - 1] < 0 && offset > 0)
            offset = 0;
        if (offset > offsets->samples[count - 1] && offset < offsets->last)
            offsets->samples[count++] = offset;
    }
    offsets->samples[count++] = offsets->last;
    offsets->count = count;
    return PE_OK;
}

enum pe_status pe_offsets_read(struct pe_offsets *offsets, const struct pe_params *params,
                               struct pe_error *err)
{
    const double first = pe_param_number(params, "min_offset");
    const double last = pe_param_number(params, "max_offset");
    const double samples = pe_param_number(params, "samples");

    if (last < first)
        return pe_fail(err, PE_CONFLICT, "parameter:max_offset",
                       "max_offset must not be below min_offset, got %.0f and %.0f", last, first);
    if (isnan(samples) && pe_param_given(params, "sample_spacing"))
        return pe_fail(err, PE_CONFLICT, "parameter:sample_spacing",
                       "sample_spacing goes with samples, which says how many there are");
    *offsets = (struct pe_offsets){.first = (int64_t)first,
                                   .last = (int64_t)last,
                                   .count = (size_t)((int64_t)last - (int64_t)first) + 1};
    if (isnan(samples) || samples >= (double)offsets->count)
        return PE_OK;
    return samples_make(offsets, (size_t)samples, pe_param_number(params, "sample_spacing") == 1,
                        err);
}

void pe_offsets_close(struct pe_offsets *offsets)
{
    free(offsets->samples);
    offsets->samples = NULL;
}

size_t pe_offsets_zero(const struct pe_offsets *offsets)
{
    size_t below = 0;

    if (offsets->first >= 0)
        return 0;
    if (!offsets->samples)
        return (uint64_t)-offsets->first < offsets->count ? (size_t)-offsets->first
                                                          : offsets->count;
    while (below < offsets->count && offsets->samples[below] < 0)
        below++;
    return below;
}

void pe_offsets_write(const struct pe_offsets *offsets, int64_t *out)
{
    for (size_t i = 0; i < offsets->count; i++)
        out[i] = pe_offset_at(offsets, i);
}
