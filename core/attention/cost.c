/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"
#include "core/base/isa.h"
#include "core/scheme/bias.h"
#include "core/scheme/relative.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"

/* Estimated nanoseconds of one core, from shapes alone. */

#define PRODUCT_F32 0.018 /* a multiplication and an addition */
#define PRODUCT_F64 0.045
#define WEIGHT      0.8   /* a logit to its softmax weight */
#define SCORE       0.4   /* a logit that is the result */
#define PACKED      1.5   /* an element that is read, rotated and packed */
#define NORMED      3.0   /* an element of q or k that is normed or scaled */
#define CAPPED      1.5   /* a logit through softcap */
#define ADDED       2.5   /* an element of a posted mask or bias, added to a logit */
#define GATHERED    1.5   /* a lookup in the row of a distance */
#define SCANNED     1.0   /* an element checked for NaN */
#define TEMPERATURE 400.0 /* a logarithm of a position */

/* Fused multiply-adds: slow where the processor has none and doubles replace them. */
#define FUSED_SCORE  1
#define FUSED_WEIGHT 10
#define FUSED_CAPPED 9

static double fused_extra(const struct pe_attention_spec *spec)
{
    return spec->q.dtype == PE_F64 ? 0 : pe_isa()->kernels->fused_extra;
}

static double product_of(const struct pe_attention_spec *spec)
{
    return spec->q.dtype == PE_F64 ? PRODUCT_F64 * pe_isa()->kernels->slowness
                                   : PRODUCT_F32 + fused_extra(spec);
}

static enum pe_dtype type_of(const struct pe_attention_spec *spec)
{
    return spec->q.dtype == PE_F64 ? PE_F64 : PE_F32;
}

static double distances_of(const struct pe_attention_spec *spec)
{
    return (double)spec->q.shape[2] + (double)spec->k.shape[2];
}

static double elements_of(const struct pe_tensor *tensor)
{
    double elements = 1;

    for (unsigned i = 0; i < tensor->rank; i++)
        elements *= (double)tensor->shape[i];
    return tensor->rank > 0 ? elements : 0;
}

/* Per logit: products of q and k, of relative vectors and v; biases, softmax. */
static double logit_cost(const struct pe_attention_spec *spec)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;
    const bool weighs = spec->output != PE_ATTENTION_SCORES;
    double products = (double)spec->q.shape[3];
    double cost = weighs ? WEIGHT : SCORE;
    const double fused =
        (weighs ? FUSED_WEIGHT : FUSED_SCORE) + (spec->softcap > 0 ? FUSED_CAPPED : 0);

    if (spec->output == PE_ATTENTION_OUTPUT)
        products += (double)spec->v.shape[3];
    if (encoding && encoding->relative) {
        products *= 2;
        cost += WEIGHT;
    }
    if (pe_is_disentangled(spec)) {
        products += (double)spec->q.shape[3] *
                    ((spec->pos_key.rank > 0) + 1.5 * (spec->pos_query.rank > 0));
        cost += GATHERED * ((spec->pos_key.rank > 0) + 2 * (spec->pos_query.rank > 0));
    }
    cost +=
        (spec->softcap > 0 ? CAPPED : 0) + ADDED * ((spec->mask.rank > 0) + (spec->bias.rank > 0));
    if (encoding && pe_bias_is_known(encoding))
        cost += encoding->bias->by_distance ? SCORE : pe_bias_cost(spec->scheme, type_of(spec));
    return cost + fused * fused_extra(spec) + products * product_of(spec);
}

/* Once: packed keys and values, angles, biases and vectors by distance. */
static double packing_cost(const struct pe_attention_spec *spec)
{
    const struct pe_scheme *scheme = spec->scheme;
    const struct pe_encoding *encoding = scheme ? scheme->encoding : NULL;
    const double distances = distances_of(spec);
    double cost = PACKED * (elements_of(&spec->q) + elements_of(&spec->k) + elements_of(&spec->v));

    if (spec->norm != PE_NORM_NONE)
        cost += NORMED * (elements_of(&spec->q) + elements_of(&spec->k));
    if (spec->temperature.strength != 0)
        cost += NORMED * elements_of(&spec->q) +
                TEMPERATURE * (double)spec->q.shape[2] *
                    (double)(spec->positions.batch > 1 ? spec->positions.batch : 1);
    cost += SCANNED * (elements_of(&spec->mask) + elements_of(&spec->bias));
    cost += PACKED * (elements_of(&spec->pos_key) + elements_of(&spec->pos_query));
    if (pe_is_disentangled(spec))
        cost += distances * PE_BUCKET_COST;
    if (encoding && encoding->rotary) {
        const struct pe_positions positions = {.step = 1, .count = spec->k.shape[2]};
        cost += distances * (double)(spec->positions.batch > 1 ? spec->positions.batch : 1) * 2 *
                (double)pe_waves_of(scheme)->pairs *
                pe_rotary_cost(scheme, &positions, type_of(spec), true);
    }
    if (encoding && pe_bias_is_known(encoding) && encoding->bias->by_distance)
        cost += distances * (double)spec->q.shape[1] * pe_bias_cost(scheme, type_of(spec));
    if (encoding && pe_bias_is_known(encoding) && encoding->bias->common_cost)
        cost += distances * encoding->bias->common_cost(scheme, type_of(spec));
    if (encoding && pe_distances_of(encoding)) {
        const struct pe_positions positions = {.step = 1, .count = spec->k.shape[2]};
        cost += distances * (double)encoding->rows->width(scheme) *
                pe_rows_cost(scheme, &positions, type_of(spec));
        cost += distances * elements_of(&spec->w_r) * product_of(spec);
    }
    return cost;
}

void pe_attention_cost_set(const struct pe_attention_spec *spec, struct pe_output *result)
{
    const double logits = (double)result->rows * pe_visible_keys_estimate(spec);
    const double elements = (double)result->rows * (double)result->row_elements;
    /* Scores and weights also have elements for keys that are not visible. */
    const bool writes_hidden = spec->output != PE_ATTENTION_OUTPUT &&
                               pe_visible_keys_estimate(spec) < (double)spec->k.shape[2];
    const double hidden = writes_hidden ? SCORE : 0;

    result->element_work = elements > 0 ? logits * logit_cost(spec) / elements + hidden : 0;
    result->once_work = packing_cost(spec);
}
