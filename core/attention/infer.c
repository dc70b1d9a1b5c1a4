/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"
#include "core/base/fail.h"

enum pe_status pe_attention_infer(const struct pe_encoding *encoding, struct pe_params *params,
                                  const struct pe_attention_spec *given, struct pe_error *err)
{
    struct pe_attention_spec ours;

    if (pe_struct_read(&ours, sizeof(ours), given, err))
        return err->status;
    if (ours.q.rank != 4)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q",
                       "q must have 4 dimensions [batch, heads, length, head_dim], it has %u",
                       ours.q.rank);

    const struct pe_attention_spec *spec = &ours;
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
