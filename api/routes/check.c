/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/formats/formats.h"
#include "api/memory/json.h"
#include "api/request/parameters.h"
#include "api/routes/golden.h"

/* POST /v1/check: outputs of a kernel against a golden file. Values have to lie in the intervals
 * that rounding allows (posenc/tolerance.h); a diagnosis names the mistake of those that do not.
 *
 * The body has the outputs under their names, the description of the golden file as "golden" (a
 * member of JSON, metadata of safetensors), and, to be verified, its tensors as "golden.NAME". */

static const struct pe_param params_list[] = {
    {.name = "tolerance_of",
     .type = PE_CHOICE,
     .choices = "f32-angle,bf16-cache,f16-q",
     .doc = "The arithmetic whose rounding is allowed. If absent, that of the dtype: float32 "
            "angles for f64 and f32; then cos and sin in bf16 or f16."},
};

static const char own[] = "tensors golden";
static const char prefix[] = "golden.";

struct state;

/* An output that was posted. */
struct entry {
    struct golden_kind *kind;
    enum pe_golden_role role;
    const struct api_tensor *tensor;
    bool is_wide;                          /* cos and sin: each pair twice, in the kind's layout */
    const struct pe_golden_result *result; /* by entries_check */
};

struct state {
    struct api_request *request;
    struct pe_params params, answer_params;
    struct golden golden;
    struct entry *entries;
    size_t count;
    struct pe_golden_check *checks[GOLDEN_KINDS_MAX]; /* of the outputs of each kind */
};

/* ---- the request ----------------------------------------------------------------------------- */

/* The text of "golden" in a JSON body or in metadata, with the prefix of parameters or without. */
static const char *description_text(const struct api_request *request)
{
    const char *text = api_request_text(request, "golden");

    for (size_t i = 0; !text && i < request->passed_metadata_count; i++)
        if (strcmp(request->passed_metadata[i].name, "golden") == 0)
            text = request->passed_metadata[i].value;
    return text;
}

static enum pe_status description_find(struct api_request *request, json_t **out,
                                       struct pe_error *err)
{
    const char *text;

    *out = json_object_get(request->json, "golden");
    if (json_is_object(*out))
        return PE_OK;
    text = description_text(request);
    if (!text)
        return pe_fail(err, PE_MISSING, "parameter:golden",
                       "golden is required: the description in the metadata of a golden file");
    *out = api_json_parse_limited(text, strlen(text), "parameter:golden",
                                  request->settings->limits.json_values_max, request->work, err);
    if (!*out)
        return err->status;
    return api_json_keep_whole(request->arena, *out)
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a golden file");
}

/* Finds the kind and the role of a name. */
static bool name_find(struct golden *golden, const char *name, struct golden_kind **kind,
                      enum pe_golden_role *role)
{
    for (size_t i = 0; i < golden->count; i++)
        for (int at = 0; at < PE_GOLDEN_ROLES; at++)
            if (golden->kinds[i].outputs[at].name &&
                strcmp(golden->kinds[i].outputs[at].name, name) == 0) {
                *kind = &golden->kinds[i];
                *role = (enum pe_golden_role)at;
                return true;
            }
    return false;
}

static enum pe_status unknown_fail(const struct golden *golden, const struct api_tensor *tensor,
                                   struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                   "the golden file has no tensor '%.60s'; its first ones are %.40s, %.40s, %.40s",
                   tensor->name, golden->kinds[0].outputs[PE_GOLDEN_COS].name,
                   golden->kinds[0].outputs[PE_GOLDEN_SIN].name,
                   golden->kinds[0].outputs[PE_GOLDEN_Q_ROTATED].name);
}

/* Is the shape that of the output, axes of 1 aside? *wide: its rows are twice as long. */
static bool shape_fits(const struct pe_tensor *tensor, const struct pe_output *output, bool *wide)
{
    size_t axes[PE_RANK_MAX], expected[PE_RANK_MAX];
    unsigned rank = 0, expected_rank = 0;

    for (unsigned i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] != 1)
            axes[rank++] = tensor->shape[i];
    for (unsigned i = 0; i < output->rank; i++)
        if (output->shape[i] != 1)
            expected[expected_rank++] = output->shape[i];
    *wide = false;
    if (rank == expected_rank && memcmp(axes, expected, rank * sizeof(*axes)) == 0)
        return true;
    *wide = output->rank == 2 && tensor->rank >= 2 &&
            tensor->shape[tensor->rank - 1] == 2 * output->row_elements &&
            tensor->shape[tensor->rank - 2] == output->rows;
    for (unsigned i = 0; *wide && i + 2 < tensor->rank; i++)
        *wide = tensor->shape[i] == 1;
    return *wide;
}

static enum pe_status tensor_check(const struct api_tensor *tensor, const struct pe_output *output,
                                   bool takes_wide, bool *wide, struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    if (!shape_fits(&tensor->tensor, output, wide) || (*wide && !takes_wide))
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%.60s has another shape than in the golden file: %u axes, there %u, the "
                       "last of %zu",
                       tensor->name, tensor->tensor.rank, output->rank, output->row_elements);
    return PE_OK;
}

static enum pe_status entry_add(struct state *state, const struct api_tensor *tensor,
                                struct golden_kind *kind, enum pe_golden_role role,
                                struct pe_error *err)
{
    struct entry *entry = &state->entries[state->count];
    char where[sizeof(err->where)];

    *entry = (struct entry){.kind = kind, .role = role, .tensor = tensor};
    if (tensor_check(tensor, &kind->outputs[role], true, &entry->is_wide, err))
        return err->status;
    state->count += !pe_golden_is_input(role);
    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    return pe_golden_is_input(role) || pe_dtype_is_float(tensor->tensor.dtype)
               ? PE_OK
               : pe_fail(err, PE_UNSUPPORTED, where, "%.60s must be floating point; got %s",
                         tensor->name, pe_dtype_info(tensor->tensor.dtype)->name);
}

static enum pe_status entries_read(struct state *state, struct pe_error *err)
{
    struct api_request *request = state->request;
    struct golden_kind *kind;
    enum pe_golden_role role;

    state->entries =
        api_arena_take(request->arena, (request->tensors_count + 1) * sizeof(*state->entries));
    if (!state->entries)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a check");
    for (size_t i = 0; i < request->tensors_count; i++) {
        const struct api_tensor *tensor = &request->tensors[i];
        const bool is_golden = strncmp(tensor->name, prefix, strlen(prefix)) == 0;
        const char *name = tensor->name + (is_golden ? strlen(prefix) : 0);
        if (!name_find(&state->golden, name, &kind, &role))
            return unknown_fail(&state->golden, tensor, err);
        if (!is_golden && entry_add(state, tensor, kind, role, err))
            return err->status;
    }
    return state->count > 0 ? PE_OK
                            : pe_fail(err, PE_MISSING, "parameter:tensors",
                                      "there is no output to check: post at least one, such as "
                                      "%.60s",
                                      state->golden.kinds[0].outputs[PE_GOLDEN_Q_ROTATED].name);
}

/* ---- the golden file itself ------------------------------------------------------------------ */

static double value_at(const struct pe_tensor *tensor, size_t index)
{
    double value;

    pe_to_f64(&value, (const char *)tensor->data + index * pe_dtype_info(tensor->dtype)->size,
              tensor->dtype, 1);
    return value;
}

/* Tensors of the golden file, and copies of its inputs, have to be what its description makes. */
static enum pe_status golden_verify(struct state *state, struct pe_error *err)
{
    struct golden_kind *kind;
    enum pe_golden_role role;
    char where[sizeof(err->where)];

    for (size_t i = 0; i < state->request->tensors_count; i++) {
        const struct api_tensor *tensor = &state->request->tensors[i];
        const bool is_golden = strncmp(tensor->name, prefix, strlen(prefix)) == 0;
        const char *name = tensor->name + (is_golden ? strlen(prefix) : 0);
        bool wide;
        if (!name_find(&state->golden, name, &kind, &role) ||
            (!is_golden && !pe_golden_is_input(role)))
            continue;
        const struct pe_output *output = &kind->outputs[role];
        const struct pe_tensor made = {
            output->dtype, 1, {0}, (void *)pe_golden_data(kind->tensors, role)};
        if (tensor_check(tensor, output, false, &wide, err))
            return err->status;
        for (size_t at = 0; at < output->rows * output->row_elements; at++)
            if (value_at(&tensor->tensor, at) != value_at(&made, at)) {
                snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
                return pe_fail(err, PE_CONFLICT, where,
                               "element %zu of %.60s is %.9g, and %.9g by the golden file's "
                               "description: the file was changed",
                               at, tensor->name, value_at(&tensor->tensor, at),
                               value_at(&made, at));
            }
    }
    return PE_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Checks the outputs of a kind. */
static enum pe_status kind_check(struct state *state, size_t kind, struct pe_error *err)
{
    struct api_request *request = state->request;
    const struct pe_golden *tensors = state->golden.kinds[kind].tensors;
    const struct pe_value *given = pe_param_value(&state->params, "tolerance_of");
    const enum pe_path path = given->given ? (enum pe_path)given->number : PE_PATH_F32_ANGLE;
    struct pe_golden_observed *observed =
        api_arena_take(request->arena, state->count * sizeof(*observed));
    size_t count = 0;

    if (!observed)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a check");
    for (size_t i = 0; i < state->count; i++) {
        const struct entry *entry = &state->entries[i];
        if (entry->kind == &state->golden.kinds[kind])
            observed[count++] =
                (struct pe_golden_observed){entry->role, &entry->tensor->tensor, entry->is_wide};
    }
    if (pe_golden_check_new(&state->checks[kind], tensors, observed, count,
                            given->given ? &path : NULL, api_pool(request->api), request->work,
                            err))
        return err->status;
    count = 0;
    for (size_t i = 0; i < state->count; i++)
        if (state->entries[i].kind == &state->golden.kinds[kind])
            state->entries[i].result = pe_golden_check_result(state->checks[kind], count++);
    return PE_OK;
}

static void checks_free(struct state *state)
{
    for (size_t i = 0; i < state->golden.count; i++)
        pe_golden_check_free(state->checks[i]);
}

/* ---- the report ------------------------------------------------------------------------------ */

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* {"position", "pair" or "element", ...} of the first value outside. */
static json_t *first_json(const struct entry *entry)
{
    const struct pe_output *output = &entry->kind->outputs[entry->role];
    const size_t columns = output->row_elements * (entry->is_wide ? 2 : 1);
    const struct pe_golden_result *result = entry->result;
    const size_t row = result->first / columns;
    json_t *json;

    if (result->outside == 0)
        return json_null();
    json = json_pack(
        "{sI so so so so}", "element", (json_int_t)(result->first % columns), "seen",
        api_number_json(result->seen), "expected", api_number_json(result->expected.real), "low",
        api_number_json(result->expected.low), "high", api_number_json(result->expected.high));
    if (output->rank > 1)
        json_object_set_new(
            json, "position",
            api_number_json(
                entry->kind->positions[output->rank == 3 ? row / output->shape[1] : row]));
    if (output->rank == 3)
        json_object_set_new(json, "head", json_integer((json_int_t)(row % output->shape[1])));
    return json;
}

static json_t *entry_json(const struct entry *entry)
{
    const struct pe_golden_result *result = entry->result;
    json_t *json = json_pack(
        "{ss ss ss sI sI so so so so so so}", "tensor", entry->tensor->name, "dtype",
        pe_dtype_info(entry->tensor->tensor.dtype)->name, "verdict",
        result->mistake ? "wrong" : "right", "elements", (json_int_t)result->elements, "outside",
        (json_int_t)result->outside, "max_abs", api_number_json(result->max_abs), "used",
        api_number_json(result->used), "mistake", text_or_null(result->mistake), "explanation",
        text_or_null(result->explanation), "fix", text_or_null(result->fix), "first",
        first_json(entry));

    if (result->scheme)
        json_object_set_new(json, "encoding", api_scheme_json(result->scheme));
    return json;
}

/* The names of outputs that were not posted. */
static json_t *missing_json(const struct state *state, size_t *outputs)
{
    json_t *list = json_array();

    *outputs = 0;
    for (size_t i = 0; i < state->golden.count; i++)
        for (int role = 0; role < PE_GOLDEN_ROLES; role++) {
            const struct golden_kind *kind = &state->golden.kinds[i];
            bool posted = false;
            if (pe_golden_is_input((enum pe_golden_role)role) || !kind->outputs[role].name)
                continue;
            ++*outputs;
            for (size_t at = 0; at < state->count; at++)
                posted = posted ||
                         (state->entries[at].kind == kind && (int)state->entries[at].role == role);
            if (!posted)
                json_array_append_new(list, json_string(kind->outputs[role].name));
        }
    return list;
}

/* The first wrong output whose mistake has a name, else the first wrong one; NULL: all are right.
 */
static const struct entry *wrong_find(const struct state *state)
{
    const struct entry *wrong = NULL;

    for (size_t i = 0; i < state->count; i++) {
        const struct entry *entry = &state->entries[i];
        if (entry->result->mistake && (!wrong || (strcmp(wrong->result->mistake, "unknown") == 0 &&
                                                  strcmp(entry->result->mistake, "unknown") != 0)))
            wrong = entry;
    }
    return wrong;
}

static json_t *report_make(const struct state *state)
{
    const struct entry *entry = wrong_find(state);
    const struct pe_golden_result *wrong = entry ? entry->result : NULL;
    json_t *rows = json_array(), *missing;
    size_t outputs;

    for (size_t i = 0; i < state->count; i++)
        json_array_append_new(rows, entry_json(&state->entries[i]));
    missing = missing_json(state, &outputs);
    return json_pack("{ss so so so sI sI so so s[]}", "verdict", wrong ? "wrong" : "right",
                     "mistake", text_or_null(wrong ? wrong->mistake : NULL), "explanation",
                     text_or_null(wrong ? wrong->explanation : NULL), "fix",
                     text_or_null(wrong ? wrong->fix : NULL), "checked", (json_int_t)state->count,
                     "outputs", (json_int_t)outputs, "missing", missing, "tensors", rows,
                     "warnings");
}

/* ---- the handler ----------------------------------------------------------------------------- */

static enum pe_status check_open(struct api_request *request, struct api_result *result,
                                 struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));
    json_t *description;
    struct pe_params *sets[2];

    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a check");
    state->request = request;
    sets[0] = &state->params;
    sets[1] = &state->answer_params;
    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_answer_params(request, &state->answer_params);
    if (api_function_start(request, "", err) || description_find(request, &description, err) ||
        golden_of_description(request, description, &state->golden, err) ||
        api_bind(request, sets, 2, own, err) || pe_params_finish(&state->params, err) ||
        api_answer_apply(request, &state->answer_params, NULL, err) || entries_read(state, err))
        return err->status;
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    result->operation = "check";
    result->subject = "the check";
    result->encoding_name = "rope";
    result->dtype = state->entries[0].tensor->tensor.dtype;
    result->work = golden_work(&state->golden);
    for (size_t i = 0; i < state->count; i++) {
        const struct entry *entry = &state->entries[i];
        const struct pe_output *output = &entry->kind->outputs[entry->role];
        result->work +=
            pe_golden_check_work(entry->kind->tensors, entry->role,
                                 output->rows * output->row_elements * (entry->is_wide ? 2 : 1));
    }
    return PE_OK;
}

static enum pe_status check_prepare(struct api_request *request, struct api_result *result,
                                    struct pe_error *err)
{
    struct state *state = result->state;

    if (golden_compute(request, &state->golden, err) || golden_verify(state, err))
        return err->status;
    for (size_t i = 0; i < state->golden.count; i++)
        if (kind_check(state, i, err)) {
            checks_free(state);
            return err->status;
        }
    result->report = report_make(state);
    checks_free(state);
    return PE_OK;
}

const struct api_handler api_handler_check = {check_open, check_prepare};
