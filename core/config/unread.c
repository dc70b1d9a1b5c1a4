/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/text.h"
#include "core/config/layers.h"

/* Warns of keys that nothing read and whose names contain a word about positions: a key that no
 * rule covers yet may change positions, and must not be ignored in silence. */

/* Bytes of a name that are looked at: those of models have 60 at most. */
enum { NAME_MAX_READ = 128 };

static const struct apart {
    const char *key, *beside, *value;
} apart[] = {
#define CONFIG_APART(key, beside, value) {key, beside, value},
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

static const char *const sight_words[] = {
#define CONFIG_SIGHT(word) word,
#include "core/config/keys.def"
    NULL,
};

/* Beginnings of the names of objects that describe another part of a model than its text. */
static const char *const other_parts[] = {"vision", "visual", "vit",        "image",   "audio",
                                          "speech", "talker", "multimodal", "code2wav"};

/* A scan of a config, with the values that are the same for all of its keys. */
struct scan {
    struct pe_config_reading *reading;
    const struct pe_encoding *encoding;
    bool is_measured; /* the model has a row in model_layers.def */
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_within(char c, char first, char last)
{
    return c >= first && c <= last;
}

/* Does a word begin here, behind a sign, or as a capital behind a small letter? */
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
    for (const char *at = name; *at && at < name + NAME_MAX_READ; at++) {
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
    for (const char *at = name; *at && at < name + NAME_MAX_READ; at++)
        for (const char *const *word = endings; *word; word++)
            if (begins_with(at, *word) && !is_within(at[strlen(*word)], 'a', 'z'))
                return true;
    return false;
}

/* Has the encoding a parameter of this name, of more than one word? Names of one word, as dim and
 * factor, mean other things elsewhere. */
static bool is_parameter(const struct scan *scan, const char *name)
{
    const struct pe_encoding *encoding = scan->encoding;

    for (size_t i = 0; encoding && strchr(name, '_') && i < encoding->info.params_count; i++)
        if (strcmp(encoding->info.params[i].name, name) == 0)
            return true;
    return false;
}

/* Is the name of a key about positions, or about the attention of a model without a row in
 * model_layers.def? */
static bool speaks(const struct scan *scan, const char *name)
{
    return has_word(name, words) || has_ending(name) || is_parameter(scan, name) ||
           (!scan->is_measured && has_word(name, sight_words));
}

/* Is a key whose name speaks of positions known to change none? */
static bool is_apart(const struct pe_config_reading *reading, const struct pe_config_member *member)
{
    const char *text = pe_config_text(member);

    for (const struct apart *at = apart; at->key; at++)
        if (strcmp(at->key, member->name.text) == 0 &&
            (!*at->beside || pe_config_first(&reading->scope, "text", at->beside)) &&
            (!*at->value || (text && strcmp(at->value, text) == 0)))
            return true;
    return pe_config_is_dead(&reading->scope, member);
}

/* ---- objects --------------------------------------------------------------------------------- */

/* Is an object about another part of the model, or about layers of another type than is meant? */
static bool is_elsewhere(const struct pe_config_reading *reading,
                         const struct pe_config_member *member)
{
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_node *object = pe_config_object(member);

    if (!object)
        return false;
    if (member->in == scope->around && object != scope->rope)
        return true;
    for (size_t i = 0; i < sizeof(other_parts) / sizeof(other_parts[0]); i++)
        if (strncmp(member->name.text, other_parts[i], strlen(other_parts[i])) == 0)
            return true;
    return pe_config_text(pe_config_member(object, "model_type")) != NULL;
}

/* null and -1 say that a key is not given. */
static bool is_given(const struct pe_config_value *value)
{
    return value->kind != PE_CONFIG_NULL &&
           (value->kind != PE_CONFIG_INTEGER || value->as.integer != -1);
}

static bool is_lost(const struct scan *scan, const struct pe_config_member *member)
{
    return !scan->reading->read[member->number] && is_given(&member->value) &&
           speaks(scan, member->name.text) && !is_apart(scan->reading, member);
}

/* Apart from the scan, whose calls within calls shall need little of the stack. */
static void lost_warn(struct pe_config_reading *reading, const struct pe_config_member *member)
{
    char path[PE_CONFIG_PATH_SIZE];

    if (!pe_config_is_full(reading))
        pe_config_warn(reading, "%s is not read, and may be about positions",
                       pe_config_path(member, path, sizeof(path)));
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

/* Depth is bounded by that of a config. `without` is an object within that is not scanned. */
static void object_scan(const struct scan *scan, const struct pe_config_node *object,
                        const struct pe_config_node *without)
{
    for (const struct pe_config_member *at = object->first; at; at = at->next) {
        if ((without && pe_config_object(at) == without) || is_elsewhere(scan->reading, at))
            continue;
        if (is_lost(scan, at))
            lost_warn(scan->reading, at);
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
