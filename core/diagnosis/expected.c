/* SPDX-License-Identifier: MIT */
#include "core/base/memory.h"
#include "core/diagnosis/diagnosis.h"
#include "core/scheme/rows.h"

/* Schemes that a diagnosis can expect. */

bool pe_diagnosis_takes(const struct pe_scheme *scheme)
{
    const struct pe_encoding *encoding = scheme->encoding;
    const struct pe_waves *waves = pe_waves_of(scheme);

    if (!waves || !waves->frequencies)
        return false;
    if (encoding->rotary)
        return true;
    return pe_rows_are_free(encoding) && encoding->rows->sines &&
           encoding->rows->sines->column_pair &&
           (encoding->rows->width(scheme) + 1) / 2 - waves->pairs <= 1;
}

/* Read off the row of position 0, where sines are 0 and cosines 1. */
const char *pe_diagnosis_columns(const struct pe_scheme *scheme, struct pe_work *work)
{
    static const char *const layouts[] = {
        "interleaved", "concatenated", "interleaved, cosines first", "concatenated, cosines first"};
    const struct pe_encoding *encoding = scheme->encoding;
    const struct pe_positions zero = {.count = 1};
    const struct pe_rows_part part = {&zero, 0, 1, PE_F64};
    const char *layout = NULL;
    struct pe_error err = {0};
    double *row;

    if (encoding->rotary || !pe_diagnosis_takes(scheme))
        return NULL;
    const size_t width = encoding->rows->width(scheme);
    row = pe_memory_take(work, width, sizeof(*row), "a row", &err);
    if (row && !encoding->rows->fill(scheme, &part, row, work, &err))
        layout = layouts[(row[0] != 0 ? 2 : 0) +
                         (encoding->rows->sines->column_pair(scheme, 1) != 0 ? 1 : 0)];
    pe_memory_give(work, row, width, sizeof(*row));
    return layout;
}
