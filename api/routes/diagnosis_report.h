/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_DIAGNOSIS_REPORT_H
#define API_ROUTES_DIAGNOSIS_REPORT_H

#include "api/routes/engine_caches.h"
#include "api/routes/readings_heads.h"
#include "posenc/pool.h"

/* How many explanations of heads are looked for. Heads that none of them explains are unknown. */
enum { DIAGNOSIS_EXPLANATIONS_MAX = 8, DIAGNOSIS_STRIPES = 16 };

/* The verdict on one head of one layer, in one batch row. */
struct diagnosis_cell {
    enum { CELL_WAITS, CELL_HELD, CELL_UNKNOWN } is;
    int explanation; /* -1: none */
    enum pe_verdict verdict;
    struct pe_bad_rows bad;
    double max_abs; /* of the tokens that were looked at closely */
};

/* A diagnosis of the first cell that the ones before do not explain. */
struct diagnosis_explanation {
    struct pe_diagnosis *diagnosis;
    struct pe_sample samples[2];
    struct api_tokens tokens[2];
    size_t count; /* of samples */
    size_t cell;  /* that one */
};

struct diagnosis_stripe {
    struct api_cell cell;
    struct api_cell_room room;
    struct pe_error err;
};

/* A cache by layer and head. */
struct diagnosis_heads {
    struct pe_job job; /* first, so that a pointer to it is one to the whole */
    const struct diagnosis_state *state;
    struct pe_kv_axes axes; /* rank 0: the cache is looked at as one */
    const struct api_tensor *before, *after;
    size_t tokens, count; /* of a cell; cells */
    struct api_batch_places places;
    struct diagnosis_cell *cells;
    struct diagnosis_stripe *stripes; /* [DIAGNOSIS_STRIPES] */
    struct diagnosis_explanation explanations[DIAGNOSIS_EXPLANATIONS_MAX];
    size_t explanations_count;
};

struct diagnosis_state {
    struct api_request *request;
    const struct pe_encoding *encoding; /* NULL: nothing is expected */
    struct pe_params encoding_params, params, places_params, answer_params;
    struct api_places places;
    struct pe_scheme *scheme;
    const char *layout;         /* that is expected; NULL: any */
    enum pe_dtype dtype;        /* of what was posted */
    struct api_factors factors; /* of ggml's, that stand for inv_freq */
    struct api_readings readings;
    struct pe_diagnosis *diagnosis; /* NULL: of heads */
    struct diagnosis_heads heads;
};

/* Reads the axes of q, if it is to be looked at by layer and head. */
enum pe_status diagnosis_heads_open(struct diagnosis_state *state, struct pe_error *err);
/* Nanoseconds of one core that this takes, about. */
double diagnosis_heads_work(const struct diagnosis_state *state);
/* Diagnoses every cell. */
enum pe_status diagnosis_heads_make(struct diagnosis_state *state, struct pe_error *err);
void diagnosis_heads_release(struct diagnosis_heads *heads);

/* The diagnosis that the report is about: of everything, or of the first cell that is no match.
 * NULL: there is none. */
const struct pe_diagnosis *diagnosis_told(const struct diagnosis_state *state);

/* The report of a diagnosis that is done, the caller's; NULL: memory is short. */
json_t *diagnosis_report(const struct diagnosis_state *state);

#endif
