/* SPDX-License-Identifier: MIT */
#ifndef POSENC_SERVICE_H
#define POSENC_SERVICE_H

/* libposenc-service: all that posencd answers, inside a program and without a socket: the targets,
 * parameters, bytes and refusals of openapi.yaml. A library of its own beside libposenc:
 * `pkg-config --cflags --libs posenc-service`.
 *
 *   pe_service_new ──▶ pe_request_new ──▶ pe_request_feed ──▶ pe_request_finish ──▶ pe_request_next
 *      once               method, target     a body, if any      status, fields        the body
 *
 * A request that fails has a response as well: its status is 400 or more, and its body a problem
 * document (RFC 9457) that says why. An enum pe_status tells of what no response can: memory is
 * short, a struct is filled in wrongly, a body broke off.
 *
 * Threads: any number may use one service at the same time; a request is used by one at a time, but
 * pe_request_cancel may be called by any. The library starts threads of its own when work of more
 * than a few milliseconds is met first, as many as the setting "threads" says, and ends them with
 * the service. It prints nothing, and reads no environment but libposenc's POSENC_ISA. */

#include "posenc/status.h"

/* ---- the service ----------------------------------------------------------------------------- */

struct pe_service;

/* A setting, named as the flag of posencd: {"memory-budget", "1GiB"}. Texts of the caller's. */
struct pe_setting {
    const char *name, *value;
};

/* Zeroes but for size: every setting as pe_service_setting says. Read during the call only. */
struct pe_service_options {
    size_t size; /* sizeof(struct pe_service_options) */
    const struct pe_setting *settings;
    size_t settings_count;
    /* A sentence for whoever runs the service, such as a stored table that is damaged; any thread,
     * NULL: not told. `context` is handed to it and must outlive the service. */
    void (*log)(void *context, const char *sentence);
    void *context;
};

/* What can be set: constants. */
struct pe_setting_info {
    const char *name;     /* "memory-budget" */
    const char *takes;    /* "a size in bytes, or with KiB MiB ..." */
    const char *fallback; /* "0", where nothing is set */
    const char *doc;
};

/* ---- requests -------------------------------------------------------------------------------- */

#define PE_LENGTH_UNKNOWN UINT64_MAX

struct pe_request;

/* A header field. Names are compared in any case. */
struct pe_field {
    const char *name, *value;
};

/* Read during pe_request_new only. */
struct pe_request_head {
    size_t size;        /* sizeof(struct pe_request_head) */
    const char *method; /* "GET" */
    const char
        *target; /* "/v1/encodings/rope/table?dim=128&length=4": as in a URL, percent-encoded */
    const struct pe_field *fields; /* "Content-Type", "Accept", ...; Content-Length goes without */
    size_t fields_count;
    uint64_t body_length; /* bytes that will be fed; 0: none; PE_LENGTH_UNKNOWN: nobody knows yet */
    uint64_t deadline; /* of CLOCK_MONOTONIC, in ns: a response that has not begun by then is 503;
                          0: none */
};

/* Lives in its request. Later versions may have more members behind these. */
struct pe_response {
    int status;          /* 200 */
    const char *problem; /* of a failure its code, "too-large"; NULL where there is none */
    const struct pe_field *fields; /* Content-Type and so on; Content-Length goes without */
    size_t fields_count;
    uint64_t
        length;    /* bytes of the body, or PE_LENGTH_UNKNOWN: text that is made while it is read */
    bool has_body; /* false: HEAD and 304, where `length` is what a body would have */
    bool in_place; /* the body will lie in the memory of pe_request_lend, which is as it was: it is
                      made there by the first call for bytes of the body */
};

PE_DECLARATIONS_BEGIN

/* options NULL: none. PE_INVALID or PE_OUT_OF_RANGE (err->where "setting:NAME"), PE_NOT_FOUND for a
 * setting that does not exist, PE_OUT_OF_MEMORY, PE_INTERNAL. */
PE_API enum pe_status pe_service_new(struct pe_service **service,
                                     const struct pe_service_options *options,
                                     struct pe_error *err);
/* When every request of it has been freed. NULL is fine. */
PE_API void pe_service_free(struct pe_service *service);

/* Settings one after the other, NULL past the end. Any thread. */
PE_API const struct pe_setting_info *pe_service_setting(size_t index);

/* Gives back memory that is kept for the next request, and looks for tables that others have stored
 * or deleted. Requests do so too, every two seconds; a program that will ask nothing for long calls
 * it. Any thread. */
PE_API void pe_service_tend(struct pe_service *service);

/* Begins a request: a refusal by the head alone (path, parameters, lengths) is decided here and
 * told by pe_request_finish. PE_INVALID where `size`, method or target is missing,
 * PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_request_new(struct pe_request **request, struct pe_service *service,
                                     const struct pe_request_head *head, struct pe_error *err);

/* Copies bytes of the body, of which any number of pieces may come. false: the request is refused,
 * and needs no more of them. */
PE_API bool pe_request_feed(struct pe_request *request, const void *bytes, size_t size);

/* The whole body where it lies, instead of feeding it, of a request whose body_length is
 * PE_LENGTH_UNKNOWN: it is not copied, but worked in, and stays the caller's until the request is
 * freed. A rotation of raw bytes (application/octet-stream) is made in this memory, where the body
 * of its response then lies, as `in_place` of the response says. Until the first byte of the body
 * is asked for the bytes of such a rotation are not written to: requests on several buffers can all
 * be finished, and freed unread where one of them is refused. false: the request is refused. */
PE_API bool pe_request_lend(struct pe_request *request, void *bytes, size_t size);

/* The body is whole: does the work. Never NULL; a second call gives the same response. */
PE_API const struct pe_response *pe_request_finish(struct pe_request *request);

/* The value of a field of a response; NULL: it has none. */
PE_API const char *pe_response_field(const struct pe_response *response, const char *name);

/* The next bytes of the body, where they lie: valid until the next call with this request. After
 * pe_request_finish. *size 0: the end. PE_CANCELLED, PE_OUT_OF_MEMORY: the body breaks off here. */
PE_API enum pe_status pe_request_next(struct pe_request *request, const void **bytes, size_t *size);

/* The next bytes of the body as a copy: *size of them at least 1 and at most `room`, or 0 at the
 * end. May take turns with pe_request_next. */
PE_API enum pe_status pe_request_read(struct pe_request *request, void *buffer, size_t room,
                                      size_t *size);

/* What is left of the body, handed to a sink in order, until that returns false: PE_CANCELLED. */
PE_API enum pe_status pe_request_drain(struct pe_request *request,
                                       bool (*sink)(void *context, const void *bytes, size_t size),
                                       void *context);

/* Nobody waits for the response any more: pe_request_finish ends soon, with a refusal, and the body
 * breaks off. Any thread, at any time until the request is freed. */
PE_API void pe_request_cancel(struct pe_request *request);

/* Its response and every byte of the body with it, read or not. NULL is fine. */
PE_API void pe_request_free(struct pe_request *request);

PE_DECLARATIONS_END

#endif
