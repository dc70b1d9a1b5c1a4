/* SPDX-License-Identifier: MIT */
#include "core/engines/measured.h"

#include <stdio.h>
#include <string.h>

#include "core/base/errors.h"

/* The lists of measured.def. Verdicts are named there without their prefix. */

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct pe_engine engines[] = {
#define ENGINE(name, package, version, sha256, beside, how)                                        \
    {name, package, version, sha256, beside, how},
#include "core/engines/measured.def"
#undef ENGINE
};

static const char published[] = "published", stirred[] = "stirred", defaults[] = "defaults";
#define PUBLISHED published
#define STIRRED   stirred
#define DEFAULTS  defaults

static const struct row {
    const char *name, *kind, *model_type;
} rows[] = {
#define ROW(name, kind, model_type) {name, kind, model_type},
#include "core/engines/measured.def"
#undef ROW
};

static const char *const messages[] = {
#define MESSAGE(text) text,
#include "core/engines/measured.def"
#undef MESSAGE
};

static const struct pe_engine_difference differences[] = {
#define DIFFERENCE(...) {__VA_ARGS__},
#include "core/engines/measured.def"
#undef DIFFERENCE
};

static const struct cell {
    uint8_t engine, form, verdict;
    uint16_t row, about;
} cells[] = {
#define CELL(engine, row, form, verdict, about) {engine, form, PE_ENGINE_##verdict, row, about},
#include "core/engines/measured.def"
#undef CELL
};

#define KEYS(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__ NULL                                                                           \
    }

static const struct pe_engine_part parts[] = {
#define PART(rope_type, name, keys) {rope_type, name, keys},
#include "core/engines/measured.def"
#undef PART
};

static const struct pe_engine_change changes[] = {
#define CHANGE(path, kind, number, text) {path, PE_CHANGE_##kind, number, text},
#include "core/engines/measured.def"
#undef CHANGE
    {0},
};

static const struct outcome {
    uint8_t verdict;
    uint16_t about;
    const char *key;
    uint16_t first, count; /* changes */
} outcomes[] = {
#define OUTCOME(verdict, about, key, first, count) {PE_ENGINE_##verdict, about, key, first, count},
#include "core/engines/measured.def"
#undef OUTCOME
};

struct pe_engine_rules {
    const char *model_type;
    uint8_t engine, form;
    uint16_t row;
    uint16_t outcomes[COUNT(parts)];
};

static const struct pe_engine_rules rules[] = {
#define RULES(engine, model_type, form, row, ...) {model_type, engine, form, row, {__VA_ARGS__}},
#include "core/engines/measured.def"
#undef RULES
};

static const char *const verdicts[PE_ENGINE_VERDICTS] = {
    [PE_ENGINE_SAME] = "same",
    [PE_ENGINE_BY_DEFAULT] = "same-by-default",
    [PE_ENGINE_DIFFERS] = "differs",
    [PE_ENGINE_RAISES] = "raises",
    [PE_ENGINE_ABSENT] = "no-such-model",
    [PE_ENGINE_UNMEASURED] = "not-measured",
};

static const struct code {
    const char *name, *doc;
} codes[] = {
#define CODE(name, doc) {name, doc},
#include "core/engines/codes.def"
#undef CODE
};

/* ---- engines --------------------------------------------------------------------------------- */

const struct pe_engine *pe_engine_at(size_t index)
{
    return index < COUNT(engines) ? &engines[index] : NULL;
}

static enum pe_status unknown_engine(const char *name, size_t size, const char *where,
                                     struct pe_error *err)
{
    char names[200] = "";
    size_t used = 0;

    for (size_t i = 0; i < COUNT(engines) && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                 engines[i].name);
    return pe_fail(err, PE_NOT_FOUND, where,
                   "no engine '%.*s' was measured; those that were are %s",
                   (int)(size < 40 ? size : 40), name, names);
}

/* One version of each engine is measured, which is the nearest to any other. */
enum pe_status pe_engine_find(const struct pe_engine **engine, const char *text, const char *where,
                              struct pe_error *err)
{
    const char *version = text ? strstr(text, "==") : NULL;
    const size_t size = version ? (size_t)(version - text) : text ? strlen(text) : 0;
    const struct pe_engine *found = NULL;

    *engine = NULL;
    if (size == 0 || (version && !version[2]))
        return pe_fail(err, PE_INVALID, where,
                       "an engine is a name, or a name and a version: mlx-lm==0.32.2");
    for (size_t i = 0; i < COUNT(engines); i++)
        if (strlen(engines[i].name) == size && memcmp(engines[i].name, text, size) == 0)
            found = &engines[i];
    if (!found)
        return unknown_engine(text, size, where, err);
    if (version && strcmp(version + 2, found->version) != 0)
        return pe_fail(err, PE_UNSUPPORTED, where,
                       "%s %.40s was not measured; the nearest version that was is %s==%s",
                       found->name, version + 2, found->name, found->version);
    *engine = found;
    return PE_OK;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static bool is_difference(enum pe_engine_verdict verdict)
{
    return verdict == PE_ENGINE_BY_DEFAULT || verdict == PE_ENGINE_DIFFERS;
}

static const char *message_of(enum pe_engine_verdict verdict, size_t about)
{
    return verdict == PE_ENGINE_SAME || is_difference(verdict) ? NULL : messages[about];
}

static bool is_row_of(const struct row *row, const char *model_type)
{
    return !model_type || (row->model_type && strcmp(row->model_type, model_type) == 0);
}

bool pe_engine_has_model_type(const char *model_type)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (is_row_of(&rows[i], model_type))
            return true;
    return false;
}

bool pe_engine_cell_at(const struct pe_engine *engine, const char *model_type, size_t index,
                       struct pe_engine_cell *out)
{
    size_t found = 0;

    for (size_t i = 0; i < COUNT(cells); i++) {
        const struct cell *cell = &cells[i];
        const struct row *row = &rows[cell->row];
        if ((engine && engine != &engines[cell->engine]) || !is_row_of(row, model_type) ||
            found++ < index)
            continue;
        *out = (struct pe_engine_cell){
            .engine = &engines[cell->engine],
            .row = row->name,
            .kind = row->kind,
            .model_type = row->model_type,
            .form = cell->form,
            .verdict = cell->verdict,
            .difference = is_difference(cell->verdict) ? &differences[cell->about] : NULL,
            .message = message_of(cell->verdict, cell->about),
        };
        return true;
    }
    return false;
}

const char *pe_engine_verdict_name(enum pe_engine_verdict verdict)
{
    return (unsigned)verdict < PE_ENGINE_VERDICTS ? verdicts[verdict] : "";
}

const char *pe_engine_code_at(size_t index, const char **doc)
{
    if (index >= COUNT(codes))
        return NULL;
    *doc = codes[index].doc;
    return codes[index].name;
}

/* ---- rules ----------------------------------------------------------------------------------- */

const struct pe_engine_part *pe_engine_part_at(size_t index)
{
    return index < COUNT(parts) ? &parts[index] : NULL;
}

const struct pe_engine_rules *pe_engine_rules_find(const struct pe_engine *engine,
                                                   const char *model_type, int form)
{
    for (size_t i = 0; i < COUNT(rules); i++)
        if (&engines[rules[i].engine] == engine && rules[i].form == form &&
            strcmp(rules[i].model_type, model_type) == 0)
            return &rules[i];
    return NULL;
}

void pe_engine_outcome_get(const struct pe_engine_rules *of, size_t part,
                           struct pe_engine_outcome *out)
{
    const struct outcome *outcome = &outcomes[of->outcomes[part]];

    *out = (struct pe_engine_outcome){
        .verdict = outcome->verdict,
        .difference = is_difference(outcome->verdict) ? &differences[outcome->about] : NULL,
        .message = message_of(outcome->verdict, outcome->about),
        .key = outcome->key,
        .changes = &changes[outcome->first],
        .changes_count = outcome->count,
    };
}

const char *pe_engine_rules_row(const struct pe_engine_rules *of)
{
    return rows[of->row].name;
}
