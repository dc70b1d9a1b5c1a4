/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/config/config.h"
#include "api/config/key_lines.h"
#include "api/memory/json.h"
#include "api/routes/handler.h"
#include "api/routes/lint.h"
#include "posenc/engines.h"

/* POST /v1/lint: which engines read a config otherwise than its model's own code, and how it
 * differs from another config that must agree with it. */

enum report { REPORT_JSON, REPORT_SARIF };

struct state {
    struct api_lint_engines engines;
    struct api_config *against; /* NULL: none */
    enum report report;
    const char *file; /* its name in SARIF */
};

/* ---- parameters ------------------------------------------------------------------------------ */

static enum pe_status engine_add(struct api_lint_engines *engines, const char *text,
                                 struct pe_error *err)
{
    const struct pe_engine *engine;

    if (pe_engine_find(&engine, text, "parameter:for", err))
        return err->status;
    for (size_t i = 0; i < engines->count; i++)
        if (engines->list[i] == engine)
            return pe_fail(err, PE_CONFLICT, "parameter:for", "%s is named twice", engine->name);
    if (engines->count < API_LINT_ENGINES_MAX)
        engines->list[engines->count++] = engine;
    return PE_OK;
}

/* "mlx-lm==0.32.2,vllm" */
static enum pe_status engines_parse(struct api_request *request, struct api_lint_engines *engines,
                                    const char *text, struct pe_error *err)
{
    do {
        const size_t size = strcspn(text, ",");
        const char *name =
            api_arena_print(request->arena, "%.*s", (int)(size < 80 ? size : 80), text);
        if (!name)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the engines");
        if (engine_add(engines, name, err))
            return err->status;
        text += size + (text[size] == ',');
    } while (*text);
    return PE_OK;
}

static enum pe_status engines_list(struct api_lint_engines *engines, const json_t *list,
                                   struct pe_error *err)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item))
            return pe_fail(err, PE_INVALID, "parameter:for", "for must be a list of engines");
        if (engine_add(engines, json_string_value(item), err))
            return err->status;
    }
    return PE_OK;
}

enum pe_status api_lint_engines_read(struct api_request *request, bool is_all,
                                     struct api_lint_engines *engines, struct pe_error *err)
{
    const json_t *list = json_object_get(request->json, "for");
    const char *text = json_is_array(list) ? NULL : api_request_text(request, "for");

    if (json_is_array(list))
        return engines_list(engines, list, err);
    if (text)
        return engines_parse(request, engines, text, err);
    for (size_t i = 0; is_all && i < API_LINT_ENGINES_MAX && pe_engine_at(i); i++)
        engines->list[engines->count++] = pe_engine_at(i);
    return PE_OK;
}

static enum pe_status report_read(struct api_request *request, struct state *state,
                                  struct pe_error *err)
{
    const char *report, *file;

    if (api_request_scalar(request, "report", &report, err) ||
        api_request_scalar(request, "file", &file, err))
        return err->status;
    state->file = file ? file : "config.json";
    state->report = report && strcmp(report, "sarif") == 0 ? REPORT_SARIF : REPORT_JSON;
    return !report || state->report == REPORT_SARIF || strcmp(report, "json") == 0
               ? PE_OK
               : pe_fail(err, PE_INVALID, "parameter:report",
                         "report must be json or sarif, got "
                         "'%.40s'",
                         report);
}

static enum pe_status against_read(struct api_request *request, struct state *state,
                                   struct pe_error *err)
{
    if (!json_object_get(request->json, "against"))
        return PE_OK;
    if (api_config_open_full_at(request, "against", &state->against, err))
        return err->status;
    return state->against
               ? PE_OK
               : pe_fail(err, PE_INVALID, "pointer:/against", "against must be a config.json");
}

static enum pe_status lint_open(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    *state = (struct state){0};
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    if (api_config_open_full(request, err))
        return err->status;
    if (!request->config) {
        pe_fail(err, PE_MISSING, "parameter:config",
                "config is required: post a config.json, or {\"config\": {...}}");
        return api_parameter_error_note(request, "config", err)
                   ? err->status
                   : api_bind(request, NULL, 0, "config for report file against", err);
    }
    if (api_bind(request, NULL, 0, "config for report file against", err) ||
        report_read(request, state, err) || against_read(request, state, err) ||
        api_lint_engines_read(request, !state->against, &state->engines, err))
        return err->status;
    result->work = (double)(state->engines.count + 1) * pe_lint_work(request->config->values);
    if (state->against)
        result->work += pe_lint_work(state->against->values);
    return PE_OK;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* "a, b" as ["a", "b"]. */
static json_t *list_make(const char *text)
{
    json_t *list = json_array();

    for (; *text; text += strspn(text, ", ")) {
        const size_t size = strcspn(text, ",");
        json_array_append_new(list, json_stringn(text, size));
        text += size;
    }
    return list;
}

static void count_put(json_t *row, const char *name, int64_t count)
{
    if (count)
        json_object_set_new(row, name, json_integer(count));
}

static void size_put(json_t *row, size_t pairs, size_t of, double radians, int64_t at)
{
    if (!pairs)
        return;
    count_put(row, "pairs", (int64_t)pairs);
    count_put(row, "of", (int64_t)of);
    json_object_set_new(row, "radians", json_real(radians));
    count_put(row, "at", at);
}

static json_t *evidence_make(const struct pe_lint_finding *finding)
{
    const struct pe_engine_difference *measured = finding->measured;
    json_t *evidence = json_pack("{ss ss}", "config", finding->row, "rope", finding->rope);

    if (measured) {
        json_object_set_new(evidence, "code", json_string(measured->code));
        size_put(evidence, measured->pairs, measured->of, measured->radians, measured->at);
    }
    return evidence;
}

/* The line of the first key in the file that was posted; 0: unknown. */
static size_t line_of(const struct api_request *request, const struct pe_lint_finding *finding)
{
    const char *pointer = request->config->pointer;
    char key[200];
    const size_t size = strcspn(finding->keys, ",");

    if (!request->config->top || !pointer || size == 0 || size >= sizeof(key))
        return 0;
    memcpy(key, finding->keys, size);
    key[size] = '\0';
    return api_key_line((const char *)request->body, request->body_size,
                        *pointer ? pointer + 1 : NULL, key);
}

static json_t *finding_make(const struct api_request *request,
                            const struct pe_lint_finding *finding)
{
    json_t *row = json_pack("{ss ss so ss so}", "code", finding->code, "message", finding->message,
                            "keys", list_make(finding->keys), "reads", finding->reads,
                            "layer_types", list_make(finding->layer_types));

    if (finding->is_note)
        json_object_set_new(row, "note", json_true());
    count_put(row, "layers", (int64_t)finding->layers);
    size_put(row, finding->pairs, finding->of, finding->radians, finding->at);
    count_put(row, "length", finding->length);
    if (request)
        count_put(row, "line", (int64_t)line_of(request, finding));
    if (finding->row)
        json_object_set_new(row, "evidence", evidence_make(finding));
    return row;
}

static json_t *findings_make(const struct api_request *request, const struct pe_lint *lint)
{
    const struct pe_lint_finding *finding;
    json_t *list = json_array();

    for (size_t i = 0; (finding = pe_lint_finding(lint, i)); i++)
        json_array_append_new(list, finding_make(request, finding));
    return list;
}

json_t *api_lint_engine_json(const struct api_request *request, const struct pe_engine *engine,
                             const struct pe_lint *lint)
{
    json_t *row = json_pack("{ss ss ss si ss so}", "engine", engine->name, "version",
                            engine->version, "sha256", engine->sha256, "form", pe_lint_form(lint),
                            "verdict", pe_engine_verdict_name(pe_lint_verdict(lint)), "findings",
                            findings_make(request, lint));

    if (pe_lint_reason(lint))
        json_object_set_new(row, "reason", json_string(pe_lint_reason(lint)));
    return row;
}

/* ---- SARIF ----------------------------------------------------------------------------------- */

/* Version 2.1.0 of OASIS: a rule for each code, a result for each finding. */

static json_t *rules_make(void)
{
    json_t *rules = json_array();
    const char *code, *doc;

    for (size_t i = 0; (code = pe_engine_code_at(i, &doc)); i++)
        json_array_append_new(rules,
                              json_pack("{ss s{ss}}", "id", code, "shortDescription", "text", doc));
    json_array_append_new(rules, json_pack("{ss s{ss}}", "id", "raises", "shortDescription", "text",
                                           "the engine refuses the config"));
    json_array_append_new(rules, json_pack("{ss s{ss}}", "id", "no-such-model", "shortDescription",
                                           "text", "the engine has no such model"));
    json_array_append_new(rules,
                          json_pack("{ss s{ss}}", "id", "not-measured", "shortDescription", "text",
                                    "the engine was not measured with such a config"));
    return rules;
}

static json_t *result_make(const struct state *state, const char *code, const char *level,
                           json_t *text, json_int_t line)
{
    json_t *location =
        json_pack("{s{s{ss}}}", "physicalLocation", "artifactLocation", "uri", state->file);

    if (line > 0)
        json_object_set_new(json_object_get(location, "physicalLocation"), "region",
                            json_pack("{sI}", "startLine", line));
    return json_pack("{ss ss s{so} s[o]}", "ruleId", code, "level", level, "message", "text", text,
                     "locations", location);
}

static void results_put(const struct state *state, const json_t *row, const char *name,
                        json_t *results)
{
    const char *verdict = json_string_value(json_object_get(row, "verdict"));
    const char *reason = json_string_value(json_object_get(row, "reason"));
    const json_t *finding;
    size_t i;

    if (reason)
        json_array_append_new(results, result_make(state, verdict, "warning",
                                                   json_sprintf("%s: %s", name, reason), 0));
    json_array_foreach(json_object_get(row, "findings"), i, finding) json_array_append_new(
        results, result_make(state, json_string_value(json_object_get(finding, "code")),
                             json_object_get(finding, "note") ? "note" : "error",
                             json_sprintf("%s: %s", name,
                                          json_string_value(json_object_get(finding, "message"))),
                             json_integer_value(json_object_get(finding, "line"))));
}

/* Of the report in JSON, which it frees. */
static json_t *sarif_make(const struct state *state, json_t *report)
{
    json_t *results = json_array(), *row, *sarif;
    size_t i;

    json_array_foreach(json_object_get(report, "engines"), i, row)
        results_put(state, row, json_string_value(json_object_get(row, "engine")), results);
    if (json_object_get(report, "against"))
        results_put(state, json_object_get(report, "against"), "against", results);
    sarif = json_pack("{ss ss s[{s{s{ss ss ss so}} so s{sO}}]}", "$schema",
                      "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs",
                      "tool", "driver", "name", "posenc", "version", pe_version(), "informationUri",
                      "https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html", "rules",
                      rules_make(), "results", results, "properties", "verdict",
                      json_object_get(report, "verdict"));
    json_decref(report);
    return sarif;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* "differs" where anything does, "not-measured" where something is unknown and nothing differs. */
static const char *total_of(const size_t counts[PE_ENGINE_VERDICTS])
{
    if (counts[PE_ENGINE_DIFFERS] + counts[PE_ENGINE_RAISES] > 0)
        return "differs";
    return counts[PE_ENGINE_ABSENT] + counts[PE_ENGINE_UNMEASURED] > 0 ? "not-measured" : "same";
}

static enum pe_status engines_make(struct api_request *request, const struct state *state,
                                   json_t *list, size_t *counts, struct pe_error *err)
{
    for (size_t i = 0; i < state->engines.count && !err->status; i++) {
        struct pe_lint *lint;
        if (!pe_lint_engine(&lint, request->config->values, state->engines.list[i], request->work,
                            err)) {
            counts[pe_lint_verdict(lint)]++;
            json_array_append_new(list,
                                  api_lint_engine_json(request, state->engines.list[i], lint));
        }
        pe_lint_free(lint);
    }
    return err->status ? api_config_fail(request->config, err) : PE_OK;
}

static enum pe_status against_make(struct api_request *request, const struct state *state,
                                   json_t *report, size_t *counts, struct pe_error *err)
{
    struct pe_lint *lint;

    if (!state->against)
        return PE_OK;
    if (!pe_lint_against(&lint, request->config->values, state->against->values, request->work,
                         err)) {
        counts[pe_lint_verdict(lint)]++;
        json_object_set_new(report, "against",
                            json_pack("{ss so}", "verdict",
                                      pe_engine_verdict_name(pe_lint_verdict(lint)), "findings",
                                      findings_make(request, lint)));
    }
    pe_lint_free(lint);
    return err->status ? api_config_fail(state->against, err) : PE_OK;
}

static json_t *counts_make(const size_t counts[PE_ENGINE_VERDICTS])
{
    json_t *object = json_object();

    for (size_t i = 0; i < PE_ENGINE_VERDICTS; i++)
        if (i != PE_ENGINE_BY_DEFAULT)
            json_object_set_new(object, pe_engine_verdict_name((enum pe_engine_verdict)i),
                                json_integer((json_int_t)counts[i]));
    return object;
}

static enum pe_status lint_make(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    const struct state *state = result->state;
    size_t counts[PE_ENGINE_VERDICTS] = {0};
    json_t *list = json_array(), *report = json_pack("{so}", "engines", list);

    if (engines_make(request, state, list, counts, err) ||
        against_make(request, state, report, counts, err)) {
        json_decref(report);
        return err->status;
    }
    json_object_set_new(report, "verdict", json_string(total_of(counts)));
    json_object_set_new(report, "counts", counts_make(counts));
    json_object_set_new(report, "file", json_string(state->file));
    json_object_set(report, "warnings", request->config->warnings);
    result->report = state->report == REPORT_SARIF ? sarif_make(state, report) : report;
    return PE_OK;
}

const struct api_handler api_handler_lint = {lint_open, lint_make};
