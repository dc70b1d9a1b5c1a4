/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kinds/rotary.h"
#include "core/scheme/encoding.h"
#include "core/tables/frequencies.h"

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
        if (strcmp((*at)->name, name) == 0)
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
        if (strcmp((*at)->name, view) == 0)
            return *at;
    return NULL;
}

static enum pe_status params_copy(struct pe_params *to, const struct pe_params *from,
                                  struct pe_error *err)
{
    *to = *from;
    for (size_t i = 0; i < to->count; i++) {
        to->values[i].list = NULL;
        to->values[i].text = NULL;
    }
    for (size_t i = 0; i < to->count; i++) {
        const struct pe_value *value = &from->values[i];
        if (value->text && !(to->values[i].text = strdup(value->text)))
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the parameters");
        if (!value->list)
            continue;
        to->values[i].list = malloc((value->list_count + 1) * sizeof(double));
        if (!to->values[i].list)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the parameters");
        memcpy(to->values[i].list, value->list, value->list_count * sizeof(double));
    }
    return PE_OK;
}

enum pe_status pe_scheme_check(struct pe_scheme **out, const struct pe_encoding *encoding,
                               const struct pe_params *params, struct pe_error *err)
{
    struct pe_scheme *scheme = calloc(1, sizeof(*scheme));

    *out = NULL;
    if (!scheme)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a scheme");
    scheme->encoding = encoding;
    if (params_copy(&scheme->params, params, err) || pe_params_finish(&scheme->params, err) ||
        (encoding->check && encoding->check(scheme, err))) {
        pe_scheme_free(scheme);
        return err->status;
    }
    *out = scheme;
    return PE_OK;
}

enum pe_status pe_scheme_prepare(struct pe_scheme *scheme, struct pe_error *err)
{
    if (!scheme->prepared && scheme->encoding->prepare && scheme->encoding->prepare(scheme, err))
        return err->status;
    scheme->prepared = true;
    return PE_OK;
}

enum pe_status pe_scheme_new(struct pe_scheme **scheme, const char *name,
                             const struct pe_params *params, struct pe_error *err)
{
    const struct pe_encoding *encoding = pe_encoding_find(name);

    *scheme = NULL;
    if (!encoding)
        return pe_fail(err, PE_NOT_FOUND, "parameter:encoding", "there is no encoding '%.60s'",
                       name);
    if (params->list != encoding->params)
        return pe_fail(err, PE_INVALID, "parameter:encoding",
                       "the parameters were parsed for another encoding than %s", name);
    if (pe_scheme_check(scheme, encoding, params, err))
        return err->status;
    if (pe_scheme_prepare(*scheme, err)) {
        pe_scheme_free(*scheme);
        *scheme = NULL;
    }
    return err->status;
}

bool pe_scheme_beyond(const struct pe_scheme *scheme, const struct pe_positions *p,
                      double *farthest)
{
    const double length = scheme->encoding->length ? scheme->encoding->length(scheme) : INFINITY;
    const size_t rows = (p->batch > 1 ? p->batch : 1) * (p->axes > 1 ? p->axes : 1);

    *farthest = -INFINITY;
    if (isinf(length) || p->count == 0)
        return false;
    if (!p->values)
        *farthest = fmax(p->start, p->start + p->step * (double)(p->count - 1));
    for (size_t i = 0; p->values && i < rows * p->count; i++)
        *farthest = fmax(*farthest, p->values[i]);
    return *farthest > length - 1;
}

void pe_scheme_free(struct pe_scheme *scheme)
{
    if (!scheme)
        return;
    pe_frequencies_free(scheme->frequencies);
    pe_frequencies_free(scheme->frequencies_across);
    pe_rotary_axes_free(scheme);
    free(scheme->slopes);
    free(scheme->decays);
    free(scheme->bounds);
    free(scheme->weights);
    for (size_t i = 0; i < 2; i++)
        free(atomic_load(&scheme->sums[i]));
    pe_params_free(&scheme->params);
    free(scheme);
}

enum pe_status pe_params_set_pairs(struct pe_params *params, const char *text, struct pe_error *err)
{
    char *copy = strdup(text), *rest = copy;

    if (!copy)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the parameters");
    for (char *pair; !err->status && (pair = strtok_r(rest, " \t\r\n&", &rest));) {
        char *value = strchr(pair, '=');
        int index;

        if (value)
            *value++ = '\0';
        index = pe_params_find(params, pair);
        if (index < 0)
            pe_fail(err, PE_UNKNOWN_PARAMETER, "", "there is no parameter '%.60s'", pair);
        else if (!value)
            pe_fail(err, PE_MALFORMED, "", "'%.60s' has no value; write name=value", pair);
        else
            pe_params_set_text(params, (size_t)index, value, err);
    }
    free(copy);
    return err->status;
}

enum pe_status pe_params_set_value(struct pe_params *params, size_t index,
                                   const struct pe_param *param, const struct pe_value *value,
                                   struct pe_error *err)
{
    char choice[32];

    if (value->rows > 0)
        return pe_params_set_rows(params, index, value->list, value->rows,
                                  value->list_count / value->rows, err);
    if (value->list)
        return pe_params_set_list(params, index, value->list, value->list_count, err);
    if (value->text)
        return pe_params_set_text(params, index, value->text, err);
    if (param->type == PE_BOOLEAN)
        return pe_params_set_text(params, index, value->number != 0 ? "true" : "false", err);
    if (param->type != PE_CHOICE)
        return pe_params_set_number(params, index, value->number, err);
    pe_choice_name(param, (size_t)value->number, choice, sizeof(choice));
    return pe_params_set_text(params, index, choice, err);
}

enum pe_status pe_params_parse(struct pe_params *params, const char *name, const char *text,
                               struct pe_error *err)
{
    const struct pe_encoding *encoding = pe_encoding_find(name);

    pe_params_init(params, NULL, 0);
    if (!encoding)
        return pe_fail(err, PE_NOT_FOUND, "parameter:encoding", "there is no encoding '%.60s'",
                       name);
    pe_params_init(params, encoding->params, encoding->params_count);
    if (pe_params_set_pairs(params, text, err) || pe_params_finish(params, err))
        pe_params_free(params);
    return err->status;
}
