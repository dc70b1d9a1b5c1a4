/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_PARAMETERS_H
#define API_REQUEST_PARAMETERS_H

#include "api/request/request.h"

/* ---- bind.c: parameters of the query, the JSON body and the metadata of its tensors ---------- */

/* Frees what parameters hold when the arena is freed. false: no memory, and they were freed. */
bool api_params_keep(struct api_arena *arena, struct pe_params *params);

/* Sets parameters from the query, the top level of the JSON body, and the metadata; each name goes
 * to the first set that has it. handler_names: names, separated by spaces, that the handler reads
 * itself from request->json. Notes each error, and fails with the first. An unknown name is
 * PE_UNKNOWN_PARAMETER with the nearest known ones. */
enum pe_status api_bind(struct api_request *request, struct pe_params **sets, size_t sets_count,
                        const char *handler_names, struct pe_error *err);

/* Sets parameters from one JSON object, such as {"name": "rope", ...}; `at` is its JSON pointer.
 * Errors are noted, and make the next api_bind or api_parameter_errors_end fail. */
enum pe_status api_bind_object(struct api_request *request, json_t *object, const char *at,
                               struct pe_params **sets, size_t sets_count,
                               const char *handler_names, struct pe_error *err);

/* A value that the handler reads itself: from the query, else the JSON body (scalars as text), else
 * the metadata. NULL: none. */
const char *api_request_text(const struct api_request *request, const char *name);
/* Like api_request_text, but refuses a list or an object. */
enum pe_status api_request_scalar(const struct api_request *request, const char *name,
                                  const char **text, struct pe_error *err);

/* The numbers of a long list in the JSON body, which request->json has as []; NULL: request->json
 * has the list itself. */
const struct pe_tensor *api_request_list(const struct api_request *request, const char *name);

/* The posted tensor of a name, or NULL. */
struct api_tensor *api_request_tensor(struct api_request *request, const char *name);

/* ---- parameter_errors.c: the parameter errors of a request, reported together ---------------- */

enum { API_PARAMETER_ERRORS_MAX = 32 };

struct api_parameter_error {
    enum pe_status status;
    const char *name; /* of the parameter, or ""; in the arena */
    char where[sizeof(((struct pe_error *)NULL)->where)];
    char detail[sizeof(((struct pe_error *)NULL)->detail)];
};

struct api_parameter_errors {
    struct api_parameter_error
        list[API_PARAMETER_ERRORS_MAX]; /* missing parameters after wrong ones */
    size_t count;
    size_t more; /* beyond the capacity of the list */
};

/* Is it an error in a parameter, which can be reported with others? */
bool api_is_parameter_error(enum pe_status status);

/* Moves a parameter error from err into the request's list, unless the list has it. name: of the
 * parameter; NULL: the last part of err->where. Other failures stay in err. Returns the status of
 * err. */
enum pe_status api_parameter_error_note(struct api_request *request, const char *name,
                                        struct pe_error *err);

/* Is the error in the list, or the list full, so that no detail is needed? */
bool api_parameter_errors_have(const struct api_parameter_errors *errors, const char *where);

/* Fails with the first error of a list. */
enum pe_status api_parameter_errors_fail(const struct api_parameter_errors *errors,
                                         struct pe_error *err);

/* After a handler's `open`, whose failure, if any, is in err. If errors were noted, notes that
 * failure too unless it may follow from them, and fails with the first. A failure that is not the
 * client's error (PE_BUSY) stays. */
enum pe_status api_parameter_errors_end(struct api_request *request, struct pe_error *err);

/* The known parameter intended by an unknown name: one that differs in case, or by spellings.def;
 * NULL: none. sets, handler_names: see api_bind. */
const char *api_spelling_find(struct api_request *request, struct pe_params **sets,
                              size_t sets_count, const char *handler_names, const char *name);

/* Fails with PE_UNKNOWN_PARAMETER and the nearest known names, or all of them. */
enum pe_status api_unknown_fail(struct api_request *request, struct pe_params **sets,
                                size_t sets_count, const char *handler_names, const char *where,
                                const char *name, struct pe_error *err);

/* ---- describe.c: schemes and parameters as JSON ---------------------------------------------- */

/* {"name": ..., resolved parameters ...} of a scheme, for answers and the validator. */
json_t *api_scheme_json(const struct pe_scheme *scheme);
/* Appends the warnings of a scheme; NULL has none. */
void api_scheme_warnings(const struct pe_scheme *scheme, json_t *warnings);

/* Parameters as the JSON Schema of an object. */
json_t *api_params_schema(const struct pe_param *params, size_t count);
/* Adds the parameters to an existing schema. */
void api_params_describe(json_t *schema, const struct pe_param *params, size_t count);

/* base path + path, in the arena; NULL: out of memory. */
const char *api_link(struct api_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
