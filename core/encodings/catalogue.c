/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/wraps.h"
#include "core/scheme/bias.h"
#include "core/scheme/learned.h"
#include "core/views/view.h"

/* ---- the lists ------------------------------------------------------------------------------ */

#define ENCODING(name) extern const struct pe_encoding pe_encoding_##name;
#include "core/encodings/encodings.def"
#undef ENCODING

static const struct pe_encoding *const encodings[] = {
#define ENCODING(name) &pe_encoding_##name,
#include "core/encodings/encodings.def"
#undef ENCODING
};

#define VIEW(name) extern const struct pe_view_type pe_view_##name;
#include "core/encodings/views.def"
#undef VIEW

static const struct pe_view_type *const views[] = {
#define VIEW(name) &pe_view_##name,
#include "core/encodings/views.def"
#undef VIEW
};

/* ---- encodings ------------------------------------------------------------------------------ */

const struct pe_encoding *pe_encoding_at(size_t index)
{
    return index < sizeof(encodings) / sizeof(encodings[0]) ? encodings[index] : NULL;
}

const struct pe_encoding *pe_encoding_find(const char *name)
{
    for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
        if (strcmp(encodings[i]->info.name, name) == 0)
            return encodings[i];
    return NULL;
}

const struct pe_encoding_info *pe_encoding_info(const struct pe_encoding *encoding)
{
    return &encoding->info;
}

/* ---- views ---------------------------------------------------------------------------------- */

PE_WRAPS("counts down past 0")
const struct pe_view_type *pe_encoding_view_at(const struct pe_encoding *encoding, size_t index)
{
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        const struct pe_view_type *type = views[i]->of(encoding);
        if (type && index-- == 0)
            return type;
    }
    return NULL;
}

const struct pe_view_type *pe_encoding_view(const struct pe_encoding *encoding, const char *name)
{
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        const bool is_named = strcmp(views[i]->info.name, name) == 0;
        const struct pe_view_type *type = is_named ? views[i]->of(encoding) : NULL;
        if (type)
            return type;
    }
    return NULL;
}

/* ---- by name -------------------------------------------------------------------------------- */

enum pe_status pe_params_parse(struct pe_params *params, const char *name, const char *text,
                               struct pe_error *err)
{
    const struct pe_encoding *encoding = pe_encoding_find(name);

    pe_params_init(params, NULL, 0);
    if (!encoding)
        return pe_fail(err, PE_NOT_FOUND, "parameter:encoding", "there is no encoding '%.60s'",
                       name);
    pe_params_init(params, encoding->info.params, encoding->info.params_count);
    if (pe_params_set_pairs(params, text, err) || pe_params_finish(params, err))
        pe_params_free(params);
    return err->status;
}
