/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/config/config.h"
#include "api/routes/comparison_report.h"
#include "posenc/rotation.h"

/* A posted tensor that is the rotation of another one beside an encoding: q_rotated of q. The
 * encoding's side becomes q as the service rotates it, and the rest of a comparison need not know.
 */

static const char ending[] = "_rotated";

/* ---- which ----------------------------------------------------------------------------------- */

/* The tensor "q" where this one is "q_rotated"; NULL: there is none. */
static const struct api_tensor *source_of(struct api_request *request,
                                          const struct api_tensor *rotated)
{
    const size_t size = rotated ? strlen(rotated->name) : 0, end = sizeof(ending) - 1;

    if (size <= end || strcmp(rotated->name + size - end, ending) != 0)
        return NULL;
    for (size_t i = 0; i < request->tensors_count; i++)
        if (strlen(request->tensors[i].name) == size - end &&
            memcmp(request->tensors[i].name, rotated->name, size - end) == 0)
            return &request->tensors[i];
    return NULL;
}

void comparison_rotated_find(struct comparison_state *state)
{
    struct comparison_rotated *rotated = &state->rotated;

    for (size_t i = 0; i < 2; i++) {
        const struct api_side *side = &state->sides[i], *other = &state->sides[1 - i];
        if (side->tensor || !other->tensor || other->is_cache ||
            !pe_encoding_has(side->encoding, PE_KIND_ROTARY))
            continue;
        rotated->side = i;
        rotated->source = source_of(state->request, other->tensor);
        state->sides[0].is_rotation = state->sides[1].is_rotation = rotated->source;
    }
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static enum pe_status tensors_check(const struct comparison_state *state, struct pe_error *err)
{
    const struct pe_tensor *from = &state->rotated.source->tensor,
                           *to = &state->sides[1 - state->rotated.side].tensor->tensor;
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%.80s", state->rotated.source->name);
    if (!pe_dtype_is_float(from->dtype))
        return pe_fail(err, PE_UNSUPPORTED, where, "%.60s must be floating point; got %s",
                       state->rotated.source->name, pe_dtype_info(from->dtype)->name);
    if (from->rank != to->rank || from->rank < 2 || from->shape[from->rank - 1] == 0 ||
        memcmp(from->shape, to->shape, from->rank * sizeof(*from->shape)) != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%.60s and its rotation have one shape, of rank 2 to 6 (axes, of four bhsd "
                       "if absent)",
                       state->rotated.source->name);
    return PE_OK;
}

/* Axes of a cache: those before b, as layers are, are slabs of their own, because each batch row
 * may have positions of its own. */
static enum pe_status cache_axes_read(struct comparison_rotated *rotated, const char *letters,
                                      struct pe_error *err)
{
    const struct pe_tensor *tensor = &rotated->source->tensor;
    const char *s, *b;
    struct pe_kv_axes axes;

    if (pe_kv_axes_parse(&axes, letters, tensor, err))
        return err->status;
    s = strchr(axes.letters, 's');
    b = strchr(axes.letters, 'b');
    if (!s)
        return pe_fail(err, PE_INVALID, "parameter:axes", "axes of a rotation have an s");
    rotated->axes =
        (struct pe_axes){1, 1, pe_kv_axes_length(&axes, 's'), 1, axes.shape[axes.rank - 1]};
    for (const char *at = axes.letters; at < axes.letters + axes.rank - 1; at++) {
        size_t *part = at > s                 ? &rotated->axes.heads_inner
                       : b && b < s && at < b ? &rotated->slabs
                                              : &rotated->axes.heads_outer;
        if (at == b && b < s)
            part = &rotated->axes.batch;
        *part *= at == s ? 1 : axes.shape[at - axes.letters];
    }
    return PE_OK;
}

static enum pe_status axes_read(struct comparison_state *state, struct pe_error *err)
{
    struct comparison_rotated *rotated = &state->rotated;
    const struct pe_params *params = &state->sides[rotated->side].params;
    const struct pe_tensor *tensor = &rotated->source->tensor;
    const struct pe_value *axes = pe_param_value(&state->params, "axes");
    const char *letters = axes->given ? axes->text : NULL;

    rotated->slabs = 1;
    return tensor->rank > 3
               ? cache_axes_read(rotated, letters, err)
               : pe_axes_parse(
                     &rotated->axes, letters, tensor,
                     pe_param_given(params, "dim") ? (size_t)pe_param_number(params, "dim") : 0,
                     err);
}

/* The encoding's side has the shape of the tensor, whose data come later. */
enum pe_status comparison_rotated_open(struct comparison_state *state, struct pe_error *err)
{
    struct comparison_rotated *rotated = &state->rotated;
    struct api_side *side = &state->sides[rotated->side];
    const struct pe_value *layout = pe_param_value(&side->layout, "layout");

    if (tensors_check(state, err))
        return err->status;
    if (!layout->present)
        return pe_fail(err, PE_MISSING, "parameter:layout",
                       "layout is required in the encoding of %s: " API_LAYOUT_DOC, side->key);
    if (axes_read(state, err) ||
        pe_params_infer(&side->params, "dim", (double)rotated->axes.head_dim, err) ||
        api_scheme_open(side->config, side->encoding, &side->params, state->request->work,
                        &side->scheme, err))
        return err->status;
    rotated->layout = (enum pe_layout)layout->number;
    rotated->pairs = pe_scheme_rotary_dim(side->scheme) / 2;
    rotated->made = *rotated->source;
    rotated->made.tensor.dtype = state->dtype;
    side->tensor = &rotated->made;
    return api_side_open(state->request, side, NULL, NULL, state->dtype, err);
}

/* Once the scheme is open, which tells how many coordinates a position has. */
enum pe_status comparison_rotated_places(struct comparison_state *state, struct pe_error *err)
{
    struct comparison_rotated *rotated = &state->rotated;
    const struct pe_scheme *scheme = state->sides[rotated->side].scheme;
    const char *name = rotated->source->name;
    char where[sizeof(err->where)];

    rotated->places.axes_count = pe_scheme_axes(scheme);
    if (api_places_fit(state->request, &rotated->places, &rotated->axes, name, &rotated->positions,
                       err))
        return err->status;
    rotated->is_key = strcmp(name, "k") == 0;
    if (!pe_scheme_scales(scheme) || rotated->is_key || strcmp(name, "q") == 0)
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%.80s", name);
    return pe_fail(err, PE_INVALID, where,
                   "%s rotates queries and keys differently: call the tensor q or k, not %.60s",
                   pe_encoding_info(pe_scheme_encoding(scheme))->name, name);
}

/* The token of an element, in memory order of all slabs. */
static size_t token_of(const struct comparison_rotated *rotated, size_t row)
{
    const struct pe_axes *axes = &rotated->axes;
    const struct pe_tensor *tensor = &rotated->source->tensor;

    return row * tensor->shape[tensor->rank - 1] / (axes->heads_inner * axes->head_dim);
}

double comparison_rotated_position(const struct comparison_state *state, size_t row)
{
    const struct comparison_rotated *rotated = &state->rotated;
    const struct pe_positions *positions = &rotated->positions;
    const struct pe_axes *axes = &rotated->axes;
    const size_t token = token_of(rotated, row), at = token % axes->sequence;
    const size_t batch = token / (axes->sequence * axes->heads_outer) % axes->batch;

    if (!positions->values)
        return positions->start + positions->step * (double)at;
    return positions->values[(positions->batch > 1 ? batch : 0) * positions->count + at];
}

/* ---- the rotation ---------------------------------------------------------------------------- */

static void source_read(const struct pe_tensor *from, char *to, enum pe_dtype dtype, size_t first,
                        size_t count)
{
    enum { CHUNK = 256 };
    const size_t size = pe_dtype_info(from->dtype)->size, to_size = pe_dtype_info(dtype)->size;
    double values[CHUNK];

    for (size_t at = first; at < first + count; at += CHUNK) {
        const size_t some = first + count - at < CHUNK ? first + count - at : CHUNK;
        pe_to_f64(values, (const char *)from->data + at * size, from->dtype, some);
        pe_from_f64(to + at * to_size, dtype, values, some);
    }
}

static enum pe_status tokens_rotate(const struct comparison_state *state,
                                    const struct pe_rotation *rotation, char *to,
                                    struct pe_error *err)
{
    enum { TOKENS = 256 };
    const struct comparison_rotated *rotated = &state->rotated;
    const struct pe_axes *axes = &rotated->axes;
    const size_t tokens = axes->batch * axes->heads_outer * axes->sequence;
    const size_t token = axes->heads_inner * axes->head_dim;
    const size_t slab = tokens * token * pe_dtype_info(state->dtype)->size;

    for (size_t i = 0; i < rotated->slabs; i++)
        for (size_t at = 0; at < tokens; at += TOKENS) {
            const size_t end = tokens - at < TOKENS ? tokens : at + TOKENS;
            source_read(&rotated->source->tensor, to, state->dtype, (i * tokens + at) * token,
                        (end - at) * token);
            if (pe_rotate(rotation, to + i * slab, axes, at, end, state->request->work, err))
                return err->status;
        }
    return PE_OK;
}

enum pe_status comparison_rotated_prepare(struct comparison_state *state, struct pe_error *err)
{
    struct comparison_rotated *rotated = &state->rotated;
    const struct pe_rotation_spec spec = {.size = sizeof(spec),
                                          .scheme = state->sides[rotated->side].scheme,
                                          .layout = rotated->layout,
                                          .output_layout = rotated->layout,
                                          .positions = rotated->positions,
                                          .is_key = rotated->is_key};
    struct pe_rotation *rotation;
    size_t count = 0;

    pe_shape_elements(rotated->made.tensor.shape, rotated->made.tensor.rank, &count);
    rotated->made.tensor.data =
        api_arena_take(state->request->arena, count * pe_dtype_info(state->dtype)->size + 1);
    if (!rotated->made.tensor.data)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a rotation");
    if (pe_rotation_new(&rotation, &spec, state->dtype, api_pool(state->request->api),
                        state->request->work, err))
        return err->status;
    tokens_rotate(state, rotation, rotated->made.tensor.data, err);
    pe_rotation_free(rotation);
    return err->status;
}

/* ---- tolerance ------------------------------------------------------------------------------- */

/* The columns of a pair. */
static void columns_of(const struct comparison_state *state, size_t pair, size_t columns[2])
{
    const size_t pairs = state->rotated.pairs;
    const bool half = state->rotated.layout == PE_LAYOUT_HALF;

    columns[0] = half ? pair : 2 * pair;
    columns[1] = half ? pair + pairs : 2 * pair + 1;
}

size_t comparison_rotated_pair(const struct comparison_state *state, size_t column)
{
    const size_t pairs = state->rotated.pairs;

    column %= state->rotated.axes.head_dim;
    return column >= 2 * pairs                       ? column
           : state->rotated.layout == PE_LAYOUT_HALF ? column % pairs
                                                     : column / 2;
}

static double element_of(const struct pe_tensor *tensor, size_t index)
{
    double value;

    pe_to_f64(&value, (const char *)tensor->data + index * pe_dtype_info(tensor->dtype)->size,
              tensor->dtype, 1);
    return value;
}

/* Rounds the two ends of an interval to the dtype of the posted values. */
static void ends_round(struct pe_interval *interval, enum pe_dtype dtype)
{
    double ends[2] = {interval->low, interval->high};
    double rounded[2];

    pe_from_f64(rounded, dtype, ends, 2);
    pe_to_f64(ends, rounded, dtype, 2);
    interval->low = ends[0];
    interval->high = ends[1];
}

/* Where the elements of a head stand: in a row of the tables, and among those of a stripe. */
struct head {
    size_t row, first, at;
};

/* The element of the source. */
static double source_of_head(const struct comparison_state *state, const struct head *head,
                             size_t column)
{
    const struct pe_tensor *tensor = &state->rotated.source->tensor;

    return element_of(tensor, head->row * tensor->shape[tensor->rank - 1] + head->first + column);
}

static void pair_judge(const struct comparison_state *state, struct comparison_stripe *stripe,
                       const struct head *head, size_t pair)
{
    const double position = comparison_rotated_position(state, head->row);
    struct pe_tolerance_pair turned;
    struct pe_interval intervals[2];
    size_t columns[2];

    columns_of(state, pair, columns);
    for (size_t i = 0; i < 2; i++)
        turned.x[i] = source_of_head(state, head, columns[i]);
    if (pe_tolerance_interval(state->tolerance, pair, position, false, PE_F64, &turned.cos) ||
        pe_tolerance_interval(state->tolerance, pair, position, true, PE_F64, &turned.sin))
        return;
    pe_tolerance_rotated(state->tolerance, &turned, intervals);
    for (size_t i = 0; i < 2; i++) {
        ends_round(&intervals[i], state->dtype);
        comparison_value_judge(state, stripe, head->row, head->at + columns[i], &intervals[i]);
    }
}

/* Columns that do not rotate are those of the source. */
static void still_judge(const struct comparison_state *state, struct comparison_stripe *stripe,
                        const struct head *head, size_t column)
{
    const double x = source_of_head(state, head, column);
    struct pe_interval interval = {x, x, x, 0};

    ends_round(&interval, state->dtype);
    comparison_value_judge(state, stripe, head->row, head->at + column, &interval);
}

void comparison_rotated_judge(const struct comparison_state *state,
                              struct comparison_stripe *stripe, size_t begin, size_t rows)
{
    const struct comparison_rotated *rotated = &state->rotated;
    const size_t width = state->sides[0].outputs->row_elements;

    for (size_t at = 0; at < rows * width; at += rotated->axes.head_dim) {
        const struct head head = {begin + at / width, at % width, at};
        for (size_t pair = 0; pair < rotated->pairs; pair++)
            pair_judge(state, stripe, &head, pair);
        for (size_t c = 2 * rotated->pairs; c < rotated->axes.head_dim; c++)
            still_judge(state, stripe, &head, c);
    }
}
