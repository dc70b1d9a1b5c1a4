/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/arguments/described.h"
#include "api/arguments/function.h"
#include "api/arguments/table_use.h"
#include "api/codings/coding.h"
#include "api/config/config.h"
#include "api/handlers/handler.h"

/* A view: everything that can be refused is refused, and the validator is known, before any work.
 */
struct view_state {
    struct api_request *request;
    const struct pe_encoding *encoding;
    const struct pe_view_type *type;
    const char *stored;                   /* the name of a stored table that was asked for; NULL */
    const struct api_stored_table *table; /* a stored one that is looked up; NULL */
    struct pe_params params, view_params, answer_params;
    enum pe_dtype dtype;
    struct pe_scheme *scheme;
    struct pe_view *view;
    struct api_result result;
    struct pe_scalar scalars[PE_OUTPUTS_MAX];
    const char *group; /* what the path says before the view; NULL: nothing */
};

static void state_release(void *what)
{
    struct view_state *state = what;

    pe_view_free(state->view);
    pe_scheme_free(state->scheme);
    pe_params_free(&state->params);
    pe_params_free(&state->view_params);
}

static bool in_group(const struct view_state *state, const struct pe_view_type *type)
{
    return state->group
               ? pe_view_info(type)->group && strcmp(state->group, pe_view_info(type)->group) == 0
               : !pe_view_info(type)->group;
}

static enum api_status names_find(struct view_state *state, struct api_request *request,
                                  struct api_error *err)
{
    const struct pe_view_type *at;
    char views[120];
    size_t used = 0;

    if (api_encoding_named(request, request->name, &state->encoding, &state->stored, err))
        return api_failed(err);
    state->type = pe_encoding_view(state->encoding, request->view);
    if (state->type && in_group(state, state->type))
        return API_OK;
    for (size_t i = 0; (at = pe_encoding_view_at(state->encoding, i)) && used < sizeof(views); i++)
        if (in_group(state, at))
            used += (size_t)snprintf(views + used, sizeof(views) - used, "%s%s",
                                     used > 0 ? ", " : "", pe_view_info(at)->name);
    return api_fail(err, API_NOT_FOUND, "", "%s has no %s '%.40s'; it has %s",
                    pe_encoding_info(state->encoding)->name, state->group ? state->group : "view",
                    request->view, used > 0 ? views : "none");
}

static bool takes_weights(const struct view_state *state, const struct api_request *request)
{
    return pe_view_info(state->type)->tensor && strcmp(request->method, "POST") == 0;
}

/* The only tensor that a view takes: what has been learned. */
static enum api_status tensors_check(const struct view_state *state,
                                     const struct api_request *request, struct api_error *err)
{
    char where[sizeof(err->where)];

    for (size_t i = 0; i < request->tensors_count; i++) {
        const char *name = request->tensors[i].name, *known = pe_view_info(state->type)->tensor;
        if (known && strcmp(name, known) == 0)
            continue;
        snprintf(where, sizeof(where), "tensor:%.80s", name);
        return api_fail(err, API_UNKNOWN_PARAMETER, where, "%s takes no tensor%s%s, got '%.60s'",
                        pe_encoding_info(state->encoding)->name, known ? " but " : "s",
                        known ? known : "", name);
    }
    return API_OK;
}

static enum api_status params_bind(struct view_state *state, struct api_request *request,
                                   struct api_error *err)
{
    struct pe_params *sets[] = {&state->params, &state->view_params, &state->answer_params};

    pe_params_init(&state->params, pe_encoding_info(state->encoding)->params,
                   pe_encoding_info(state->encoding)->params_count);
    pe_params_init(&state->view_params, pe_view_info(state->type)->params,
                   pe_view_info(state->type)->params_count);
    api_answer_params(request, &state->answer_params);
    if (api_stored_name_set(&state->params, state->stored, err) ||
        tensors_check(state, request, err) || api_config_open(request, err) ||
        api_bind(request, sets, 3,
                 takes_weights(state, request) ? "dtype tensors tensor " API_CONFIG_OWN
                                               : "dtype " API_CONFIG_OWN,
                 err) ||
        api_request_dtype(request, PE_F32, &state->dtype, err) ||
        pe_params_finish(&state->view_params, &err->core))
        return api_failed(err);
    return api_answer_apply(request, &state->answer_params, &state->result, err);
}

static double number_or_zero(const struct pe_params *params, const char *name)
{
    const int index = pe_params_find(params, name);

    return index >= 0 && params->values[index].present ? params->values[index].number : 0;
}

static enum api_status limits_check(const struct view_state *state,
                                    const struct api_request *request, struct api_error *err)
{
    const double most = (double)request->settings->limits.dim_max;

    for (const char *const *name = (const char *const[]){"dim", "heads", NULL}; *name; name++)
        if (number_or_zero(&state->params, *name) > most) {
            char where[64];
            snprintf(where, sizeof(where), "parameter:%s", *name);
            return api_fail(err, API_TOO_LARGE, where, "%s is at most %.0f, the value of --dim-max",
                            *name, most);
        }
    return API_OK;
}

static bool fill(struct api_result *result, size_t output, size_t row_begin, size_t row_end,
                 void *out)
{
    struct view_state *state = result->state;

    return pe_view_fill(state->view, output, row_begin, row_end, out, state->request->work,
                        &(struct pe_error){0}) == PE_OK;
}

/* "rope_d128_n4096_f16"; views other than the first have their name in it. */
static const char *file_stem(const struct view_state *state, struct api_arena *arena)
{
    const double dim = number_or_zero(pe_scheme_params(state->scheme), "dim");
    const bool main_view = state->type == pe_encoding_view_at(state->encoding, 0);
    char text[160];
    size_t used =
        (size_t)snprintf(text, sizeof(text), "%s%s%s", pe_encoding_info(state->encoding)->name,
                         main_view ? "" : "_", main_view ? "" : pe_view_info(state->type)->name);

    if (dim > 0)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "_d%.0f", dim);
    if (pe_scheme_heads(state->scheme) > 0)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "_h%zu",
                                 pe_scheme_heads(state->scheme));
    if (pe_view_positions(state->view)->count > 0)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "_n%zu",
                                 pe_view_positions(state->view)->count);
    if (pe_view_queries(state->view) > 0)
        snprintf(text + used, sizeof(text) - used, "_q%zu_k%zu", pe_view_queries(state->view),
                 pe_view_keys(state->view));
    return api_arena_print(arena, "%s_%s", text, pe_dtype_info(state->dtype)->name);
}

/* The part that costs next to nothing: shapes, limits, what the format can hold. */
static enum api_status result_open(struct view_state *state, struct api_request *request,
                                   struct api_response *response, struct api_error *err)
{
    struct api_result *result = &state->result;
    const struct api_tensor *weights = api_request_tensor(request, "weights");

    if (api_config_scheme(request->config, state->encoding, &state->params, &state->scheme, err) ||
        (weights &&
         pe_scheme_give(state->scheme, "weights", &weights->tensor, request->work, &err->core)) ||
        api_table_give(request, state->scheme, &state->table, err) ||
        limits_check(state, request, err) ||
        pe_view_new(&state->view, state->scheme, state->type, &state->view_params, state->dtype,
                    request->work, &err->core))
        return api_failed(err);
    while (pe_view_output(state->view, result->outputs_count))
        result->outputs_count++;
    result->outputs = pe_view_output(state->view, 0);
    result->fill = fill;
    result->pure = result->first_leads = true;
    result->state = state;
    result->file_stem = file_stem(state, request->arena);
    response->operation = pe_view_info(state->type)->name;
    response->encoding = pe_encoding_info(state->encoding)->name;
    response->dtype = state->dtype;
    if (api_result_check(request, result, response, err) ||
        (request->format->check && request->format->check(result, err)))
        return api_failed(err);
    return API_OK;
}

static const char *etag_make(const struct view_state *state, struct api_request *request)
{
    struct api_hash hash;

    api_hash_start(&hash);
    api_hash_text(&hash, request->api->revision);
    api_hash_text(&hash, pe_encoding_info(state->encoding)->name);
    api_hash_text(&hash, pe_view_info(state->type)->name);
    api_hash_text(&hash, request->format->media_type);
    api_hash_text(&hash, pe_dtype_info(state->dtype)->name);
    api_hash_params(&hash, pe_scheme_params(state->scheme));
    api_hash_params(&hash, &state->view_params);
    api_hash_params(&hash, &state->answer_params);
    if (request->coding)
        api_hash_text(&hash, request->coding->name);
    if (request->config)
        api_config_hash(request->config, &hash);
    if (state->table)
        api_hash_stored_table(&hash, state->table);
    return api_hash_etag(&hash, request->arena);
}

/* A stored table may be replaced at any moment, but never a version of it. */
static const char *cache_control(const struct view_state *state, const struct api_request *request)
{
    if (state->table && !pe_param_given(&state->params, "version"))
        return "no-cache";
    return state->table || api_request_text(request, "revision")
               ? "public, max-age=31536000, immutable"
               : "public, max-age=3600";
}

/* Sets the caching headers; *fresh: the client has it already. */
static enum api_status cache_check(struct view_state *state, struct api_request *request,
                                   struct api_response *response, bool *fresh,
                                   struct api_error *err)
{
    const char *etag;

    *fresh = false;
    if (strcmp(request->method, "POST") == 0) {
        api_response_header(response, "Cache-Control", "no-store");
        return API_OK;
    }
    etag = etag_make(state, request);
    if (!etag)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the answer");
    api_response_header(response, "ETag", etag);
    api_response_header(response, "Cache-Control", cache_control(state, request));
    *fresh = api_etag_listed(request->if_none_match, etag);
    return API_OK;
}

static enum api_status result_finish(struct view_state *state, const struct api_request *request,
                                     bool headers_only, struct api_error *err)
{
    struct api_result *result = &state->result;

    /* HEAD and 304 do no work: their headers hold nothing that needs any. */
    if (!headers_only) {
        if (!api_arena_count(request->arena, pe_view_kept(state->view)))
            return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for what an analysis keeps");
        if (pe_scheme_prepare(state->scheme, request->work, &err->core))
            return api_failed(err);
        while (result->scalars_count < PE_OUTPUTS_MAX &&
               pe_view_scalar(state->view, result->scalars_count,
                              &state->scalars[result->scalars_count]))
            result->scalars_count++;
        result->scalars = state->scalars;
    }
    if (api_result_describe(request, result, state->scheme, err))
        return api_failed(err);
    if (pe_view_info(state->type)->note)
        json_array_append_new(result->warnings, json_string(pe_view_info(state->type)->note));
    api_function_warn_beyond(result, state->scheme, pe_view_positions(state->view));
    return API_OK;
}

static enum api_status view_get(struct api_request *request, const char *group,
                                struct api_response *response, struct api_result **result,
                                struct api_error *err)
{
    struct view_state *state = api_arena_take(request->arena, sizeof(*state));
    bool fresh;

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the request");
    state->request = request;
    state->group = group;
    if (names_find(state, request, err) || params_bind(state, request, err) ||
        result_open(state, request, response, err) ||
        cache_check(state, request, response, &fresh, err))
        return api_failed(err);
    if (fresh) {
        response->status = 304;
        atomic_fetch_add_explicit(&request->api->not_modified, 1, memory_order_relaxed);
    }
    if (fresh || request->head_only)
        response->elements = 0;
    if (result_finish(state, request, fresh || request->head_only, err))
        return api_failed(err);
    *result = &state->result;
    return API_OK;
}

enum api_status api_handle_get_view(struct api_request *request, struct api_response *response,
                                    struct api_result **result, struct api_error *err)
{
    return view_get(request, NULL, response, result, err);
}

enum api_status api_handle_get_analysis(struct api_request *request, struct api_response *response,
                                        struct api_result **result, struct api_error *err)
{
    return view_get(request, "analysis", response, result, err);
}
