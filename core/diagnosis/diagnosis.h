/* SPDX-License-Identifier: MIT */
#ifndef CORE_DIAGNOSIS_DIAGNOSIS_H
#define CORE_DIAGNOSIS_DIAGNOSIS_H

/* Which scheme, and which known mistake, explains cos, sin or frequencies that were observed.
 * diagnosis.c runs it, verdict.c decides, residuals.c measures how far a suspect is from a
 * sample, suspects.c lists them, measures.c reads numbers off a sample that are in no list. */

#include "core/base/fail.h"
#include "core/kinds/waves.h"
#include "posenc/diagnosis.h"

enum pe_bug {
    PE_BUG_NONE,
#define BUG(name, code, explanation, fix) PE_BUG_##name,
#include "core/diagnosis/bugs.def"
#undef BUG
};

/* NULL for PE_BUG_NONE. */
const struct pe_bug_info *pe_bug_info(enum pe_bug bug);

/* How a mistake is made. Zeros: not at all. */
struct pe_distortion {
    enum pe_dtype frequencies, positions, angles; /* rounded to that; PE_F64: not rounded */
    double shift;                                 /* added to positions */
    int factors;                                  /* how many attention factors too many */
    bool half_minus_one, backwards;
};

struct pe_suspect {
    const struct pe_scheme *scheme;
    const struct pe_scheme *unlike; /* the scheme it is a mistake of, unless both make the same */
    enum pe_bug bug;
    struct pe_distortion distortion;
    bool is_expected; /* it, or a mistake made with it */
    bool is_measured; /* made of numbers that were read off the sample */
};

/* How well a suspect explains a sample if some error of angles is granted. */
struct pe_residual {
    size_t count;         /* elements that can tell something */
    double clean_excess;  /* the largest error, in roundings of one value */
    double clean_squares; /* sum of the squares of errors in such units */
    double noise_squares; /* the same of errors as they are */
    double noise_most;    /* the largest of those */
    double likelihood;    /* squares of errors over those that are likely, a pair once */
};

/* Errors of angles that are granted: none that matters to any dtype, or those of float32. */
enum { PE_GRANT_HARMLESS, PE_GRANT_FLOAT32, PE_GRANTS };

/* One suspect and one sample: how far they are from each other. */
struct pe_trial {
    const struct pe_suspect *suspect;
    const struct pe_sample *sample;
    enum pe_bug bug;
    bool is_possible, fits;
    bool is_float32; /* the suspect's scheme is one of float32, whose errors are none */
    double max_abs, max_ulp, rms;
    double factor; /* of cos and sin */
    struct pe_residual residuals[PE_GRANTS];
    bool is_far;        /* angles are so large that float32 hurts some */
    double far_most;    /* the largest error of those that are not harmless */
    size_t quiet_count; /* of elements that show noise as it is: those of the slow pairs, whose
                           angles float32 hurts least; where it hurts none, the large ones */
    double quiet_squares;
    double structure; /* which part of the squares other frequencies or a factor would explain */
};

enum { PE_SUSPECTS_MAX = 640 };

struct pe_diagnosis {
    enum pe_verdict verdict;
    bool ambiguous; /* another scheme or mistake explains it as well */
    bool noisy;     /* not by rounding alone: there is noise on top, the rms of the first trial */
    size_t trials_count; /* the best first */
    struct pe_trial trials[PE_FINDINGS_MAX];
    struct pe_finding findings[PE_FINDINGS_MAX]; /* of the trials, as they are told */
    size_t suspects_count;
    struct pe_suspect suspects[PE_SUSPECTS_MAX];
    size_t schemes_count;
    struct pe_scheme *schemes[PE_SUSPECTS_MAX];
    struct pe_work *work;  /* that it was made with */
    enum pe_status listed; /* PE_OK, or why a suspect is not in the list */
};

/* ---- among the files of diagnosis ----------------------------------------------------------- */

/* Lists every scheme and mistake that could explain a sample; diagnosis->schemes are not prepared
 * yet. PE_CANCELLED, PE_OUT_OF_MEMORY. */
enum pe_status pe_suspects_list(struct pe_diagnosis *diagnosis, const struct pe_scheme *expected,
                                const struct pe_sample *sample, struct pe_error *err);

/* Fills in a trial whose suspect and sample are set. `frequencies` is room for the pairs. */
void pe_residuals_measure(struct pe_trial *trial, double *frequencies);

/* Decides which trials count, and keeps the best. Their order changes. */
void pe_trials_judge(struct pe_diagnosis *diagnosis, struct pe_trial *trials, size_t count,
                     bool anything_expected);

/* The error of one rounding to a dtype, of a value. */
double pe_rounding_of(enum pe_dtype dtype, double value);

/* The frequency of a pair by the turns between rows; NAN: it cannot be told. */
double pe_turn_measure(const struct pe_sample *sample, size_t pair);
/* The base whose powers the frequencies are; NAN: they are none, or it cannot be told. */
double pe_base_measure(const struct pe_sample *sample);
/* To so many digits. */
double pe_digits_keep(double number, int digits);

#endif
