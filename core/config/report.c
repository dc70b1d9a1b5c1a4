/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "core/config/layers.h"

/* The report of a reading: its warnings and failures, and the source of each value. Then the
 * warnings about scales of attention that the answer does not have. */

/* Real configs give ten warnings at most; a posted one of many odd keys would give as many, for
 * each kind of its layers. */
enum { WARNINGS_MAX = 64 };

/* ---- warnings -------------------------------------------------------------------------------- */

static bool warnings_grow(struct pe_config_reading *reading)
{
    const size_t room = reading->warnings_room ? 2 * reading->warnings_room : 8;
    const char **list = pe_config_take(&reading->memory, room * sizeof(*list));

    if (list && reading->warnings_count > 0)
        memcpy(list, reading->warnings, reading->warnings_count * sizeof(*list));
    reading->warnings = list ? list : reading->warnings;
    reading->warnings_room = list ? room : reading->warnings_room;
    return list != NULL;
}

static void warning_add(struct pe_config_reading *reading, const char *text)
{
    const char *copy;

    for (size_t i = 0; i < reading->warnings_count; i++) /* each kind of layers is read anew */
        if (strcmp(reading->warnings[i], text) == 0)
            return;
    copy = pe_config_copy(&reading->memory, text);
    if (copy && (reading->warnings_count < reading->warnings_room || warnings_grow(reading)))
        reading->warnings[reading->warnings_count++] = copy;
    else
        reading->short_of_memory = true;
}

bool pe_config_is_full(const struct pe_config_reading *reading)
{
    return reading->warnings_count > WARNINGS_MAX;
}

void pe_config_warn(struct pe_config_reading *reading, const char *format, ...)
{
    char text[240];
    va_list args;

    if (pe_config_is_full(reading))
        return;
    va_start(args, format);
    pe_text_vprint(text, sizeof(text), format, args);
    va_end(args);
    warning_add(reading, reading->warnings_count < WARNINGS_MAX
                             ? text
                             : "there are more warnings than these, and the others are left out");
}

const char *pe_config_warning(const struct pe_config_reading *reading, size_t index)
{
    return index < reading->warnings_count ? reading->warnings[index] : NULL;
}

/* ---- failures -------------------------------------------------------------------------------- */

enum pe_status pe_config_fail(const struct pe_config_member *member, enum pe_status status,
                              struct pe_error *err, const char *format, ...)
{
    char where[sizeof(err->where)] = "config", text[sizeof(err->detail)];
    const size_t prefix = strlen("key:");
    va_list args;

    va_start(args, format);
    pe_text_vprint(text, sizeof(text), format, args);
    va_end(args);
    if (member) {
        memcpy(where, "key:", prefix);
        pe_config_path(member, where + prefix, sizeof(where) - prefix);
    }
    return pe_fail(err, status, where, "%s", text);
}

enum pe_status pe_config_memory_check(const struct pe_config_reading *reading, struct pe_error *err)
{
    return reading->short_of_memory ? pe_no_memory(err, "the config") : PE_OK;
}

/* ---- sources --------------------------------------------------------------------------------- */

const struct pe_config_source *pe_config_source_find(const struct pe_config_reading *reading,
                                                     const char *param)
{
    for (size_t i = 0; i < reading->sources_count; i++)
        if (strcmp(reading->sources[i].param, param) == 0)
            return &reading->sources[i];
    return NULL;
}

struct pe_config_source pe_config_source_make(struct pe_config_reading *reading, const char *param,
                                              enum pe_config_from from, const char *key)
{
    const char *copy = key ? pe_config_copy(&reading->memory, key) : NULL;

    reading->short_of_memory |= key && !copy;
    return (struct pe_config_source){param, from, copy};
}

void pe_config_source_set(struct pe_config_reading *reading, const char *param,
                          enum pe_config_from from, const char *key)
{
    pe_config_source_delete(reading, param);
    reading->sources[reading->sources_count++] = pe_config_source_make(reading, param, from, key);
}

void pe_config_source_delete(struct pe_config_reading *reading, const char *param)
{
    const struct pe_config_source *found = pe_config_source_find(reading, param);
    size_t index;

    if (!found)
        return;
    index = (size_t)(found - reading->sources);
    reading->sources_count--;
    memmove(&reading->sources[index], &reading->sources[index + 1],
            (reading->sources_count - index) * sizeof(*reading->sources));
}

/* ---- attention ------------------------------------------------------------------------------- */

static const struct scales {
    const char *key, *values, *text;
    bool is_known; /* of models that have a row in model_layers.def */
} scales[] = {
#define CONFIG_SCALES(key, values, text) {key, values, text, false},
#define CONFIG_MAY_SCALE(key, text)      {key, "", text, true},
#include "core/config/keys.def"
    {0},
};

static bool value_counts(const struct pe_config_member *member, const char *values)
{
    const bool is_bool = member->value.kind == PE_CONFIG_BOOL;
    const char *text = is_bool ? member->value.as.truth ? "true" : "false" : pe_config_text(member);

    if (*values)
        return text && pe_text_lists(values, ' ', text, strlen(text));
    return pe_config_is_number(&member->value) || (is_bool && member->value.as.truth);
}

/* Is the meaning of a key known, by the row of this model or by a value of 0? */
static bool is_settled(const struct pe_config_reading *reading, const struct scales *row,
                       const struct pe_config_member *member)
{
    return row->is_known &&
           (pe_config_layers_of(&reading->scope) || pe_config_number(&member->value) == 0);
}

enum pe_status pe_config_attention(struct pe_config_reading *reading, bool scale_given,
                                   struct pe_error *err)
{
    char path[PE_CONFIG_PATH_SIZE];

    for (const struct scales *at = scales; at->key && !scale_given; at++) {
        const struct pe_config_member *found =
            pe_config_first(&reading->scope, "text top", at->key);
        if (!found || !value_counts(found, at->values) || is_settled(reading, at, found))
            continue;
        pe_config_note(reading, found);
        pe_config_warn(reading, "%s is not read by attention, give scale: %s",
                       pe_config_path(found, path, sizeof(path)), at->text);
    }
    return pe_config_memory_check(reading, err);
}
