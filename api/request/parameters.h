/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_PARAMETERS_H
#define API_REQUEST_PARAMETERS_H

#include "api/request/request.h"

/* ---- bind.c ---------------------------------------------------------------------------------- */

/* Parameters out of a request: of the query, of the JSON body and of the metadata of its tensors.
 */

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

/* ---- mistakes.c ------------------------------------------------------------------------------ */

/* The mistakes of one request, which are told together. A request without any has no list. */

enum { API_MISTAKES_MAX = 32 };

struct api_mistake {
    enum pe_status status;
    const char *name; /* of the parameter, "" where it has none; in the arena */
    char where[sizeof(((struct pe_error *)NULL)->where)];
    char detail[sizeof(((struct pe_error *)NULL)->detail)];
};

struct api_mistakes {
    struct api_mistake list[API_MISTAKES_MAX]; /* what is missing stands behind what is wrong */
    size_t count;
    size_t more; /* that the list has no room for */
};

/* Is it a mistake in a parameter, beside which others can be told? */
bool api_is_mistake(enum pe_status status);

/* Moves a failure into the request's list, unless the list has it; err is clear then. `name`: of
 * the parameter, NULL: the last word of err->where. A failure of another kind stays where it is.
 * Returns the status of err. */
enum pe_status api_mistake_note(struct api_request *request, const char *name,
                                struct pe_error *err);

/* Is there no need for the words of a mistake: it is in the list, or the list is full? */
bool api_mistakes_hold(const struct api_mistakes *mistakes, const char *where);

/* Fails with the first mistake of a list. */
enum pe_status api_mistakes_fail(const struct api_mistakes *mistakes, struct pe_error *err);

/* After a handler's `open`, with its failure or none in err: where mistakes were noted, adds that
 * failure to them if it does not follow from them, and fails with the first. Failures that are not
 * the input's (PE_BUSY) stay. */
enum pe_status api_mistakes_end(struct api_request *request, struct pe_error *err);

/* The known parameter that an unknown name is in other letters, or stands for by spellings.def;
 * NULL: none. sets, own: see api_bind. */
const char *api_spelling_find(struct api_request *request, struct pe_params **sets,
                              size_t sets_count, const char *own, const char *name);

/* Fails with PE_UNKNOWN_PARAMETER and the names that were most likely meant, or else with all that
 * there are. sets, own: see api_bind. */
enum pe_status api_unknown_fail(struct api_request *request, struct pe_params **sets,
                                size_t sets_count, const char *own, const char *where,
                                const char *name, struct pe_error *err);

/* ---- describe.c ------------------------------------------------------------------------------ */

/* Schemes and parameters as JSON, and links to paths of the service. */

/* {"name": ..., resolved parameters ...} of a scheme, for answers and the validator. */
json_t *api_scheme_json(const struct pe_scheme *scheme);
/* Appends the warnings of a scheme; NULL has none. */
void api_scheme_warnings(const struct pe_scheme *scheme, json_t *warnings);

/* Parameters as the JSON Schema of an object. */
json_t *api_params_schema(const struct pe_param *params, size_t count);
/* Adds the parameters to a schema that exists. */
void api_params_describe(json_t *schema, const struct pe_param *params, size_t count);

/* base path + path, in the arena; NULL: memory is short. */
const char *api_link(struct api_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
