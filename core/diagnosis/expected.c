/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "core/diagnosis/diagnosis.h"

/* Schemes that a diagnosis can expect. */

bool pe_diagnosis_takes(const struct pe_scheme *scheme)
{
    const struct pe_encoding *encoding = scheme->encoding;

    if (!scheme->frequencies || scheme->frequencies_across)
        return false;
    if (encoding->rotates)
        return true;
    return encoding->row_width && encoding->rows && encoding->column_pair &&
           (encoding->row_width(scheme) + 1) / 2 - scheme->pairs <= 1;
}

/* Read off the row of position 0, where sines are 0 and cosines 1. */
const char *pe_diagnosis_columns(const struct pe_scheme *scheme, struct pe_work *work)
{
    static const char *const layouts[] = {
        "interleaved", "concatenated", "interleaved, cosines first", "concatenated, cosines first"};
    const struct pe_encoding *encoding = scheme->encoding;
    const struct pe_positions zero = {.count = 1};
    const char *layout;
    double *row;

    if (encoding->rotates || !pe_diagnosis_takes(scheme) || pe_work_ended(work))
        return NULL;
    row = malloc(encoding->row_width(scheme) * sizeof(*row));
    if (!row)
        return NULL;
    encoding->rows(scheme, &zero, 0, 1, PE_F64, row);
    layout = layouts[(row[0] != 0 ? 2 : 0) + (encoding->column_pair(scheme, 1) != 0 ? 1 : 0)];
    free(row);
    return layout;
}
