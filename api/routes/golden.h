/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_GOLDEN_H
#define API_ROUTES_GOLDEN_H

/* Golden files: for each kind of layers of a config, golden tensors (posenc/golden.h) under names
 * with a prefix, and a description from which they can be computed again. docs/golden.md is the
 * format. golden.c describes and computes them; golden_route.c writes one, check.c compares with
 * one. */

#include "api/arguments/arguments.h"
#include "api/routes/handler.h"
#include "posenc/golden.h"

enum {
    GOLDEN_FORMAT = 1,
    GOLDEN_KINDS_MAX = 16,
    GOLDEN_BYTES_MAX = 2 << 20, /* of all tensors */
};

/* Layers with the same positions; where those depend on the length of the sequence, there is one
 * for each length. */
struct golden_kind {
    const char *prefix; /* of its tensors' names: "", "full_attention.", "long." */
    struct pe_params params;
    struct pe_scheme *scheme; /* rotary; positions are one number each */
    enum pe_layout layout;
    double scale; /* of scores, before the softmax; NAN: unknown */
    double positions[PE_GOLDEN_POSITIONS_MAX];
    size_t positions_count;
    struct pe_golden *tensors;
    struct pe_output
        outputs[PE_GOLDEN_ROLES]; /* named as in the file; a NULL name: there is none */
};

struct golden {
    struct golden_kind *kinds; /* in the arena, and freed with it */
    size_t count;
    json_t *description; /* in the file's metadata; in the arena too */
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
/* Computes all tensors. */
enum pe_status golden_compute(struct api_request *request, struct golden *golden,
                              struct pe_error *err);

#endif
