/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"
#include "core/base/isa.h"
#include "core/scheme/bias.h"
#include "core/scheme/relative.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"

/* How long an attention takes, told by its shapes, in nanoseconds of one core. */

/* A product of two numbers and its addition; a logit that is made a weight, or left as it is; an
 * element that is read, rotated and packed. */
#define PRODUCT_F32 0.018
#define PRODUCT_F64 0.045
#define WEIGHT      0.8
#define SCORE       0.4
#define PACKED      1.5
/* An element of q or k that is normed or scaled; a logit that is capped, or to which one of a mask
 * or a bias is added; one that a row of distances is looked up for; an element looked at for NaN.
 */
#define TURNED   3.0
#define CAPPED   1.5
#define ADDED    2.5
#define GATHERED 1.5
#define SCANNED  1.0
/* Fused multiply-adds of a logit, of a weight and of a cap, which take longer where they are made
 * of doubles. */
#define FUSED_SCORE  1
#define FUSED_WEIGHT 10
#define FUSED_CAPPED 9
/* A logarithm of a position, by which queries are multiplied. */
#define FACTOR 400.0

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

/* Of a logit: its products, those with a vector of its distance, a bias that is made anew, its
 * weight. */
static double logit_work(const struct pe_attention_spec *spec)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;
    const bool weighs = spec->output != PE_ATTENTION_SCORES;
    double products = (double)spec->q.shape[3];
    double work = weighs ? WEIGHT : SCORE;
    const double fused =
        (weighs ? FUSED_WEIGHT : FUSED_SCORE) + (spec->softcap > 0 ? FUSED_CAPPED : 0);

    if (spec->output == PE_ATTENTION_OUTPUT)
        products += (double)spec->v.shape[3];
    if (encoding && encoding->relative) {
        products *= 2;
        work += WEIGHT;
    }
    if (pe_attention_disentangles(spec)) {
        products += (double)spec->q.shape[3] *
                    ((spec->pos_key.rank > 0) + 1.5 * (spec->pos_query.rank > 0));
        work += GATHERED * ((spec->pos_key.rank > 0) + 2 * (spec->pos_query.rank > 0));
    }
    work +=
        (spec->softcap > 0 ? CAPPED : 0) + ADDED * ((spec->mask.rank > 0) + (spec->bias.rank > 0));
    if (encoding && pe_bias_is_known(encoding))
        work += encoding->bias->by_distance ? SCORE : pe_bias_cost(spec->scheme, type_of(spec));
    return work + fused * fused_extra(spec) + products * product_of(spec);
}

/* Of what all rows share: packed keys and values, angles, biases and vectors by distance. */
static double packing_work(const struct pe_attention_spec *spec)
{
    const struct pe_scheme *scheme = spec->scheme;
    const struct pe_encoding *encoding = scheme ? scheme->encoding : NULL;
    const double distances = distances_of(spec);
    double work = PACKED * (elements_of(&spec->q) + elements_of(&spec->k) + elements_of(&spec->v));

    if (spec->norm != PE_NORM_NONE)
        work += TURNED * (elements_of(&spec->q) + elements_of(&spec->k));
    if (spec->temperature.strength != 0)
        work += TURNED * elements_of(&spec->q) +
                FACTOR * (double)spec->q.shape[2] *
                    (double)(spec->positions.batch > 1 ? spec->positions.batch : 1);
    work += SCANNED * (elements_of(&spec->mask) + elements_of(&spec->bias));
    work += PACKED * (elements_of(&spec->pos_key) + elements_of(&spec->pos_query));
    if (pe_attention_disentangles(spec))
        work += distances * PE_BUCKET_COST;
    if (encoding && encoding->rotary) {
        const struct pe_positions positions = {.step = 1, .count = spec->k.shape[2]};
        work += distances * (double)(spec->positions.batch > 1 ? spec->positions.batch : 1) * 2 *
                (double)pe_waves_of(scheme)->pairs *
                pe_rotary_cost(scheme, &positions, type_of(spec), true);
    }
    if (encoding && pe_bias_is_known(encoding) && encoding->bias->by_distance)
        work += distances * (double)spec->q.shape[1] * pe_bias_cost(scheme, type_of(spec));
    if (encoding && pe_bias_is_known(encoding) && encoding->bias->common_cost)
        work += distances * encoding->bias->common_cost(scheme, type_of(spec));
    if (encoding && pe_distances_of(encoding)) {
        const struct pe_positions positions = {.step = 1, .count = spec->k.shape[2]};
        work += distances * (double)encoding->rows->width(scheme) *
                pe_rows_cost(scheme, &positions, type_of(spec));
        work += distances * elements_of(&spec->w_r) * product_of(spec);
    }
    return work;
}

void pe_attention_work_tell(const struct pe_attention_spec *spec, struct pe_output *result)
{
    const double logits = (double)result->rows * pe_attention_keys_seen(spec);
    const double elements = (double)result->rows * (double)result->row_elements;
    /* Keys out of sight are written in scores and weights. */
    const bool writes = spec->output != PE_ATTENTION_OUTPUT &&
                        pe_attention_keys_seen(spec) < (double)spec->k.shape[2];
    const double hidden = writes ? SCORE : 0;

    result->element_work = elements > 0 ? logits * logit_work(spec) / elements + hidden : 0;
    result->once_work = packing_work(spec);
}
