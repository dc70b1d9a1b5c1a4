/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/rope/parts/type.h"

/* Frequencies that are given: an inv_freq that some code prints or keeps, a number a pair. */

/* Below it a pair turns by less than the last bit of any angle: it stands still, and says so by 0.
 */
#define LEAST 1e-60

static const struct pe_value *list_of(const struct pe_scheme *scheme)
{
    return pe_param_value(&scheme->params, "inv_freq");
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const struct pe_value *list = list_of(scheme);
    const size_t pairs = pe_waves_of(scheme)->pairs;

    if (list->list_count != pairs)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:inv_freq",
                       "inv_freq has %zu numbers, one for each of the %zu pairs is needed; "
                       "rotary_dim says how many elements of a head rotate",
                       list->list_count, pairs);
    for (size_t pair = 0; pair < pairs; pair++)
        if (list->list[pair] != 0 && list->list[pair] < LEAST)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:inv_freq",
                           "inv_freq must be 0 or at least %g, got %.17g at index %zu", LEAST,
                           list->list[pair], pair);
    return PE_OK;
}

/* The numbers are doubles as they stand: no power is made. */
static void share(struct pe_shared *out, unsigned bits, const void *context)
{
    (void)context;
    out->number[0] = pe_wide_of_uint(bits, 0);
}

static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    (void)shared;
    return pe_wide_of(pe_wide_precision(power), list_of(context)->list[pair]);
}

static float float32(const struct pe_scheme *scheme, size_t pair)
{
    return (float)list_of(scheme)->list[pair];
}

extern const struct pe_rope_type pe_rope_type_custom;
const struct pe_rope_type pe_rope_type_custom = {
    .name = "custom",
    .required = "inv_freq",
    .optional = "attention_factor",
    .check = check,
    .share = share,
    .scaled = scaled,
    .work = 60,
    .float32 = float32,
};
