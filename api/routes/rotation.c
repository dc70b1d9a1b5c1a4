/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/arguments/described.h"
#include "api/config/config.h"
#include "api/routes/rotation_tensors.h"

static void state_release(void *what)
{
    struct rotation_state *state = what;

    pe_scheme_free(state->scheme);
    pe_scheme_free(state->from_scheme);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void narrow(void *out, const struct rotation_entry *entry, size_t begin, size_t count)
{
    const unsigned char *from = entry->data + begin * pe_dtype_info(entry->arithmetic)->size;

    if (entry->arithmetic == entry->out)
        memcpy(out, from, count * pe_dtype_info(entry->arithmetic)->size);
    else if (entry->arithmetic == PE_F64)
        pe_from_f64(out, entry->out, (const double *)(const void *)from, count);
    else
        pe_from_f32(out, entry->out, (const float *)(const void *)from, count);
}

static bool rotation_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                               size_t row_end, void *out)
{
    const struct rotation_state *state = result->state;
    const struct rotation_entry *entry = &state->entries[output];
    const size_t row_elements = result->outputs[output].row_elements;
    const size_t begin = row_begin / entry->rows_per_token, end = row_end / entry->rows_per_token;
    struct pe_work *work = state->request->work;
    struct pe_error err = {0};

    if ((entry->undo.made &&
         pe_rotate(entry->undo.made, entry->data, &entry->axes, begin, end, work, &err)) ||
        (entry->rotation.made &&
         pe_rotate(entry->rotation.made, entry->data, &entry->axes, begin, end, work, &err)))
        return false;
    if (!result->in_place && entry->elements > 0)
        narrow(out, entry, row_begin * row_elements, (row_end - row_begin) * row_elements);
    return true;
}

/* ---- what is told ---------------------------------------------------------------------------- */

/* Adds the warnings of the encoding that is undone, and those of both configs. */
static void warnings_join(const struct rotation_state *state, json_t *warnings)
{
    const struct api_config *const configs[] = {state->asked.config, state->asked.from_config};

    api_scheme_warnings(state->from_scheme, warnings);
    for (size_t i = 0; i < 2; i++)
        if (configs[i])
            json_array_extend(warnings, configs[i]->warnings);
}

/* Warns once for each scheme of positions beyond its length. */
static void beyond_warn(const struct rotation_state *state, struct api_result *result)
{
    const struct pe_scheme *const schemes[] = {state->scheme, state->from_scheme};
    double farthest;

    if (state->asked.spec.is_delta || state->asked.spec.cos)
        return;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; schemes[i] && j < state->count; j++)
            if (pe_scheme_beyond(schemes[i], &state->entries[j].spec.positions, &farthest)) {
                api_result_warn_beyond(result, schemes[i], &state->entries[j].spec.positions);
                break;
            }
}

static enum pe_status result_describe(const struct rotation_state *state, struct api_result *result,
                                      struct pe_error *err)
{
    if (api_function_describe(state->request, result, state->scheme,
                              api_layout_name(state->asked.spec.output_layout), err))
        return err->status;
    if (state->asked.from)
        warnings_join(state, result->warnings);
    beyond_warn(state, result);
    if (state->asked.spec.cos)
        json_array_append_new(result->warnings,
                              json_string("cos and sin were given: base and scaling took no part"));
    return PE_OK;
}

/* ---- before the work ------------------------------------------------------------------------- */

static enum pe_status schemes_open(struct rotation_state *state, struct pe_error *err)
{
    struct rotation_asked *asked = &state->asked;

    if (api_scheme_open(asked->config, asked->encoding, &asked->encoding_params,
                        state->request->work, &state->scheme, err) ||
        (asked->from && api_scheme_open(asked->from_config, asked->from, &asked->from_params,
                                        state->request->work, &state->from_scheme, err)))
        return err->status;
    asked->spec.scheme = state->scheme;
    asked->undo_spec.scheme = state->from_scheme;
    return PE_OK;
}

static enum pe_status cos_check(const struct rotation_state *state, struct pe_error *err)
{
    const struct pe_tensor *cos = state->asked.spec.cos;

    if (!cos || pe_scheme_rotary_dim(state->scheme) == 2 * cos->shape[1])
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:cos",
                   "cos is %zu wide; the rotary_dim of %s is %zu, and half of that is expected",
                   cos->shape[1], pe_encoding_info(state->asked.encoding)->name,
                   pe_scheme_rotary_dim(state->scheme));
}

static void result_set(struct rotation_state *state, struct api_result *result)
{
    result->outputs = state->outputs;
    result->outputs_count = state->count;
    result->rows_together = state->rows_together;
    result->work = state->work;
    result->fill = rotation_rows_fill;
    result->file_stem = result->operation = "rotation";
    result->encoding_name = pe_encoding_info(state->asked.encoding)->name;
    result->dtype = state->entries[0].out;
}

static enum pe_status rotation_open(struct api_request *request, struct api_result *result,
                                    struct pe_error *err)
{
    struct rotation_state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a rotation");
    state->request = request;
    if (rotation_asked_read(request, &state->asked, err) ||
        api_answer_apply(request, &state->asked.answer_params, result, err) ||
        rotation_tensors_read(state, err) || schemes_open(state, err) ||
        rotation_tensors_place(state, err) || cos_check(state, err) ||
        rotation_tensors_find(state, &result->at_hand, err))
        return err->status;
    result_set(state, result);
    return result_describe(state, result, err);
}

static enum pe_status rotation_prepare(struct api_request *request, struct api_result *result,
                                       struct pe_error *err)
{
    struct rotation_state *state = result->state;
    bool in_place;

    (void)request;
    if (rotation_tensors_make(state, &in_place, err))
        return err->status;
    result->in_place = in_place ? state->in_place : NULL;
    return PE_OK;
}

bool api_rotation_again(struct api_request *request, const struct api_result *result,
                        struct api_rotation_again *again)
{
    const struct rotation_state *state = result->state;
    const struct rotation_entry *entry = state->entries;
    struct api_cache_key key;

    if (state->count != 1 || !result->in_place || state->asked.from || state->asked.spec.cos ||
        entry->elements == 0 || entry->data != request->body)
        return false;
    key = api_rotation_key(request, &entry->spec, entry->arithmetic);
    *again = (struct api_rotation_again){
        entry->axes, result->outputs[0].rows / entry->rows_per_token, key.bytes, key.size};
    return key.size > 0;
}

const struct api_handler api_handler_rotation = {rotation_open, rotation_prepare};
