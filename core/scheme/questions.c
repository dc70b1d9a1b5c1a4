/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/scheme/bias.h"
#include "core/scheme/learned.h"
#include "core/scheme/relative.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"

/* Questions that programs ask an encoding or a scheme, and that its kinds answer. */

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

    if (encoding->work)
        return encoding->work(scheme);
    return (double)pe_scheme_pairs(scheme) * PE_FREQUENCY_WORK;
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
