/* SPDX-License-Identifier: MIT */
#ifndef API_HANDLERS_ROTATION_KEPT_H
#define API_HANDLERS_ROTATION_KEPT_H

#include "api/handlers/handler.h"

/* cos and sin for a spec, as pe_rotation_new makes them: every layer of a model asks for the same
 * ones, so they come from the service's cache where they can. spec->scheme may be unprepared. The
 * rotation lives as long as the request's arena. */
enum api_status api_rotation_get(struct api_request *request, struct pe_scheme *scheme,
                                 const struct pe_rotation_spec *spec, size_t head_dim,
                                 enum pe_dtype dtype, const struct pe_rotation **rotation,
                                 struct api_error *err);

#endif
