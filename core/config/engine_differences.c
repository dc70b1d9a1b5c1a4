/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/text.h"
#include "core/config/layers.h"

/* The keys of a config that engines read differently. */

static const struct row {
    const char *keys, *values, *unless, *models, *engine, *reads, *source;
} rows[] = {
#define READER(keys, values, unless, models, engine, reads, source)                                \
    {keys, values, unless, models, engine, reads, source},
#include "core/config/engine_differences.def"
#undef READER
};

/* What a row calls "flat.truncate": a member of the object that its first word names. */
static const struct pe_config_member *named_find(const struct pe_config_scope *scope,
                                                 struct pe_name key)
{
    const struct pe_config_node *rope = scope->rope, *around = scope->around;
    const struct {
        const char *prefix;
        const struct pe_config_node *object;
    } places[] = {
        {"rope.", rope},
        {"flat.", around ? NULL : rope},
        {"inner.", around ? rope : NULL},
        {"around.", around},
    };

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const size_t size = strlen(places[i].prefix);
        if (key.size > size && memcmp(key.at, places[i].prefix, size) == 0)
            return pe_config_member_at(places[i].object, key.at + size, key.size - size);
    }
    return pe_config_member_at(scope->text, key.at, key.size);
}

/* The first of the keys that the config has, wherever the part about text lies. */
static const struct pe_config_member *member_find(const struct pe_config_scope *scope,
                                                  const char *keys)
{
    const struct pe_config_member *found = NULL;
    struct pe_name key;

    while (!found && pe_text_next(&keys, ' ', &key))
        found = named_find(scope, key);
    return found;
}

static bool counts(const struct pe_config_value *value, const char *values)
{
    const char *text = value->kind == PE_CONFIG_TEXT   ? value->as.text
                       : value->kind == PE_CONFIG_BOOL ? value->as.truth ? "true" : "false"
                                                       : "";

    return *values ? pe_text_lists(values, ' ', text, strlen(text)) : pe_config_is_number(value);
}

static bool applies(const struct pe_config_reading *reading, const struct row *row,
                    const struct pe_config_member *member)
{
    const char *model = reading->model_type ? reading->model_type : "";

    return member && counts(&member->value, row->values) &&
           (!*row->models || pe_text_lists(row->models, ' ', model, strlen(model))) &&
           (!*row->unless || !pe_config_member(reading->scope.rope, row->unless));
}

bool pe_config_reader(struct pe_config_reading *reading, size_t index,
                      struct pe_config_reader *reader)
{
    size_t found = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct pe_config_member *member = member_find(&reading->scope, rows[i].keys);
        if (!applies(reading, &rows[i], member) || found++ < index)
            continue;
        pe_config_path(member, reader->key, sizeof(reader->key));
        reader->engine = rows[i].engine;
        reader->reads = rows[i].reads;
        reader->source = rows[i].source;
        return true;
    }
    return false;
}
