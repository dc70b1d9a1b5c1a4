/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_CONFIG_LINKS_H
#define API_ROUTES_CONFIG_LINKS_H

#include "api/request/request.h"

/* {"table": URL, "frequencies": URL, ...}: the views of a scheme, ready to be asked; NULL: memory
 * is short. */
json_t *api_config_links(struct api_request *request, const struct pe_scheme *scheme);

#endif
