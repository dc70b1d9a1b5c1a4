/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_LINT_H
#define API_ROUTES_LINT_H

/* The engines of a request, and a judgement as JSON: of POST /v1/lint and POST /v1/extend. */

#include "api/request/request.h"
#include "posenc/engines.h"

enum { API_LINT_ENGINES_MAX = 64 };

struct api_lint_engines {
    const struct pe_engine *list[API_LINT_ENGINES_MAX];
    size_t count;
};

/* Reads "for": names with commas between them, or a list. Without it: every measured engine, or
 * none. */
enum pe_status api_lint_engines_read(struct api_request *request, bool is_all,
                                     struct api_lint_engines *engines, struct pe_error *err);

/* {"engine", "version", "verdict", "findings", ...}. request: its body has the lines of keys; NULL:
 * the config is not in a body. */
json_t *api_lint_engine_json(const struct api_request *request, const struct pe_engine *engine,
                             const struct pe_lint *lint);

#endif
