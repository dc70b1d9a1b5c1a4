/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"

enum pe_status pe_attention_infer(const struct pe_encoding *encoding, struct pe_params *params,
                                  const struct pe_attention_spec *spec, struct pe_error *err)
{
    if (encoding->rotary)
        return encoding->rotary->infer(params, spec, err);
    if (pe_bias_is_known(encoding))
        return encoding->bias->infer(params, spec, err);
    return encoding->relative ? encoding->relative->infer(params, spec, err) : PE_OK;
}
