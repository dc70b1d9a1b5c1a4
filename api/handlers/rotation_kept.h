/* SPDX-License-Identifier: MIT */
#ifndef API_HANDLERS_ROTATION_KEPT_H
#define API_HANDLERS_ROTATION_KEPT_H

#include "api/handlers/handler.h"

/* cos and sin for a spec: every layer of a model asks for the same ones, so they are kept in the
 * service's cache. A rotation lives as long as the request's arena. The scheme may be unprepared.
 * API_OUT_OF_MEMORY. */

/* *rotation NULL: there is none, and api_rotation_make is to be called. */
enum api_status api_rotation_find(struct api_request *request, const struct pe_rotation_spec *spec,
                                  enum pe_dtype dtype, const struct pe_rotation **rotation,
                                  struct api_error *err);

/* Makes a rotation and keeps it where the cache has room. spec->scheme is `scheme`. */
enum api_status api_rotation_make(struct api_request *request, struct pe_scheme *scheme,
                                  const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                  const struct pe_rotation **rotation, struct api_error *err);

#endif
