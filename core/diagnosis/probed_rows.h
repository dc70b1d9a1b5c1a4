/* SPDX-License-Identifier: MIT */
#ifndef CORE_DIAGNOSIS_PROBED_ROWS_H
#define CORE_DIAGNOSIS_PROBED_ROWS_H

/* Rows of x and y of a function that is probed: the column of its matrix that each unit vector
 * shows, and what the other rows say about it. */

#include "core/diagnosis/observations.h"
#include "posenc/probe.h"

enum pe_fault {
    PE_FAULT_NONE,
#define FAULT(name, code, explanation) PE_FAULT_##name,
#include "core/diagnosis/probe_faults.def"
#undef FAULT
};

/* Axes of calls, batch rows, heads and tokens. */
enum { PE_PROBED_AXES = 4 };

struct pe_probed_rows {
    const struct pe_tensor *x, *y;
    struct pe_work *work;
    size_t lengths[PE_PROBED_AXES], strides[PE_PROBED_AXES]; /* c b h s */
    size_t tokens, dim;
    size_t repeats;  /* calls * batch rows * heads */
    size_t *columns; /* [tokens][dim]: the row of a unit vector, counted within the token */
    double *scales;  /* [tokens][dim]: its element */
    struct pe_precision precision; /* of y */
    double rounding;               /* errors that rounding makes, relative to the length of a row */
    enum pe_fault fault;
    struct pe_probe_place place;
};

/* Sets the shape; the other members stay zero. Errors of pe_probed_axes. */
enum pe_status pe_probed_rows_shape(struct pe_probed_rows *rows, const struct pe_probed *probed,
                                    struct pe_error *err);
/* Reads all rows into `columns`, and compares rows of y with each other until one shows a fault.
 * PE_MISSING, PE_INVALID, PE_CANCELLED, PE_OUT_OF_MEMORY. */
enum pe_status pe_probed_rows_read(struct pe_probed_rows *rows, struct pe_allocations *memory,
                                   struct pe_error *err);
/* Element `to` of y where element `from` of x is 1 and the others are 0. */
double pe_probed_element(const struct pe_probed_rows *rows, size_t token, size_t to, size_t from);
/* The same for all elements of y. */
void pe_probed_column(const struct pe_probed_rows *rows, size_t token, size_t from, double *out);

#endif
