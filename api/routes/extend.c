/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/config/config.h"
#include "api/memory/json.h"
#include "api/numbers/text.h"
#include "api/routes/handler.h"
#include "api/routes/lint.h"
#include "posenc/extension.h"

/* POST /v1/extend: what changes a config to a longer context, for config.json and for the commands
 * of engines; how each engine reads it; and which cached keys are void. */

static const struct pe_param params_list[] = {
    {.name = "to",
     .type = PE_INTEGER,
     .required = true,
     .min = 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "The new context; longer than that of the config."},
};

enum { FORM_FIRST = 4, FORM_LAST = 5 };

/* Parameters that are read here. */
static const char own[] = "config for type";

struct state {
    struct pe_params params;
    const char *type; /* NULL: yarn */
    struct api_lint_engines engines;
};

static enum pe_status config_missing(struct api_request *request, struct pe_error *err)
{
    pe_fail(err, PE_MISSING, "parameter:config",
            "config is required: post a config.json and the parameter to, or {\"config\": {...}, "
            "\"to\": ...}");
    return api_parameter_error_note(request, "config", err) ? err->status : PE_OK;
}

static enum pe_status extend_open(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));
    struct pe_params *sets[1];

    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    *state = (struct state){0};
    sets[0] = &state->params;
    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    if (api_config_open_full(request, err) || (!request->config && config_missing(request, err)) ||
        api_bind(request, sets, 1, own, err) || pe_params_finish(&state->params, err) ||
        api_request_scalar(request, "type", &state->type, err) ||
        api_lint_engines_read(request, false, &state->engines, err))
        return err->status;
    result->work = pe_extension_work(request->config->values) +
                   2 * (double)state->engines.count * pe_lint_work(request->config->values);
    return PE_OK;
}

/* ---- values of a config ---------------------------------------------------------------------- */

static json_t *node_json(const struct pe_config_node *node, bool is_list);

static json_t *entry_json(const struct pe_config_entry *entry)
{
    switch (entry->kind) {
    case PE_ENTRY_NULL:
        return json_null();
    case PE_ENTRY_BOOL:
        return json_boolean(entry->truth);
    case PE_ENTRY_INTEGER:
        return json_integer(entry->integer);
    case PE_ENTRY_NUMBER:
        return json_real(entry->number);
    case PE_ENTRY_TEXT:
        return json_string(entry->text);
    case PE_ENTRY_OBJECT:
    case PE_ENTRY_LIST:
        break;
    }
    return node_json(entry->node, entry->kind == PE_ENTRY_LIST);
}

/* Depth is bounded by that of a config. */
static json_t *node_json(const struct pe_config_node *node, bool is_list)
{
    json_t *json = is_list ? json_array() : json_object();
    struct pe_config_entry entry = {0};

    while (pe_config_next(node, &entry))
        if (is_list)
            json_array_append_new(json, entry_json(&entry));
        else
            json_object_set_new(json, entry.key, entry_json(&entry));
    return json;
}

/* ---- the reading of a patched config --------------------------------------------------------- */

static enum pe_status encoding_put(struct api_request *request, struct api_config *config,
                                   json_t *row, struct pe_error *err)
{
    const struct pe_encoding *encoding;
    struct pe_params params = {0};
    struct pe_scheme *scheme = NULL;

    if (!api_config_encoding(config, &encoding, err)) {
        pe_params_init(&params, pe_encoding_info(encoding)->params,
                       pe_encoding_info(encoding)->params_count);
        if (!api_scheme_open(config, encoding, &params, request->work, &scheme, err)) {
            json_object_set_new(row, "encoding", api_scheme_json(scheme));
            json_object_set_new(row, "provenance", api_config_provenance_json(config));
        }
    }
    pe_scheme_free(scheme);
    pe_params_free(&params);
    return err->status;
}

/* A row for each kind of layers that rotates. */
static enum pe_status reading_put(struct api_request *request, json_t *patched, json_t *form,
                                  struct pe_error *err)
{
    const struct pe_config_kind *kind;
    struct api_config *config, *of_kind;
    json_t *list = json_array();

    json_object_set_new(form, "reading", list);
    if (api_config_of_part(request, patched, &config, err))
        return err->status;
    for (size_t i = 0; (kind = pe_config_kind(config->kinds, i)); i++) {
        json_t *row;
        if (!kind->turns)
            continue;
        row = json_object();
        json_array_append_new(list, row);
        if (kind->layer_type)
            json_object_set_new(row, "layer_type", json_string(kind->layer_type));
        of_kind = config;
        if ((kind->layer_type && pe_config_layer_type(config->values, 0) &&
             api_config_of_layer(request, config, kind->layer_type, &of_kind, err)) ||
            encoding_put(request, of_kind, row, err))
            return err->status;
    }
    json_object_set(form, "warnings", config->warnings);
    return PE_OK;
}

/* {"4": {"patch", "reading", "warnings"}, "5": {"patch": null, "reason"}} */
static enum pe_status forms_put(struct api_request *request, const struct pe_extension *extension,
                                json_t *report, struct pe_error *err)
{
    json_t *forms = json_object();

    json_object_set_new(report, "forms", forms);
    for (int number = FORM_FIRST; number <= FORM_LAST; number++) {
        const struct pe_config *changed = pe_extension_config(extension, number);
        json_t *form = json_object(), *patched;
        json_object_set_new(forms, number == FORM_FIRST ? "4" : "5", form);
        if (!changed) {
            json_object_set_new(form, "patch", json_null());
            json_object_set_new(form, "reason",
                                json_string(pe_extension_reason(extension, number)));
            continue;
        }
        json_object_set_new(form, "patch", node_json(pe_extension_patch(extension, number), false));
        patched = node_json(pe_config_top((struct pe_config *)changed), false);
        if (!patched || !api_json_keep(request->arena, patched))
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the patched config");
        if (reading_put(request, patched, form, err))
            return err->status;
    }
    return PE_OK;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static const char *cache_name(enum pe_extension_cache cache)
{
    static const char *const names[] = {
        [PE_CACHE_VALID] = "valid", [PE_CACHE_SCALED] = "scaled", [PE_CACHE_VOID] = "void"};

    return names[cache];
}

static json_t *layers_json(const struct pe_extension_layers *layers)
{
    json_t *row = json_object(), *numbers;

    if (layers->layer_type)
        json_object_set_new(row, "layer_type", json_string(layers->layer_type));
    if (layers->numbers) {
        numbers = json_array();
        for (size_t i = 0; i < layers->count; i++)
            json_array_append_new(numbers, json_integer((json_int_t)layers->numbers[i]));
        json_object_set_new(row, "layers", numbers);
    }
    json_object_set_new(row, "rotates", json_boolean(layers->rotates));
    json_object_set_new(row, "cache", json_string(cache_name(layers->cache)));
    if (!layers->rotates)
        return row;
    json_object_update_new(row,
                           json_pack("{sI sI sf sI s{sf sf}}", "pairs", (json_int_t)layers->pairs,
                                     "of", (json_int_t)layers->of, "radians", layers->radians, "at",
                                     (json_int_t)layers->at, "attention_factor", "before",
                                     layers->factor_before, "after", layers->factor_after));
    if (layers->pairs > 0)
        json_object_update_new(row, json_pack("{sI sI}", "first", (json_int_t)layers->first, "last",
                                              (json_int_t)layers->last));
    return row;
}

static json_t *all_layers_json(const struct pe_extension *extension)
{
    const struct pe_extension_layers *layers;
    json_t *list = json_array();

    for (size_t i = 0; (layers = pe_extension_layers(extension, i)); i++)
        json_array_append_new(list, layers_json(layers));
    return list;
}

/* ---- engines --------------------------------------------------------------------------------- */

/* Adds a word of a shell's command. */
static void word_put(struct api_text *text, const char *word)
{
    if (!word[strcspn(word, " {}\"'\\$`*?[]()<>|&;~#!")]) {
        api_text_put(text, word);
        return;
    }
    api_text_put(text, "'");
    for (; *word; word++)
        if (*word == '\'')
            api_text_put(text, "'\\''");
        else
            api_text_add(text, word, 1);
    api_text_put(text, "'");
}

static json_t *text_json(struct api_text *text)
{
    json_t *json = text->failed || !text->bytes ? NULL : json_stringn(text->bytes, text->size);

    api_text_free(text);
    return json;
}

static const struct flag {
    const char *engine, *rope_types, *name;
    enum { TYPE, FACTOR, FROM, TO, ROPE } value;
    const char *source;
} flags[] = {
#define FLAG(engine, rope_types, name, value, source) {engine, rope_types, name, value, source},
#include "api/routes/flags.def"
#undef FLAG
};

/* The value of a flag as text. */
static json_t *value_json(const struct pe_extension *extension, const struct flag *flag, int64_t to)
{
    struct api_text text = {.has_points = flag->value == ROPE};
    json_t *value = NULL;

    switch (flag->value) {
    case TYPE:
        return json_string(pe_extension_type(extension));
    case FACTOR:
        value = json_real(pe_extension_factor(extension));
        break;
    case FROM:
        value = json_integer((json_int_t)pe_extension_from(extension));
        break;
    case TO:
        value = json_integer((json_int_t)to);
        break;
    case ROPE:
        value = node_json(pe_extension_override(extension), false);
        break;
    }
    if (!value)
        return NULL;
    api_text_json(&text, value, false);
    json_decref(value);
    return text_json(&text);
}

/* Are all layers that rotate scaled, as flags of llama.cpp have it? */
static bool scales_all(const struct pe_extension *extension)
{
    const struct pe_extension_layers *layers;

    for (size_t i = 0; (layers = pe_extension_layers(extension, i)); i++)
        if (layers->rotates && layers->cache == PE_CACHE_VALID)
            return false;
    return true;
}

static bool is_given(const struct pe_extension *extension, const struct flag *flag,
                     const struct pe_engine *engine)
{
    char type[16];

    snprintf(type, sizeof(type), " %s ", pe_extension_type(extension));
    return strcmp(flag->engine, engine->name) == 0 && strstr(flag->rope_types, type) &&
           (strcmp(engine->name, "vllm") == 0 ? pe_extension_override(extension) != NULL
                                              : scales_all(extension));
}

/* "flags", and as "command" the same for a shell; neither where the engine has none. */
static enum pe_status flags_put(const struct pe_extension *extension,
                                const struct pe_engine *engine, int64_t to, json_t *row,
                                struct pe_error *err)
{
    struct api_text command = {0};
    json_t *list = json_array(), *value;

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (!is_given(extension, &flags[i], engine))
            continue;
        value = value_json(extension, &flags[i], to);
        command.failed |= !value;
        api_text_print(&command, "%s%s ", command.size > 0 ? " " : "", flags[i].name);
        word_put(&command, value ? json_string_value(value) : "");
        json_array_append_new(list, json_pack("{ss so ss}", "name", flags[i].name, "value", value,
                                              "source", flags[i].source));
    }
    if (command.failed)
        pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the flags of an engine");
    else if (command.size > 0) {
        json_object_set(row, "flags", list);
        json_object_set_new(row, "command", text_json(&command));
    }
    api_text_free(&command);
    json_decref(list);
    return err->status;
}

/* How an engine reads the patched config in each form. */
static enum pe_status engine_put(struct api_request *request, const struct pe_extension *extension,
                                 const struct pe_engine *engine, int64_t to, json_t *list,
                                 struct pe_error *err)
{
    json_t *row = json_pack("{ss ss}", "engine", engine->name, "version", engine->version),
           *forms = json_object();

    json_array_append_new(list, row);
    json_object_set_new(row, "forms", forms);
    for (int number = FORM_FIRST; number <= FORM_LAST && !err->status; number++) {
        const struct pe_config *changed = pe_extension_config(extension, number);
        struct pe_lint *lint = NULL;
        json_t *verdict;
        if (!changed)
            continue;
        if (!pe_lint_engine(&lint, changed, engine, request->work, err)) {
            verdict = api_lint_engine_json(NULL, engine, lint);
            for (const char *const *key =
                     (const char *const[]){"engine", "version", "sha256", "form", NULL};
                 *key; key++)
                json_object_del(verdict, *key);
            json_object_set_new(forms, number == FORM_FIRST ? "4" : "5", verdict);
        }
        pe_lint_free(lint);
    }
    return err->status ? err->status : flags_put(extension, engine, to, row, err);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static enum pe_status report_put(struct api_request *request, const struct state *state,
                                 const struct pe_extension *extension, json_t *report,
                                 struct pe_error *err)
{
    const int64_t to = (int64_t)pe_param_number(&state->params, "to");
    json_t *engines = json_array();

    json_object_set_new(report, "layers", all_layers_json(extension));
    json_object_set_new(report, "engines", engines);
    if (forms_put(request, extension, report, err))
        return err->status;
    for (size_t i = 0; i < state->engines.count; i++)
        if (engine_put(request, extension, state->engines.list[i], to, engines, err))
            return err->status;
    json_object_set_new(report, "note",
                        json_string("Scaled frequencies say nothing about the quality of the "
                                    "model's output at the new context."));
    json_object_set(report, "warnings", request->config->warnings);
    return PE_OK;
}

static enum pe_status extend_make(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    const struct state *state = result->state;
    const int64_t to = (int64_t)pe_param_number(&state->params, "to");
    struct pe_extension *extension;
    json_t *report = NULL;

    if (!pe_extension_new(&extension, request->config->values, to, state->type, request->work,
                          err)) {
        report = json_pack("{ss sI sI sf}", "type", pe_extension_type(extension), "from",
                           (json_int_t)pe_extension_from(extension), "to", (json_int_t)to, "factor",
                           pe_extension_factor(extension));
        report_put(request, state, extension, report, err);
    }
    pe_extension_free(extension);
    if (err->status) {
        json_decref(report);
        return api_config_fail(request->config, err);
    }
    result->report = report;
    result->has_points = true; /* vLLM 0.33 refuses a linear factor that is an integer */
    return PE_OK;
}

const struct api_handler api_handler_extend = {extend_open, extend_make};
