/* SPDX-License-Identifier: MIT */
/* Checks of all that a spec may have beside q, k, v and a scheme: numbers and shapes. */

#include <math.h>
#include <stdio.h>

#include "core/attention/attention.h"
#include "core/base/fail.h"

#define POSITION_MAX (0x1p53 - 1)

/* ---- numbers --------------------------------------------------------------------------------- */

static enum pe_status numbers_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_temperature *t = &spec->temperature;
    const struct {
        const char *name;
        double value, least, most;
    } numbers[] = {
        {"softcap", spec->softcap, spec->softcap == 0 ? 0 : 1e-30, 1e30},
        {"norm_epsilon", spec->norm_epsilon, 0, 1},
        {"norm_offset", spec->norm_offset, -1e30, 1e30},
        {"temperature_strength", t->strength, -1e30, 1e30},
        {"temperature_length", t->length, t->strength == 0 ? 0 : 1, POSITION_MAX},
        {"temperature_offset", t->offset, -POSITION_MAX, POSITION_MAX},
        {"window_left", spec->has_window ? (double)spec->window_left : 0, -1, POSITION_MAX},
        {"window_right", spec->has_window ? (double)spec->window_right : 0, -1, POSITION_MAX},
    };
    char where[40];

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!(numbers[i].value >= numbers[i].least && numbers[i].value <= numbers[i].most)) {
            snprintf(where, sizeof(where), "parameter:%s", numbers[i].name);
            return pe_fail(err, PE_OUT_OF_RANGE, where, "%s must be between %g and %.17g, got %g",
                           numbers[i].name, numbers[i].least, numbers[i].most, numbers[i].value);
        }
    if ((unsigned)spec->norm > PE_NORM_AFTER)
        return pe_fail(err, PE_INVALID, "parameter:norm", "a norm is none, before or after");
    return PE_OK;
}

/* Options that would have no effect are refused. */
static enum pe_status idle_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;
    const char *name = encoding ? encoding->info.name : "none";
    const bool turns = encoding && encoding->rotary;

    if (spec->bias_before_scale && !(encoding && pe_bias_is_known(encoding)))
        return pe_fail(err, PE_CONFLICT, "parameter:bias_before_scale",
                       "bias_before_scale is about the bias of an encoding such as alibi, and %s "
                       "adds none",
                       name);
    if (spec->norm == PE_NORM_NONE && (spec->q_norm.rank > 0 || spec->k_norm.rank > 0))
        return pe_fail(err, PE_CONFLICT, spec->q_norm.rank > 0 ? "tensor:q_norm" : "tensor:k_norm",
                       "q_norm and k_norm are weights of a norm, and norm is none; say before or "
                       "after the rotation");
    if (spec->positions.count > 0 && !turns && spec->temperature.strength == 0)
        return pe_fail(err, PE_CONFLICT, "parameter:positions",
                       "positions say where q and k are turned, and %s turns nothing; query_start "
                       "says where the queries stand among the keys",
                       name);
    if (spec->key_positions.count > 0 && !turns)
        return pe_fail(err, PE_CONFLICT, "parameter:key_positions",
                       "key_positions say where k is turned, and %s turns nothing", name);
    return PE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Is it of a dtype that goes with q's, without rounding, and has it data? */
static enum pe_status beside_check(const struct pe_attention_spec *spec,
                                   const struct pe_tensor *tensor, const char *name,
                                   bool may_be_bool, struct pe_error *err)
{
    const enum pe_dtype q = spec->q.dtype;
    char where[40];
    size_t count;

    snprintf(where, sizeof(where), "tensor:%s", name);
    if (tensor->dtype != q && !(tensor->dtype == PE_F32 && (q == PE_F16 || q == PE_BF16)))
        return pe_fail(err, PE_INVALID, where, "%s is %s, q is %s; it must have the dtype of q%s%s",
                       name, pe_dtype_name(tensor->dtype), pe_dtype_name(q),
                       q == PE_F16 || q == PE_BF16 ? ", or f32" : "",
                       may_be_bool ? ", or be bool, where false hides a key" : "");
    if (!pe_shape_elements(tensor->shape, tensor->rank, &count))
        return pe_fail(err, PE_TOO_LARGE, where, "the size of %s does not fit in 63 bits", name);
    if (count > 0 && !tensor->data)
        return pe_fail(err, PE_INVALID, where, "%s has no data", name);
    return PE_OK;
}

static enum pe_status vector_check(const struct pe_attention_spec *spec,
                                   const struct pe_tensor *tensor, const char *name,
                                   const char *axis, size_t length, struct pe_error *err)
{
    char where[40];

    if (tensor->rank == 0)
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%s", name);
    if (tensor->rank != 1 || tensor->shape[0] != length)
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s must be [%s] = [%zu]", name, axis,
                       length);
    return beside_check(spec, tensor, name, false, err);
}

/* Of [b, h, s, n], the last axes, each whole or 1. */
static enum pe_status broadcast_check(const struct pe_attention_spec *spec,
                                      const struct pe_tensor *tensor, const char *name,
                                      bool may_be_bool, struct pe_error *err)
{
    const size_t full[] = {spec->q.shape[0], spec->q.shape[1], spec->q.shape[2], spec->k.shape[2]};
    bool fits = tensor->rank <= 4;
    char where[40];

    if (tensor->rank == 0)
        return PE_OK;
    for (unsigned i = 0; fits && i < tensor->rank; i++)
        fits = tensor->shape[i] == 1 || tensor->shape[i] == full[4 - tensor->rank + i];
    snprintf(where, sizeof(where), "tensor:%s", name);
    if (!fits)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s must have the last axes of [batch, heads, queries, keys] = [%zu, %zu, "
                       "%zu, %zu], each whole or 1%s",
                       name, full[0], full[1], full[2], full[3],
                       tensor->rank == 2 ? "; one row for each of the batch is [batch, 1, 1, keys]"
                                         : "");
    if (may_be_bool && tensor->dtype == PE_BOOL)
        return tensor->data ? PE_OK : pe_fail(err, PE_INVALID, where, "%s has no data", name);
    return beside_check(spec, tensor, name, may_be_bool, err);
}

/* ---- packed sequences ------------------------------------------------------------------------ */

static enum pe_status ends_check(const struct pe_tensor *ends, const char *name,
                                 struct pe_error *err)
{
    char where[40];

    snprintf(where, sizeof(where), "tensor:%s", name);
    if (ends->rank != 1 || ends->shape[0] == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s must be one list, from 0 to the number of tokens", name);
    if (ends->dtype == PE_F16 || ends->dtype == PE_BF16 || ends->dtype == PE_BOOL ||
        (unsigned)ends->dtype >= PE_DTYPES)
        return pe_fail(err, PE_INVALID, where, "%s must be i32, i64, u32, u8, f32 or f64", name);
    return ends->data ? PE_OK : pe_fail(err, PE_INVALID, where, "%s has no data", name);
}

static enum pe_status packed_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_tensor *ends = &spec->cu_seqlens, *of_keys = &spec->cu_seqlens_k;

    if (ends->rank == 0 && of_keys->rank > 0)
        return pe_fail(err, PE_MISSING, "tensor:cu_seqlens",
                       "cu_seqlens_k packs the keys; the queries need cu_seqlens");
    if (ends->rank == 0)
        return PE_OK;
    if (ends_check(ends, "cu_seqlens", err) ||
        (of_keys->rank > 0 && ends_check(of_keys, "cu_seqlens_k", err)))
        return err->status;
    if (spec->q.shape[0] != 1)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:cu_seqlens",
                       "cu_seqlens is for sequences packed along one axis; q has batch %zu",
                       spec->q.shape[0]);
    if (!isnan(spec->query_start))
        return pe_fail(err, PE_CONFLICT, "parameter:query_start",
                       "cu_seqlens says where queries stand: the last of a sequence at its last "
                       "key; leave out query_start");
    if (of_keys->rank == 0 && spec->q.shape[2] != spec->k.shape[2])
        return pe_fail(err, PE_MISSING, "tensor:cu_seqlens_k",
                       "there are %zu queries and %zu keys: cu_seqlens is for the queries, and the "
                       "keys need cu_seqlens_k",
                       spec->q.shape[2], spec->k.shape[2]);
    if (of_keys->rank > 0 && of_keys->shape[0] != ends->shape[0])
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:cu_seqlens_k",
                       "cu_seqlens_k has %zu entries, cu_seqlens %zu", of_keys->shape[0],
                       ends->shape[0]);
    return PE_OK;
}

/* ---- positions ------------------------------------------------------------------------------- */

static enum pe_status positions_check(const struct pe_positions *positions, const char *name,
                                      const struct pe_tensor *tensor, const char *of,
                                      struct pe_error *err)
{
    char where[40];

    if (positions->count == 0)
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    if (positions->count != tensor->shape[2])
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s are %zu, and %s has %zu tokens", name,
                       positions->count, of, tensor->shape[2]);
    if (positions->batch > 1 && positions->batch != tensor->shape[0])
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu rows, and the batch is %zu: one row for all, or one each", name,
                       positions->batch, tensor->shape[0]);
    return PE_OK;
}

static enum pe_status places_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const bool turns = spec->scheme && spec->scheme->encoding->rotary;
    const bool queries = spec->positions.count > 0, keys = spec->key_positions.count > 0;

    if (positions_check(&spec->positions, "positions", &spec->q, "q", err) ||
        positions_check(&spec->key_positions, "key_positions", &spec->k, "k", err))
        return err->status;
    if (keys && !queries && spec->q.shape[2] > 0)
        return pe_fail(err, PE_MISSING, "parameter:positions",
                       "key_positions are those of k; q needs positions too");
    if (turns && queries && !keys && spec->q.shape[2] != spec->k.shape[2])
        return pe_fail(err, PE_MISSING, "parameter:key_positions",
                       "positions are those of %zu queries; %zu keys need key_positions",
                       spec->q.shape[2], spec->k.shape[2]);
    if (spec->temperature.strength != 0 && spec->positions.axes > 1)
        return pe_fail(err, PE_CONFLICT, "parameter:temperature_length",
                       "a temperature looks at one number, and positions have %zu coordinates",
                       spec->positions.axes);
    return PE_OK;
}

/* ---- DeBERTa --------------------------------------------------------------------------------- */

static enum pe_status rows_check(const struct pe_attention_spec *spec,
                                 const struct pe_tensor *tensor, const char *name,
                                 struct pe_error *err)
{
    const size_t rows = spec->scheme->encoding->bias->vectors_count(spec->scheme);
    const size_t width = spec->q.shape[1] * spec->q.shape[3];
    char where[40];

    if (tensor->rank == 0)
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%s", name);
    if (tensor->rank != 2 || tensor->shape[0] != rows || tensor->shape[1] != width)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s must be [2 * position_buckets, heads * head_dim] = [%zu, %zu]", name,
                       rows, width);
    return beside_check(spec, tensor, name, false, err);
}

static enum pe_status disentangled_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const bool some = spec->pos_key.rank > 0 || spec->pos_query.rank > 0;

    if (!pe_attention_disentangles(spec)) {
        if (!some)
            return PE_OK;
        return pe_fail(err, PE_CONFLICT,
                       spec->pos_key.rank > 0 ? "tensor:pos_key" : "tensor:pos_query",
                       "pos_key and pos_query are the rows of distances of deberta-log, not of %s",
                       spec->scheme ? spec->scheme->encoding->info.name : "none");
    }
    if (!some)
        return pe_fail(err, PE_MISSING, "tensor:pos_key",
                       "%s needs the rows of distances that queries meet (c2p), pos_key, or those "
                       "that keys meet (p2c), pos_query: [%zu, %zu]",
                       spec->scheme->encoding->info.name,
                       spec->scheme->encoding->bias->vectors_count(spec->scheme),
                       spec->q.shape[1] * spec->q.shape[3]);
    return rows_check(spec, &spec->pos_key, "pos_key", err) ||
                   rows_check(spec, &spec->pos_query, "pos_query", err)
               ? err->status
               : PE_OK;
}

enum pe_status pe_attention_options_check(const struct pe_attention_spec *spec,
                                          struct pe_error *err)
{
    const size_t width = spec->q.shape[3];

    return numbers_check(spec, err) || idle_check(spec, err) || packed_check(spec, err) ||
                   places_check(spec, err) || disentangled_check(spec, err) ||
                   vector_check(spec, &spec->q_norm, "q_norm", "d", width, err) ||
                   vector_check(spec, &spec->k_norm, "k_norm", "d", width, err) ||
                   vector_check(spec, &spec->sinks, "sinks", "heads", spec->q.shape[1], err) ||
                   broadcast_check(spec, &spec->mask, "mask", true, err) ||
                   broadcast_check(spec, &spec->bias, "bias", false, err)
               ? err->status
               : PE_OK;
}
