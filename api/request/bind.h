/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_BIND_H
#define API_REQUEST_BIND_H

/* Parameters out of a request: of the query, of the JSON body and of the metadata of its tensors.
 */

#include "api/request/request.h"

/* Parameters live as long as the arena, which frees what they hold. false: no memory. */
bool api_params_keep(struct api_arena *arena, struct pe_params *params);

/* Lists and texts that a client sends are charged to its request. A set that has some already stays
 * as it is: each is given back to what it was charged to. */
void api_sets_charge(const struct api_request *request, struct pe_params **sets, size_t count);

/* Sets parameters from the query, the JSON body's top level and the metadata; each name goes to the
 * first set that knows it. `own` lists names, separated by spaces, that the handler reads by itself
 * from request->json. An unknown name is PE_UNKNOWN_PARAMETER with the nearest known names. Fails
 * with the first mistake when all are noted. */
enum pe_status api_bind(struct api_request *request, struct pe_params **sets, size_t sets_count,
                        const char *own, struct pe_error *err);

/* Sets parameters from one JSON object, such as {"name": "rope", ...}; `at` is its JSON pointer.
 * Mistakes are noted, and make the next api_bind fail, or the request (api_mistakes_end). */
enum pe_status api_bind_object(struct api_request *request, json_t *object, const char *at,
                               struct pe_params **sets, size_t sets_count, const char *own,
                               struct pe_error *err);

/* Notes values that the handler reads by itself, of `own` or text, and that contradict each other.
 * A step of api_bind. */
enum pe_status api_own_check(struct api_request *request, struct pe_params **sets,
                             size_t sets_count, const char *own, struct pe_error *err);

/* A value that the handler reads by itself: query, else JSON (scalars as text), else metadata. */
const char *api_request_text(const struct api_request *request, const char *name);
/* Like api_request_text, but refuses a list or an object. *text is NULL where there is no value. */
enum pe_status api_request_scalar(const struct api_request *request, const char *name,
                                  const char **text, struct pe_error *err);

/* The numbers of a long list in the JSON body, which json holds as []; NULL: json holds the list
 * itself. */
const struct pe_tensor *api_request_list(const struct api_request *request, const char *name);

/* The posted tensor of a name, or NULL. */
struct api_tensor *api_request_tensor(struct api_request *request, const char *name);

#endif
