/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_MISTAKES_H
#define API_REQUEST_MISTAKES_H

/* The mistakes of one request, which are told together. A request without any has no list. */

#include "api/request/request.h"

enum { API_MISTAKES_MAX = 32, API_GUESSES_MAX = 16 };

struct api_mistake {
    enum api_status status;
    const char *name;  /* of the parameter, "" where it has none; in the arena */
    const char *meant; /* the parameter that an unknown name means: in other letters, or by
                          spellings.def; or NULL */
    char where[sizeof(((struct api_error *)NULL)->where)];
    char detail[sizeof(((struct api_error *)NULL)->detail)];
};

struct api_mistakes {
    struct api_mistake list[API_MISTAKES_MAX]; /* what is missing stands behind what is wrong */
    size_t count;
    size_t more;       /* that the list has no room for */
    bool fresh;        /* one was added since the handler began */
    const char *meant; /* by the unknown name that is noted next */
    /* Names of parameters that are missing. The handler, which is run again to find the next
     * mistake, gets some value for each. */
    const char *guesses[API_GUESSES_MAX];
    size_t guesses_count;
    bool encoding_is_guessed; /* so that a parameter of any encoding may be right */
};

/* Is it a mistake in a parameter, beside which others can be told? */
bool api_is_mistake(enum api_status status);

/* Moves a failure into the request's list, unless the list has it; err is clear then. `name`: of
 * the parameter, NULL: the last word of err->where. A failure of another kind stays where it is.
 * Returns the status of err. */
enum api_status api_mistake_note(struct api_request *request, const char *name,
                                 struct api_error *err);

/* Was a name noted as unknown? *meant is the parameter that it stands for, NULL: none. */
bool api_mistakes_unknown(const struct api_mistakes *mistakes, const char *name,
                          const char **meant);

/* Goes through the spellings of a folded name, from *at = 0 on; NULL: that was the last. */
const char *api_spelling_next(const char *fold, size_t *at);

/* Fails with the first mistake where one was noted since the handler began. */
enum api_status api_mistakes_fail(const struct api_mistakes *mistakes, struct api_error *err);
/* Likewise, whenever it was noted. */
enum api_status api_mistakes_first(const struct api_mistakes *mistakes, struct api_error *err);

/* Gives values to parameters that were missing and are still absent. */
void api_guesses_set(const struct api_mistakes *mistakes, struct pe_params **sets, size_t count);

/* Fails with API_UNKNOWN_PARAMETER and the names that were most likely meant, or else with all that
 * there are. sets, own: see api_bind. Returns API_OK where the name can be right all the same. */
enum api_status api_unknown_fail(struct api_request *request, struct pe_params **sets,
                                 size_t sets_count, const char *own, const char *where,
                                 const char *name, struct api_error *err);

#endif
