/* SPDX-License-Identifier: MIT */
#ifndef API_SURVEY_SURVEY_H
#define API_SURVEY_SURVEY_H

/* What comes behind a handler's refusal: all the other mistakes of the request, or the request in
 * other spellings. */

#include "api/response/result.h"

/* What a handler may change of its request. */
struct api_opened {
    json_t *json;
    struct api_tensor *tensors;
    size_t tensors_count;
};

/* After a handler's `open` has failed: finds the other mistakes of the request by opening it again
 * with those found so far mended, and leaves them in request->mistakes and the first in *err. A
 * request that is right but for how names are spelled is opened then, and *err is clear. `before`:
 * the request before it was opened; is changed. */
void api_survey(struct api_request *request, struct api_result *result, struct api_opened *before,
                struct api_error *err);

/* Renames parameters of a request that failed with err: those in capitals or with '-', unknown ones
 * that mean another by spellings.def, and what stands in the place of a missing one. False: no name
 * has changed, and the failure stands. */
bool api_spellings_mend(struct api_request *request, const struct api_error *err);

#endif
