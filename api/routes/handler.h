/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_HANDLER_H
#define API_ROUTES_HANDLER_H

/* Handlers of routes, their two phases, and the headers that they need. */

#include "api/request/parameters.h"
#include "api/request/request.h"
#include "api/response/etag.h"
#include "api/response/response.h"
#include "api/response/result.h"

/* Elements of a permutation between layouts: it is a single row, and rows are never cut. */
enum { API_LAYOUT_ELEMENTS_MAX = 1 << 20 };

/* A handler has two phases. `open` reads names, parameters and shapes, and sets the kind, size and
 * cost of the result, without computing it. Then the pipeline (api/pipeline/conditions.c) checks
 * limits and whether the format can hold the result, answers 304 and HEAD, and chooses the thread
 * for the rest. `prepare` computes up to the first row.
 *
 * `result` is zeroed before `open` and is not moved; `prepare` NULL: `open` does everything. Each
 * is called once, perhaps on different threads. `prepare` is skipped where no body is needed (304,
 * HEAD of tensors). Both return the status of err. */
struct api_handler {
    enum pe_status (*open)(struct api_request *request, struct api_result *result,
                           struct pe_error *err);
    enum pe_status (*prepare)(struct api_request *request, struct api_result *result,
                              struct pe_error *err);
};

struct api_route {
    const char *method;
    const char *pattern; /* "/v1/encodings/{name}/{view}" */
    const struct api_handler *handler;
    const char *formats; /* names with blanks, "any" for all of formats.def, JSON where nothing is
                            said; "same": likewise, but that of the request; "": no negotiation */
    bool takes_body;
    bool writes;   /* changes a stored table: only some may, and a body is a table */
    bool has_page; /* HTML where Accept prefers it */
    bool repeats;  /* rotates in place; equal heads have the same rotation: head_cache.c */
    enum api_cost cost;
};

/* Sums of the contract's two files, once for a service. */
void api_contract_tag(struct api *api);

/* Likewise of the page's files. */
void api_explorer_tag(struct api *api);

/* GET of the page's files, by path. */
extern const struct api_handler api_handler_explorer_file;

/* The file of a path below the base path; NULL: there is none. */
const struct api_file *api_explorer_find(const struct api_settings *settings, const char *path);

/* Every handler of routes.def: api_handler_rotation. */
#define ROUTE(method, pattern, handler, formats, traits, cost)                                     \
    extern const struct api_handler api_handler_##handler;
#include "api/routes/routes.def"
#undef ROUTE

#endif
