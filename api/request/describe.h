/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_DESCRIBE_H
#define API_REQUEST_DESCRIBE_H

/* Schemes and parameters as JSON, and links to paths of the service. */

#include "api/request/request.h"

/* {"name": ..., resolved parameters ...} of a scheme, for answers and the validator. */
json_t *api_scheme_json(const struct pe_scheme *scheme);
/* Appends the warnings of a scheme; NULL has none. */
void api_scheme_warnings(const struct pe_scheme *scheme, json_t *warnings);

/* Parameters as the JSON Schema of an object. */
json_t *api_params_schema(const struct pe_param *params, size_t count);
/* Adds the parameters to a schema that exists. */
void api_params_describe(json_t *schema, const struct pe_param *params, size_t count);

/* base path + path, in the arena; NULL: memory is short. */
const char *api_link(struct api_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
