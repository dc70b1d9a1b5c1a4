/* SPDX-License-Identifier: MIT */
#ifndef API_ARGUMENTS_ELSEWHERE_H
#define API_ARGUMENTS_ELSEWHERE_H

#include "api/status.h"

/* Fails with API_NOT_FOUND and what the encoding is called here, the names most like it, or all. */
enum api_status api_encoding_unknown(const char *name, struct api_error *err);

#endif
