/* SPDX-License-Identifier: MIT */
#include "api/routes/rotation_tensors.h"

#include <stdio.h>
#include <string.h>

/* A group of rows that every tensor's tokens divide; far above any real number of heads. */
enum { ROWS_TOGETHER_MAX = 1 << 16 };

/* ---- shapes --------------------------------------------------------------------------------- */

static enum pe_dtype wider(enum pe_dtype a, enum pe_dtype b)
{
    if (a == b)
        return a;
    return a == PE_F64 || b == PE_F64 ? PE_F64 : PE_F32;
}

static enum pe_status entry_read(struct rotation_state *state, const struct api_tensor *tensor,
                                 struct rotation_entry *entry, struct pe_error *err)
{
    const struct pe_value *axes = pe_param_value(&state->asked.params, "axes");
    const struct pe_value *dim = pe_param_value(&state->asked.encoding_params, "dim");
    char where[sizeof(err->where)], name[16];

    if (!pe_dtype_is_float(tensor->tensor.dtype)) {
        snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
        return pe_fail(err, PE_UNSUPPORTED, where, "%.60s must be floating point; got %s",
                       tensor->name, pe_dtype_info(tensor->tensor.dtype)->name);
    }
    if (tensor->tensor.rank > 0 && tensor->tensor.shape[tensor->tensor.rank - 1] == 0) {
        snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "axis d of tensor %.60s is 0", tensor->name);
    }
    if (axes->present)
        pe_choice_name(&state->asked.params.list[axes - state->asked.params.values],
                       (size_t)axes->number, name, sizeof(name));
    entry->tensor = tensor;
    if (pe_axes_parse(&entry->axes, axes->present ? name : NULL, &tensor->tensor,
                      dim->given ? (size_t)dim->number : 0, err) ||
        pe_params_infer(&state->asked.encoding_params, "dim", (double)(entry->axes.head_dim),
                        err) ||
        (state->asked.from &&
         pe_params_infer(&state->asked.from_params, "dim", (double)(entry->axes.head_dim), err)) ||
        api_request_dtype(state->request, false, tensor->tensor.dtype, &entry->out, err))
        return err->status;
    entry->arithmetic = wider(tensor->tensor.dtype, entry->out);
    /* Two rotations are rounded once. */
    if (state->asked.from && entry->arithmetic != PE_F64)
        entry->arithmetic = PE_F32;
    pe_shape_elements(tensor->tensor.shape, tensor->tensor.rank, &entry->elements);
    return PE_OK;
}

static void output_set(struct pe_output *output, struct rotation_entry *entry)
{
    const struct pe_tensor *tensor = &entry->tensor->tensor;

    output->name = entry->tensor->name;
    output->dtype = entry->out;
    output->rank = tensor->rank;
    memcpy(output->shape, tensor->shape, tensor->rank * sizeof(*output->shape));
    output->row_elements = tensor->shape[tensor->rank - 1];
    output->rows = entry->elements / output->row_elements; /* head_dim is 2 at least by now */
    entry->rows_per_token = entry->axes.heads_inner * entry->axes.head_dim / output->row_elements;
}

static bool is_table(const struct rotation_state *state, const struct api_tensor *tensor)
{
    return state->asked.spec.cos == &tensor->tensor || state->asked.spec.sin == &tensor->tensor;
}

/* Blocks of every tensor must hold whole tokens. */
static enum pe_status rows_group(struct rotation_state *state, struct pe_error *err)
{
    size_t together = 1;

    for (size_t i = 0; i < state->count; i++) {
        const size_t rows = state->entries[i].rows_per_token;
        size_t a = together, b = rows;
        while (b > 0) {
            const size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (rows > 0 &&
            (!pe_size_multiply(together / a, rows, &together) || together > ROWS_TOGETHER_MAX))
            return pe_fail(err, PE_UNSUPPORTED, "",
                           "the numbers of heads have no common multiple up to %d; send the "
                           "tensors one by one",
                           ROWS_TOGETHER_MAX);
    }
    state->rows_together = together;
    return PE_OK;
}

enum pe_status rotation_tensors_read(struct rotation_state *state, struct pe_error *err)
{
    struct api_request *request = state->request;
    const size_t room = request->tensors_count;

    state->entries = api_arena_take(request->arena, room * sizeof(*state->entries));
    state->outputs = api_arena_take(request->arena, room * sizeof(*state->outputs));
    state->in_place = api_arena_take(request->arena, room * sizeof(*state->in_place));
    if (!state->entries || !state->outputs || !state->in_place)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu tensors", room);
    for (size_t i = 0; i < request->tensors_count; i++) {
        const struct api_tensor *tensor = &request->tensors[i];
        struct rotation_entry *entry = &state->entries[state->count];
        if (api_places_hold(&state->asked.places, tensor->name) || is_table(state, tensor))
            continue;
        if (entry_read(state, tensor, entry, err))
            return err->status;
        output_set(&state->outputs[state->count++], entry);
    }
    return state->count > 0 ? rows_group(state, err)
                            : pe_fail(err, PE_MISSING, "parameter:tensors",
                                      "there is no tensor to rotate beside those that say how");
}

/* The scheme that rotates queries and keys differently, if one does. */
static const struct pe_scheme *scheme_apart(const struct rotation_state *state)
{
    if (state->asked.spec.cos)
        return NULL;
    if (pe_scheme_scales(state->scheme))
        return state->scheme;
    return state->from_scheme && pe_scheme_scales(state->from_scheme) ? state->from_scheme : NULL;
}

/* The name of a tensor must tell queries from keys where a scheme treats them differently. */
static enum pe_status entry_side(const struct rotation_state *state, struct rotation_entry *entry,
                                 struct pe_error *err)
{
    const struct pe_scheme *apart = scheme_apart(state);
    const char *name = entry->tensor->name;
    char where[sizeof(err->where)];

    entry->spec.is_key = entry->undo_spec.is_key = apart && strcmp(name, "k") == 0;
    if (!apart || entry->spec.is_key || strcmp(name, "q") == 0)
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%.80s", name);
    return pe_fail(err, PE_INVALID, where,
                   "%s rotates queries and keys differently: call the tensor q or k, not %.60s",
                   pe_encoding_info(pe_scheme_encoding(apart))->name, name);
}

/* The scheme tells how many coordinates a position has. */
enum pe_status rotation_tensors_place(struct rotation_state *state, struct pe_error *err)
{
    struct api_places *places = &state->asked.places;

    places->axes_count = state->asked.spec.cos ? 0 : pe_scheme_axes(state->scheme);
    if (state->from_scheme && pe_scheme_axes(state->from_scheme) > places->axes_count)
        places->axes_count = pe_scheme_axes(state->from_scheme);
    for (size_t i = 0; i < state->count; i++) {
        struct rotation_entry *entry = &state->entries[i];
        entry->spec = state->asked.spec;
        entry->undo_spec = state->asked.undo_spec;
        if (api_places_fit(state->request, places, &entry->axes, entry->tensor->name,
                           &entry->spec.positions, err) ||
            entry_side(state, entry, err))
            return err->status;
        entry->undo_spec.positions = entry->spec.positions;
    }
    return PE_OK;
}

/* ---- what takes time ------------------------------------------------------------------------ */

static enum pe_status entry_widen(struct rotation_state *state, struct rotation_entry *entry,
                                  struct pe_error *err)
{
    const struct pe_tensor *tensor = &entry->tensor->tensor;
    size_t size;

    entry->data = tensor->data;
    if (entry->arithmetic == tensor->dtype)
        return PE_OK;
    if (!pe_size_multiply(entry->elements, pe_dtype_info(entry->arithmetic)->size, &size) ||
        !(entry->data = api_arena_buffer(state->request->arena, size)))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to convert %.60s",
                       entry->tensor->name);
    if (entry->arithmetic == PE_F64)
        pe_to_f64((double *)(void *)entry->data, tensor->data, tensor->dtype, entry->elements);
    else
        pe_to_f32((float *)(void *)entry->data, tensor->data, tensor->dtype, entry->elements);
    return PE_OK;
}

/* Tensors of one dtype and the same tokens share cos and sin. */
static const struct rotation_entry *entry_like(const struct rotation_state *state,
                                               const struct rotation_entry *entry)
{
    for (const struct rotation_entry *at = state->entries; at < entry; at++)
        if (at->elements > 0 && at->arithmetic == entry->arithmetic &&
            at->spec.positions.count == entry->spec.positions.count &&
            at->spec.positions.batch == entry->spec.positions.batch &&
            at->spec.is_key == entry->spec.is_key)
            return at;
    return NULL;
}

enum pe_status rotation_tensors_find(struct rotation_state *state, bool *at_hand,
                                     struct pe_error *err)
{
    bool makes = false, undoes = false;

    for (size_t i = 0; i < state->count; i++) {
        struct rotation_entry *entry = &state->entries[i];
        if (entry->elements == 0 || entry_like(state, entry))
            continue;
        if ((state->asked.from && api_rotation_find(state->request, &entry->undo_spec,
                                                    entry->arithmetic, &entry->undo, err)) ||
            api_rotation_find(state->request, &entry->spec, entry->arithmetic, &entry->rotation,
                              err))
            return err->status;
        if (!entry->rotation.made)
            state->work += pe_rotation_work(&entry->spec, entry->arithmetic);
        if (state->asked.from && !entry->undo.made)
            state->work += pe_rotation_work(&entry->undo_spec, entry->arithmetic);
        makes = makes || !entry->rotation.made;
        undoes = undoes || (state->asked.from && !entry->undo.made);
    }
    /* Each scheme is prepared once, however many tensors rotate by it. */
    state->work += makes ? pe_scheme_work(state->scheme) : 0;
    state->work += undoes ? pe_scheme_work(state->from_scheme) : 0;
    *at_hand = !makes && !undoes;
    return PE_OK;
}

/* pe_rotate would refuse it too, but in the middle of the response. */
static enum pe_status entry_check(const struct rotation_entry *entry,
                                  const struct api_rotation *rotation, struct pe_error *err)
{
    return pe_rotation_check(rotation->made, &entry->axes, entry->arithmetic, entry->tensor->name,
                             err);
}

/* Makes what was not found. */
static enum pe_status entry_rotation(struct rotation_state *state, struct rotation_entry *entry,
                                     struct pe_error *err)
{
    const struct rotation_entry *like = entry_like(state, entry);

    if (like) {
        entry->rotation = like->rotation;
        entry->undo = like->undo;
        return entry_check(entry, &entry->rotation, err);
    }
    if (state->asked.from && !entry->undo.made &&
        api_rotation_make(state->request, state->from_scheme, &entry->undo_spec, entry->arithmetic,
                          &entry->undo, err))
        return err->status;
    if (entry->undo.made && entry_check(entry, &entry->undo, err))
        return err->status;
    if (!entry->rotation.made && api_rotation_make(state->request, state->scheme, &entry->spec,
                                                   entry->arithmetic, &entry->rotation, err))
        return err->status;
    return entry_check(entry, &entry->rotation, err);
}

enum pe_status rotation_tensors_make(struct rotation_state *state, bool *in_place,
                                     struct pe_error *err)
{
    *in_place = true;
    for (size_t i = 0; i < state->count; i++) {
        struct rotation_entry *entry = &state->entries[i];
        if (entry_widen(state, entry, err) ||
            (entry->elements > 0 && entry_rotation(state, entry, err)))
            return err->status;
        state->in_place[i] = entry->data;
        *in_place = *in_place && entry->arithmetic == entry->out;
    }
    return PE_OK;
}
