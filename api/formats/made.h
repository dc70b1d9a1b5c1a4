/* SPDX-License-Identifier: MIT */
#ifndef API_FORMATS_MADE_H
#define API_FORMATS_MADE_H

#include "api/request/request.h"

/* A file that this service made says in its metadata by which encoding, and with which parameters.
 * For functions that look at a table as it is, this is no part of the question: forgets it. Names
 * that are no parameter of the encoding stay, and are refused where they are bound. */
void api_made_forget(struct api_request *request);

/* Does the file alone name an encoding: neither the query nor the JSON body does, nor a config? */
bool api_made_tells(const struct api_request *request);

#endif
