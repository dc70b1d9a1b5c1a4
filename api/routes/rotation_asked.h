/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_ROTATION_ASKED_H
#define API_ROUTES_ROTATION_ASKED_H

/* The parameters of a rotation, before any tensor is looked at. */

#include "api/arguments/function.h"
#include "api/arguments/places.h"
#include "api/routes/handler.h"

struct rotation_asked {
    const struct pe_encoding *encoding;
    const struct pe_encoding *from; /* what the tensors are rotated by already; NULL: nothing */
    struct api_config *config, *from_config; /* that describe the two encodings; NULL: none */
    struct pe_params encoding_params, from_params, params, places_params, answer_params;
    struct api_places places;
    struct pe_rotation_spec spec, undo_spec; /* their schemes and positions come later */
};

enum pe_status rotation_asked_read(struct api_request *request, struct rotation_asked *asked,
                                   struct pe_error *err);

#endif
