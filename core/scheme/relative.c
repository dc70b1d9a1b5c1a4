/* SPDX-License-Identifier: MIT */
#include "core/scheme/relative.h"

#include "posenc/attention.h"

const struct pe_clipped *pe_clipped_of(const struct pe_encoding *encoding)
{
    return encoding->relative ? encoding->relative->clipped : NULL;
}

const struct pe_distances *pe_distances_of(const struct pe_encoding *encoding)
{
    return encoding->relative ? encoding->relative->distances : NULL;
}

int64_t pe_clipped_row(const struct pe_scheme *scheme, int64_t distance)
{
    const struct pe_clipped *clipped = scheme->encoding->relative->clipped;
    const int64_t most = (int64_t)clipped->clip(scheme);
    const int64_t signed_distance = clipped->sign(scheme) * distance;

    return (signed_distance < -most  ? -most
            : signed_distance > most ? most
                                     : signed_distance) +
           most;
}

enum pe_status pe_relative_infer_clipped(struct pe_params *params,
                                         const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_tensor *rel_k = &spec->rel_k;

    if (rel_k->rank == 0)
        return pe_params_infer(params, "dim", (double)spec->q.shape[3], err);
    if (rel_k->rank == 2 && rel_k->shape[0] % 2 == 1)
        return pe_params_infer(params, "max_relative_position", (double)(rel_k->shape[0] / 2), err);
    return PE_OK;
}

enum pe_status pe_relative_infer_distances(struct pe_params *params,
                                           const struct pe_attention_spec *spec,
                                           struct pe_error *err)
{
    const size_t width = spec->w_r.rank == 2 ? spec->w_r.shape[1] : spec->q.shape[3];

    return pe_params_infer(params, "dim", (double)width, err);
}
