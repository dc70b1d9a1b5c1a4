/* SPDX-License-Identifier: MIT */
#ifndef POSENC_STATUS_H
#define POSENC_STATUS_H

#include "posenc/common.h"

/* Ways in which a call can fail: X(NAME, code, title). The code is stable; the title is for people.
 * The first of them mean the same to a program around the library, which may take them over. */
#define PE_STATUS_INPUT_MAP(X)                                                                     \
    X(OK, "ok", "Success")                                                                         \
    X(MALFORMED, "malformed", "The input cannot be read")                                          \
    X(MISSING, "missing-parameter", "A required parameter is missing")                             \
    X(UNKNOWN_PARAMETER, "unknown-parameter", "No such parameter")                                 \
    X(INVALID, "invalid-parameter", "A parameter has no valid value")                              \
    X(OUT_OF_RANGE, "out-of-range", "A parameter is outside its limits")                           \
    X(CONFLICT, "conflicting-parameters", "Parameters contradict each other")                      \
    X(SHAPE_MISMATCH, "shape-mismatch", "Shapes do not fit each other")                            \
    X(UNSUPPORTED, "unsupported", "The combination is not offered")

#define PE_STATUS_MAP(X)                                                                           \
    PE_STATUS_INPUT_MAP(X)                                                                         \
    X(NOT_FOUND, "not-found", "There is nothing of that name")                                     \
    X(TOO_LARGE, "too-large", "The call is over a limit")                                          \
    X(CANCELLED, "cancelled", "The work was cancelled or its time is up")                          \
    X(OUT_OF_MEMORY, "out-of-memory", "Memory is short")                                           \
    X(INTERNAL, "internal", "The library failed")

enum pe_status {
#define X(name, code, title) PE_##name,
    PE_STATUS_MAP(X)
#undef X
};

/* A failure in words. The caller owns it and zeroes it before use; where a function takes an `err`,
 * NULL must not be passed. The first failure stays until the caller zeroes it again, and later
 * calls may return it anew: a program can make several calls in a row and look at `err` once, as
 * long as none of them uses what an earlier one failed to make. */
struct pe_error {
    enum pe_status status;
    char where[96];   /* "parameter:NAME", "tensor:NAME", "key:PATH" or "" */
    char detail[320]; /* one sentence: the value found and the values expected */
};

PE_DECLARATIONS_BEGIN

/* Constant strings; "" for a number that is no status. Any thread. */
PE_API const char *pe_status_code(enum pe_status status);
PE_API const char *pe_status_title(enum pe_status status);

PE_DECLARATIONS_END

#endif
