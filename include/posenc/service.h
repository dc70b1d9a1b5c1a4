/* SPDX-License-Identifier: MIT */
#ifndef POSENC_SERVICE_H
#define POSENC_SERVICE_H

/* libposenc-service: the service of posencd inside a program, without a socket: the targets,
 * parameters, responses and errors of openapi.yaml. A separate library beside libposenc:
 * `pkg-config --cflags --libs posenc-service`.
 *
 *   pe_service_new ──▶ pe_request_new ──▶ pe_request_feed ──▶ pe_request_finish ──▶ pe_request_next
 *      once               method, target     a body, if any      status, fields        the body
 *
 * A request that fails has a response as well: its status is 400 or more, and its body is a problem
 * document (RFC 9457) with the reason. pe_status reports failures for which no response exists: out
 * of memory, invalid struct, truncated body.
 *
 * Threads: any number may use one service at the same time; a request is used by one at a time,
 * except for pe_request_cancel. The library starts its own threads, as many as the setting
 * "threads", at the first request that takes more than a few milliseconds, and ends them with the
 * service. It prints nothing, and reads no environment variable but libposenc's POSENC_ISA. */

#include "posenc/status.h"

/* ---- the service ----------------------------------------------------------------------------- */

struct pe_service;

/* A setting, named as the flag of posencd: {"memory-budget", "1GiB"}. */
struct pe_setting {
    const char *name, *value;
};

/* Zeros but for size: every setting has its default. Read during the call only. */
struct pe_service_options {
    size_t size; /* sizeof(struct pe_service_options) */
    const struct pe_setting *settings;
    size_t settings_count;
    /* Receives messages for the operator, such as a damaged stored table; any thread; NULL: there
     * are no messages. `context` is passed to it and must outlive the service. */
    void (*log)(void *context, const char *sentence);
    void *context;
};

/* A setting; constants. */
struct pe_setting_info {
    const char *name;     /* "memory-budget" */
    const char *takes;    /* "a size in bytes, or with KiB MiB ..." */
    const char *fallback; /* the default, "0" */
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
    const struct pe_field *fields; /* "Content-Type", "Accept", ...; without Content-Length */
    size_t fields_count;
    uint64_t
        body_length;   /* bytes that will be fed; 0: none; PE_LENGTH_UNKNOWN: unknown (chunked) */
    uint64_t deadline; /* of CLOCK_MONOTONIC, in ns: a response that has not begun by then is 503;
                          0: none */
};

/* Valid as long as its request. Later versions may have more members after these. */
struct pe_response {
    int status;                    /* 200 */
    const char *problem;           /* the code of a failure, "too-large"; NULL: none */
    const struct pe_field *fields; /* Content-Type and so on, without Content-Length */
    size_t fields_count;
    uint64_t length; /* bytes of the body; PE_LENGTH_UNKNOWN: text that is made while it is read */
    bool has_body;   /* false: HEAD and 304, whose `length` is that of the body of a GET */
    bool in_place; /* the body will be in the memory of pe_request_lend, which is unchanged so far:
                      the first call for bytes of the body makes it there */
};

PE_DECLARATIONS_BEGIN

/* options NULL: none. PE_INVALID or PE_OUT_OF_RANGE (err->where "setting:NAME"), PE_NOT_FOUND for a
 * setting that does not exist, PE_OUT_OF_MEMORY, PE_INTERNAL. */
PE_API enum pe_status pe_service_new(struct pe_service **service,
                                     const struct pe_service_options *options,
                                     struct pe_error *err);
/* Free every request of it first. NULL is fine. */
PE_API void pe_service_free(struct pe_service *service);

/* All settings; NULL past the last one. Any thread. */
PE_API const struct pe_setting_info *pe_service_setting(size_t index);

/* Releases memory cached for later requests, and finds tables that other processes have stored or
 * deleted. Requests do so every two seconds; call it before a long time without requests. Any
 * thread. */
PE_API void pe_service_tend(struct pe_service *service);

/* Begins a request. A refusal by the head alone (path, parameters, lengths) is decided here and
 * reported by pe_request_finish. PE_INVALID where `size`, method or target is missing,
 * PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_request_new(struct pe_request **request, struct pe_service *service,
                                     const struct pe_request_head *head, struct pe_error *err);

/* Copies the next bytes of the body; may be called any number of times. false: the request is
 * refused, and the rest of the body is not needed. */
PE_API bool pe_request_feed(struct pe_request *request, const void *bytes, size_t size);

/* Passes the complete body without a copy, instead of pe_request_feed, to a request whose
 * body_length is PE_LENGTH_UNKNOWN. The caller owns the bytes, which the request may modify and
 * which must live until it is freed. A rotation of raw bytes (application/octet-stream) is made in
 * this memory, as `in_place` of the response reports; the bytes are unchanged until the first byte
 * of the response's body is read. So requests on several buffers can all be finished, and all freed
 * unread if one of them is refused. false: the request is refused. */
PE_API bool pe_request_lend(struct pe_request *request, void *bytes, size_t size);

/* Call it after the complete body: computes the response. Never NULL; a second call returns the
 * same response. */
PE_API const struct pe_response *pe_request_finish(struct pe_request *request);

/* The value of a header field; NULL: the response does not have it. */
PE_API const char *pe_response_field(const struct pe_response *response, const char *name);

/* After pe_request_finish: the next bytes of the body without a copy, valid until the next call
 * with this request. *size 0: the end. PE_CANCELLED, PE_OUT_OF_MEMORY: the body is truncated here.
 */
PE_API enum pe_status pe_request_next(struct pe_request *request, const void **bytes, size_t *size);

/* Copies the next bytes of the body: *size is between 1 and `room`, or 0 at the end. Calls may be
 * mixed with pe_request_next. */
PE_API enum pe_status pe_request_read(struct pe_request *request, void *buffer, size_t room,
                                      size_t *size);

/* Passes the remaining bytes of the body to a sink, in order. PE_CANCELLED: the sink returned
 * false.
 */
PE_API enum pe_status pe_request_drain(struct pe_request *request,
                                       bool (*sink)(void *context, const void *bytes, size_t size),
                                       void *context);

/* Cancels the request: pe_request_finish returns soon, with a refusal, and the body is truncated.
 * Any thread, at any time until the request is freed. */
PE_API void pe_request_cancel(struct pe_request *request);

/* Frees the request with its response and the bytes of its body. NULL is fine. */
PE_API void pe_request_free(struct pe_request *request);

PE_DECLARATIONS_END

#endif
