/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/fail.h"
#include "core/encodings/parts/learned.h"
#include "core/encodings/parts/weights.h"
#include "core/scheme/encoding.h"

#define ENCODING(name) extern const struct pe_encoding pe_encoding_##name;
#include "core/catalogue/encodings.def"
#undef ENCODING

const struct pe_encoding *const pe_encodings[] = {
#define ENCODING(name) &pe_encoding_##name,
#include "core/catalogue/encodings.def"
#undef ENCODING
    NULL,
};

const struct pe_encoding *pe_encoding_find(const char *name)
{
    for (const struct pe_encoding *const *at = pe_encodings; *at; at++)
        if (strcmp((*at)->info.name, name) == 0)
            return *at;
    return NULL;
}

bool pe_attention_takes(const struct pe_encoding *encoding)
{
    const bool needs_positions = encoding->axes_names && !encoding->axes_alike;

    return (encoding->rotates && !needs_positions) || encoding->bias_row || encoding->clip ||
           encoding->rows_by_distance;
}

const struct pe_view_type *pe_encoding_view(const struct pe_encoding *encoding, const char *view)
{
    for (const struct pe_view_type *const *at = encoding->views; *at; at++)
        if (strcmp((*at)->info.name, view) == 0)
            return *at;
    return NULL;
}

const struct pe_encoding *pe_encoding_at(size_t index)
{
    return index < sizeof(pe_encodings) / sizeof(pe_encodings[0]) ? pe_encodings[index] : NULL;
}

const struct pe_encoding_info *pe_encoding_info(const struct pe_encoding *encoding)
{
    return &encoding->info;
}

bool pe_encoding_has(const struct pe_encoding *encoding, enum pe_kind kind)
{
    switch (kind) {
    case PE_KIND_ROWS:
        return encoding->row_width != NULL;
    case PE_KIND_ROTARY:
        return encoding->rotates;
    case PE_KIND_BIAS:
        return encoding->bias_row != NULL;
    case PE_KIND_RELATIVE:
        return encoding->clip || encoding->rows_by_distance;
    case PE_KIND_LEARNED:
        return encoding->learned;
    }
    return false;
}

const struct pe_view_type *pe_encoding_view_at(const struct pe_encoding *encoding, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (!encoding->views[i])
            return NULL;
    return encoding->views[index];
}

const struct pe_view_info *pe_view_info(const struct pe_view_type *type)
{
    return &type->info;
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

enum pe_status pe_scheme_give(struct pe_scheme *scheme, const char *name,
                              const struct pe_tensor *tensor, struct pe_work *work,
                              struct pe_error *err)
{
    (void)work;
    if (scheme->prepared)
        return pe_fail(err, PE_INVALID, "", "the scheme is prepared; give it tensors before");
    if (strcmp(name, "weights") == 0)
        return pe_scheme_weights(scheme, tensor, err);
    if (strcmp(name, "table") == 0)
        return pe_scheme_table(scheme, tensor, err);
    return pe_fail(err, PE_UNKNOWN_PARAMETER, "", "an encoding learns no tensor '%.40s'", name);
}
