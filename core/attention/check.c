/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/errors.h"

#define POSITION_MAX (0x1p53 - 1)

/* ---- q, k and v ------------------------------------------------------------------------------ */

static bool is_absent(const struct pe_tensor *tensor)
{
    return tensor->rank == 0;
}

static enum pe_status matrix_check(const struct pe_tensor *tensor, const struct pe_tensor *q,
                                   const char *name, struct pe_error *err)
{
    char where[16] = "tensor:";
    size_t count;

    strcat(where, name);
    if (is_absent(tensor))
        return pe_fail(err, PE_MISSING, where, "attention needs the tensor %s%s", name,
                       strcmp(name, "v") == 0 ? "; its scores and weights do not" : "");
    if (tensor->rank != 4)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s must have 4 dimensions [batch, heads, length, head_dim], it has %u",
                       name, tensor->rank);
    if (!pe_dtype_is_float(tensor->dtype))
        return pe_fail(err, PE_UNSUPPORTED, where, "%s is %s; f64, f32, f16 and bf16 can be used",
                       name, pe_dtype_name(tensor->dtype));
    if (tensor->dtype != q->dtype)
        return pe_fail(err, PE_INVALID, where, "%s is %s, q is %s; all tensors need one dtype",
                       name, pe_dtype_name(tensor->dtype), pe_dtype_name(q->dtype));
    if (!pe_shape_elements(tensor->shape, 4, &count))
        return pe_fail(err, PE_TOO_LARGE, where, "the size of %s does not fit in 63 bits", name);
    return PE_OK;
}

static enum pe_status axis_check(const struct pe_tensor *tensor, const char *name, unsigned axis,
                                 const char *axis_name, size_t expected, const char *like,
                                 struct pe_error *err)
{
    char where[16] = "tensor:";

    strcat(where, name);
    if (tensor->shape[axis] == expected)
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s of %s is %zu, expected %zu as in %s",
                   axis_name, name, tensor->shape[axis], expected, like);
}

static enum pe_status heads_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const size_t heads = spec->q.shape[1], kv_heads = spec->k.shape[1];

    if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:k",
                       "q has %zu heads, which is not a multiple of the %zu heads of k", heads,
                       kv_heads);
    const size_t made = spec->scheme ? pe_bias_heads(spec->scheme) : 0;
    if (made && made != heads)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q", "q has %zu heads, %s was made for %zu",
                       heads, spec->scheme->encoding->info.name, made);
    return PE_OK;
}

static enum pe_status shapes_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_tensor *q = &spec->q, *k = &spec->k, *v = &spec->v;

    if ((unsigned)spec->output > PE_ATTENTION_OUTPUT)
        return pe_fail(err, PE_INVALID, "parameter:output",
                       "the output is scores, weights or output");
    if ((unsigned)spec->layout > PE_LAYOUT_INTERLEAVED)
        return pe_fail(err, PE_INVALID, "parameter:layout", "a layout is half or interleaved");
    if (matrix_check(q, q, "q", err) || matrix_check(k, q, "k", err) ||
        axis_check(k, "k", 0, "the batch", q->shape[0], "q", err) ||
        axis_check(k, "k", 3, "head_dim", q->shape[3], "q", err) || heads_check(spec, err))
        return err->status;
    if (q->shape[3] == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q", "head_dim of q must be at least 1");
    if (spec->output != PE_ATTENTION_OUTPUT)
        return PE_OK;
    if (matrix_check(v, q, "v", err) || axis_check(v, "v", 0, "the batch", k->shape[0], "k", err) ||
        axis_check(v, "v", 1, "the number of heads", k->shape[1], "k", err) ||
        axis_check(v, "v", 2, "the length", k->shape[2], "k", err))
        return err->status;
    return PE_OK;
}

/* The encoding must be one of attention's, and the scheme made for these shapes. */
static enum pe_status scheme_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_scheme *scheme = spec->scheme;

    if (!scheme)
        return PE_OK;
    const struct pe_encoding *encoding = scheme->encoding;
    if (pe_weights_lack(scheme))
        return pe_fail(err, PE_MISSING, "tensor:weights", "%s needs the tensor weights [%zu, %zu]",
                       encoding->info.name, encoding->bias->buckets_count(scheme),
                       spec->q.shape[1]);
    if (encoding->rotary && encoding->rotary->axes && !encoding->rotary->axes->alike &&
        spec->positions.count == 0 && spec->q.shape[2] > 0)
        return pe_fail(err, PE_MISSING, "parameter:positions",
                       "%s turns by the coordinates %s: attention needs positions [%zu, s]",
                       encoding->info.name, encoding->rotary->axes->names,
                       pe_rotary_of(scheme)->axes_count);
    if (!pe_attention_takes(encoding))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding", "%s is a table%s",
                       encoding->info.name,
                       encoding->bias ? " of buckets, and no more is known here"
                                      : ": add it to the embeddings before q and k are made, and "
                                        "use the encoding none here");
    if (encoding->rotary && pe_rotary_of(scheme)->head_dim != spec->q.shape[3])
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q",
                       "head_dim of q is %zu, %s was made for dim %zu", spec->q.shape[3],
                       encoding->info.name, pe_rotary_of(scheme)->head_dim);
    return PE_OK;
}

/* ---- vectors of distances -------------------------------------------------------------------- */

/* The tensor must be [rows, columns]; `shape` names these axes. */
static enum pe_status table_check(const struct pe_tensor *tensor, const char *name,
                                  const char *shape, size_t rows, size_t columns,
                                  const struct pe_tensor *q, struct pe_error *err)
{
    char where[24];

    snprintf(where, sizeof(where), "tensor:%s", name);
    if (tensor->rank != 2 || tensor->shape[0] != rows || tensor->shape[1] != columns)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s must be %s = [%zu, %zu], it has %u dimensions%s %zu x %zu", name, shape,
                       rows, columns, tensor->rank, tensor->rank < 2 ? "," : ":", tensor->shape[0],
                       tensor->rank < 2 ? 1 : tensor->shape[1]);
    if (tensor->dtype != q->dtype)
        return pe_fail(err, PE_INVALID, where, "%s is %s, q is %s; all tensors need one dtype",
                       name, pe_dtype_name(tensor->dtype), pe_dtype_name(q->dtype));
    if (!tensor->data)
        return pe_fail(err, PE_INVALID, where, "%s has no data", name);
    return PE_OK;
}

/* Refuses tensors of other encodings. */
static enum pe_status foreign_tensors_check(const struct pe_attention_spec *spec,
                                            struct pe_error *err)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;
    const bool clips = encoding && pe_clipped_of(encoding);
    const bool by_distance = encoding && pe_distances_of(encoding);
    const struct {
        const char *name, *owner;
        const struct pe_tensor *tensor;
        bool known;
    } tensors[] = {{"rel_k", "shaw", &spec->rel_k, clips},
                   {"rel_v", "shaw", &spec->rel_v, clips},
                   {"w_r", "transformer-xl", &spec->w_r, by_distance},
                   {"pos_bias_u", "transformer-xl", &spec->pos_bias_u, by_distance},
                   {"pos_bias_v", "transformer-xl", &spec->pos_bias_v, by_distance}};
    char where[24];

    for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
        if (tensors[i].tensor->rank == 0 || tensors[i].known)
            continue;
        snprintf(where, sizeof(where), "tensor:%s", tensors[i].name);
        return pe_fail(err, PE_CONFLICT, where,
                       "%s belongs to a relative encoding such as %s, not to %s", tensors[i].name,
                       tensors[i].owner, encoding ? encoding->info.name : "none");
    }
    return PE_OK;
}

/* The vectors that a scheme computes serve as rel_k and as rel_v. */
static enum pe_status computed_vectors_check(const struct pe_attention_spec *spec,
                                             struct pe_error *err)
{
    const struct pe_scheme *scheme = spec->scheme;
    const size_t dim = scheme->encoding->rows->width(scheme);
    const bool values = spec->output == PE_ATTENTION_OUTPUT;

    if (spec->rel_k.rank > 0 || spec->rel_v.rank > 0)
        return pe_fail(err, PE_CONFLICT, spec->rel_k.rank > 0 ? "tensor:rel_k" : "tensor:rel_v",
                       "the vectors of this %s are made, not learned; leave rel_k and rel_v out",
                       scheme->encoding->info.name);
    if (spec->q.shape[3] != dim || (values && spec->v.shape[3] != dim))
        return pe_fail(err, PE_SHAPE_MISMATCH, spec->q.shape[3] != dim ? "tensor:q" : "tensor:v",
                       "%s has %zu columns, the vectors of %s have %zu",
                       spec->q.shape[3] != dim ? "q" : "v",
                       spec->q.shape[3] != dim ? spec->q.shape[3] : spec->v.shape[3],
                       scheme->encoding->info.name, dim);
    return PE_OK;
}

static enum pe_status clipped_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    static const char shape[] = "[2 * max_relative_position + 1, head_dim]";
    const struct pe_scheme *scheme = spec->scheme;
    const struct pe_clipped *clipped = pe_clipped_of(scheme->encoding);
    const size_t rows = 2 * clipped->clip(scheme) + 1;

    if (clipped->makes_vectors(scheme))
        return computed_vectors_check(spec, err);
    if (spec->rel_k.rank == 0)
        return pe_fail(err, PE_MISSING, "tensor:rel_k", "%s needs the tensor rel_k [%zu, %zu]",
                       scheme->encoding->info.name, rows, spec->q.shape[3]);
    if (table_check(&spec->rel_k, "rel_k", shape, rows, spec->q.shape[3], &spec->q, err))
        return err->status;
    if (spec->output != PE_ATTENTION_OUTPUT || spec->rel_v.rank == 0)
        return PE_OK;
    return table_check(&spec->rel_v, "rel_v", shape, rows, spec->v.shape[3], &spec->q, err);
}

static enum pe_status by_distance_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_scheme *scheme = spec->scheme;
    const size_t heads = spec->q.shape[1], head_dim = spec->q.shape[3];
    const size_t dim = scheme->encoding->rows->width(scheme);

    if (pe_distances_of(scheme->encoding)->past_only(scheme) && !spec->causal)
        return pe_fail(err, PE_CONFLICT, "parameter:direction",
                       "direction=past has no rows for keys behind a query; ask for causal or for "
                       "direction=both");
    if (spec->w_r.rank == 0 && dim != head_dim)
        return pe_fail(err, PE_MISSING, "tensor:w_r",
                       "rows of dim=%zu meet queries of %zu columns through the tensor w_r [%zu, "
                       "%zu]",
                       dim, head_dim, heads * head_dim, dim);
    if ((spec->w_r.rank > 0 && table_check(&spec->w_r, "w_r", "[heads * head_dim, dim]",
                                           heads * head_dim, dim, &spec->q, err)) ||
        (spec->pos_bias_u.rank > 0 &&
         table_check(&spec->pos_bias_u, "pos_bias_u", "[heads, head_dim]", heads, head_dim,
                     &spec->q, err)) ||
        (spec->pos_bias_v.rank > 0 &&
         table_check(&spec->pos_bias_v, "pos_bias_v", "[heads, head_dim]", heads, head_dim,
                     &spec->q, err)))
        return err->status;
    return PE_OK;
}

static enum pe_status relatives_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;

    if (foreign_tensors_check(spec, err))
        return err->status;
    if (!encoding || !encoding->relative)
        return PE_OK;
    return encoding->relative->clipped ? clipped_check(spec, err) : by_distance_check(spec, err);
}

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

/* Refuses options that would have no effect. */
static enum pe_status unused_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;
    const char *name = encoding ? encoding->info.name : "none";
    const bool rotates = encoding && encoding->rotary;

    if (spec->bias_before_scale && !(encoding && pe_bias_is_known(encoding)))
        return pe_fail(err, PE_CONFLICT, "parameter:bias_before_scale",
                       "bias_before_scale is about the bias of an encoding such as alibi, and %s "
                       "adds none",
                       name);
    if (spec->norm == PE_NORM_NONE && (spec->q_norm.rank > 0 || spec->k_norm.rank > 0))
        return pe_fail(err, PE_CONFLICT, spec->q_norm.rank > 0 ? "tensor:q_norm" : "tensor:k_norm",
                       "q_norm and k_norm are weights of a norm, and norm is none; say before or "
                       "after the rotation");
    if (spec->positions.count > 0 && !rotates && spec->temperature.strength == 0)
        return pe_fail(err, PE_CONFLICT, "parameter:positions",
                       "positions say where q and k are turned, and %s turns nothing; query_start "
                       "says where the queries stand among the keys",
                       name);
    if (spec->key_positions.count > 0 && !rotates)
        return pe_fail(err, PE_CONFLICT, "parameter:key_positions",
                       "key_positions say where k is turned, and %s turns nothing", name);
    return PE_OK;
}

/* ---- tensors beside q, k and v --------------------------------------------------------------- */

/* The dtype must be q's, or one that holds q's without rounding; and there must be data. */
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

/* The shape must be the last axes of [b, h, s, n], each full or 1. */
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

static enum pe_status token_positions_check(const struct pe_attention_spec *spec,
                                            struct pe_error *err)
{
    const bool rotates = spec->scheme && spec->scheme->encoding->rotary;
    const bool queries = spec->positions.count > 0, keys = spec->key_positions.count > 0;

    if (positions_check(&spec->positions, "positions", &spec->q, "q", err) ||
        positions_check(&spec->key_positions, "key_positions", &spec->k, "k", err))
        return err->status;
    if (keys && !queries && spec->q.shape[2] > 0)
        return pe_fail(err, PE_MISSING, "parameter:positions",
                       "key_positions are those of k; q needs positions too");
    if (rotates && queries && !keys && spec->q.shape[2] != spec->k.shape[2])
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

    if (!pe_is_disentangled(spec)) {
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

static enum pe_status options_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const size_t width = spec->q.shape[3];

    return numbers_check(spec, err) || unused_check(spec, err) || packed_check(spec, err) ||
                   token_positions_check(spec, err) || disentangled_check(spec, err) ||
                   vector_check(spec, &spec->q_norm, "q_norm", "d", width, err) ||
                   vector_check(spec, &spec->k_norm, "k_norm", "d", width, err) ||
                   vector_check(spec, &spec->sinks, "sinks", "heads", spec->q.shape[1], err) ||
                   broadcast_check(spec, &spec->mask, "mask", true, err) ||
                   broadcast_check(spec, &spec->bias, "bias", false, err)
               ? err->status
               : PE_OK;
}

/* ---- all of a spec --------------------------------------------------------------------------- */

enum pe_status pe_attention_shapes_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    return shapes_check(spec, err) || scheme_check(spec, err) || options_check(spec, err)
               ? err->status
               : PE_OK;
}

static enum pe_status tensors_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    static const char *const where[] = {"tensor:q", "tensor:k", "tensor:v"};
    const struct pe_tensor *tensors[] = {&spec->q, &spec->k, &spec->v};
    size_t count;

    if (pe_attention_shapes_check(spec, err))
        return err->status;
    if (spec->scheme && !spec->scheme->prepared)
        return pe_fail(err, PE_INVALID, "parameter:encoding",
                       "the scheme must be prepared before attention uses it");
    for (size_t i = 0; i < (spec->output == PE_ATTENTION_OUTPUT ? 3 : 2); i++)
        if (!tensors[i]->data && pe_shape_elements(tensors[i]->shape, 4, &count) && count > 0)
            return pe_fail(err, PE_INVALID, where[i], "%s has no data", where[i] + 7);
    return PE_OK;
}

enum pe_status pe_attention_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    return tensors_check(spec, err) || relatives_check(spec, err) ? err->status : PE_OK;
}
