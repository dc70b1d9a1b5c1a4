/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"

enum pe_status pe_attention_infer(const struct pe_encoding *encoding, struct pe_params *params,
                                  const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_tensor *rel_k = &spec->rel_k;

    if (encoding->rotates)
        return pe_params_infer(params, "dim", (double)spec->q.shape[3], err);
    if (encoding->bias_row)
        return pe_params_infer(params, "heads", (double)spec->q.shape[1], err);
    if (encoding->rows_by_distance)
        return pe_params_infer(
            params, "dim", (double)(spec->w_r.rank == 2 ? spec->w_r.shape[1] : spec->q.shape[3]),
            err);
    if (encoding->clip && rel_k->rank == 0)
        return pe_params_infer(params, "dim", (double)spec->q.shape[3], err);
    if (encoding->clip && rel_k->rank == 2 && rel_k->shape[0] % 2 == 1)
        return pe_params_infer(params, "max_relative_position", (double)(rel_k->shape[0] / 2), err);
    return PE_OK;
}
