/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_MISTAKES_H
#define API_REQUEST_MISTAKES_H

/* The mistakes of one request, which are told together. A request without any has no list. */

#include "api/request/request.h"

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

#endif
