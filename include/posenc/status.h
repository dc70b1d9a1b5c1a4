/* SPDX-License-Identifier: MIT */
#ifndef POSENC_STATUS_H
#define POSENC_STATUS_H

#include "posenc/common.h"

/* The results of calls and requests: X(NAME, code, title). The code is stable; the title is for
 * people. Statuses from WRONG_METHOD to BUSY, except TOO_LARGE, are those of requests to the
 * service: no function of libposenc returns them. CANCELLED is never the status of a response: a
 * request whose work was cancelled gets BUSY. */
#define PE_STATUS_MAP(X)                                                                           \
    X(OK, "ok", "Success")                                                                         \
    X(MALFORMED, "malformed", "The input cannot be read")                                          \
    X(MISSING, "missing-parameter", "A required parameter is missing")                             \
    X(UNKNOWN_PARAMETER, "unknown-parameter", "No such parameter")                                 \
    X(INVALID, "invalid-parameter", "A parameter has no valid value")                              \
    X(OUT_OF_RANGE, "out-of-range", "A parameter is outside its limits")                           \
    X(CONFLICT, "conflicting-parameters", "Parameters contradict each other")                      \
    X(SHAPE_MISMATCH, "shape-mismatch", "Shapes do not fit each other")                            \
    X(UNSUPPORTED, "unsupported", "The combination is not offered")                                \
    X(NOT_FOUND, "not-found", "No such resource")                                                  \
    X(WRONG_METHOD, "method-not-allowed", "The resource has no such method")                       \
    X(NOT_ACCEPTABLE, "not-acceptable", "No offered format is acceptable")                         \
    X(UNKNOWN_FORMAT, "unsupported-media-type", "The format of the body is unknown")               \
    X(TOO_LARGE, "too-large", "The request is over a limit")                                       \
    X(URI_TOO_LONG, "uri-too-long", "The path and its query are too long")                         \
    X(TOO_MANY_FIELDS, "too-many-fields", "The request has too many header fields")                \
    X(PRECONDITION, "revision-unavailable", "This server has another revision")                    \
    X(RANGE, "range-not-satisfiable", "The answer has no such range")                              \
    X(EXPECTATION, "expectation-failed", "An expectation cannot be met")                           \
    X(UNAUTHORIZED, "unauthorized", "A token is needed")                                           \
    X(WRITES_DISABLED, "writes-disabled", "Nothing can be stored here")                            \
    X(NAME_TAKEN, "name-taken", "The name belongs to something else")                              \
    X(CHANGED, "precondition-failed", "The resource is not as expected")                           \
    X(STORAGE_FULL, "storage-full", "There is no room to store it")                                \
    X(FORBIDDEN_HOST, "host-not-allowed", "The Host is not one of this server")                    \
    X(TIMED_OUT, "timeout", "The request took too long to arrive")                                 \
    X(NOT_IMPLEMENTED, "not-implemented", "The transfer coding is not known")                      \
    X(BUSY, "busy", "The server has no room right now")                                            \
    X(OUT_OF_MEMORY, "out-of-memory", "Memory is short")                                           \
    X(INTERNAL, "internal", "The server failed")                                                   \
    X(CANCELLED, "cancelled", "The work was cancelled or its time is up")

enum pe_status {
#define X(name, code, title) PE_##name,
    PE_STATUS_MAP(X)
#undef X
        PE_STATUSES /* how many there are */
};

/* A description of a failure. The caller owns it and zeroes it before use; a function that takes an
 * `err` does not accept NULL. The first failure stays until the caller zeroes it again, and later
 * calls may return it again: a program can make several calls and check `err` once, provided that
 * no call uses a result that an earlier one failed to make. */
struct pe_error {
    enum pe_status status;
    char where[96];   /* "parameter:NAME", "tensor:NAME", "key:PATH" or ""; of a request also
                         "pointer:/JSON/POINTER" and "header:NAME" */
    char detail[320]; /* one sentence: the value found and the values expected */
};

PE_DECLARATIONS_BEGIN

/* Constant strings; "" for a number that is no status. Any thread. */
PE_API const char *pe_status_code(enum pe_status status);
PE_API const char *pe_status_title(enum pe_status status);

/* Records a failure unless `err` has one already, and returns the status of `err`:
 * `return pe_fail(err, PE_INVALID, "parameter:dim", "dim must be even, got %zu", dim)`. Numbers are
 * printed as in the C locale. Any thread. */
PE_API enum pe_status pe_fail(struct pe_error *err, enum pe_status status, const char *where,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

PE_DECLARATIONS_END

#endif
