/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_PAGE_H
#define API_ROUTES_PAGE_H

/* HTML, where Accept prefers it: single files without scripts or other resources, and the explorer.
 */

#include "api/numbers/text.h"
#include "api/response/result.h"

/* Adds text, escaped. */
void api_page_text(struct api_text *page, const char *text);

/* Adds markup in which %s is replaced by escaped text. */
void api_page_put(struct api_text *page, const char *markup, const char *text);

/* The head and the first heading. */
void api_page_begin(struct api_text *page, const char *title);

/* Ends the page and sets it as the result. PE_OUT_OF_MEMORY, of any call above too. */
enum pe_status api_page_end(struct api_text *page, struct api_request *request,
                            struct api_result *result, struct pe_error *err);

/* ---- explorer.c: the page of explorer/ ------------------------------------------------------- */

/* Has the host a page to show at "/"? */
bool api_explorer_is_here(const struct api_settings *settings);

/* The HTML of the page, for a host that has one: its relative URLs become those of this server,
 * `lists_put` fills what a browser without script shows. PE_OUT_OF_MEMORY. */
enum pe_status api_explorer_page(struct api_request *request,
                                 void (*lists_put)(struct api_text *, struct api_request *),
                                 struct api_result *result, struct pe_error *err);

#endif
