/* SPDX-License-Identifier: MIT */
#include "posenc/engines.h"
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/routes/handler.h"

/* GET /v1/engines: the engines that were measured, and with a filter the measured cells. */

/* Estimated nanoseconds of the answer, printing included: with all cells of an engine, or short. */
#define CELLS_WORK   3e6
#define ENGINES_WORK 3e5

struct state {
    const struct pe_engine *engine; /* NULL: all */
    const char *model_type;         /* NULL: all */
};

static enum pe_status engines_open(struct api_request *request, struct api_result *result,
                                   struct pe_error *err)
{
    const char *engine = api_request_text(request, "engine");
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the engines");
    *state = (struct state){.model_type = api_request_text(request, "model_type")};
    result->kind = API_REPORT;
    result->tagged = true;
    result->cache_control = "public, max-age=60";
    result->work = engine || state->model_type ? CELLS_WORK : ENGINES_WORK;
    if (api_bind(request, NULL, 0, "engine model_type", err))
        return err->status;
    if (engine && pe_engine_find(&state->engine, engine, "parameter:engine", err))
        return err->status;
    if (state->model_type && !pe_engine_has_model_type(state->model_type))
        return pe_fail(err, PE_NOT_FOUND, "parameter:model_type",
                       "no config with the model_type '%.60s' was measured", state->model_type);
    return PE_OK;
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* {"same": 341, ...} of the cells in a form. */
static json_t *counts_make(const struct state *state, const struct pe_engine *engine, int form)
{
    size_t counts[PE_ENGINE_VERDICTS] = {0};
    struct pe_engine_cell cell;
    json_t *object = json_object();

    for (size_t i = 0; pe_engine_cell_at(engine, state->model_type, i, &cell); i++)
        counts[cell.verdict] += cell.form == form;
    for (size_t i = 0; i < PE_ENGINE_VERDICTS; i++)
        json_object_set_new(object, pe_engine_verdict_name((enum pe_engine_verdict)i),
                            json_integer((json_int_t)counts[i]));
    return object;
}

/* ["0.32.2", "0.31.3"] */
static json_t *versions_make(const struct pe_engine *engine)
{
    const struct pe_engine *version;
    json_t *list = json_array();

    for (size_t i = 0; (version = pe_engine_version_at(engine, i)); i++)
        json_array_append_new(list, json_string(version->version));
    return list;
}

static json_t *engine_make(const struct state *state, const struct pe_engine *engine)
{
    return json_pack("{ss ss ss so ss ss ss s{so so}}", "name", engine->name, "package",
                     engine->package, "version", engine->version, "versions", versions_make(engine),
                     "sha256", engine->sha256, "beside", engine->beside, "how", engine->how,
                     "cells", "4", counts_make(state, engine, 4), "5",
                     counts_make(state, engine, 5));
}

static void count_put(json_t *row, const char *name, int64_t count)
{
    if (count)
        json_object_set_new(row, name, json_integer(count));
}

static void text_put(json_t *row, const char *name, const char *text)
{
    if (text)
        json_object_set_new(row, name, json_string(text));
}

/* "a, b" as ["a", "b"]. */
static void keys_put(json_t *row, const char *keys)
{
    json_t *list = json_array();

    for (; keys && *keys; keys += strspn(keys, ", ")) {
        const size_t size = strcspn(keys, ",");
        json_array_append_new(list, json_stringn(keys, size));
        keys += size;
    }
    json_object_set_new(row, "keys", list);
}

static void difference_put(json_t *row, const struct pe_engine_difference *difference)
{
    text_put(row, "code", difference->code);
    text_put(row, "also", difference->also);
    text_put(row, "layer_type", difference->layer_type);
    count_put(row, "layers", (int64_t)difference->layers);
    keys_put(row, difference->keys);
    text_put(row, "reads", difference->reads);
    if (difference->pairs) {
        count_put(row, "pairs", (int64_t)difference->pairs);
        count_put(row, "of", (int64_t)difference->of);
        json_object_set_new(row, "radians", json_real(difference->radians));
        count_put(row, "at", difference->at);
    }
    count_put(row, "length", difference->length);
}

static json_t *cell_make(const struct pe_engine_cell *cell)
{
    json_t *row =
        json_pack("{ss ss ss so si ss}", "engine", cell->engine->name, "config", cell->row, "kind",
                  cell->kind, "model_type", text_or_null(cell->model_type), "form", cell->form,
                  "verdict", pe_engine_verdict_name(cell->verdict));

    if (cell->difference)
        difference_put(row, cell->difference);
    text_put(row, "message", cell->message);
    return row;
}

static enum pe_status engines_make(struct api_request *request, struct api_result *result,
                                   struct pe_error *err)
{
    const struct state *state = result->state;
    json_t *engines = json_array(), *cells = json_array(), *codes = json_object();
    const struct pe_engine *engine;
    struct pe_engine_cell cell;
    const char *code, *doc;

    (void)request;
    for (size_t i = 0; !state->engine && (engine = pe_engine_at(i)); i++)
        json_array_append_new(engines, engine_make(state, engine));
    if (state->engine)
        json_array_append_new(engines, engine_make(state, state->engine));
    for (size_t i = 0; (code = pe_engine_code_at(i, &doc)); i++)
        json_object_set_new(codes, code, json_string(doc));
    if (!state->engine && !state->model_type) {
        json_decref(cells);
        result->report = json_pack("{so so}", "engines", engines, "codes", codes);
        return err->status;
    }
    for (size_t i = 0; pe_engine_cell_at(state->engine, state->model_type, i, &cell); i++)
        json_array_append_new(cells, cell_make(&cell));
    result->report = json_pack("{so so so}", "engines", engines, "codes", codes, "cells", cells);
    return err->status;
}

const struct api_handler api_handler_engines = {engines_open, engines_make};
