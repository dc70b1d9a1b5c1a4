/* SPDX-License-Identifier: MIT */
#ifndef API_CONFIG_FILL_H
#define API_CONFIG_FILL_H

/* Between the two files that set parameters from a config. */

#include "api/config/config.h"

struct api_filling {
    struct api_config *config;
    struct pe_params *params;
    struct api_error *err;
};

/* Does the request, or what was filled so far, leave this parameter open? */
bool api_filling_open(const struct api_filling *filling, int index);
bool api_filling_given(const struct api_filling *filling, const char *name);
/* Notes where the value of a parameter came from. */
void api_filling_note(const struct api_filling *filling, size_t index, const char *path);

/* Sets what no key says by itself: the model's defaults, quotients and multiples. */
enum api_status api_config_derive(const struct api_filling *filling);

#endif
