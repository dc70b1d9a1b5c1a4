/* SPDX-License-Identifier: MIT */
#include "core/engines/measured.h"

#include <stdio.h>
#include <stdlib.h>
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

static const struct need {
    const char *model_type, *rope_type, *path;
    uint8_t engine, form;
    uint16_t message;
} needs[] = {
#define NEED(engine, model_type, form, rope_type, path, message)                                   \
    {model_type, rope_type, path, engine, form, message},
#include "core/engines/measured.def"
#undef NEED
    {"", "", "", 0, 0, 0},
};

static const struct limit {
    const char *model_type, *rope_type;
    uint8_t engine, form;
    uint16_t message;
} limits[] = {
#define BEYOND(engine, model_type, form, rope_type, message)                                       \
    {model_type, rope_type, engine, form, message},
#include "core/engines/measured.def"
#undef BEYOND
    {"", "", 0, 0, 0},
};

static const struct head_dim {
    const char *model_type;
    uint8_t engine, form, verdict;
    uint16_t message;
    double own;
} head_dims[] = {
#define HEAD_DIM(engine, model_type, form, verdict, message, own)                                  \
    {model_type, engine, form, PE_ENGINE_##verdict, message, own},
#include "core/engines/measured.def"
#undef HEAD_DIM
    {"", 0, 0, 0, 0, 0},
};

static const struct absent_class {
    const char *name;
    uint8_t engine;
} absent_classes[] = {
#define ABSENT_CLASS(engine, architecture) {architecture, engine},
#include "core/engines/measured.def"
#undef ABSENT_CLASS
    {"", 0},
};

static const struct unseen {
    const char *rope_type, *key;
    uint8_t engine;
} unseen[] = {
#define UNSEEN(engine, rope_type, key) {rope_type, key, engine},
#include "core/engines/measured.def"
#undef UNSEEN
    {"", "", 0},
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

/* Versions of an engine are beside each other, newest first. */

static bool is_of(const struct pe_engine *engine, const char *name, size_t size)
{
    return strlen(engine->name) == size && memcmp(engine->name, name, size) == 0;
}

static bool is_newest(const struct pe_engine *engine)
{
    return engine == engines || !is_of(engine - 1, engine->name, strlen(engine->name));
}

const struct pe_engine *pe_engine_at(size_t index)
{
    size_t found = 0;

    for (size_t i = 0; i < COUNT(engines); i++)
        if (is_newest(&engines[i]) && found++ == index)
            return &engines[i];
    return NULL;
}

const struct pe_engine *pe_engine_version_at(const struct pe_engine *engine, size_t index)
{
    size_t found = 0;

    for (size_t i = 0; i < COUNT(engines); i++)
        if (is_of(&engines[i], engine->name, strlen(engine->name)) && found++ == index)
            return &engines[i];
    return NULL;
}

static enum pe_status unknown_engine(const char *name, size_t size, const char *where,
                                     struct pe_error *err)
{
    char names[200] = "";
    size_t used = 0;

    for (size_t i = 0; pe_engine_at(i) && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                 pe_engine_at(i)->name);
    return pe_fail(err, PE_NOT_FOUND, where,
                   "no engine '%.*s' was measured; those that were are %s",
                   (int)(size < 40 ? size : 40), name, names);
}

enum { NUMBER_MAX = 1000000 };

/* The number at the start of a version, and the rest after its dot. */
static long number_take(const char **version)
{
    long number = 0;

    for (; **version >= '0' && **version <= '9'; ++*version)
        if (number < NUMBER_MAX)
            number = 10 * number + (**version - '0');
    *version += **version == '.';
    return number;
}

/* Is `a` nearer to `version` than `b`? The first numbers decide, or else the second ones: 0.31.9 is
 * nearer to 0.31.3 than to 0.32.2. */
static bool is_nearer(const char *version, const char *a, const char *b)
{
    long bound = -1; /* in place of the numbers behind one that differs */

    while (*a || *b) {
        const char *before[] = {a, b};
        const long own = number_take(&version), number = bound < 0 ? own : bound;
        const long first = number_take(&a), second = number_take(&b);
        const long of_a = labs(first - number), of_b = labs(second - number);
        if (of_a != of_b)
            return of_a < of_b;
        if (of_a > 0)
            bound = number > first ? 10 * NUMBER_MAX : 0;
        if (a == before[0] && b == before[1])
            break;
    }
    return false;
}

static const struct pe_engine *nearest(const struct pe_engine *newest, const char *version)
{
    const struct pe_engine *found = newest, *engine;

    if (*version < '0' || *version > '9')
        return newest;
    for (size_t i = 1; (engine = pe_engine_version_at(newest, i)); i++)
        if (is_nearer(version, engine->version, found->version))
            found = engine;
    return found;
}

enum pe_status pe_engine_find(const struct pe_engine **engine, const char *text, const char *where,
                              struct pe_error *err)
{
    const char *version = text ? strstr(text, "==") : NULL;
    const size_t size = version ? (size_t)(version - text) : text ? strlen(text) : 0;
    const struct pe_engine *newest = NULL, *found = NULL;

    *engine = NULL;
    if (size == 0 || (version && !version[2]))
        return pe_fail(err, PE_INVALID, where,
                       "an engine is a name, or a name and a version: mlx-lm==0.32.2");
    for (size_t i = 0; !newest && i < COUNT(engines); i++)
        newest = is_of(&engines[i], text, size) ? &engines[i] : NULL;
    if (!newest)
        return unknown_engine(text, size, where, err);
    if (!version) {
        *engine = newest;
        return PE_OK;
    }
    for (size_t i = 0; (found = pe_engine_version_at(newest, i)); i++)
        if (strcmp(version + 2, found->version) == 0) {
            *engine = found;
            return PE_OK;
        }
    found = nearest(newest, version + 2);
    return pe_fail(err, PE_UNSUPPORTED, where,
                   "%s %.40s was not measured; the nearest version that was is %s==%s", found->name,
                   version + 2, found->name, found->version);
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
        const struct pe_engine *of = &engines[cell->engine];
        if ((engine ? engine != of : !is_newest(of)) || !is_row_of(row, model_type) ||
            found++ < index)
            continue;
        *out = (struct pe_engine_cell){
            .engine = of,
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

bool pe_engine_outcome_get(const struct pe_engine_rules *of, size_t part,
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
    return of->outcomes[part] != 0; /* the first outcome is that of a part which was not given */
}

const char *pe_engine_need_at(const struct pe_engine_rules *of, const char *rope_type, size_t index,
                              const char **message)
{
    size_t found = 0;

    for (size_t i = 0; i < COUNT(needs); i++) {
        const struct need *need = &needs[i];
        if (need->engine != of->engine || need->form != of->form ||
            strcmp(need->model_type, of->model_type) != 0 ||
            strcmp(need->rope_type, rope_type) != 0 || found++ < index)
            continue;
        *message = messages[need->message];
        return need->path;
    }
    return NULL;
}

const char *pe_engine_beyond(const struct pe_engine_rules *of, const char *rope_type)
{
    for (size_t i = 0; i < COUNT(limits); i++)
        if (limits[i].engine == of->engine && limits[i].form == of->form &&
            strcmp(limits[i].model_type, of->model_type) == 0 &&
            strcmp(limits[i].rope_type, rope_type) == 0)
            return messages[limits[i].message];
    return NULL;
}

enum pe_engine_verdict pe_engine_head_dim(const struct pe_engine_rules *of, double head_dim,
                                          const char **message)
{
    for (size_t i = 0; i < COUNT(head_dims); i++)
        if (head_dims[i].engine == of->engine && head_dims[i].form == of->form &&
            strcmp(head_dims[i].model_type, of->model_type) == 0) {
            *message = messages[head_dims[i].message];
            return head_dims[i].own == head_dim ? PE_ENGINE_SAME : head_dims[i].verdict;
        }
    return PE_ENGINE_UNMEASURED;
}

bool pe_engine_lacks_class(const struct pe_engine *engine, const char *architecture)
{
    for (size_t i = 0; i < COUNT(absent_classes); i++)
        if (&engines[absent_classes[i].engine] == engine &&
            strcmp(absent_classes[i].name, architecture) == 0)
            return true;
    return false;
}

const char *pe_engine_unseen_at(const struct pe_engine *engine, const char *rope_type, size_t index)
{
    size_t found = 0;

    for (size_t i = 0; i < COUNT(unseen); i++)
        if (&engines[unseen[i].engine] == engine && strcmp(unseen[i].rope_type, rope_type) == 0 &&
            found++ == index)
            return unseen[i].key;
    return NULL;
}

const char *pe_engine_rules_row(const struct pe_engine_rules *of)
{
    return rows[of->row].name;
}
