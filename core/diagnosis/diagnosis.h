/* SPDX-License-Identifier: MIT */
#ifndef CORE_DIAGNOSIS_DIAGNOSIS_H
#define CORE_DIAGNOSIS_DIAGNOSIS_H

/* Which scheme, and which known bug, explains cos, sin or frequencies that were observed.
 *
 * candidates.c lists schemes with and without bugs; prediction.c computes the values that one would
 * have made; residuals.c measures their distance from a sample; verdict.c decides; all_rows.c
 * checks the decision on every row; diagnosis.c runs these steps and tests the outcome on other
 * samples. docs/diagnosis.md describes the rules. */

#include "core/base/errors.h"
#include "core/scheme/scheme.h"
#include "posenc/diagnosis.h"

enum pe_bug {
    PE_BUG_NONE,
#define BUG(name, code, explanation, fix) PE_BUG_##name,
#include "core/diagnosis/bugs.def"
#undef BUG
};

/* NULL for PE_BUG_NONE. */
const struct pe_bug_info *pe_bug_info(enum pe_bug bug);

enum { PE_AXES_ORDERS = 6 };

/* How a bug changes values. Zeros: no change. */
struct pe_distortion {
    enum pe_dtype frequencies, positions, angles; /* rounded to this dtype; PE_F64: not rounded */
    double shift;                                 /* added to positions */
    int factors;                                  /* how many attention factors too many */
    double factor;                                /* replaces the attention factor; 0: it stays */
    int rotations;     /* how many rotations too many; -1: none is left */
    size_t axes_order; /* of the first three coordinates, below
                          PE_AXES_ORDERS; 0: as they are */
    bool half_minus_one, backwards;
    bool truncated; /* frequencies are cut, not rounded */
    bool swapped;   /* cos and sin are exchanged */
};

struct pe_candidate {
    const struct pe_scheme *scheme;
    const struct pe_scheme *unlike;   /* the scheme that this is a wrong variant of; NULL: none */
    const struct pe_scheme *sections; /* assigns coordinates to pairs, opened; NULL: `scheme` */
    enum pe_bug bug;
    struct pe_distortion distortion;
    bool is_expected; /* the expected scheme, or a bug made with it */
    bool is_measured; /* its parameters were measured from the sample */
};

/* The errors of a candidate beyond the allowed angle errors. */
struct pe_residual {
    size_t count;         /* informative elements */
    double clean_excess;  /* the largest error, in roundings of one value */
    double clean_squares; /* sum of the squares of errors in that unit */
    double noise_squares; /* sum of the squares of absolute errors */
    double noise_most;    /* the largest absolute error */
    double likelihood;    /* the sum over elements of (error / sigma)^2, divided by the number of
                             values of a pair; residuals.c defines sigma */
};

/* The allowed angle errors: those too small to matter in any dtype, or those of float32. */
enum { PE_ALLOW_HARMLESS, PE_ALLOW_FLOAT32, PE_ALLOWANCES };

/* The distance of one candidate from one sample. */
struct pe_trial {
    const struct pe_candidate *candidate;
    const struct pe_sample *sample;
    enum pe_bug bug;
    bool is_possible, fits;
    bool is_float32; /* the scheme computes in float32, whose errors are then expected */
    double max_abs, max_ulp, rms;
    double factor; /* of cos and sin */
    struct pe_residual residuals[PE_ALLOWANCES];
    bool is_near;       /* errors are small beside the values */
    bool is_far;        /* some angles are too large for float32 */
    double far_most;    /* the largest error at those angles */
    size_t quiet_count; /* elements that show plain noise: of the slow pairs where is_far, whose
                           angles float32 changes least; else the large ones */
    double quiet_squares;
    double quiet_roots; /* of a list of frequencies: the sum of the square roots of errors, which a
                           few large ones hardly move */
    double structure; /* the part of the squares that other frequencies or a factor would explain */
};

/* A trial that fits, and the stage of the verdict in which it does. */
struct pe_fit {
    const struct pe_trial *trial;
    int allowance; /* PE_ALLOW_ */
    bool noisy;
};

enum { PE_CANDIDATES_MAX = 640, PE_ARITHMETICS = 2, PE_SECTIONS_MAX = 24 };

struct pe_diagnosis {
    enum pe_verdict verdict;
    bool ambiguous; /* another scheme or bug explains the sample as well */
    int allowance;  /* PE_ALLOW_ of the verdict's stage */
    bool noisy;     /* there is noise beside rounding: the rms of the first trial */
    /* Verdict and noise of the sampled rows, before all rows were checked. */
    enum pe_verdict sample_verdict;
    bool sample_noisy;
    size_t trials_count; /* the best first */
    struct pe_trial trials[PE_FINDINGS_MAX];
    struct pe_finding findings[PE_FINDINGS_MAX]; /* the public part of the trials */
    struct pe_bad_rows bad;
    size_t identical_count;
    const char *identical[PE_ARITHMETICS];
    size_t candidates_count;
    struct pe_candidate candidates[PE_CANDIDATES_MAX];
    size_t schemes_count;
    struct pe_scheme *schemes[PE_CANDIDATES_MAX]; /* owned */
    size_t sections_count;
    struct pe_scheme *sections[PE_SECTIONS_MAX]; /* owned, opened only */
    struct pe_work *work;
    enum pe_status list_status; /* PE_OK, or why a candidate is missing from the list */
};

/* ---- candidates.c ---------------------------------------------------------------------------- */

/* Fails where a candidate is missing from the list for want of memory, time or operations. */
enum pe_status pe_candidates_check(const struct pe_diagnosis *diagnosis, struct pe_error *err);

/* Lists every scheme and bug that could explain any of the samples; diagnosis->schemes are not
 * prepared yet. PE_CANCELLED, PE_OUT_OF_MEMORY. */
enum pe_status pe_candidates_list(struct pe_diagnosis *diagnosis, const struct pe_scheme *expected,
                                  const struct pe_sample *samples, size_t count,
                                  struct pe_error *err);
/* Adds the bugs that are tried only where no scheme without a bug explains a sample as well as
 * rounding allows. Errors as above. */
enum pe_status pe_candidates_list_rare(struct pe_diagnosis *diagnosis,
                                       const struct pe_scheme *expected,
                                       const struct pe_sample *sample, struct pe_error *err);
/* The scheme with other parameters, "name=value" pairs; opened, and owned by the diagnosis. NULL:
 * there is no such scheme. */
struct pe_scheme *pe_candidate_variant(struct pe_diagnosis *diagnosis,
                                       const struct pe_scheme *scheme, const char *change);

/* The frequency of a pair by the rotation between rows; NAN: it cannot be measured. */
double pe_frequency_measure(const struct pe_sample *sample, size_t pair);
/* The base for which the frequencies are base^(-pair / divisor); NAN: there is none, or it cannot
 * be measured. */
double pe_base_measure(const struct pe_sample *sample, size_t divisor);
/* The number rounded to so many decimal digits. */
double pe_round_digits(double number, int digits);

/* ---- prediction.c ---------------------------------------------------------------------------- */

/* The angle error that a stage allows; an element with a larger one than PE_ANGLE_ERROR_INFORMATIVE
 * is ignored. */
#define PE_ANGLE_ERROR_INFORMATIVE 0.5
double pe_angle_error_allowed(const struct pe_trial *trial, int allowance, double angle);
/* Is the error of float32 at an angle larger than the harmless one? */
bool pe_float32_hurts(double angle);
/* The error of one rounding of a value to a dtype. */
double pe_rounding_of(enum pe_dtype dtype, double value);

/* The frequencies of a scheme of cosines and sines; NULL before it is prepared. */
const struct pe_frequencies *pe_scheme_frequencies(const struct pe_scheme *scheme);
void pe_candidate_frequencies(const struct pe_candidate *candidate, size_t pairs, double *out);
double pe_candidate_factor(const struct pe_candidate *candidate); /* of cos and sin */
/* Where a coordinate t of an axis is rotated. */
double pe_candidate_position(const struct pe_candidate *candidate, size_t axis, double t);
/* The coordinate of a sample's positions that rotates a pair: the first one where the scheme's
 * positions have no coordinates. */
size_t pe_candidate_axis(const struct pe_candidate *candidate, size_t axes, size_t pair);
double pe_candidate_angle(const struct pe_candidate *candidate, double t, double w);

/* Rows of cosines and sines as the candidate of a trial makes them, in doubles. */
struct pe_prediction {
    const struct pe_candidate *candidate;
    const struct pe_positions *positions;
    size_t pairs;
    double factor, sign;                             /* of cosines and sines; of sines */
    const double *frequencies, *step_cos, *step_sin; /* [pairs] each */
    const double *spread; /* [pairs]: relative errors of angles in float32 */
    bool evenly_spaced;   /* each row is the one before it, rotated by one step */
};

/* `buffer` holds PE_PREDICTION_BUFFERS * pairs; it and the positions must outlive the prediction.
 */
enum { PE_PREDICTION_BUFFERS = 4 };
void pe_prediction_begin(struct pe_prediction *prediction, const struct pe_trial *trial,
                         const struct pe_positions *positions, double *buffer);
/* [rows, pairs] each. Any thread; evenly spaced rows depend on `begin` by 2^-47. */
void pe_prediction_rows(const struct pe_prediction *prediction, size_t begin, size_t rows,
                        double *cos, double *sin);
/* The position that a pair of a row is rotated by, and |t * w|. */
double pe_prediction_position(const struct pe_prediction *prediction, size_t row, size_t pair);
double pe_prediction_angle(const struct pe_prediction *prediction, size_t row, size_t pair);

/* ---- residuals.c and verdict.c --------------------------------------------------------------- */

/* Fills in a trial whose candidate and sample are set. `frequencies` is a buffer of [pairs]. */
void pe_residuals_measure(struct pe_trial *trial, double *frequencies);

/* Selects the trials that count, keeps the best and sets the verdict. Reorders the trials. */
void pe_trials_select(struct pe_diagnosis *diagnosis, struct pe_trial *trials, size_t count,
                      bool anything_expected);
/* Does one of the trials have no bug and no error beyond rounding, so that no other trial can be
 * preferred to it? */
bool pe_trials_are_decided(const struct pe_trial *trials, size_t count, bool anything_expected);
/* The first stage in which a measured trial fits by itself. False: it fits in none. */
bool pe_trial_explains(const struct pe_trial *trial, struct pe_fit *fit);

/* The allowed error of a value, in roundings, and the allowed noise. */
double pe_roundings_allowed(const struct pe_sample *sample);
double pe_noise_allowed(const struct pe_trial *trial, int allowance);
/* The largest error that noise of this rms may have; 0: the rms is too large for noise. */
double pe_noise_of(double rms, double factor);

/* Are the frequencies of another width a part of the bug that the sample's pairing is? */
bool pe_sample_takes_widths(const struct pe_sample *sample, enum pe_bug bug);

/* Sets the verdict of a sample of values that no scheme can have made, unless a trial fits. */
void pe_verdict_set_uninitialized(struct pe_diagnosis *diagnosis);

/* ---- uninitialized.c ------------------------------------------------------------------------- */

/* Are the values none that any scheme can have made, but what unwritten memory holds? */
bool pe_sample_is_uninitialized(const struct pe_sample *sample);

/* ---- all_rows.c ------------------------------------------------------------------------------ */

/* Checks every row of the first trial's sample, and compares the values with both arithmetics of
 * its scheme. A match that does not hold for all rows becomes unknown. PE_CANCELLED,
 * PE_OUT_OF_MEMORY. */
enum pe_status pe_all_rows_check(struct pe_diagnosis *diagnosis, struct pe_pool *pool,
                                 struct pe_error *err);
/* Checks every row of a fitting trial's sample, which has no frequencies, against its candidate. */
enum pe_status pe_all_rows_test(const struct pe_fit *fit, struct pe_bad_rows *bad,
                                struct pe_pool *pool, struct pe_work *work, struct pe_error *err);

#endif
