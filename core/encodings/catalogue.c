/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/scheme/scheme.h"

#define ENCODING(name) extern const struct pe_encoding pe_encoding_##name;
#include "core/encodings/encodings.def"
#undef ENCODING

static const struct pe_encoding *const encodings[] = {
#define ENCODING(name) &pe_encoding_##name,
#include "core/encodings/encodings.def"
#undef ENCODING
};

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
