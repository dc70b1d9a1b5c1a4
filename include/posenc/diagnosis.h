/* SPDX-License-Identifier: MIT */
#ifndef POSENC_DIAGNOSIS_H
#define POSENC_DIAGNOSIS_H

#include "posenc/pool.h"
#include "posenc/schemes.h"

/* Diagnosis: which scheme, and which known mistake made with it, explains cosines, sines or
 * frequencies that were observed. */

struct pe_bad_rows;

/* All rows of what was observed, of which a sample has some. They must outlive the diagnosis, and
 * are read by any thread. */
struct pe_sample_rows {
    size_t size; /* sizeof(struct pe_sample_rows), for later versions to tell what is there */
    struct pe_positions positions; /* one a row, with as many coordinates as in the sample */
    /* Writes rows [begin, begin + rows) as in a sample: [rows, pairs] each. `cos` or `sin` is NULL
     * where the sample has none of them, and `weight` where it has no weights. */
    void (*read)(const void *context, size_t begin, size_t rows, double *cos, double *sin,
                 double *weight);
    const void *context;
    /* Heads that turn alike at a row's position, where each must be explained by itself: their
     * number, and `read` of one of them. 0: `read` is used, and a row is judged once. */
    size_t heads;
    void (*read_head)(const void *context, size_t head, size_t begin, size_t rows, double *cos,
                      double *sin, double *weight);
    /* The weight of a pair of length 1, so that rounding of very small values is known; 0: weights
     * are not squares of lengths. */
    double unit;
    /* Elements that do not turn: has a head of a row the right ones? If not, `pair`, `seen` and
     * `predicted` are written. NULL: there are none. */
    bool (*is_kept)(const void *context, size_t head, size_t row, struct pe_bad_rows *bad);
};

/* A sample: values that were observed, in one way to read them: rows of cosines and sines at
 * positions, or frequencies and no rows. Several samples of one shape are several ways to read the
 * same values. */
struct pe_sample {
    size_t size;        /* sizeof(struct pe_sample), for later versions to tell what is there */
    const char *layout; /* "half", a name for the findings; NULL: there is none to tell */
    bool unexpected;    /* another layout was said to be expected */
    bool absolute;      /* rows of sines and cosines that are added, not a rotation */
    size_t rows, pairs; /* at most PE_SAMPLE_PAIRS_MAX pairs */
    const double *positions;   /* one a row; of several coordinates [axes, rows] */
    const double *cos, *sin;   /* [rows, pairs]; one may be NULL; NaN: not seen */
    const double *weight;      /* [rows, pairs], 1 on average: scales errors to equal variance */
    const double *frequencies; /* [pairs], instead of rows */
    enum pe_dtype dtype;       /* of the values as they came */
    enum pe_dtype precision;   /* the coarsest dtype that holds every value */
    bool computed;             /* by several operations that round, not by one */
    const struct pe_sample_rows *all; /* NULL: there are no more rows than these */
    size_t axes; /* coordinates of a position, which are [axes, rows]; 0 and 1: it is one number */
};

enum { PE_SAMPLE_PAIRS_MAX = 2048, PE_FINDINGS_MAX = 5 };

enum pe_verdict {
    PE_VERDICT_MATCH,        /* what is expected */
    PE_VERDICT_KNOWN_BUG,    /* a listed mistake */
    PE_VERDICT_OTHER_SCHEME, /* another scheme than the one that is expected */
    PE_VERDICT_UNKNOWN,      /* nothing explains all rows */
    PE_VERDICT_CONSISTENT    /* a scheme without a mistake, where nothing is expected */
};

struct pe_bug_info {
    const char *code, *explanation, *fix;
};

/* One candidate. New members come behind the last one. */
struct pe_finding {
    const struct pe_scheme *scheme; /* the diagnosis holds it */
    const struct pe_sample *sample; /* the reading that it explains, as it was passed */
    const struct pe_bug_info *bug;  /* the mistake; NULL: none */
    bool fits;                      /* within rounding or noise */
    double max_abs, max_ulp, rms;   /* errors */
    bool is_near;                   /* errors are small beside the values, whether it fits or not */
};

/* Rows that the first finding does not explain. New members come behind the last one. */
struct pe_bad_rows {
    size_t count;
    size_t row, pair; /* of the first one, and in it the first value */
    bool is_sin;
    double position, seen, predicted;
};

/* How the first finding of a diagnosis explains another sample. New members come behind the last
 * one. */
struct pe_held {
    size_t size; /* sizeof(struct pe_held), for later versions to tell what is there */
    bool fits;   /* the rows of the sample are explained: with noise, if there is, at most 4 times
                    as large as that of the diagnosis, and at least a fourth of it */
    bool noisy;  /* not by rounding alone */
    enum pe_verdict verdict; /* with all rows looked at; PE_VERDICT_UNKNOWN where nothing fits */
    double max_abs, rms;     /* errors of the rows of the sample */
    struct pe_bad_rows bad;  /* of all rows, where it fits; count 0: none */
};

struct pe_diagnosis;

PE_DECLARATIONS_BEGIN

/* The known mistakes; NULL past the last one. */
PE_API const struct pe_bug_info *pe_bug_at(size_t index);

/* Is every column of the scheme's rows a cosine or sine of frequencies it has, at one coordinate?
 * false before the scheme is prepared. */
PE_API bool pe_diagnosis_takes(const struct pe_scheme *scheme);
/* The order of the columns of an absolute table: "interleaved", "concatenated", and either with
 * ", cosines first"; NULL for what is no such table, PE_OUT_OF_MEMORY and the like included. */
PE_API const char *pe_diagnosis_columns(const struct pe_scheme *scheme, struct pe_work *work);

/* expected NULL: nothing is; else a prepared scheme that pe_diagnosis_takes. `expected` and the
 * samples, one at least and all of one shape, must outlive the diagnosis. Suspects are looked into
 * on the pool, a block each; pool NULL: here. PE_INVALID where there are no samples or a `size` is
 * not set; PE_MISSING for rows without positions or values; PE_UNSUPPORTED for what is expected and
 * for dtypes; PE_SHAPE_MISMATCH between samples; PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_diagnose(struct pe_diagnosis **diagnosis, const struct pe_scheme *expected,
                                  const struct pe_sample *samples, size_t count,
                                  struct pe_pool *pool, struct pe_work *work, struct pe_error *err);
/* Nanoseconds of one core that a diagnosis of so many rows takes, about; rows 0: of frequencies. */
PE_API double pe_diagnosis_work(size_t rows, size_t pairs);
/* And what it takes to look at all rows of so many: those of `all`. */
PE_API double pe_diagnosis_rows_work(size_t rows, size_t pairs, enum pe_dtype dtype);
PE_API void pe_diagnosis_free(struct pe_diagnosis *diagnosis);

PE_API enum pe_verdict pe_diagnosis_verdict(const struct pe_diagnosis *diagnosis);
/* Does a verdict name neither a mistake nor a difference: PE_VERDICT_MATCH or _CONSISTENT? */
PE_API bool pe_verdict_is_good(enum pe_verdict verdict);
/* Is the value of a parameter the default, or that of a scheme which models are known to use? */
PE_API bool pe_diagnosis_is_usual(const struct pe_scheme *scheme, size_t param);
/* Another scheme or mistake explains the sample as well. */
PE_API bool pe_diagnosis_is_ambiguous(const struct pe_diagnosis *diagnosis);
/* Rounding alone does not explain it: there is noise on top, the rms of the first finding. */
PE_API bool pe_diagnosis_is_noisy(const struct pe_diagnosis *diagnosis);
/* Rows, of all of them, beyond what the first finding explains: by rounding or noise as large as in
 * the rows of the sample. NULL: none. A diagnosis that is no match for them alone is unknown. */
PE_API const struct pe_bad_rows *pe_diagnosis_bad_rows(const struct pe_diagnosis *diagnosis);
/* Tables that all values are identical to, bit for bit in the precision of the sample: those of the
 * first finding's scheme, without its mistake, in the arithmetic "exact" or "hf"; NULL past the
 * last one. Samples that were computed by several operations are compared with none. */
PE_API const char *pe_diagnosis_identical(const struct pe_diagnosis *diagnosis, size_t index);
/* The best first, PE_FINDINGS_MAX at most; NULL past the last one. */
PE_API const struct pe_finding *pe_diagnosis_finding(const struct pe_diagnosis *diagnosis,
                                                     size_t index);

/* Does the first finding explain another sample as well, such as another head of a cache? No other
 * explanation is looked for. `sample` has rows, is read as the finding's own sample was (the same
 * layout), and is of as many pairs. What is written to `held`, whose `size` is set, is as of a
 * diagnosis of it. Any number of threads may hold samples against one diagnosis. PE_INVALID where a
 * `size` is not set, PE_SHAPE_MISMATCH for other pairs, PE_MISSING, PE_UNSUPPORTED as pe_diagnose;
 * PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_diagnosis_hold(const struct pe_diagnosis *diagnosis,
                                        const struct pe_sample *sample, struct pe_pool *pool,
                                        struct pe_work *work, struct pe_held *held,
                                        struct pe_error *err);

PE_DECLARATIONS_END

#endif
