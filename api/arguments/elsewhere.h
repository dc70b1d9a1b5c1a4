/* SPDX-License-Identifier: MIT */
#ifndef API_ARGUMENTS_ELSEWHERE_H
#define API_ARGUMENTS_ELSEWHERE_H

#include "posenc/status.h"

/* Fails with PE_NOT_FOUND and what the encoding is called here, the names most like it, or all. */
enum pe_status api_encoding_unknown(const char *name, struct pe_error *err);

#endif
