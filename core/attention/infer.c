/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"
#include "core/base/fail.h"

enum pe_status pe_attention_infer(const struct pe_encoding *encoding, struct pe_params *params,
                                  const struct pe_attention_spec *given, struct pe_error *err)
{
    struct pe_attention_spec spec;

    if (pe_struct_read(&spec, sizeof(spec), given, err))
        return err->status;
    if (spec.q.rank != 4)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q",
                       "q must have 4 dimensions [batch, heads, length, head_dim], it has %u",
                       spec.q.rank);
    if (encoding->rotary)
        return encoding->rotary->infer(params, &spec, err);
    if (pe_bias_is_known(encoding))
        return encoding->bias->infer(params, &spec, err);
    return encoding->relative ? encoding->relative->infer(params, &spec, err) : PE_OK;
}
