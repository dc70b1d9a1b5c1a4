/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fail.h"
#include "core/kinds/rotary.h"
#include "core/scheme/encoding.h"
#include "core/tables/frequencies.h"

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

enum pe_status pe_scheme_open(struct pe_scheme **out, const struct pe_encoding *encoding,
                              const struct pe_params *params, struct pe_work *work,
                              struct pe_error *err)
{
    struct pe_scheme *scheme;

    *out = NULL;
    if (!encoding)
        return pe_fail(err, PE_NOT_FOUND, "parameter:encoding", "there is no such encoding");
    if (params->list != encoding->info.params)
        return pe_fail(err, PE_INVALID, "parameter:encoding",
                       "the parameters were parsed for another encoding than %s",
                       encoding->info.name);
    if (pe_work_check(work, err))
        return err->status;
    scheme = calloc(1, sizeof(*scheme));
    if (!scheme)
        return pe_no_memory(err, "a scheme");
    atomic_init(&scheme->references, 1);
    scheme->encoding = encoding;
    if (params_copy(&scheme->params, params, err) || pe_params_finish(&scheme->params, err) ||
        (encoding->check && encoding->check(scheme, err))) {
        pe_scheme_free(scheme);
        return err->status;
    }
    *out = scheme;
    return PE_OK;
}

enum pe_status pe_scheme_resolve(struct pe_scheme *scheme, const char *name, double number,
                                 struct pe_error *err)
{
    const int index = pe_params_find(&scheme->params, name);
    struct pe_value *value = &scheme->params.values[index < 0 ? 0 : index];

    if (index < 0)
        return pe_fail(err, PE_UNKNOWN_PARAMETER, "", "%s has no parameter '%.40s'",
                       scheme->encoding->info.name, name);
    if (scheme->prepared || (value->present && value->number != number))
        return pe_fail(err, PE_CONFLICT, "", "%.40s of %s is settled", name,
                       scheme->encoding->info.name);
    if (!value->present &&
        pe_params_set_number(&scheme->params, (size_t)index, number, err) == PE_OK)
        value->given = false;
    return err->status;
}

enum pe_status pe_scheme_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                 struct pe_error *err)
{
    if (scheme->prepared)
        return PE_OK;
    if (scheme->encoding->learned && scheme->table.rank == 0)
        return pe_fail(err, PE_MISSING, "tensor:table",
                       "%s has the rows of a table; give the scheme one before it is prepared",
                       scheme->encoding->info.name);
    if (pe_work_check(work, err) ||
        (scheme->encoding->prepare && scheme->encoding->prepare(scheme, err)))
        return err->status;
    scheme->prepared = true;
    return PE_OK;
}

enum pe_status pe_scheme_new(struct pe_scheme **scheme, const struct pe_encoding *encoding,
                             const struct pe_params *params, struct pe_work *work,
                             struct pe_error *err)
{
    if (pe_scheme_open(scheme, encoding, params, work, err) == PE_OK &&
        pe_scheme_prepare(*scheme, work, err) != PE_OK) {
        pe_scheme_free(*scheme);
        *scheme = NULL;
    }
    return err->status;
}

/* ---- questions ------------------------------------------------------------------------------ */

const struct pe_encoding *pe_scheme_encoding(const struct pe_scheme *scheme)
{
    return scheme->encoding;
}

const struct pe_params *pe_scheme_params(const struct pe_scheme *scheme)
{
    return &scheme->params;
}

const char *pe_scheme_warning(const struct pe_scheme *scheme, size_t index)
{
    return index < scheme->warnings_count ? scheme->warnings[index] : NULL;
}

size_t pe_scheme_row_width(const struct pe_scheme *scheme)
{
    return scheme->encoding->row_width ? scheme->encoding->row_width(scheme) : 0;
}

size_t pe_scheme_heads(const struct pe_scheme *scheme)
{
    return scheme->heads;
}

size_t pe_scheme_pairs(const struct pe_scheme *scheme)
{
    return scheme->pairs;
}

size_t pe_scheme_head_dim(const struct pe_scheme *scheme)
{
    return scheme->head_dim;
}

size_t pe_scheme_rotary_dim(const struct pe_scheme *scheme)
{
    return scheme->rotary_dim;
}

size_t pe_scheme_axes(const struct pe_scheme *scheme)
{
    return scheme->axes_count;
}

bool pe_scheme_scales(const struct pe_scheme *scheme)
{
    return scheme->encoding->scale != NULL;
}

size_t pe_scheme_column_pair(const struct pe_scheme *scheme, size_t column)
{
    if (scheme->encoding->column_pair)
        return scheme->encoding->column_pair(scheme, column);
    return scheme->encoding->rotates ? column % scheme->pairs : SIZE_MAX;
}

double pe_scheme_length(const struct pe_scheme *scheme)
{
    return scheme->encoding->length ? scheme->encoding->length(scheme) : INFINITY;
}

bool pe_scheme_beyond(const struct pe_scheme *scheme, const struct pe_positions *p,
                      double *farthest)
{
    const double length = pe_scheme_length(scheme);
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

struct pe_scheme *pe_scheme_share(struct pe_scheme *scheme)
{
    if (scheme)
        atomic_fetch_add(&scheme->references, 1);
    return scheme;
}

void pe_scheme_free(struct pe_scheme *scheme)
{
    if (!scheme || atomic_fetch_sub(&scheme->references, 1) > 1)
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
