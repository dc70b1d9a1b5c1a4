/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_ENCODING_H
#define CORE_SCHEME_ENCODING_H

/* An encoding: a constant struct with its parameters as data and the kinds that it is of, whose
 * contracts are in core/scheme/. Views, rotation, attention and diagnosis ask the kinds. */

#include <stdatomic.h>

#include "core/base/fail.h"
#include "posenc/schemes.h"

struct pe_attention_spec;

struct pe_encoding {
    struct pe_encoding_info info;

    /* Its kinds; NULL: it is not of that kind. */
    const struct pe_rows_kind *rows;
    const struct pe_rotary_kind *rotary;
    const struct pe_bias_kind *bias;
    const struct pe_relative_kind *relative;
    const struct pe_learned_kind *learned;

    /* Bytes of a scheme's state, which is all zeros before `check`. It begins with the struct that
     * other files ask for: pe_rotary (rotary), pe_waves (has_waves), pe_weights
     * (bias->buckets_count) or pe_tensor (learned). 0: everything is in the parameters. */
    size_t state_size;
    bool has_waves; /* made of sines and cosines; always set for rotary */

    /* Checks parameters against each other, and resolves the cheap part: widths, numbers of pairs.
     * NULL: parameters need no other check than their own. */
    enum pe_status (*check)(struct pe_scheme *scheme, struct pe_error *err);

    /* Computes numbers that take time: frequencies, slopes. Ends with PE_CANCELLED within some
     * milliseconds, and charges memory that grows with a parameter. NULL: nothing takes time. */
    enum pe_status (*prepare)(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err);

    /* Nanoseconds that `prepare` takes, about, once the scheme is checked. NULL:
     * PE_FREQUENCY_WORK for each pair that it has, none without waves. */
    double (*work)(const struct pe_scheme *scheme);

    /* Frees memory that the state points to, prepared or not. NULL: it points to none. */
    void (*close)(void *state);
};

enum { PE_WARNINGS_MAX = 4, PE_WARNING_SIZE = 160 };

/* Written until it is prepared, by one thread; only read from then on. */
struct pe_scheme {
    const struct pe_encoding *encoding;
    struct pe_params params; /* a copy with everything resolved */
    void *state;             /* of the encoding */
    bool prepared;
    _Atomic size_t references;
    size_t warnings_count;
    char warnings[PE_WARNINGS_MAX][PE_WARNING_SIZE];
};

/* Adds a sentence for the answer; one too many is left out. */
void pe_scheme_warn(struct pe_scheme *scheme, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* pe_scheme_open, but for defaults that were given where they have no meaning: PE_CONFLICT. */
enum pe_status pe_scheme_open_as_given(struct pe_scheme **out, const struct pe_encoding *encoding,
                                       const struct pe_params *params, struct pe_work *work,
                                       struct pe_error *err);

#endif
