/* SPDX-License-Identifier: MIT */
#include "api/arguments/elsewhere.h"

#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "posenc/posenc.h"

/* Names that encodings have elsewhere. */

static const struct {
    const char *names, *says;
} elsewhere[] = {
#define ELSEWHERE(names, says) {names, says},
#include "api/arguments/elsewhere.def"
#undef ELSEWHERE
};

static const char *elsewhere_says(const char *fold)
{
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        if (api_names_have(elsewhere[i].names, " ", fold, strlen(fold)))
            return elsewhere[i].says;
    return NULL;
}

/* Scalings of rope for long contexts are parameters of it. */
static bool is_rope_type(const char *fold)
{
    const struct pe_encoding *rope = pe_encoding_find("rope");
    struct pe_params params;
    struct pe_error ignored = {0};
    bool is = false;

    pe_params_init(&params, pe_encoding_info(rope)->params, pe_encoding_info(rope)->params_count);
    const int index = pe_params_find(&params, "rope_type");
    if (index >= 0)
        is = pe_params_set_text(&params, (size_t)index, fold, &ignored) == PE_OK;
    pe_params_free(&params);
    return is;
}

static enum pe_status names_tell(const char *name, struct pe_error *err)
{
    const struct pe_encoding *encoding;
    struct api_nearest nearest = {.word = name};
    char text[160], names[240];
    size_t used = 0;

    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++) {
        const char *known = pe_encoding_info(encoding)->name;
        api_nearest_offer(&nearest, known, strlen(known));
        if (used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                     used > 0 ? ", " : "", known);
    }
    if (nearest.count > 0)
        return pe_fail(err, PE_NOT_FOUND, "", "there is no encoding '%.60s'%s", name,
                       api_nearest_print(&nearest, text, sizeof(text)));
    if (used < sizeof(names))
        return pe_fail(err, PE_NOT_FOUND, "", "there is no encoding '%.40s'; there are %s", name,
                       names);
    return pe_fail(err, PE_NOT_FOUND, "",
                   "there is no encoding '%.40s'; GET /v1/encodings lists all", name);
}

enum pe_status api_encoding_unknown(const char *name, struct pe_error *err)
{
    char fold[48];
    size_t size = 0;
    const char *says;

    for (; name[size] && size + 1 < sizeof(fold); size++)
        fold[size] = api_letter_fold(name[size]);
    fold[size] = '\0';
    says = elsewhere_says(fold);
    if (says)
        return pe_fail(err, PE_NOT_FOUND, "", "there is no encoding '%.60s'; %s", name, says);
    if (is_rope_type(fold))
        return pe_fail(err, PE_NOT_FOUND, "",
                       "there is no encoding '%.60s'; it is rope with rope_type=%s", name, fold);
    return names_tell(name, err);
}
