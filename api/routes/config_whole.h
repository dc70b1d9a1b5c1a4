/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_CONFIG_WHOLE_H
#define API_ROUTES_CONFIG_WHOLE_H

#include "api/config/config.h"

/* Adds to the answer about a config what it says beside the encoding: "attention", and, where it
 * was read as a whole, "layers" and "towers". params: with the values that the request gave. */
enum pe_status api_config_whole_put(struct api_request *request, const struct pe_params *params,
                                    json_t *answer, struct pe_error *err);

#endif
