/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "core/base/sanitizer.h"
#include "core/config/reading.h"

/* Rotaries of a model beside those of its layers' own queries and keys. */

static const struct indexer {
    const char *const *models;
    const char *layer_type, *width_key;
    int64_t width;
    const char *layout;
    bool last;
    const char *note;
} indexers[] = {
#define CONFIG_INDEXER(models, layer_type, width_key, width, layout, last, note)                   \
    {models, layer_type, width_key, width, layout, last, note},
#include "core/config/keys.def"
};

/* Notes the key of the width as read. */
static int64_t width_of(struct pe_config_reading *reading, const struct indexer *row)
{
    const struct pe_config_member *found =
        pe_config_find(reading, pe_in_text, NAMES(row->width_key));

    return found && found->value.kind == PE_CONFIG_INTEGER && found->value.as.integer > 0
               ? found->value.as.integer
               : row->width;
}

PE_WRAPS("counts down past 0")
bool pe_config_rotary(struct pe_config_reading *reading, size_t index,
                      struct pe_config_rotary *rotary)
{
    for (size_t i = 0; i < sizeof(indexers) / sizeof(indexers[0]); i++) {
        const struct indexer *row = &indexers[i];
        if (!pe_config_is_among(&reading->scope, row->models) || index-- > 0)
            continue;
        *rotary = (struct pe_config_rotary){.where = "indexer",
                                            .layer_type = row->layer_type,
                                            .layout = row->layout,
                                            .width = width_of(reading, row),
                                            .last = row->last,
                                            .note = row->note};
        return true;
    }
    return false;
}
