/* SPDX-License-Identifier: MIT */
#include "core/scheme/scheme.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/text.h"
#include "core/base/work.h"
#include "core/scheme/bias.h"
#include "core/scheme/learned.h"
#include "core/scheme/relative.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"

static enum pe_status params_copy(struct pe_params *to, const struct pe_params *from,
                                  struct pe_work *work, struct pe_error *err)
{
    *to = *from;
    to->work = NULL; /* a scheme may outlive the work */
    for (size_t i = 0; i < to->count; i++) {
        to->values[i].list = NULL;
        to->values[i].text = NULL;
        to->values[i].segments = NULL; /* only views have positions */
        to->values[i].segments_count = 0;
        to->values[i].lent = false;
    }
    for (size_t i = 0; i < to->count; i++) {
        const struct pe_value *value = &from->values[i];
        if (value->text && !(to->values[i].text = strdup(value->text)))
            return pe_no_memory(err, "the parameters");
        if (!value->list)
            continue;
        to->values[i].list =
            pe_memory_take(work, value->list_count, sizeof(double), "the parameters", err);
        if (!to->values[i].list)
            return err->status;
        memcpy(to->values[i].list, value->list, value->list_count * sizeof(double));
    }
    return PE_OK;
}

enum pe_status pe_scheme_open(struct pe_scheme **out, const struct pe_encoding *encoding,
                              const struct pe_params *params, struct pe_work *work,
                              struct pe_error *err)
{
    struct pe_params forgiven = *params; /* shares the lists and texts of params */

    pe_scheme_open_as_given(out, encoding, params, work, err);
    while (pe_params_forgive(&forgiven, err)) {
        *err = (struct pe_error){0};
        pe_scheme_open_as_given(out, encoding, &forgiven, work, err);
    }
    return err->status;
}

enum pe_status pe_scheme_open_as_given(struct pe_scheme **out, const struct pe_encoding *encoding,
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
    scheme->state = calloc(1, encoding->state_size + 1); /* calloc(1, 0) may return NULL */
    if (!scheme->state) {
        pe_scheme_free(scheme);
        return pe_no_memory(err, "a scheme");
    }
    if (params_copy(&scheme->params, params, work, err) || pe_params_finish(&scheme->params, err) ||
        (encoding->check && encoding->check(scheme, err))) {
        pe_scheme_free(scheme);
        return err->status;
    }
    *out = scheme;
    return PE_OK;
}

enum pe_status pe_scheme_give(struct pe_scheme *scheme, const char *name,
                              const struct pe_tensor *tensor, struct pe_work *work,
                              struct pe_error *err)
{
    if (scheme->prepared)
        return pe_fail(err, PE_INVALID, "", "the scheme is prepared; give it tensors before");
    if (strcmp(name, "weights") == 0)
        return pe_weights_give(scheme, tensor, work, err);
    if (strcmp(name, "table") == 0)
        return pe_learned_give(scheme, tensor, err);
    return pe_fail(err, PE_UNKNOWN_PARAMETER, "", "an encoding learns no tensor '%.40s'", name);
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
    if (pe_work_check(work, err) ||
        (scheme->encoding->prepare && scheme->encoding->prepare(scheme, work, err)))
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
    if (scheme->encoding->close && scheme->state)
        scheme->encoding->close(scheme->state);
    free(scheme->state);
    pe_params_free(&scheme->params);
    free(scheme);
}

/* ---- waves ---------------------------------------------------------------------------------- */

enum pe_status pe_waves_prepare(struct pe_scheme *scheme, const struct pe_powers *powers,
                                struct pe_work *work, struct pe_error *err)
{
    struct pe_waves *waves = scheme->state;
    const struct pe_frequencies_spec spec = {.count = waves->pairs,
                                             .powers = *powers,
                                             .context = scheme,
                                             .cost = pe_scheme_work(scheme) / (double)waves->pairs};

    return pe_frequencies_new(&waves->frequencies, &spec, work, err);
}

void pe_waves_close(void *state)
{
    pe_frequencies_free(((struct pe_waves *)state)->frequencies);
}

/* ---- properties ----------------------------------------------------------------------------- */

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

void pe_scheme_warn(struct pe_scheme *scheme, const char *format, ...)
{
    va_list arguments;

    if (scheme->warnings_count == PE_WARNINGS_MAX)
        return;
    va_start(arguments, format);
    pe_text_vprint(scheme->warnings[scheme->warnings_count++], PE_WARNING_SIZE, format, arguments);
    va_end(arguments);
}

bool pe_encoding_has(const struct pe_encoding *encoding, enum pe_kind kind)
{
    switch (kind) {
    case PE_KIND_ROWS:
        return pe_rows_are_free(encoding);
    case PE_KIND_ROTARY:
        return encoding->rotary != NULL;
    case PE_KIND_BIAS:
        return pe_bias_is_known(encoding);
    case PE_KIND_RELATIVE:
        return encoding->relative != NULL;
    case PE_KIND_LEARNED:
        return encoding->learned != NULL;
    }
    return false;
}

bool pe_attention_takes(const struct pe_encoding *encoding)
{
    return encoding->rotary || pe_bias_is_known(encoding) || encoding->relative ||
           (encoding->bias && encoding->bias->vectors_count);
}

size_t pe_scheme_row_width(const struct pe_scheme *scheme)
{
    return pe_rows_are_free(scheme->encoding) ? scheme->encoding->rows->width(scheme) : 0;
}

double pe_scheme_work(const struct pe_scheme *scheme)
{
    const struct pe_encoding *encoding = scheme->encoding;

    if (encoding->cost)
        return encoding->cost(scheme);
    return (double)pe_scheme_pairs(scheme) * PE_FREQUENCY_COST;
}

size_t pe_scheme_heads(const struct pe_scheme *scheme)
{
    return pe_bias_heads(scheme);
}

size_t pe_scheme_pairs(const struct pe_scheme *scheme)
{
    const struct pe_waves *waves = pe_waves_of(scheme);

    return waves ? waves->pairs : 0;
}

size_t pe_scheme_head_dim(const struct pe_scheme *scheme)
{
    return scheme->encoding->rotary ? pe_rotary_of(scheme)->head_dim : 0;
}

size_t pe_scheme_rotary_dim(const struct pe_scheme *scheme)
{
    return scheme->encoding->rotary ? pe_rotary_of(scheme)->rotary_dim : 0;
}

size_t pe_scheme_axes(const struct pe_scheme *scheme)
{
    return scheme->encoding->rotary ? pe_rotary_of(scheme)->axes_count : 0;
}

bool pe_scheme_scales(const struct pe_scheme *scheme)
{
    return scheme->encoding->rotary && scheme->encoding->rotary->scale;
}

size_t pe_scheme_column_pair(const struct pe_scheme *scheme, size_t column)
{
    const struct pe_rows_kind *rows = scheme->encoding->rows;

    if (rows && rows->sines && rows->sines->column_pair)
        return rows->sines->column_pair(scheme, column);
    return scheme->encoding->rotary ? column % pe_rotary_of(scheme)->waves.pairs : SIZE_MAX;
}

double pe_scheme_length(const struct pe_scheme *scheme)
{
    const struct pe_rotary_kind *rotary = scheme->encoding->rotary;

    return rotary && rotary->length ? rotary->length(scheme) : INFINITY;
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
