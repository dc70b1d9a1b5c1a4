/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_SCHEME_H
#define CORE_SCHEME_SCHEME_H

/* An encoding is a constant struct: its parameters as data and its kinds, the interfaces that it
 * implements (rows.h, rotary.h, bias.h, relative.h, learned.h). Views, rotation, attention and
 * diagnosis use the kinds and never compare names. A scheme is an encoding with its parameters. */

#include <stdatomic.h>

#include "core/base/errors.h"
#include "core/tables/frequencies.h"
#include "posenc/schemes.h"

struct pe_attention_spec;

/* The list of parameters in the info of an encoding or a view. */
#define PE_INFO_PARAMS(list)                                                                       \
    .info.params = (list), .info.params_count = sizeof(list) / sizeof(list[0])

struct pe_encoding {
    struct pe_encoding_info info;

    /* NULL: the encoding does not implement this kind. */
    const struct pe_rows_kind *rows;
    const struct pe_rotary_kind *rotary;
    const struct pe_bias_kind *bias;
    const struct pe_relative_kind *relative;
    const struct pe_learned_kind *learned;

    /* Size of a scheme's state, zeroed before `check`. The state begins with the struct that the
     * kinds read: pe_rotary (rotary), pe_waves (has_waves), pe_weights (bias->buckets_count) or
     * pe_tensor (learned). 0: there is no state beside the parameters. */
    size_t state_size;
    bool has_waves; /* made of sines and cosines; always set for rotary encodings */

    /* Checks parameters against each other and sets the cheap part of the state: widths, numbers
     * of pairs. NULL: the bounds of each parameter are enough. */
    enum pe_status (*check)(struct pe_scheme *scheme, struct pe_error *err);

    /* Computes what takes time: frequencies, slopes. Returns PE_CANCELLED within some milliseconds,
     * and charges memory that grows with a parameter. NULL: nothing takes time. */
    enum pe_status (*prepare)(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err);

    /* Estimated nanoseconds of `prepare`, for a checked scheme. NULL: PE_FREQUENCY_COST a pair; 0
     * without waves. */
    double (*cost)(const struct pe_scheme *scheme);

    /* Frees memory that the state points to, prepared or not. NULL: it points to none. */
    void (*close)(void *state);
};

enum { PE_WARNINGS_MAX = 4, PE_WARNING_SIZE = 160 };

/* One thread writes it until it is prepared; afterwards it is read only. */
struct pe_scheme {
    const struct pe_encoding *encoding;
    struct pe_params params; /* a copy with defaults and derived values filled in */
    void *state;             /* encoding->state_size bytes */
    bool prepared;
    _Atomic size_t references;
    size_t warnings_count;
    char warnings[PE_WARNINGS_MAX][PE_WARNING_SIZE];
};

/* Adds a sentence for the response; warnings beyond PE_WARNINGS_MAX are dropped. */
void pe_scheme_warn(struct pe_scheme *scheme, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* pe_scheme_open, but a default that is given where it has no meaning is refused: PE_CONFLICT. */
enum pe_status pe_scheme_open_as_given(struct pe_scheme **out, const struct pe_encoding *encoding,
                                       const struct pe_params *params, struct pe_work *work,
                                       struct pe_error *err);

/* ---- waves: schemes made of sines and cosines ----------------------------------------------- */

/* The state of such a scheme begins with it; `check` sets all members but the frequencies. */
struct pe_waves {
    size_t pairs;                       /* of a sine and a cosine, one for each frequency */
    double bound;                       /* no frequency exceeds it; 0: 1 */
    bool meets_axes;                    /* many angles are multiples of a quarter turn */
    struct pe_frequencies *frequencies; /* `pairs` of them; NULL until the scheme is prepared */
};

/* NULL: the scheme has none. */
static inline const struct pe_waves *pe_waves_of(const struct pe_scheme *scheme)
{
    return scheme->encoding->has_waves ? scheme->state : NULL;
}

/* 0: the scheme has no waves, or no frequency above 1. */
static inline double pe_waves_bound(const struct pe_scheme *scheme)
{
    const struct pe_waves *waves = pe_waves_of(scheme);

    return waves ? waves->bound : 0;
}

/* Computes the frequencies from powers, whose context is the scheme: the `prepare` of most
 * encodings with waves. */
enum pe_status pe_waves_prepare(struct pe_scheme *scheme, const struct pe_powers *powers,
                                struct pe_work *work, struct pe_error *err);

/* The `close` of a state that is struct pe_waves. */
void pe_waves_close(void *state);

#endif
