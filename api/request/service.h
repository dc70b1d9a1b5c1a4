/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_SERVICE_H
#define API_REQUEST_SERVICE_H

/* What the files of api/ share among themselves. Handlers need request.h alone. */

#include <stdatomic.h>

#include "api/memory/budget.h"
#include "api/memory/cache.h"
#include "api/memory/clock.h"
#include "api/numbers/text.h"
#include "api/request/request.h"
#include "api/store/store.h"

enum { API_REVISION_SIZE = 17 };

struct api {
    struct api_settings settings; /* its strings are ours */
    struct api_memory *memory;
    struct api_cache *cache; /* of answers and rotations */
    struct api_store *store;
    struct api_access *access;
    char revision[API_REVISION_SIZE];
    uint64_t id_seed;
    _Atomic uint64_t ids;
    _Atomic uint64_t problems[API_STATUSES]; /* by status */
    _Atomic uint64_t not_modified;
};

/* A request on its way. It lies in the arena of its request, and so does the response. */
struct api_intake {
    struct api_request request;
    struct api_response *response;
    size_t common_headers;        /* of the response; those behind them are the handler's */
    struct api_response *refusal; /* decided already, handed out by api_finish */
    const char *accept, *accept_encoding, *format_wanted;
    double waited_ms, parse_ms, compute_ms;
    struct api_result result; /* of the handler */
    bool opened;              /* and judged */
    bool prepares;            /* what is judged needs its second phase */
    const void *answer;       /* kept from before: the request is not read any further */
    const char *answer_key;   /* under which the answer can be kept */
    unsigned char *buffer;    /* the body; a room of the arena */
    size_t size, room;
    bool encodes;                    /* the answer is coded, or will be */
    const struct api_coding *coding; /* of the body; NULL: it comes as it is */
    struct api_decoding *decoding;
    uint64_t received; /* bytes of the body as they come */
    uint64_t limit;    /* of the body, as it comes and decoded */
    const char *limit_flag;
    uint64_t expected; /* Content-Length, or API_LENGTH_UNKNOWN */
    bool discards;     /* a body that no one asked for: counted and dropped */
};

/* ---- api.c ----------------------------------------------------------------------------------- */

/* An intake with an arena, an empty response and what every answer carries (CORS, X-Request-Id).
 * NULL: memory is short. head NULL: nothing is known. */
struct api_intake *api_intake_new(struct api *api, const struct api_head *head);

/* Ends an intake with a problem document. Never NULL. */
struct api_response *api_intake_fail(struct api_intake *intake, struct api_error *err);

/* The value of a header field, name in any case; NULL: absent. */
const char *api_head_field(const struct api_head *head, const char *name);

/* ---- intake.c -------------------------------------------------------------------------------- */

bool api_type_is_json(const char *media_type);
/* Sets request->format by what is known so far: the header and, later, what read the body. */
enum api_status api_intake_format(struct api_intake *intake, struct api_error *err);
/* Room for so many bytes of the body, which is within its limit. */
enum api_status api_intake_room(struct api_intake *intake, size_t needed, struct api_error *err);
enum api_status api_intake_over_limit(const struct api_intake *intake, struct api_error *err);

/* ---- writes.c -------------------------------------------------------------------------------- */

bool api_is_write(const struct api_request *request); /* PUT, DELETE */
/* Before the upload: is there a place, and may this client write to it? API_WRITES_DISABLED,
 * API_UNAUTHORIZED, API_WRONG_METHOD. */
enum api_status api_write_check(struct api_intake *intake, const struct api_head *head,
                                struct api_error *err);

/* ---- coding.c, decode.c ---------------------------------------------------------------------- */

/* The coding of a body by its Content-Encoding; *coding NULL: none. API_UNKNOWN_FORMAT for one that
 * is not in the list, and for more than one. */
enum api_status api_coding_find(const struct api_head *head, const struct api_coding **coding,
                                struct api_error *err);

/* The coding that a client likes best, of an answer that may have any. *coding NULL: none;
 * *plain_refused: and that is not acceptable. field NULL: there is none. */
void api_coding_choose(const char *field, const struct api_coding **coding, bool *plain_refused);

/* For a body in intake->coding: api_decode_feed decodes bytes into the intake's buffer, and
 * api_decode_end the rest of them. API_MALFORMED, API_TOO_LARGE. */
enum api_status api_decode_begin(struct api_intake *intake, struct api_error *err);
enum api_status api_decode_feed(struct api_intake *intake, const void *bytes, size_t size,
                                struct api_error *err);
enum api_status api_decode_end(struct api_intake *intake, struct api_error *err);

/* ---- range.c --------------------------------------------------------------------------------- */

/* Turns a 200 that accepts ranges into the 206 that was asked for. API_RANGE. */
enum api_status api_range_apply(struct api_intake *intake, struct api_error *err);

/* ---- problem.c ------------------------------------------------------------------------------- */

int api_problem_status(enum api_status status);
/* Makes the response a problem document. False: memory is short. */
bool api_problem_write(struct api *api, struct api_response *response, struct api_error *err);
/* For when there is no memory for anything else; one for all, never written to. */
struct api_response *api_problem_no_memory(void);

/* ---- cors.c ---------------------------------------------------------------------------------- */

void api_cors_headers(const struct api *api, struct api_response *response, const char *origin);
/* Takes Vary and Access-Control-Expose-Headers off again. */
void api_cors_drop(struct api_response *response);
void api_cors_preflight(const struct api *api, struct api_response *response, const char *methods);

/* ---- query.c --------------------------------------------------------------------------------- */

/* Decodes %41 in place (and '+' as a blank); API_MALFORMED for %zz and %00. */
enum api_status api_percent_decode(char *text, bool plus, const char *where, struct api_error *err);
/* Sets request->query from "a=1&b=2"; text is changed and kept. */
enum api_status api_query_parse(struct api_request *request, char *text, struct api_error *err);

/* ---- routes.c -------------------------------------------------------------------------------- */

extern const struct api_route api_routes[]; /* ends with a NULL method */

/* Finds the route of a path below the base path and sets route, name and view of the request.
 * *allow is set to the methods of the path ("GET, HEAD, OPTIONS") where the one that is asked for
 * is OPTIONS or not among them. API_MALFORMED, API_NOT_FOUND, API_WRONG_METHOD. method OPTIONS
 * finds any route of the path. */
enum api_status api_route_find(struct api_request *request, const char *path, const char **allow,
                               struct api_error *err);

/* ---- negotiate.c ----------------------------------------------------------------------------- */

extern const struct api_format *const api_formats[]; /* ends with NULL */
extern const struct api_reader *const api_readers[]; /* ends with NULL; in the order of sniffing */
const struct api_format *api_format_find(const char *name); /* NULL: there is none */

/* The format of an answer out of a route's list; `preferred` (may be NULL) before the first one.
 * wanted is ?format=, accept the header field; both may be NULL. API_NOT_ACCEPTABLE. */
enum api_status api_format_negotiate(const char *formats, const struct api_format *preferred,
                                     const char *wanted, const char *accept,
                                     const struct api_format **format, struct api_error *err);

/* The q of the parameters [at, end) of a name in a list, in thousandths; without one 1000. */
int api_quality_read(const char *at, const char *end);

/* ---- nearest.c ------------------------------------------------------------------------------- */

enum { API_NEAREST_MAX = 3 };

/* The names most like a word that is none of them. */
struct api_nearest {
    const char *word;
    const char *names[API_NEAREST_MAX];
    size_t lengths[API_NEAREST_MAX];
    int distances[API_NEAREST_MAX];
    size_t count;
};

/* `length` bytes at name, kept. */
void api_nearest_offer(struct api_nearest *nearest, const char *name, size_t length);
/* "; did you mean 'length' or 'lengths'?", or "" where nothing is near. Returns out. */
const char *api_nearest_print(const struct api_nearest *nearest, char *out, size_t size);

/* ---- describe.c ------------------------------------------------------------------------------ */

/* Parameters as the JSON Schema of an object. */
json_t *api_params_schema(const struct pe_param *params, size_t count);
/* The same, added to such a schema. */
void api_params_describe(json_t *schema, const struct pe_param *params, size_t count);

/* base path + path, in the arena; NULL: memory is short. */
const char *api_link(struct api_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- respond.c ------------------------------------------------------------------------------- */

/* The value of a header that was set; NULL: it was not. */
const char *api_response_field(const struct api_response *response, const char *name);

extern const struct pe_param api_answer_list[]; /* what api_answer_params sets */
extern const size_t api_answer_count;

/* ---- etag.c ---------------------------------------------------------------------------------- */

/* FNV-1a, 128 bits. Entity tags, the revision and the vectors of words are made of it, so it never
 * changes. It keeps no secret and withstands no attacker: a tag is compared with the tag of the
 * same URL only, and the cache has a keyed hash of its own. */
struct api_hash {
    unsigned __int128 state;
};
void api_hash_start(struct api_hash *hash);
void api_hash_text(struct api_hash *hash, const char *text); /* NULL and "" differ */
void api_hash_bytes(struct api_hash *hash, const void *bytes, size_t size);
void api_hash_params(struct api_hash *hash, const struct pe_params *params);
void api_hash_stored_table(struct api_hash *hash,
                           const struct api_stored_table *table); /* name and content */
const char *api_hash_etag(const struct api_hash *hash, struct api_arena *arena); /* quoted; NULL */

/* Does If-None-Match name this tag? "*" names every one. */
bool api_etag_listed(const char *list, const char *etag);

#endif
