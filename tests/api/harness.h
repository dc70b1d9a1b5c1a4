/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_HARNESS_H
#define TESTS_API_HARNESS_H

/* Requests without a socket: one call, and the complete answer in memory. */

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "tests/check_main.h"

struct answer {
    struct api_response *response;
    int status;
    unsigned char *body; /* ended by a zero byte */
    size_t size;
    json_t *json; /* of a JSON body */
};

struct api_settings settings_make(void);
struct api *api_make(const struct api_settings *settings);
const char *answer_header(const struct answer *answer, const char *name);

/* Blocks of a plan are made in reverse order. */
void body_read(struct answer *answer);

/* target: "/path?query"; headers: "Name: value" lines separated by '\n', or NULL. */
struct answer call_bytes(struct api *api, const char *method, const char *target,
                         const char *headers, const void *body, size_t size);

/* A body of text, in which ' stands for ". */
struct answer call(struct api *api, const char *method, const char *target, const char *headers,
                   const char *body);
void answer_free(struct answer *answer);

OWNED(answer, struct answer, answer_free(it))
OWNED(api, struct api *, api_free(*it))
OWNED(response, struct api_response *, api_response_free(*it))
#define OWNED_ANSWER   OWNER(answer) struct answer
#define OWNED_RESPONSE OWNER(response) struct api_response *
#define OWNED_API      OWNER(api) struct api *

/* A member of the body: "tensors.cos.dtype". */
json_t *member(const struct answer *answer, const char *path);
const char *member_text(const struct answer *answer, const char *path);
double member_number(const struct answer *answer, const char *path);
/* Do two members exist, and are they equal? */
void members_same(const struct answer *a, const char *path_a, const struct answer *b,
                  const char *path_b);

/* A posted JSON body and its answer: "422 out-of-range", or the status alone; `says` is a part of
 * the detail. */
struct asked {
    const char *target, *body, *answer, *says;
};

/* Posts all of them, with `path` before their targets. Returns their number. */
size_t asked_check(const char *path, const struct asked *rows, size_t count);

#endif
