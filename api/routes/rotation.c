/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/config/config.h"
#include "api/routes/engine_caches.h"
#include "api/routes/rotation_cache.h"

struct rotation_args {
    const struct pe_encoding *encoding;
    const struct pe_encoding *from;          /* the rotation to undo first; NULL: none */
    struct api_config *config, *from_config; /* of the two encodings; NULL: none */
    struct pe_params encoding_params, from_params, params, places_params, answer_params;
    struct api_token_positions places;
    struct pe_rotation_spec spec, undo_spec; /* without schemes and positions */
};

/* A tensor to rotate. */
struct entry {
    const struct api_tensor *tensor;
    struct pe_axes axes;
    size_t elements, rows_per_token;
    enum pe_dtype arithmetic, out;           /* the wider dtype, rotated in; the response's */
    unsigned char *data;                     /* in `arithmetic`: the request's bytes, or a copy */
    struct pe_rotation_spec spec, undo_spec; /* with the positions of the entry */
    struct api_rotation rotation, undo;      /* undo comes first, if any */
};

struct state {
    struct api_request *request;
    struct rotation_args args;
    struct pe_scheme *scheme, *from_scheme;
    struct entry *entries;
    size_t count;
    struct pe_output *outputs;
    unsigned char **in_place;
    size_t rows_together;
    double work; /* nanoseconds for cos and sin that are not cached */
};

/* ---- parameters ------------------------------------------------------------------------------ */

static const struct pe_param params_list[] = {
    {.name = "axes",
     .type = PE_CHOICE,
     .choices = "bhsd,bshd,thd,shd,hsd,bsd,sd",
     .doc = "The axes of the tensors, one letter for each axis: b batch, s tokens (t in packed "
            "sequences), h heads, d the elements of a head, or of all heads where h is missing."},
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .required = true,
     .doc = API_LAYOUT_DOC},
    {.name = "output_layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .doc = "The layout of the pairs in the answer; that of the request if absent."},
    {.name = "inverse",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether the rotation is undone, the attention factor included."},
    {.name = "apply_attention_factor",
     .type = PE_BOOLEAN,
     .fallback = "true",
     .doc = "Whether the rotated elements are multiplied by the attention factor of the encoding."},
    API_PARAM_CACHE,
};

static const char own[] = "encoding from_encoding to_encoding tensors positions delta cu_seqlens "
                          "tensor tables dtype " API_CONFIG_OWN;

static enum pe_status rotary_check(const struct pe_encoding *encoding, const char *where,
                                   struct pe_error *err)
{
    if (pe_encoding_has(encoding, PE_KIND_ROTARY))
        return PE_OK;
    return pe_fail(err, PE_UNSUPPORTED, where,
                   "%s is not rotary and rotates nothing; a rotary encoding such as rope does",
                   pe_encoding_info(encoding)->name);
}

/* One encoding to rotate by; or two, one to undo and one to rotate by instead. */
static enum pe_status encodings_read(struct api_request *request, struct rotation_args *args,
                                     struct pe_error *err)
{
    if (!api_function_posted(request, "from_encoding") &&
        !api_function_posted(request, "to_encoding")) {
        if (api_function_encoding(request, NULL, &args->encoding, &args->encoding_params,
                                  &args->params, err))
            return err->status;
        args->config = request->config;
        return rotary_check(args->encoding, "parameter:encoding", err);
    }
    if (api_function_posted(request, "encoding"))
        return pe_fail(err, PE_CONFLICT, "parameter:encoding",
                       "from_encoding and to_encoding take the place of encoding");
    if (api_function_encoding_at(request, "from_encoding", &args->from, &args->from_params,
                                 &args->params, &args->from_config, err) ||
        rotary_check(args->from, "parameter:from_encoding", err) ||
        api_function_encoding_at(request, "to_encoding", &args->encoding, &args->encoding_params,
                                 &args->params, &args->config, err))
        return err->status;
    return rotary_check(args->encoding, "parameter:to_encoding", err);
}

/* cos and sin among the tensors are the table; a cache of an engine is split into them. */
static enum pe_status tables_read(struct api_request *request, struct rotation_args *args,
                                  struct pe_error *err)
{
    const struct api_tensor *cos, *sin;

    if (api_engine_cache_replace(request, &args->params, err))
        return err->status;
    cos = api_request_tensor(request, "cos");
    sin = api_request_tensor(request, "sin");
    args->spec.cos = cos ? &cos->tensor : NULL;
    args->spec.sin = sin ? &sin->tensor : NULL;
    if (!cos && !sin)
        return PE_OK;
    if (args->from)
        return pe_fail(err, PE_CONFLICT, "parameter:from_encoding",
                       "cos and sin take the place of one encoding, not of two");
    return cos && cos->tensor.rank == 2 ? pe_params_infer(&args->encoding_params, "rotary_dim",
                                                          (double)(2 * cos->tensor.shape[1]), err)
                                        : PE_OK; /* pe_rotation_new refuses others */
}

static void spec_set(struct rotation_args *args)
{
    const struct pe_value *output_layout = pe_param_value(&args->params, "output_layout");

    args->spec.layout = (enum pe_layout)pe_param_number(&args->params, "layout");
    args->spec.output_layout =
        output_layout->present ? (enum pe_layout)output_layout->number : args->spec.layout;
    args->spec.inverse = pe_param_number(&args->params, "inverse") != 0;
    args->spec.without_attention_factor =
        pe_param_number(&args->params, "apply_attention_factor") == 0;
    args->spec.is_delta = args->places.is_delta;
    args->spec.size = sizeof(args->spec);
    args->undo_spec = args->spec;
    args->undo_spec.output_layout = args->spec.layout;
    args->undo_spec.inverse = true;
}

static enum pe_status config_read(struct api_request *request, struct rotation_args *args,
                                  struct pe_error *err)
{
    if (args->from && api_function_posted(request, "config"))
        return pe_fail(err, PE_CONFLICT, "parameter:config",
                       "config describes one encoding; leave out from_encoding and to_encoding");
    return api_config_fill(args->config, args->encoding, &args->encoding_params, err) ||
                   api_config_layout(args->config, &args->params, err)
               ? err->status
               : PE_OK;
}

static enum pe_status args_read(struct api_request *request, struct rotation_args *args,
                                struct pe_error *err)
{
    struct pe_params *sets[] = {&args->params, &args->places_params, &args->answer_params,
                                &args->encoding_params};

    pe_params_init(&args->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_token_positions_params(&args->places_params);
    api_answer_params(request, &args->answer_params);
    if (api_function_start(request, "", err) || api_config_open(request, err) ||
        encodings_read(request, args, err))
        return err->status;
    /* Top-level parameters are those of a single encoding; with two they are refused. */
    if (api_bind(request, sets, args->from ? 3 : 4, own, err) ||
        (!args->from && api_posted_frequencies(request, &args->encoding_params, err)) ||
        config_read(request, args, err) || pe_params_finish(&args->params, err) ||
        api_token_positions_read(request, &args->places_params, &args->places, err) ||
        tables_read(request, args, err))
        return err->status;
    spec_set(args);
    if (args->from && (args->spec.inverse || args->spec.is_delta))
        return pe_fail(err, PE_CONFLICT,
                       args->spec.is_delta ? "parameter:delta" : "parameter:inverse",
                       "from_encoding is undone and to_encoding applied where the tokens stand; "
                       "leave out delta and inverse");
    return PE_OK;
}

/* A multiple of the rows of a token of every tensor; far above any real number of heads. */
enum { ROWS_TOGETHER_MAX = 1 << 16 };

/* ---- shapes --------------------------------------------------------------------------------- */

static enum pe_dtype wider(enum pe_dtype a, enum pe_dtype b)
{
    if (a == b)
        return a;
    return a == PE_F64 || b == PE_F64 ? PE_F64 : PE_F32;
}

static enum pe_status entry_read(struct state *state, const struct api_tensor *tensor,
                                 struct entry *entry, struct pe_error *err)
{
    const struct pe_value *axes = pe_param_value(&state->args.params, "axes");
    const struct pe_value *dim = pe_param_value(&state->args.encoding_params, "dim");
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
        pe_choice_name(&state->args.params.list[axes - state->args.params.values],
                       (size_t)axes->number, name, sizeof(name));
    entry->tensor = tensor;
    if (pe_axes_parse(&entry->axes, axes->present ? name : NULL, &tensor->tensor,
                      dim->given ? (size_t)dim->number : 0, err) ||
        pe_params_infer(&state->args.encoding_params, "dim", (double)(entry->axes.head_dim), err) ||
        (state->args.from &&
         pe_params_infer(&state->args.from_params, "dim", (double)(entry->axes.head_dim), err)) ||
        api_request_dtype(state->request, false, tensor->tensor.dtype, &entry->out, err))
        return err->status;
    entry->arithmetic = wider(tensor->tensor.dtype, entry->out);
    /* Two rotations are rounded once. */
    if (state->args.from && entry->arithmetic != PE_F64)
        entry->arithmetic = PE_F32;
    pe_shape_elements(tensor->tensor.shape, tensor->tensor.rank, &entry->elements);
    return PE_OK;
}

static void output_set(struct pe_output *output, struct entry *entry)
{
    const struct pe_tensor *tensor = &entry->tensor->tensor;

    output->name = entry->tensor->name;
    output->dtype = entry->out;
    output->rank = tensor->rank;
    memcpy(output->shape, tensor->shape, tensor->rank * sizeof(*output->shape));
    output->row_elements = tensor->shape[tensor->rank - 1];
    output->rows = entry->elements / output->row_elements; /* which is 2 or more */
    entry->rows_per_token = entry->axes.heads_inner * entry->axes.head_dim / output->row_elements;
}

static bool is_table(const struct state *state, const struct api_tensor *tensor)
{
    return state->args.spec.cos == &tensor->tensor || state->args.spec.sin == &tensor->tensor;
}

/* Blocks must hold complete tokens of every tensor. */
static enum pe_status rows_group(struct state *state, struct pe_error *err)
{
    size_t together = 1;

    for (size_t i = 0; i < state->count; i++) {
        const size_t rows = state->entries[i].rows_per_token;
        size_t a = together, b = rows;
        while (b > 0) {
            const size_t remainder = a % b;
            a = b;
            b = remainder;
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

static enum pe_status entries_read(struct state *state, struct pe_error *err)
{
    struct api_request *request = state->request;
    const size_t capacity = request->tensors_count;

    state->entries = api_arena_take(request->arena, capacity * sizeof(*state->entries));
    state->outputs = api_arena_take(request->arena, capacity * sizeof(*state->outputs));
    state->in_place = api_arena_take(request->arena, capacity * sizeof(*state->in_place));
    if (!state->entries || !state->outputs || !state->in_place)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu tensors", capacity);
    for (size_t i = 0; i < request->tensors_count; i++) {
        const struct api_tensor *tensor = &request->tensors[i];
        struct entry *entry = &state->entries[state->count];
        if (api_token_positions_hold(&state->args.places, tensor->name) || is_table(state, tensor))
            continue;
        if (entry_read(state, tensor, entry, err))
            return err->status;
        output_set(&state->outputs[state->count++], entry);
    }
    return state->count > 0 ? rows_group(state, err)
                            : pe_fail(err, PE_MISSING, "parameter:tensors",
                                      "there is no tensor to rotate beside those that say how");
}

/* The scheme that rotates queries and keys differently; NULL: none. */
static const struct pe_scheme *asymmetric_scheme(const struct state *state)
{
    if (state->args.spec.cos)
        return NULL;
    if (pe_scheme_scales(state->scheme))
        return state->scheme;
    return state->from_scheme && pe_scheme_scales(state->from_scheme) ? state->from_scheme : NULL;
}

/* Where a scheme rotates queries and keys differently, tensors must be named q or k. */
static enum pe_status entry_is_key_set(const struct state *state, struct entry *entry,
                                       struct pe_error *err)
{
    const struct pe_scheme *asymmetric = asymmetric_scheme(state);
    const char *name = entry->tensor->name;
    char where[sizeof(err->where)];

    entry->spec.is_key = entry->undo_spec.is_key = asymmetric && strcmp(name, "k") == 0;
    if (!asymmetric || entry->spec.is_key || strcmp(name, "q") == 0)
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%.80s", name);
    return pe_fail(err, PE_INVALID, where,
                   "%s rotates queries and keys differently: call the tensor q or k, not %.60s",
                   pe_encoding_info(pe_scheme_encoding(asymmetric))->name, name);
}

/* Positions of the entries; the schemes are open. */
static enum pe_status positions_set(struct state *state, struct pe_error *err)
{
    struct api_token_positions *places = &state->args.places;

    places->axes_count = state->args.spec.cos ? 0 : pe_scheme_axes(state->scheme);
    if (state->from_scheme && pe_scheme_axes(state->from_scheme) > places->axes_count)
        places->axes_count = pe_scheme_axes(state->from_scheme);
    for (size_t i = 0; i < state->count; i++) {
        struct entry *entry = &state->entries[i];
        entry->spec = state->args.spec;
        entry->undo_spec = state->args.undo_spec;
        if (api_token_positions_fit(state->request, places, &entry->axes, entry->tensor->name,
                                    &entry->spec.positions, err) ||
            entry_is_key_set(state, entry, err))
            return err->status;
        entry->undo_spec.positions = entry->spec.positions;
    }
    return PE_OK;
}

/* ---- cos and sin ----------------------------------------------------------------------------- */

static enum pe_status entry_widen(struct state *state, struct entry *entry, struct pe_error *err)
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
    pe_convert(entry->data, entry->arithmetic, tensor->data, tensor->dtype, entry->elements);
    return PE_OK;
}

/* Tensors of one dtype and the same tokens share cos and sin. */
static const struct entry *entry_like(const struct state *state, const struct entry *entry)
{
    for (const struct entry *at = state->entries; at < entry; at++)
        if (at->elements > 0 && at->arithmetic == entry->arithmetic &&
            at->spec.positions.count == entry->spec.positions.count &&
            at->spec.positions.batch == entry->spec.positions.batch &&
            at->spec.is_key == entry->spec.is_key)
            return at;
    return NULL;
}

/* Looks for cos and sin in the cache; *all_cached: all are found. */
static enum pe_status rotations_find(struct state *state, bool *all_cached, struct pe_error *err)
{
    bool makes = false, undoes = false;

    for (size_t i = 0; i < state->count; i++) {
        struct entry *entry = &state->entries[i];
        if (entry->elements == 0 || entry_like(state, entry))
            continue;
        if ((state->args.from && api_rotation_find(state->request, &entry->undo_spec,
                                                   entry->arithmetic, &entry->undo, err)) ||
            api_rotation_find(state->request, &entry->spec, entry->arithmetic, &entry->rotation,
                              err))
            return err->status;
        if (!entry->rotation.made)
            state->work += pe_rotation_work(&entry->spec, entry->arithmetic);
        if (state->args.from && !entry->undo.made)
            state->work += pe_rotation_work(&entry->undo_spec, entry->arithmetic);
        makes = makes || !entry->rotation.made;
        undoes = undoes || (state->args.from && !entry->undo.made);
    }
    /* Each scheme is prepared once, however many tensors rotate by it. */
    state->work += makes ? pe_scheme_work(state->scheme) : 0;
    state->work += undoes ? pe_scheme_work(state->from_scheme) : 0;
    *all_cached = !makes && !undoes;
    return PE_OK;
}

/* Checked before the response begins. */
static enum pe_status entry_check(const struct entry *entry, const struct api_rotation *rotation,
                                  struct pe_error *err)
{
    return pe_rotation_check(rotation->made, &entry->axes, entry->arithmetic, entry->tensor->name,
                             err);
}

static enum pe_status entry_rotation(struct state *state, struct entry *entry, struct pe_error *err)
{
    const struct entry *like = entry_like(state, entry);

    if (like) {
        entry->rotation = like->rotation;
        entry->undo = like->undo;
        return entry_check(entry, &entry->rotation, err);
    }
    if (state->args.from && !entry->undo.made &&
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

/* Makes cos and sin that are not cached, and wider copies of tensors. *in_place: no response dtype
 * differs from the one rotated in. */
static enum pe_status rotations_make(struct state *state, bool *in_place, struct pe_error *err)
{
    *in_place = true;
    for (size_t i = 0; i < state->count; i++) {
        struct entry *entry = &state->entries[i];
        if (entry_widen(state, entry, err) ||
            (entry->elements > 0 && entry_rotation(state, entry, err)))
            return err->status;
        state->in_place[i] = entry->data;
        *in_place = *in_place && entry->arithmetic == entry->out;
    }
    return PE_OK;
}

static void state_release(void *context)
{
    struct state *state = context;

    pe_scheme_free(state->scheme);
    pe_scheme_free(state->from_scheme);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool rotation_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                               size_t row_end, void *out)
{
    const struct state *state = result->state;
    const struct entry *entry = &state->entries[output];
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
        pe_convert(out, entry->out,
                   entry->data + row_begin * row_elements * pe_dtype_info(entry->arithmetic)->size,
                   entry->arithmetic, (row_end - row_begin) * row_elements);
    return true;
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* Warnings of the encoding that is undone and of both configs. */
static void warnings_join(const struct state *state, json_t *warnings)
{
    const struct api_config *const configs[] = {state->args.config, state->args.from_config};

    api_scheme_warnings(state->from_scheme, warnings);
    for (size_t i = 0; i < 2; i++)
        if (configs[i])
            json_array_extend(warnings, configs[i]->warnings);
}

/* One warning for each scheme with positions beyond its length. */
static void beyond_warn(const struct state *state, struct api_result *result)
{
    const struct pe_scheme *const schemes[] = {state->scheme, state->from_scheme};
    double farthest;

    if (state->args.spec.is_delta || state->args.spec.cos)
        return;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; schemes[i] && j < state->count; j++)
            if (pe_scheme_beyond(schemes[i], &state->entries[j].spec.positions, &farthest)) {
                api_result_warn_beyond(result, schemes[i], &state->entries[j].spec.positions);
                break;
            }
}

static enum pe_status result_describe(const struct state *state, struct api_result *result,
                                      struct pe_error *err)
{
    if (api_function_describe(state->request, result, state->scheme,
                              api_layout_name(state->args.spec.output_layout), err))
        return err->status;
    if (state->args.from)
        warnings_join(state, result->warnings);
    beyond_warn(state, result);
    if (state->args.spec.cos)
        json_array_append_new(result->warnings,
                              json_string("cos and sin were given: base and scaling took no part"));
    return PE_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum pe_status schemes_open(struct state *state, struct pe_error *err)
{
    struct rotation_args *args = &state->args;

    if (api_scheme_open(args->config, args->encoding, &args->encoding_params, state->request->work,
                        &state->scheme, err) ||
        (args->from && api_scheme_open(args->from_config, args->from, &args->from_params,
                                       state->request->work, &state->from_scheme, err)))
        return err->status;
    args->spec.scheme = state->scheme;
    args->undo_spec.scheme = state->from_scheme;
    return PE_OK;
}

static enum pe_status cos_check(const struct state *state, struct pe_error *err)
{
    const struct pe_tensor *cos = state->args.spec.cos;

    if (!cos || pe_scheme_rotary_dim(state->scheme) == 2 * cos->shape[1])
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:cos",
                   "cos is %zu wide; the rotary_dim of %s is %zu, and half of that is expected",
                   cos->shape[1], pe_encoding_info(state->args.encoding)->name,
                   pe_scheme_rotary_dim(state->scheme));
}

static void result_set(struct state *state, struct api_result *result)
{
    result->outputs = state->outputs;
    result->outputs_count = state->count;
    result->rows_together = state->rows_together;
    result->work = state->work;
    result->fill = rotation_rows_fill;
    result->file_stem = result->operation = "rotation";
    result->encoding_name = pe_encoding_info(state->args.encoding)->name;
    result->dtype = state->entries[0].out;
}

static enum pe_status rotation_open(struct api_request *request, struct api_result *result,
                                    struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a rotation");
    state->request = request;
    if (args_read(request, &state->args, err) ||
        api_answer_apply(request, &state->args.answer_params, result, err) ||
        entries_read(state, err) || schemes_open(state, err) || positions_set(state, err) ||
        cos_check(state, err) || rotations_find(state, &result->quick, err))
        return err->status;
    result_set(state, result);
    return result_describe(state, result, err);
}

static enum pe_status rotation_prepare(struct api_request *request, struct api_result *result,
                                       struct pe_error *err)
{
    struct state *state = result->state;
    bool in_place;

    (void)request;
    if (rotations_make(state, &in_place, err))
        return err->status;
    result->in_place = in_place ? state->in_place : NULL;
    return PE_OK;
}

bool api_rotation_repeat(struct api_request *request, const struct api_result *result,
                         struct api_rotation_repeat *repeat)
{
    const struct state *state = result->state;
    const struct entry *entry = state->entries;
    struct api_cache_key key;

    if (state->count != 1 || !result->in_place || state->args.from || state->args.spec.cos ||
        entry->elements == 0 || entry->data != request->body)
        return false;
    key = api_rotation_key(request, &entry->spec, entry->arithmetic);
    *repeat = (struct api_rotation_repeat){
        entry->axes, result->outputs[0].rows / entry->rows_per_token, key.bytes, key.size};
    return key.size > 0;
}

const struct api_handler api_handler_rotation = {rotation_open, rotation_prepare};
