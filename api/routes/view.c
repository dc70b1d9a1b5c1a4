/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/base/names.h"
#include "api/codings/coding.h"
#include "api/codings/zlib_compress.h"
#include "api/config/config.h"
#include "api/config/scheme_cache.h"
#include "api/formats/formats.h"
#include "api/pictures/plot.h"
#include "api/request/parameters.h"
#include "api/routes/handler.h"
#include "api/routes/query_text.h"
#include "api/routes/result_limits.h"

struct view_state {
    struct api_request *request;
    const struct pe_encoding *encoding;
    const struct pe_view_type *type;
    const char *stored;                   /* the name of a stored table in the path; NULL: none */
    const struct api_stored_table *table; /* the stored table; NULL: none */
    struct pe_params params, view_params, answer_params;
    enum pe_dtype dtype;
    struct pe_scheme *scheme;
    struct api_scheme_caching caching;
    struct pe_view *view;
    struct pe_scalar scalars[PE_OUTPUTS_MAX];
    struct api_plot plot;
    const char *group; /* of views, in the path before the view; NULL: none */
};

static bool is_picture(const struct api_request *request)
{
    return request->format->picture != API_NO_PICTURE;
}

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

/* Finds a view by its name, in any case. */
static const struct pe_view_type *type_find(const struct pe_encoding *encoding, const char *name)
{
    const struct pe_view_type *type = pe_encoding_view(encoding, name);

    for (size_t i = 0; !type && pe_encoding_view_at(encoding, i); i++)
        if (api_names_alike(pe_view_info(pe_encoding_view_at(encoding, i))->name, name))
            type = pe_encoding_view_at(encoding, i);
    return type;
}

/* The path of a view, with the base path. */
static const char *path_print(struct api_request *request, const struct pe_view_type *type)
{
    const char *group = pe_view_info(type)->group;

    return api_arena_print(request->arena, "%s/v1/encodings/%s/%s%s%s",
                           request->settings->base_path, request->name, group ? group : "",
                           group ? "/" : "", pe_view_info(type)->name);
}

/* Suggests similar names, views of the other group by their paths. */
static enum pe_status view_unknown(const struct view_state *state, struct api_request *request,
                                   struct pe_error *err)
{
    const struct pe_encoding *encoding = state->encoding;
    const struct pe_view_type *at;
    struct api_nearest nearest = {.word = request->view};
    char views[120] = "none", hint[240];
    size_t used = 0;

    for (size_t i = 0; (at = pe_encoding_view_at(encoding, i)) && used < sizeof(views); i++) {
        const char *name = pe_view_info(at)->name;
        api_nearest_offer(&nearest, name, strlen(name));
        if (in_group(state, at))
            used += (size_t)snprintf(views + used, sizeof(views) - used, "%s%s",
                                     used > 0 ? ", " : "", name);
    }
    for (size_t i = 0; i < nearest.count; i++) {
        at = pe_encoding_view(encoding, nearest.names[i]);
        if (!in_group(state, at)) {
            nearest.names[i] = path_print(request, at);
            nearest.lengths[i] = nearest.names[i] ? strlen(nearest.names[i]) : 0;
        }
    }
    return pe_fail(err, PE_NOT_FOUND, "", "%s has no %s '%.40s'; it has %s%s",
                   pe_encoding_info(encoding)->name, state->group ? state->group : "view",
                   request->view, views, api_nearest_print(&nearest, hint, sizeof(hint)));
}

static enum pe_status names_find(struct view_state *state, struct api_request *request,
                                 struct pe_error *err)
{
    if (api_encoding_named(request, request->name, &state->encoding, &state->stored, err))
        return err->status;
    state->type = type_find(state->encoding, request->view);
    if (!state->type)
        return view_unknown(state, request, err);
    if (in_group(state, state->type))
        return PE_OK;
    return pe_fail(err, PE_NOT_FOUND, "", "%s has its %s at %s",
                   pe_encoding_info(state->encoding)->name, pe_view_info(state->type)->name,
                   path_print(request, state->type) ?: "another path");
}

static bool takes_weights(const struct view_state *state, const struct api_request *request)
{
    return pe_view_info(state->type)->tensor && strcmp(request->method, "POST") == 0;
}

/* The only tensor that a view takes: weights, or the table that `table` names. */
static bool is_taken(const struct view_state *state, const char *known, const char *name)
{
    return strcmp(known, "table") == 0 ? api_table_is_posted(&state->params, name)
                                       : strcmp(known, name) == 0;
}

static enum pe_status tensors_check(const struct view_state *state,
                                    const struct api_request *request, struct pe_error *err)
{
    const char *encoding = pe_encoding_info(state->encoding)->name;
    const char *known = pe_view_info(state->type)->tensor;
    const bool is_table = known && strcmp(known, "table") == 0;
    char where[sizeof(err->where)];

    for (size_t i = 0; i < request->tensors_count; i++) {
        const char *name = request->tensors[i].name;
        if (known && is_taken(state, known, name))
            continue;
        if (is_table && !pe_param_given(&state->params, "table"))
            return pe_fail(err, PE_MISSING, "parameter:table",
                           "table is required: tensor:%.60s is the one that is posted", name);
        snprintf(where, sizeof(where), "tensor:%.80s", name);
        if (is_table)
            return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                           "%s takes one tensor, that of table=tensor:%.60s, and table names "
                           "another",
                           encoding, name);
        return pe_fail(err, PE_UNKNOWN_PARAMETER, where, "%s takes no tensor%s%s, got '%.60s'",
                       encoding, known ? " but " : "s", known ? known : "", name);
    }
    return PE_OK;
}

/* Reads the dtype, which is not bound with the other parameters, and whose errors are
 * reported together. */
static enum pe_status dtype_read(struct view_state *state, struct api_request *request,
                                 bool is_picture, struct pe_error *err)
{
    struct pe_error wrong = {0};

    if (!api_request_dtype(request, is_picture, PE_F32, &state->dtype, &wrong))
        return err->status;
    if (!err->status)
        *err = wrong;
    else if (request->parameter_errors)
        api_parameter_error_note(request, "dtype", &wrong);
    return err->status;
}

static enum pe_status params_bind(struct view_state *state, struct api_request *request,
                                  struct pe_error *err)
{
    struct pe_params *sets[] = {&state->params, &state->view_params, &state->answer_params,
                                &state->plot.params};
    bool again, is_picture;
    char own[96];

    pe_params_init(&state->params, pe_encoding_info(state->encoding)->params,
                   pe_encoding_info(state->encoding)->params_count);
    pe_params_init(&state->view_params, pe_view_info(state->type)->params,
                   pe_view_info(state->type)->params_count);
    api_answer_params(request, &state->answer_params);
    is_picture = pe_params_find(&state->view_params, "pool") >= 0;
    if (api_plot_begin(request, &state->plot, err))
        return err->status;
    if (api_stored_name_set(&state->params, state->stored, err) || api_config_open(request, err))
        return err->status;
    again = request->json && api_encoding_is_posted(request);
    snprintf(own, sizeof(own), "dtype %s%s" API_CONFIG_OWN, again ? "encoding " : "",
             takes_weights(state, request) ? "tensors tensor " : "");
    api_bind(request, sets, 4, own, err);
    if (dtype_read(state, request, is_picture, err) ||
        (again &&
         api_encoding_again(request, state->encoding, state->stored, &state->params, err)) ||
        tensors_check(state, request, err) || pe_params_finish(&state->view_params, err) ||
        pe_params_finish(&state->plot.params, err))
        return err->status;
    return PE_OK;
}

static bool view_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                           size_t row_end, void *out)
{
    struct view_state *state = result->state;

    return pe_view_fill(state->view, output, row_begin, row_end, out, state->request->work,
                        &(struct pe_error){0}) == PE_OK;
}

/* "rope_d128_n4096_f16"; views other than the first have their name in it. */
static const char *file_stem(const struct view_state *state, struct api_arena *arena)
{
    const double dim = pe_param_number(pe_scheme_params(state->scheme), "dim");
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

/* ---- opening, and pooling for a picture ------------------------------------------------------ */

/* The parameters that make a view small. */
static const char *const sizes[] = {"pool", "rows", "columns"};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* Opens a view; the lists of its parameters are borrowed and must outlive it. */
static enum pe_status view_new(struct api_request *request, const struct pe_scheme *scheme,
                               const struct pe_view_type *type, const struct pe_params *params,
                               enum pe_dtype dtype, struct pe_view **view, struct pe_error *err)
{
    struct pe_params lent = *params;

    for (size_t i = 0; i < lent.count; i++)
        lent.values[i].lent = true;
    return pe_view_new(view, scheme, type, &lent, dtype, request->work, err);
}

/* The parameters without those. */
static struct pe_params params_plain(const struct pe_params *params)
{
    struct pe_params plain = *params;

    for (size_t i = 0; i < SIZES; i++) {
        const int at = pe_params_find(params, sizes[i]);
        if (at >= 0)
            plain.values[at] = (struct pe_value){0};
    }
    return plain;
}

/* Pooling by minmax makes two matrices of one. */
static bool is_doubled(const struct pe_params *params)
{
    const int pool = pe_params_find(params, "pool");
    char how[8] = "";

    if (pool >= 0 && params->values[pool].given)
        pe_choice_name(&params->list[pool], (size_t)params->values[pool].number, how, sizeof(how));
    return strcmp(how, "minmax") == 0;
}

/* Sets the parameters that pool a matrix to the pixels of the plot. False: the matrix has no more
 * than those. */
static bool params_pool(struct pe_params *params, struct api_plot *plot, struct pe_error *err)
{
    const int pool = pe_params_find(params, "pool");
    bool fits;

    if (plot->mark == API_HEATMAP && is_doubled(params))
        api_plot_cells(plot, 2 * plot->matrices);
    fits = plot->rows <= plot->cells_high && plot->columns <= plot->cells_wide;
    if (plot->mark != API_HEATMAP || pool < 0 || (fits && !params->values[pool].given))
        return false;
    if (!params->values[pool].given)
        pe_params_set_text(params, (size_t)pool, "mean", err);
    pe_params_infer(params, "rows", (double)plot->cells_high, err);
    pe_params_infer(params, "columns", (double)plot->cells_wide, err);
    return true;
}

static bool is_pooled(const struct pe_params *params)
{
    const int pool = pe_params_find(params, "pool");

    return pool >= 0 && params->values[pool].given;
}

/* Chooses how an open view is drawn. A view that is too large is opened anew, pooled, and the
 * parameters say so. */
static enum pe_status view_plot(struct api_request *request, const struct pe_scheme *scheme,
                                const struct pe_view_type *type, struct pe_params *params,
                                enum pe_dtype dtype, struct api_plot *plot, struct pe_view **view,
                                struct pe_error *err)
{
    const struct pe_params without = params_plain(params);
    struct pe_view *plain = NULL;

    if (dtype == PE_U8)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "parameter:dtype",
                       "a picture is of numbers and not of u8; leave dtype out");
    if (!view_new(request, scheme, type, &without, dtype, &plain, err))
        api_plot_choose(plot, plain, err);
    pe_view_free(plain);
    if (!err->status && plot->mark != API_HEATMAP && is_pooled(params))
        pe_fail(err, PE_CONFLICT, "parameter:pool",
                "pool goes with a heat map; leave it out, or give plot=heatmap");
    if (err->status || !params_pool(params, plot, err) || err->status)
        return err->status;
    pe_view_free(*view);
    *view = NULL;
    return view_new(request, scheme, type, params, dtype, view, err);
}

/* Refuses a range of positions that is too long for any answer of the format before it is expanded:
 * each position has a row of one element at least. */
static enum pe_status positions_check(const struct view_state *state,
                                      const struct api_request *request, struct pe_error *err)
{
    const struct pe_value *positions = pe_param_value(&state->view_params, "positions");

    if (!positions || !positions->range || is_picture(request) ||
        pe_param_given(&state->view_params, "pool"))
        return PE_OK;
    return api_format_elements_check(
        request, positions->list_count / (positions->rows > 0 ? positions->rows : 1), err);
}

static void result_set(const struct view_state *state, struct api_request *request,
                       struct api_result *result);

/* The same number of positions at even steps, from the least one on, as one range. */
static struct pe_value even_positions(const struct pe_value *positions)
{
    double least = positions->segments[0].first;

    for (size_t i = 1; i < positions->segments_count; i++)
        least = fmin(least, positions->segments[i].first);
    return (struct pe_value){.given = true,
                             .present = true,
                             .range = true,
                             .number = least,
                             .list_count = positions->list_count /
                                           (positions->rows > 0 ? positions->rows : 1)};
}

/* Compares positions in several ranges with the limits before they are expanded, by a view of the
 * same number at even steps: its outputs have the same size, and it takes no longer. Where that
 * view fails, as for rows that a learned table lacks, only the view itself is checked. */
static enum pe_status ranges_check(const struct view_state *state, struct api_request *request,
                                   struct pe_error *err)
{
    const int index = pe_params_find(&state->view_params, "positions");
    const struct pe_value *positions = index >= 0 ? &state->view_params.values[index] : NULL;
    struct view_state even = *state;
    struct api_result result = {0};
    struct api_amounts amounts;
    struct pe_error ignored = {0};

    if (!positions || !positions->segments || is_picture(request))
        return PE_OK;
    even.view_params.values[index] = even_positions(positions);
    even.view = NULL;
    if (view_new(request, even.scheme, even.type, &even.view_params, even.dtype, &even.view,
                 &ignored))
        return PE_OK;
    result_set(&even, request, &result);
    result.work += (double)positions->list_count;
    amounts = api_amounts_of(request, &result);
    api_amounts_send(&amounts, &result, 1);
    api_limits_check(request, &result, &amounts, true, err);
    pe_view_free(even.view);
    return err->status;
}

static enum pe_status scheme_open(struct view_state *state, struct api_request *request,
                                  struct pe_error *err)
{
    const struct api_tensor *weights = api_request_tensor(request, "weights");

    if (api_scheme_open(request->config, state->encoding, &state->params, request->work,
                        &state->scheme, err) ||
        positions_check(state, request, err) ||
        (weights &&
         pe_scheme_give(state->scheme, "weights", &weights->tensor, request->work, err)) ||
        api_table_give(request, state->scheme, &state->table, err) ||
        (!weights && api_scheme_cache_find(request, &state->scheme, &state->caching, err)) ||
        ranges_check(state, request, err) ||
        view_new(request, state->scheme, state->type, &state->view_params, state->dtype,
                 &state->view, err))
        return err->status;
    return PE_OK;
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
    if (is_picture(request)) {
        api_hash_params(&hash, &state->plot.params);
        api_hash_text(&hash, api_deflate_version()); /* SVG contains heat maps as PNG */
    }
    api_hash_coding(&hash, request->response_coding);
    if (request->config)
        api_config_hash(request->config, &hash);
    if (state->table)
        api_hash_stored_table(&hash, state->table);
    return api_hash_etag(&hash, request->arena);
}

/* A stored table may be replaced at any time, a version of it never. */
static const char *cache_control(const struct view_state *state, const struct api_request *request)
{
    if (state->table && !pe_param_given(&state->params, "version"))
        return "no-cache";
    return state->table || api_request_text(request, "revision")
               ? "public, max-age=31536000, immutable"
               : "public, max-age=3600";
}

/* The URL of the same answer by GET. NULL: a posted tensor or a config is part of it, or the URL
 * would be too long. */
static enum pe_status twin_make(const struct view_state *state, struct api_request *request,
                                const char **twin, struct pe_error *err)
{
    const struct pe_params *sets[] = {&state->params, &state->view_params, &state->answer_params,
                                      &state->plot.params};

    if (request->tensors_count > 0 || request->config)
        return PE_OK;
    return api_query_text_url(request,
                              api_link(request, "/v1/encodings/%s/%s%s%s", request->name,
                                       state->group ? state->group : "", state->group ? "/" : "",
                                       pe_view_info(state->type)->name),
                              sets, 4, state->dtype, twin, err);
}

static double place_of(const struct api_result *result, size_t row)
{
    const struct view_state *state = result->state;
    const size_t queries = pe_view_queries(state->view);
    const int start = pe_params_find(&state->view_params, "query_start");

    if (queries == 0)
        return pe_view_position(state->view, row);
    return (start >= 0 && state->view_params.values[start].given
                ? pe_param_number(&state->view_params, "query_start")
                : (double)pe_view_keys(state->view) - (double)queries) +
           (double)row;
}

static enum pe_status plot_open(struct view_state *state, struct api_request *request,
                                struct pe_error *err)
{
    struct api_plot *plot = &state->plot;

    plot->view = pe_view_info(state->type)->name;
    plot->name = pe_encoding_info(state->encoding)->name;
    plot->place = place_of;
    plot->pixels = request->format->picture == API_PIXELS;
    return twin_make(state, request, &plot->url, err)
               ? err->status
               : view_plot(request, state->scheme, state->type, &state->view_params, state->dtype,
                           plot, &state->view, err);
}

static enum pe_status validator_set(const struct view_state *state, struct api_request *request,
                                    struct api_result *result, struct pe_error *err)
{
    if (strcmp(request->method, "POST") == 0) {
        result->cache_control = "no-store";
        return twin_make(state, request, &result->content_location, err);
    }
    result->etag = etag_make(state, request);
    result->cache_control = cache_control(state, request);
    return result->etag ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
}

static enum pe_status result_describe(const struct view_state *state, struct api_request *request,
                                      struct api_result *result, struct pe_error *err)
{
    if (api_result_describe(request, result, state->scheme, err))
        return err->status;
    if (pe_view_info(state->type)->note)
        json_array_append_new(result->warnings, json_string(pe_view_info(state->type)->note));
    api_result_warn_beyond(result, state->scheme, pe_view_positions(state->view));
    return PE_OK;
}

static void result_set(const struct view_state *state, struct api_request *request,
                       struct api_result *result)
{
    api_result_widths(result, &state->params);
    result->outputs = pe_view_output(state->view, 0);
    while (pe_view_output(state->view, result->outputs_count))
        result->outputs_count++;
    result->fill = view_rows_fill;
    result->pure = result->first_leads = true;
    result->cheap = !state->table;
    result->memory = pe_view_memory(state->view);
    result->work = (state->caching.found ? 0 : pe_scheme_work(state->scheme)) +
                   (is_picture(request) ? api_plot_cost(&state->plot) : 0);
    result->file_stem = file_stem(state, request->arena);
    result->operation = pe_view_info(state->type)->name;
    result->encoding_name = pe_encoding_info(state->encoding)->name;
    result->dtype = state->dtype;
    result->plot = is_picture(request) ? &state->plot : NULL;
}

/* ---- the two phases -------------------------------------------------------------------------- */

static enum pe_status view_open(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    struct view_state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    state->request = request;
    state->group = request->route->handler == &api_handler_get_analysis ? "analysis" : NULL;
    if (names_find(state, request, err) || params_bind(state, request, err) ||
        api_answer_apply(request, &state->answer_params, result, err) ||
        scheme_open(state, request, err) || (is_picture(request) && plot_open(state, request, err)))
        return err->status;
    result_set(state, request, result);
    validator_set(state, request, result, err);
    return err->status ? err->status : result_describe(state, request, result, err);
}

static enum pe_status view_prepare(struct api_request *request, struct api_result *result,
                                   struct pe_error *err)
{
    struct view_state *state = result->state;
    size_t *count = &result->scalars_count;

    if (api_scheme_prepare(request, state->scheme, &state->caching, err))
        return err->status;
    while (*count < PE_OUTPUTS_MAX && pe_view_scalar(state->view, *count, &state->scalars[*count]))
        (*count)++;
    result->scalars = state->scalars;
    return PE_OK;
}

const struct api_handler api_handler_get_view = {view_open, view_prepare};
const struct api_handler api_handler_get_analysis = {view_open, view_prepare};
