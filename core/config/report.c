/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "core/config/reading.h"

/* The account of a reading: its warnings, its failures, the sources of its values, and the keys
 * that nothing read. */

/* Real configs have ten warnings at most; hostile ones could have one for each key. */
enum { WARNINGS_MAX = 64 };

/* ---- warnings -------------------------------------------------------------------------------- */

static bool warnings_grow(struct pe_config_reading *reading)
{
    const size_t capacity = reading->warnings_capacity ? 2 * reading->warnings_capacity : 8;
    const char **list = pe_config_take(&reading->memory, capacity * sizeof(*list));

    if (list && reading->warnings_count > 0)
        memcpy(list, reading->warnings, reading->warnings_count * sizeof(*list));
    reading->warnings = list ? list : reading->warnings;
    reading->warnings_capacity = list ? capacity : reading->warnings_capacity;
    return list != NULL;
}

static void warning_add(struct pe_config_reading *reading, const char *text)
{
    const char *copy;

    for (size_t i = 0; i < reading->warnings_count; i++) /* layers of each kind repeat them */
        if (strcmp(reading->warnings[i], text) == 0)
            return;
    copy = pe_config_copy(&reading->memory, text);
    if (copy && (reading->warnings_count < reading->warnings_capacity || warnings_grow(reading)))
        reading->warnings[reading->warnings_count++] = copy;
    else
        reading->out_of_memory = true;
}

static bool is_full(const struct pe_config_reading *reading)
{
    return reading->warnings_count > WARNINGS_MAX;
}

void pe_config_warn(struct pe_config_reading *reading, const char *format, ...)
{
    char text[240];
    va_list args;

    if (is_full(reading))
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
    return reading->out_of_memory ? pe_no_memory(err, "the config") : PE_OK;
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

    reading->out_of_memory |= key && !copy;
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

/* ---- unread keys ----------------------------------------------------------------------------- */

/* An unread key with a name about positions may change them, and must not be ignored silently. */

/* Bytes of a name that are searched: those of models have 60 at most. */
enum { SEARCHED_MAX = 128 };

static const struct harmless {
    const char *key, *beside, *value;
} harmless[] = {
#define CONFIG_HARMLESS(key, beside, value) {key, beside, value},
#include "core/config/keys.def"
    {0},
};

static const char *const words[] = {
#define CONFIG_WORD(word) word,
#include "core/config/keys.def"
    NULL,
};

static const char *const endings[] = {
#define CONFIG_ENDING(word) word,
#include "core/config/keys.def"
    NULL,
};

static const char *const window_words[] = {
#define CONFIG_WINDOW_WORD(word) word,
#include "core/config/keys.def"
    NULL,
};

/* Beginnings of the names of objects about another part of a model than text. */
static const char *const other_parts[] = {"vision", "visual", "vit",        "image",   "audio",
                                          "speech", "talker", "multimodal", "code2wav"};

struct scan {
    struct pe_config_reading *reading;
    const struct pe_encoding *encoding;
    bool is_measured; /* the model has a row in model_layers.def */
};

static bool is_within(char c, char first, char last)
{
    return c >= first && c <= last;
}

/* Does a word begin here: after a sign, or by a capital after a small letter? */
static bool is_beginning(const char *name, const char *at)
{
    const char before = at > name ? at[-1] : '_';
    const bool is_small = is_within(before, 'a', 'z');

    return is_small ? is_within(*at, 'A', 'Z')
                    : !is_within(before, 'A', 'Z') && !is_within(before, '0', '9');
}

static bool begins_with(const char *at, const char *word)
{
    for (; *word; at++, word++)
        if ((is_within(*at, 'A', 'Z') ? *at - 'A' + 'a' : *at) != *word)
            return false;
    return true;
}

static bool has_word(const char *name, const char *const *list)
{
    for (const char *at = name; *at && at < name + SEARCHED_MAX; at++) {
        if (!is_beginning(name, at))
            continue;
        for (const char *const *word = list; *word; word++)
            if (begins_with(at, *word))
                return true;
    }
    return false;
}

/* Does a word of the name end with one of these? */
static bool has_ending(const char *name)
{
    for (const char *at = name; *at && at < name + SEARCHED_MAX; at++)
        for (const char *const *word = endings; *word; word++)
            if (begins_with(at, *word) && !is_within(at[strlen(*word)], 'a', 'z'))
                return true;
    return false;
}

/* Has the encoding a parameter of this name? Names of one word, such as dim, mean other things
 * outside the rope object. */
static bool is_parameter(const struct scan *scan, const char *name)
{
    const struct pe_encoding *encoding = scan->encoding;

    for (size_t i = 0; encoding && strchr(name, '_') && i < encoding->info.params_count; i++)
        if (strcmp(encoding->info.params[i].name, name) == 0)
            return true;
    return false;
}

/* Is the name about positions, or about windows of a model whose layers were not measured? */
static bool is_about_positions(const struct scan *scan, const char *name)
{
    return has_word(name, words) || has_ending(name) || is_parameter(scan, name) ||
           (!scan->is_measured && has_word(name, window_words));
}

/* Is a key with a name about positions known to change none? */
static bool is_harmless(const struct pe_config_reading *reading,
                        const struct pe_config_member *member)
{
    const char *text = pe_config_text(member);

    for (const struct harmless *at = harmless; at->key; at++)
        if (strcmp(at->key, member->name.text) == 0 &&
            (!*at->beside || pe_config_first(&reading->scope, pe_in_text, NAMES(at->beside))) &&
            (!*at->value || (text && strcmp(at->value, text) == 0)))
            return true;
    return pe_config_is_dead(&reading->scope, member);
}

/* True for an object about another part of the model, or about layers of another type. */
static bool is_other_component(const struct pe_config_reading *reading,
                               const struct pe_config_member *member)
{
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_node *object = pe_config_object(member);

    if (!object)
        return false;
    if (member->in == scope->rope_by_layer_type && object != scope->rope)
        return true;
    for (size_t i = 0; i < sizeof(other_parts) / sizeof(other_parts[0]); i++)
        if (strncmp(member->name.text, other_parts[i], strlen(other_parts[i])) == 0)
            return true;
    return pe_config_text(pe_config_member(object, "model_type")) != NULL;
}

/* null and -1 mean "not given". */
static bool is_given(const struct pe_config_value *value)
{
    return value->kind != PE_CONFIG_NULL &&
           (value->kind != PE_CONFIG_INTEGER || value->as.integer != -1);
}

static bool is_unread_position_key(const struct scan *scan, const struct pe_config_member *member)
{
    return !scan->reading->read[member->number] && is_given(&member->value) &&
           is_about_positions(scan, member->name.text) && !is_harmless(scan->reading, member);
}

/* Not inlined into the recursive scan, which has to use little of the stack. */
__attribute__((noinline)) static void
unread_position_key_warn(struct pe_config_reading *reading, const struct pe_config_member *member)
{
    char path[PE_CONFIG_PATH_SIZE];

    if (is_full(reading))
        return;
    pe_config_path(member, path, sizeof(path));
    if (pe_config_is_displaced(&reading->scope, member))
        pe_config_warn(reading,
                       "%s is not read: transformers 5.23 looks for it in rope_parameters alone",
                       path);
    else
        pe_config_warn(reading, "%s is not read, and may be about positions", path);
}

static void object_scan(const struct scan *scan, const struct pe_config_node *object,
                        const struct pe_config_node *without);

static void inner_scan(const struct scan *scan, const struct pe_config_value *value)
{
    if (value->kind == PE_CONFIG_OBJECT)
        object_scan(scan, value->as.node, NULL);
    if (value->kind != PE_CONFIG_LIST)
        return;
    for (const struct pe_config_item *at = value->as.node->first_item; at; at = at->next)
        inner_scan(scan, &at->value);
}

/* Depth is bounded by that of a config. `without`: a member object that is not scanned. */
static void object_scan(const struct scan *scan, const struct pe_config_node *object,
                        const struct pe_config_node *without)
{
    for (const struct pe_config_member *at = object->first; at; at = at->next) {
        if ((without && pe_config_object(at) == without) || is_other_component(scan->reading, at))
            continue;
        if (is_unread_position_key(scan, at))
            unread_position_key_warn(scan->reading, at);
        else
            inner_scan(scan, &at->value);
    }
}

/* From the part about text outwards. */
void pe_config_unread_warn(struct pe_config_reading *reading)
{
    const struct scan scan = {reading, pe_encoding_find(reading->name),
                              pe_config_layers_of(&reading->scope) != NULL};
    const struct pe_config_node *object = reading->scope.text, *inner = NULL;

    pe_config_layer_keys_note(reading);
    for (; object; inner = object, object = object->owner ? object->owner->in : NULL)
        object_scan(&scan, object, inner);
}
