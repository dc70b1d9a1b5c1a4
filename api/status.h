/* SPDX-License-Identifier: MIT */
#ifndef API_STATUS_H
#define API_STATUS_H

#include "posenc/status.h"

/* Every way in which a request can fail: X(NAME, code, title). All statuses of the core are among
 * them but PE_CANCELLED, which becomes API_BUSY; some have titles of their own here. The code is
 * stable and public (it is the last part of a problem's address); the title is for people. */
#define API_STATUS_MAP(X)                                                                          \
    PE_STATUS_INPUT_MAP(X)                                                                         \
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
    X(INTERNAL, "internal", "The server failed")

enum api_status {
#define X(name, code, title) API_##name,
    API_STATUS_MAP(X)
#undef X
        API_STATUSES /* how many there are */
};

/* A failure in words. The caller owns it and zeroes it before use; the first failure stays. */
struct api_error {
    enum api_status status;
    char where[96];   /* "parameter:NAME", "tensor:NAME", "pointer:/JSON/POINTER", "header:NAME" */
    char detail[320]; /* one sentence for a person: the value found and the values expected */
    struct pe_error core; /* room for a failure of the core; see api_core */
};

/* Constant strings. */
const char *api_status_code(enum api_status status);
const char *api_status_title(enum api_status status);

/* Records the first failure and returns its status:
 * `return api_fail(err, API_INVALID, "parameter:dim", ...)`. */
enum api_status api_fail(struct api_error *err, enum api_status status, const char *where,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The status of an error, after a failure that the core left in err->core was made its own. */
enum api_status api_failed(struct api_error *err);

/* The result of a call of the core that was given &err->core: `return api_core(err, pe_...)`. */
static inline enum api_status api_core(struct api_error *err, enum pe_status status)
{
    return status ? api_failed(err) : API_OK;
}

#endif
