/* SPDX-License-Identifier: MIT */
#ifndef API_ARGUMENTS_DESCRIBED_H
#define API_ARGUMENTS_DESCRIBED_H

#include "api/response/result.h"

/* Sets result->encoding and warnings from a scheme, freed with the arena. */
enum pe_status api_result_describe(const struct api_request *request, struct api_result *result,
                                   const struct pe_scheme *scheme, struct pe_error *err);

/* Warns, after the description, of positions beyond the sequence that a scheme is meant for. */
void api_result_warn_beyond(struct api_result *result, const struct pe_scheme *scheme,
                            const struct pe_positions *positions);

#endif
