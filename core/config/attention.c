/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/text.h"
#include "core/config/reading.h"

/* Warns of what the attention of a model does beside positions. */

static const struct attends {
    const char *key, *values, *text;
    bool is_scale;
} attends[] = {
#define CONFIG_SCALES(key, values, text)  {key, values, text, true},
#define CONFIG_ATTENDS(key, values, text) {key, values, text, false},
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

/* A window of layers that are not meant, or that is switched off. */
static bool is_idle(const struct pe_config_reading *reading, const char *key)
{
    const struct pe_config_member *used =
        pe_config_first(&reading->scope, "text top", "use_sliding_window");
    const bool off = used && used->value.kind == PE_CONFIG_BOOL && !used->value.as.truth;
    const bool full = reading->layer_type && strcmp(reading->layer_type, "full_attention") == 0;

    return strcmp(key, "sliding_window") == 0 && (off || full);
}

/* The scale that a scalar gives is the usual one where it is the width. */
static bool is_usual(const struct pe_config_member *member, const char *key, double width)
{
    return strcmp(key, "query_pre_attn_scalar") == 0 && pe_config_number(&member->value) == width;
}

enum pe_status pe_config_attention(struct pe_config_reading *reading, double width,
                                   bool scale_given, struct pe_error *err)
{
    char path[PE_CONFIG_PATH_SIZE];

    for (const struct attends *at = attends; at->key; at++) {
        const struct pe_config_member *found =
            pe_config_first(&reading->scope, "text top", at->key);
        if (!found || !value_counts(found, at->values) || (at->is_scale && scale_given) ||
            is_idle(reading, at->key) || is_usual(found, at->key, width))
            continue;
        pe_config_note(reading, found);
        pe_config_warn(reading, "%s is not read by attention%s: %s",
                       pe_config_path(found, path, sizeof(path)),
                       at->is_scale ? ", give scale" : "", at->text);
    }
    return pe_config_memory_check(reading, err);
}
