/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_EXPLORER_H
#define API_ROUTES_EXPLORER_H

/* The page for people (explorer/), whose files the host has (struct api_file). */

#include "api/numbers/text.h"
#include "api/response/result.h"

/* Has the host a page to show at "/"? */
bool api_explorer_is_here(const struct api_settings *settings);

/* The HTML of the page, for a host that has one: its relative URLs become those of this server,
 * `lists_put` fills what a browser without script shows. PE_OUT_OF_MEMORY. */
enum pe_status api_explorer_page(struct api_request *request,
                                 void (*lists_put)(struct api_text *, struct api_request *),
                                 struct api_result *result, struct pe_error *err);

#endif
