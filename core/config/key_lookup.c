/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/text.h"
#include "core/config/reading.h"

/* Looks up the keys that keys.def names, in the places that it names. */

static const char *const unset[] = {
#define CONFIG_UNSET(key) key,
#include "core/config/keys.def"
    NULL,
};

static const struct dead {
    const char *models, *key;
} dead[] = {
#define CONFIG_DEAD(models, key) {models, key},
#include "core/config/keys.def"
    {0},
};

static const struct own {
    const char *key, *models;
} owns[] = {
#define CONFIG_OWN(key, models) {key, models},
#include "core/config/keys.def"
    {0},
};

static const char *const besides[] = {
#define CONFIG_BESIDE(key) key,
#include "core/config/keys.def"
    NULL,
};

static const struct at_top {
    const char *models, *key;
    double value;
} at_tops[] = {
#define CONFIG_AT_TOP(models, key, value) {models, key, value},
#include "core/config/keys.def"
    {0},
};

/* A word of a list such as "rope text top". */
struct word {
    const char *text;
    size_t size;
};

/* The word at *rest, which moves behind it; size 0: there is no more. */
static struct word word_next(const char **rest)
{
    const struct word word = {*rest, strcspn(*rest, " ")};

    *rest += word.size + ((*rest)[word.size] == ' ');
    return word;
}

static bool is_word(struct word word, const char *text)
{
    return strlen(text) == word.size && memcmp(word.text, text, word.size) == 0;
}

static bool is_unset(struct word key, const struct pe_config_value *value)
{
    for (const char *const *at = unset; *at; at++)
        if (is_word(key, *at))
            return value->kind == PE_CONFIG_INTEGER && value->as.integer == -1;
    return false;
}

/* The top, unless the part about text is a model of its own. */
static const struct pe_config_node *outer(const struct pe_config_scope *scope)
{
    return pe_config_member(scope->text, "model_type") ? scope->text : scope->top;
}

static const struct pe_config_node *place_get(const struct pe_config_scope *scope,
                                              struct word place)
{
    return is_word(place, "rope")    ? scope->rope
           : is_word(place, "flat")  ? (scope->around ? NULL : scope->text)
           : is_word(place, "layer") ? scope->layer
           : is_word(place, "text")  ? scope->text
           : is_word(place, "outer") ? outer(scope)
                                     : scope->top;
}

/* Is this a key of other models than the scope's? An architecture of GGUF has its keys under names
 * of any of them. */
static bool is_foreign(const struct pe_config_scope *scope, struct word key)
{
    const char *name = scope->model ? scope->model->model_type : NULL;

    for (const struct own *at = owns; name && !scope->top->config->models && at->key; at++)
        if (is_word(key, at->key))
            return !pe_text_lists(at->models, ' ', name, strlen(name));
    return false;
}

static bool is_dead(const struct pe_config_scope *scope, struct word key)
{
    const char *name = scope->model ? scope->model->model_type : NULL;

    for (const struct dead *at = dead; name && !scope->top->config->models && at->key; at++)
        if (is_word(key, at->key) && pe_text_lists(at->models, ' ', name, strlen(name)))
            return true;
    return false;
}

bool pe_config_is_dead(const struct pe_config_scope *scope, const struct pe_config_member *member)
{
    return is_dead(scope, (struct word){member->name.text, strlen(member->name.text)});
}

bool pe_config_is_foreign(const struct pe_config_scope *scope,
                          const struct pe_config_member *member)
{
    return is_foreign(scope, (struct word){member->name.text, strlen(member->name.text)});
}

/* The member of a key that has a value; NULL: there is none. */
static const struct pe_config_member *value_at(const struct pe_config_scope *scope,
                                               struct word place, struct word key)
{
    const struct pe_config_member *member =
        pe_config_member_at(place_get(scope, place), key.text, key.size);

    return member && member->value.kind != PE_CONFIG_NULL && !is_unset(key, &member->value) &&
                   !is_dead(scope, key) && !is_foreign(scope, key)
               ? member
               : NULL;
}

/* Sets *key to the key that was found, and *places to the places behind the one that it was in. */
static const struct pe_config_member *first(const struct pe_config_scope *scope,
                                            const char **places, const char *keys, struct word *key)
{
    for (struct word place; (place = word_next(places)).size > 0;) {
        const char *rest = keys;
        while ((*key = word_next(&rest)).size > 0) {
            const struct pe_config_member *member = value_at(scope, place, *key);
            if (member)
                return member;
        }
    }
    return NULL;
}

const struct pe_config_member *pe_config_first(const struct pe_config_scope *scope,
                                               const char *places, const char *keys)
{
    struct word key;

    return first(scope, &places, keys, &key);
}

void pe_config_note(struct pe_config_reading *reading, const struct pe_config_member *member)
{
    for (; member; member = member->in->owner)
        reading->read[member->number] = true;
}

/* Depth is bounded by that of a config. */
void pe_config_note_whole(struct pe_config_reading *reading, const struct pe_config_member *member)
{
    const struct pe_config_node *object = member ? pe_config_object(member) : NULL;

    pe_config_note(reading, member);
    for (const struct pe_config_member *at = object ? object->first : NULL; at; at = at->next)
        pe_config_note_whole(reading, at);
}

/* Reads a key further out too, and warns where its value is another one: unless that of some layers
 * alone was found, which is meant to differ. */
static void shadow_note(struct pe_config_reading *reading, const struct pe_config_member *found,
                        const struct pe_config_member *other)
{
    char path[PE_CONFIG_PATH_SIZE], shadow[PE_CONFIG_PATH_SIZE];

    if (!other || other == found) /* the part about text may be the top */
        return;
    pe_config_note_whole(reading, other);
    if (found->in != reading->scope.layer && !pe_config_equal(&found->value, &other->value))
        pe_config_warn(reading, "%s and %s differ; the first is read",
                       pe_config_path(found, path, sizeof(path)),
                       pe_config_path(other, shadow, sizeof(shadow)));
}

const struct pe_config_member *pe_config_find(struct pe_config_reading *reading, const char *places,
                                              const char *keys)
{
    struct word key;
    const struct pe_config_member *found = first(&reading->scope, &places, keys, &key);

    pe_config_note(reading, found);
    for (struct word place; found && (place = word_next(&places)).size > 0;)
        shadow_note(reading, found, value_at(&reading->scope, place, key));
    return found;
}

/* ---- odd places ------------------------------------------------------------------------------ */

bool pe_config_is_among(const struct pe_config_scope *scope, const char *models)
{
    const char *name = scope->model ? scope->model->model_type : NULL;

    return name && !scope->top->config->models && pe_text_lists(models, ' ', name, strlen(name));
}

bool pe_config_is_misplaced(struct pe_config_reading *reading,
                            const struct pe_config_member *member)
{
    const struct pe_config_member *outer =
        pe_config_member(reading->scope.around, member->name.text);
    char path[PE_CONFIG_PATH_SIZE];

    for (const char *const *key = besides; *key && reading->scope.around; key++) {
        if (strcmp(*key, member->name.text) != 0)
            continue;
        if (!outer || !pe_config_equal(&outer->value, &member->value))
            pe_config_warn(reading,
                           "%s is not read: transformers 5.23 looks for it beside the objects of "
                           "the types of layers",
                           pe_config_path(member, path, sizeof(path)));
        return true;
    }
    return false;
}

/* Does the rope object name a type of scaling that has an original length? */
static bool has_length(const struct pe_config_node *rope)
{
    const char *type = pe_config_text(pe_config_member(rope, "rope_type"));

    type = type ? type : pe_config_text(pe_config_member(rope, "type"));
    return type && pe_text_lists("llama3 yarn longrope su", ' ', type, strlen(type));
}

static enum pe_status besides_fill(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const bool has_use = reading->scope.around && has_length(reading->scope.rope);

    for (const char *const *key = besides; *key && has_use; key++) {
        const struct pe_config_member *found = pe_config_member(reading->scope.around, *key);
        const int index = pe_params_find(filling->params, *key);
        if (!found || found->value.kind == PE_CONFIG_NULL || !pe_config_is_open(filling, index))
            continue;
        pe_config_note(reading, found);
        if (pe_config_member_fill(filling, (size_t)index, found))
            return filling->err->status;
    }
    return PE_OK;
}

static enum pe_status at_top_fill(const struct pe_config_filling *filling, const struct at_top *row)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_member *inner = pe_config_member(scope->rope, row->key);
    const int index = pe_params_find(filling->params, row->key);
    char path[PE_CONFIG_PATH_SIZE];

    if (!pe_config_is_among(scope, row->models) || scope->around || !has_length(scope->rope) ||
        pe_config_first(scope, "text", row->key) || !pe_config_is_open(filling, index))
        return PE_OK;
    if (inner && pe_config_number(&inner->value) != row->value)
        pe_config_warn(reading, "%s is not read: the class of %s has %g, which stands above it",
                       pe_config_path(inner, path, sizeof(path)), scope->model->model_type,
                       row->value);
    if (pe_params_set_number(filling->params, (size_t)index, row->value, filling->err))
        return filling->err->status;
    pe_config_source_set(reading, filling->params->list[index].name, PE_CONFIG_MODEL, NULL);
    return PE_OK;
}

enum pe_status pe_config_odd_places(const struct pe_config_filling *filling)
{
    if (besides_fill(filling))
        return filling->err->status;
    for (const struct at_top *row = at_tops; row->models; row++)
        if (at_top_fill(filling, row))
            return filling->err->status;
    return PE_OK;
}
