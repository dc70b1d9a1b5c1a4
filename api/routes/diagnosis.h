/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_DIAGNOSIS_H
#define API_ROUTES_DIAGNOSIS_H

/* POST /v1/diagnosis: diagnosis.c reads and runs it, diagnosis_report.c writes the report. */

#include "api/arguments/arguments.h"
#include "api/routes/engine_caches.h"
#include "api/routes/handler.h"
#include "posenc/probe.h"

struct diagnosis_state {
    struct api_request *request;
    const struct pe_encoding *encoding; /* expected; NULL: none */
    struct pe_params encoding_params, params, places_params, answer_params;
    struct api_token_positions places;
    struct pe_scheme *scheme;   /* expected; NULL: none */
    const char *layout;         /* expected; NULL: any */
    enum pe_dtype dtype;        /* of the posted tensors */
    struct api_factors factors; /* of ggml, in place of inv_freq */
    struct pe_observed observed;
    struct pe_kv_spec by_head; /* q and q_rotated as a cache; axes.rank 0: not by head */
    struct pe_probed probed;   /* x and y of a function; NULL where they were not posted */
    size_t rows;               /* posted rows that have positions; of a head */
    struct pe_observations *observations;
    struct pe_diagnosis *diagnosis;       /* NULL by head and of a probe */
    struct pe_probe *probe;               /* NULL otherwise */
    struct pe_kv_diagnosis *kv_diagnosis; /* NULL otherwise */
};

/* The report of a finished diagnosis, owned by the caller; NULL: out of memory. */
json_t *diagnosis_report(const struct diagnosis_state *state);

#endif
