/* SPDX-License-Identifier: MIT */
#ifndef CORE_DIAGNOSIS_DIAGNOSIS_H
#define CORE_DIAGNOSIS_DIAGNOSIS_H

/* Which scheme, and which known mistake, explains cos, sin or frequencies that were observed.
 * diagnosis.c runs it, verdict.c decides, residuals.c measures how far a suspect is from a
 * sample, suspects.c lists them, measures.c reads numbers off a sample that are in no list, hold.c
 * asks whether the outcome explains another sample too. */

#include "core/base/fail.h"
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

/* How a mistake is made. Zeros: not at all. */
struct pe_distortion {
    enum pe_dtype frequencies, positions, angles; /* rounded to that; PE_F64: not rounded */
    double shift;                                 /* added to positions */
    int factors;                                  /* how many attention factors too many */
    bool half_minus_one, backwards;
    bool truncated; /* frequencies are cut, not rounded */
    bool swapped;   /* cos is posted as sin, and the other way round */
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
    bool is_near;       /* errors are small beside the values */
    bool is_far;        /* angles are so large that float32 hurts some */
    double far_most;    /* the largest error of those that are not harmless */
    size_t quiet_count; /* of elements that show noise as it is: those of the slow pairs, whose
                           angles float32 hurts least; where it hurts none, the large ones */
    double quiet_squares;
    double quiet_roots; /* of a list of frequencies: the sum of the square roots of errors, which a
                           few large ones hardly move */
    double structure;   /* which part of the squares other frequencies or a factor would explain */
};

enum { PE_SUSPECTS_MAX = 640, PE_ARITHMETICS = 2 };

struct pe_diagnosis {
    enum pe_verdict verdict;
    bool ambiguous; /* another scheme or mistake explains it as well */
    int grant;      /* errors of angles that the verdict grants: PE_GRANT_ */
    bool noisy;     /* not by rounding alone: there is noise on top, the rms of the first trial */
    /* What was said of the rows that were tried, before all of them were looked at. */
    enum pe_verdict tried;
    bool tried_noisy;
    size_t trials_count; /* the best first */
    struct pe_trial trials[PE_FINDINGS_MAX];
    struct pe_finding findings[PE_FINDINGS_MAX]; /* of the trials, as they are told */
    struct pe_bad_rows bad;
    size_t identical_count;
    const char *identical[PE_ARITHMETICS];
    size_t suspects_count;
    struct pe_suspect suspects[PE_SUSPECTS_MAX];
    size_t schemes_count;
    struct pe_scheme *schemes[PE_SUSPECTS_MAX];
    struct pe_work *work;  /* that it was made with */
    enum pe_status listed; /* PE_OK, or why a suspect is not in the list */
};

/* ---- among the files of diagnosis ----------------------------------------------------------- */

/* Lists every scheme and mistake that could explain any of the samples; diagnosis->schemes are not
 * prepared yet. PE_CANCELLED, PE_OUT_OF_MEMORY. */
enum pe_status pe_suspects_list(struct pe_diagnosis *diagnosis, const struct pe_scheme *expected,
                                const struct pe_sample *samples, size_t count,
                                struct pe_error *err);

/* ---- what a suspect would have made (predict.c) ---------------------------------------------- */

/* The error of an angle that is none in a stage: PE_GRANT_HARMLESS or PE_GRANT_FLOAT32. Where more
 * than PE_GRANT_TELLING is granted, a value tells nothing. */
#define PE_GRANT_TELLING 0.5
double pe_grant_of(const struct pe_trial *trial, int grant, double angle);
/* Does float32 take an angle further off than is granted to anyone? */
bool pe_float32_hurts(double angle);

/* The frequencies of a scheme that is made of waves; NULL before it is prepared. */
const struct pe_frequencies *pe_suspect_waves(const struct pe_scheme *scheme);
void pe_suspect_frequencies(const struct pe_suspect *suspect, size_t pairs, double *out);
double pe_suspect_factor(const struct pe_suspect *suspect); /* of cos and sin */
double pe_suspect_position(const struct pe_suspect *suspect, double t);
/* The coordinate of a sample's positions that a pair turns with: the first one where the scheme's
 * positions have no coordinates. */
size_t pe_suspect_axis(const struct pe_suspect *suspect, size_t axes, size_t pair);
double pe_suspect_angle(const struct pe_suspect *suspect, double t, double w);

/* Rows of cosines and sines as a trial's suspect makes them, in doubles. */
struct pe_prediction {
    const struct pe_suspect *suspect;
    const struct pe_positions *positions;
    size_t pairs;
    double factor, sign;                             /* of cosines and sines; of sines */
    const double *frequencies, *step_cos, *step_sin; /* [pairs] each */
    const double *spread; /* [pairs]: errors of angles in float32, relative */
    bool even;            /* a row is the one before it, turned by one step */
};

/* `room` is for PE_PREDICTION_ROOM times the pairs; both must outlive it. */
enum { PE_PREDICTION_ROOM = 4 };
void pe_prediction_begin(struct pe_prediction *prediction, const struct pe_trial *trial,
                         const struct pe_positions *positions, double *room);
/* [rows, pairs] each. Any thread; the values depend on `begin`, where rows are turned, by 2^-47. */
void pe_prediction_rows(const struct pe_prediction *prediction, size_t begin, size_t rows,
                        double *cos, double *sin);

/* The position that a pair of a row turns with, and |t * w|. */
double pe_prediction_position(const struct pe_prediction *prediction, size_t row, size_t pair);
double pe_prediction_angle(const struct pe_prediction *prediction, size_t row, size_t pair);

/* ---- all rows (bounds.c, whole.c) ------------------------------------------------------------ */

/* How far a value may be from the one that is predicted. */
struct pe_bounds {
    const struct pe_trial *trial;
    int grant;
    double share;        /* of the error of an angle that is granted */
    double unit, beside; /* of a value and beside it, for rounding */
    double least;        /* of values, where rounding scales with the pair's magnitude */
    double noise;        /* as it is; 0: none */
    double smallest;     /* error of rounding a value that is nearly 0 */
};

/* A trial, and in which stage it was decided that it explains its sample. */
struct pe_explanation {
    const struct pe_trial *trial;
    int grant;
    bool noisy;
};

/* Those of an explanation. `of` is the prediction of all rows; `room` is for a row of each part. */
enum pe_status pe_bounds_make(struct pe_bounds *bounds, const struct pe_explanation *explanation,
                              const struct pe_prediction *of, double *const room[2],
                              struct pe_work *work, struct pe_error *err);
/* One value of a row, and its prediction. */
struct pe_bounded {
    double error;         /* NaN: the value is no number */
    double value;         /* that was predicted */
    double angle, spread; /* of a prediction: the angle, and the relative error of float32's */
    double scale;         /* noise is measured in that */
    double length;        /* of the pair before it was turned; 0: not known */
};
/* Is a value with so large an error explained? One that is NaN is not. */
bool pe_bounds_pass(const struct pe_bounds *bounds, const struct pe_bounded *value);

/* ---- the stages ------------------------------------------------------------------------------ */

/* Fills in a trial whose suspect and sample are set. `frequencies` is room for the pairs. */
void pe_residuals_measure(struct pe_trial *trial, double *frequencies);

/* Decides which trials count, and keeps the best. Their order changes. */
void pe_trials_judge(struct pe_diagnosis *diagnosis, struct pe_trial *trials, size_t count,
                     bool anything_expected);
/* The first stage in which a measured trial fits by itself, as an explanation. False: in none. */
bool pe_trial_explains(const struct pe_trial *trial, struct pe_explanation *explanation);

/* Looks at every row of the first trial's sample, and compares it with both arithmetics of its
 * scheme. A match that does not hold for all rows is none. PE_CANCELLED, PE_OUT_OF_MEMORY. */
enum pe_status pe_whole_look(struct pe_diagnosis *diagnosis, struct pe_pool *pool,
                             struct pe_error *err);
/* Holds every row of a trial's sample, which has no frequencies, against its explanation. */
enum pe_status pe_whole_hold(const struct pe_explanation *explanation, struct pe_bad_rows *bad,
                             struct pe_pool *pool, struct pe_work *work, struct pe_error *err);

/* The scheme with other parameters, "name=value" pairs; opened, and the diagnosis's own. NULL:
 * there is no such scheme. */
struct pe_scheme *pe_suspect_variant(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                                     const char *change);

/* Errors up to so many roundings of a value are none, and noise as large as that. */
double pe_roundings_granted(const struct pe_sample *sample);
double pe_noise_granted(const struct pe_trial *trial, int grant);
/* The noise that is called so where the rms of errors is known. */
double pe_noise_of(double rms, double factor);

/* The error of one rounding to a dtype, of a value. */
double pe_rounding_of(enum pe_dtype dtype, double value);

/* The frequency of a pair by the turns between rows; NAN: it cannot be told. */
double pe_turn_measure(const struct pe_sample *sample, size_t pair);
/* The base whose powers base^(-pair / divisor) the frequencies are; NAN: they are none, or it
 * cannot be measured. */
double pe_base_measure(const struct pe_sample *sample, size_t divisor);
/* To so many digits. */
double pe_digits_keep(double number, int digits);

#endif
