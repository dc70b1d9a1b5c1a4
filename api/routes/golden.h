/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_GOLDEN_H
#define API_ROUTES_GOLDEN_H

/* Golden files: for each kind of layers of a config, inputs of a rotary kernel and the outputs that
 * are expected of it, at the positions where kernels go wrong. docs/golden.md is the format.
 * golden.c describes and computes them; golden_route.c writes one, check.c compares with one. */

#include "api/arguments/arguments.h"
#include "api/routes/handler.h"

enum {
    GOLDEN_FORMAT = 1,
    GOLDEN_KINDS_MAX = 16,
    GOLDEN_POSITIONS_MAX = 16,
    GOLDEN_BYTES_MAX = 2 << 20, /* of all tensors */
};

/* The tensors of a kind, in the order of the file. The first three are inputs. */
enum golden_role {
    GOLDEN_POSITIONS,
    GOLDEN_Q,
    GOLDEN_K,
    GOLDEN_INV_FREQ_F64,
    GOLDEN_INV_FREQ,
    GOLDEN_COS,
    GOLDEN_SIN,
    GOLDEN_Q_ROTATED,
    GOLDEN_K_ROTATED,
    GOLDEN_ATTENTION_FACTOR,
    GOLDEN_SOFTMAX_SCALE,
    GOLDEN_ROLES
};

static inline bool golden_is_input(enum golden_role role)
{
    return role <= GOLDEN_K;
}

/* Layers with the same positions, or these layers for sequences of one length. */
struct golden_kind {
    const char *prefix; /* of its tensors' names: "", "full_attention.", "long." */
    struct pe_params params;
    struct pe_scheme *scheme; /* rotary; positions are one number each */
    enum pe_layout layout;
    double scale; /* of scores, before the softmax; NAN: unknown */
    double positions[GOLDEN_POSITIONS_MAX];
    size_t positions_count;
    struct pe_output outputs[GOLDEN_ROLES];
    unsigned char *data[GOLDEN_ROLES]; /* by golden_compute */
};

struct golden {
    struct golden_kind *kinds; /* in the arena, and freed with it */
    size_t count;
    json_t *description; /* of the file's metadata; kept by the arena */
    json_t *warnings;    /* likewise */
};

/* Describes the golden file of the request's config. context: in positions; 0: that of the config.
 * layout: a parameter of that name, which may be absent. */
enum pe_status golden_of_config(struct api_request *request, double context,
                                const struct pe_params *params, struct golden *golden,
                                struct pe_error *err);
/* Reads a description back. */
enum pe_status golden_of_description(struct api_request *request, json_t *description,
                                     struct golden *golden, struct pe_error *err);

/* Estimated nanoseconds of golden_compute. */
double golden_work(const struct golden *golden);
/* Computes all tensors into memory of the request. */
enum pe_status golden_compute(struct api_request *request, struct golden *golden,
                              struct pe_error *err);

/* "q_rotated" */
const char *golden_role_name(enum golden_role role);

#endif
