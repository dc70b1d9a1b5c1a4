/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/fail.h"

/* ---- q, k and v ---------------------------------------------------------------------------------
 */

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

/* Does attention take the encoding at all, and is the scheme made for these shapes? */
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

/* For pe_attention_shape, before any work, and for pe_attention_new once more, because a program
 * need not have asked. */
enum pe_status pe_attention_shapes_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    return shapes_check(spec, err) || scheme_check(spec, err) ||
                   pe_attention_options_check(spec, err)
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

/* ---- vectors of distances -------------------------------------------------------------------- */

/* [rows, columns], as `shape` says in words */
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

/* Refuses tensors of another encoding than this one. */
static enum pe_status strangers_check(const struct pe_attention_spec *spec, struct pe_error *err)
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

/* The scheme's own vectors serve keys and values alike. */
static enum pe_status made_check(const struct pe_attention_spec *spec, struct pe_error *err)
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
        return made_check(spec, err);
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

    if (strangers_check(spec, err))
        return err->status;
    if (!encoding || !encoding->relative)
        return PE_OK;
    return encoding->relative->clipped ? clipped_check(spec, err) : by_distance_check(spec, err);
}

enum pe_status pe_attention_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    return tensors_check(spec, err) || relatives_check(spec, err) ? err->status : PE_OK;
}
