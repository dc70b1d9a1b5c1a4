/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_JSON_PARSE_H
#define API_MEMORY_JSON_PARSE_H

#include "api/memory/json_memory.h"
#include "posenc/status.h"
#include "posenc/work.h"

/* Parses JSON text within limits: its tree takes ten times the text and more, and is made by a call
 * that does not come back before the end. */

/* Bytes that the tree of one text may take: the text of a body and a copy of its values by the
 * rules of a config stay below 64 MiB with it. */
#define API_JSON_TREE_MAX (UINT64_C(40) << 20)

/* Text in runs: bytes, *size of them; NULL: the end. */
struct api_json_text {
    const char *(*next)(void *context, size_t *size);
    void *context;
    uint64_t values_max;  /* values that it may have, lists and objects included; 0: any number */
    struct pe_work *work; /* parsing ends with it; NULL: it does not */
};

/* Duplicate keys are refused. NULL: *fault has the place, or err is set already: PE_TOO_LARGE for
 * too many values or a tree too large, PE_OUT_OF_MEMORY, or PE_INTERNAL where the work ended.
 * `what` names the text in an error: "the body". */
json_t *api_json_parse_runs(const struct api_json_text *text, const char *what, json_error_t *fault,
                            struct pe_error *err);

/* Parses a text of one run, which is no request's. NULL: err is set, PE_MALFORMED with line and
 * column among the others. where: the place that the error names, such as "pointer:". */
json_t *api_json_parse(const char *text, size_t size, const char *where, struct pe_error *err);
/* Likewise, of a request. */
json_t *api_json_parse_limited(const char *text, size_t size, const char *where,
                               uint64_t values_max, struct pe_work *work, struct pe_error *err);

#endif
