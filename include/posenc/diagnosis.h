/* SPDX-License-Identifier: MIT */
#ifndef POSENC_DIAGNOSIS_H
#define POSENC_DIAGNOSIS_H

#include "posenc/engine_caches.h"
#include "posenc/pool.h"
#include "posenc/schemes.h"

/* Diagnosis: which scheme, and which known bug made with it, explains cosines, sines or
 * frequencies that were observed; and a rotation of queries or keys, of a cache by layer and head.
 *
 * pe_observations_new turns tensors into samples, pe_diagnose explains samples, pe_diagnose_kv
 * does both for every head of a cache. */

struct pe_bad_rows;

/* Which elements of a head are pairs. */
enum pe_pairing {
    PE_PAIRING_LAYOUT,        /* those of the layout, within the part that rotates */
    PE_PAIRING_ACROSS_HEAD,   /* k and k + head_dim / 2, though only a part of the head rotates */
    PE_PAIRING_WITHIN_PREFIX, /* k and k + m, m being the number of pairs that rotate, though pairs
                                 across the whole head are expected */
    PE_PAIRING_MIXED          /* one layout in queries, the other in keys */
};

/* All rows of an observation, of which a sample has some. They must outlive the diagnosis, and are
 * read by any thread. */
struct pe_sample_rows {
    size_t size; /* sizeof(struct pe_sample_rows); later versions may have more members */
    struct pe_positions positions; /* one a row, with as many coordinates as in the sample */
    /* Writes rows [begin, begin + rows) as in a sample: [rows, pairs] each. `cos` or `sin` is NULL
     * where the sample has none of them, and `weight` where it has no weights. */
    void (*read)(const void *context, size_t begin, size_t rows, double *cos, double *sin,
                 double *weight);
    const void *context;
    /* The number of heads that are rotated by the same angles in a row and checked one by one, and
     * `read` for one of them. 0: `read` is called, once a row. */
    size_t heads;
    void (*read_head)(const void *context, size_t head, size_t begin, size_t rows, double *cos,
                      double *sin, double *weight);
    /* The weight of a pair of length 1, which gives the rounding of very small values; 0: weights
     * are not squares of lengths. */
    double unit;
    /* Are the elements of a head that do not rotate unchanged in a row? If not, `pair`, `seen` and
     * `predicted` are written. NULL: all elements rotate. */
    bool (*is_kept)(const void *context, size_t head, size_t row, struct pe_bad_rows *bad);
};

/* A sample: observed values in one interpretation, either rows of cosines and sines at positions,
 * or frequencies and no rows. Several samples of one shape are several interpretations of the same
 * values. */
struct pe_sample {
    size_t size;               /* sizeof(struct pe_sample); later versions may have more members */
    const char *layout;        /* "half", a name for the findings; NULL: none */
    bool unexpected;           /* another layout was expected */
    bool absolute;             /* rows of sines and cosines that are added, not a rotation */
    size_t rows, pairs;        /* at most PE_SAMPLE_PAIRS_MAX pairs */
    const double *positions;   /* one a row; of several coordinates [axes, rows] */
    const double *cos, *sin;   /* [rows, pairs]; one may be NULL; NaN: not observed; infinite: an
                                  observed value is not finite */
    const double *weight;      /* [rows, pairs], 1 on average: scales errors to equal variance */
    const double *frequencies; /* [pairs], instead of rows */
    enum pe_dtype dtype;       /* of the values as they were stored */
    enum pe_dtype precision;   /* the coarsest dtype that holds every value */
    bool computed;             /* by several operations that round, not by one */
    const struct pe_sample_rows *all; /* NULL: there are no more rows than these */
    size_t axes; /* coordinates of a position, which are [axes, rows]; 0 and 1: it is one number */
    enum pe_pairing pairing; /* other than PE_PAIRING_LAYOUT: a bug where it explains the values */
};

enum { PE_SAMPLE_PAIRS_MAX = 2048, PE_FINDINGS_MAX = 5 };

enum pe_verdict {
    PE_VERDICT_MATCH,        /* what is expected */
    PE_VERDICT_KNOWN_BUG,    /* a listed bug */
    PE_VERDICT_OTHER_SCHEME, /* another scheme than the one that is expected */
    PE_VERDICT_UNKNOWN,      /* nothing explains all rows */
    PE_VERDICT_CONSISTENT    /* a scheme without a bug, where nothing is expected */
};

struct pe_bug_info {
    const char *code, *explanation, *fix;
};

/* One candidate. New members come after the last one. */
struct pe_finding {
    const struct pe_scheme *scheme; /* the diagnosis holds it */
    const struct pe_sample *sample; /* the interpretation that it explains, as it was passed */
    const struct pe_bug_info *bug;  /* the bug; NULL: none */
    bool fits;                      /* within rounding or noise */
    double max_abs, max_ulp, rms;   /* errors */
    bool is_near;                   /* errors are small compared with the values, fitting or not */
};

/* Rows that the first finding does not explain. New members come after the last one. */
struct pe_bad_rows {
    size_t count;
    size_t row, pair; /* of the first one, and in it the first value */
    bool is_sin;
    double position, seen, predicted;
};

/* How well the first finding of a diagnosis explains another sample. New members come after the
 * last one. */
struct pe_held {
    size_t size; /* sizeof(struct pe_held); later versions may have more members */
    bool fits;   /* the rows of the sample are explained, with noise between 1/4 and 4 times that of
                    the diagnosis */
    bool noisy;  /* rounding alone does not explain them */
    enum pe_verdict verdict; /* after all rows were checked; PE_VERDICT_UNKNOWN without a fit */
    double max_abs, rms;     /* errors of the rows of the sample */
    struct pe_bad_rows bad;  /* of all rows, where it fits; count 0: none */
};

struct pe_diagnosis;

/* ---- tensors as samples ---------------------------------------------------------------------- */

/* Tensors of one kind: cos and sin (or one of them), freqs_cis, table, inv_freq, or q with
 * q_rotated, beside which k and k_rotated may be; all others are NULL. Dtypes are f64, f32, f16 and
 * bf16. Axes of 1, and of batch rows, may come before the positions. Begins as zeros. Elements must
 * outlive the observations. */
struct pe_observed {
    size_t size; /* sizeof(struct pe_observed); later versions may have more members */
    /* [positions, pairs], of one shape and dtype; or twice as wide, each pair twice, in either
     * layout. */
    const struct pe_tensor *cos, *sin;
    const struct pe_tensor *freqs_cis; /* [positions, pairs, 2], real and imaginary parts */
    const struct pe_tensor *table;     /* [positions, width], sines and cosines that are added */
    const struct pe_tensor *inv_freq;  /* [pairs] */
    const struct pe_tensor *q, *q_rotated; /* queries or keys before and after, of one shape */
    const char *axes;                      /* of q, for pe_axes_parse */
    const struct pe_scheme *expected;      /* opened at least, for its widths; NULL: none */
    const char *layout; /* expected: "half", "interleaved" or pe_diagnosis_columns; NULL: any */
    /* Of the rows; pe_observed_axes reports how many there are. One list for all batch rows, or one
     * for each. Not read for inv_freq. */
    struct pe_positions positions;
    /* Keys before and after, beside q and q_rotated, which are then queries: of the axes of q, with
     * a number of heads of their own, and of the dtype of q_rotated. NULL: none. */
    const struct pe_tensor *k, *k_rotated;
};

/* Samples of tensors. Immutable: any thread. */
struct pe_observations;

/* ---- a cache by layer and head --------------------------------------------------------------- */

/* A cache of keys, or of keys and values, before and after its keys are rotated. Begins as zeros.
 */
struct pe_kv_spec {
    size_t size; /* sizeof(struct pe_kv_spec); later versions may have more members */
    const struct pe_tensor *q, *q_rotated; /* of one shape; f64, f32, f16 or bf16 */
    struct pe_kv_axes axes;                /* of q; along k: keys, then values */
    const struct pe_scheme *expected;      /* prepared, pe_diagnosis_takes it; NULL: none */
    const char *layout;                    /* expected: "half" or "interleaved"; NULL: any */
    struct pe_positions positions;         /* of axis s: one list, or one for each batch row */
};

enum { PE_KV_EXPLANATIONS_MAX = 8 };

/* The verdict on a cell of a cache, or on a head of it. New members come after the last one. */
struct pe_kv_cell {
    enum pe_verdict verdict; /* of values: PE_VERDICT_MATCH where they are unchanged */
    int explanation;         /* its index; -1: none */
    bool undecided;          /* not diagnosed: PE_KV_EXPLANATIONS_MAX is reached */
    double max_abs;          /* the largest error of the sampled rows */
    struct pe_bad_rows bad;  /* rows of the cell that are not explained; of values, changed ones */
};

/* A diagnosis of one cell that explains others too. New members come after the last one. */
struct pe_kv_explanation {
    const struct pe_diagnosis *diagnosis;
    size_t first_cell; /* the one that was diagnosed */
    size_t cells;      /* that it explains, this one included */
};

struct pe_kv_diagnosis;

PE_DECLARATIONS_BEGIN

/* The known bugs; NULL past the last one. */
PE_API const struct pe_bug_info *pe_bug_at(size_t index);

/* Can the scheme be expected: is every column of its rows a cosine or sine of its frequencies, at
 * one coordinate? false before the scheme is prepared. */
PE_API bool pe_diagnosis_takes(const struct pe_scheme *scheme);
/* The order of the columns of an absolute table: "interleaved", "concatenated", and either with
 * ", cosines first"; NULL for other schemes, and on PE_OUT_OF_MEMORY and the like. */
PE_API const char *pe_diagnosis_columns(const struct pe_scheme *scheme, struct pe_work *work);

/* expected: a prepared scheme that pe_diagnosis_takes; NULL: none. It and the samples, one at least
 * and all of one shape, must outlive the diagnosis. Candidates are tried on the pool, a block each;
 * pool NULL: on this thread. PE_INVALID without samples or where a `size` is not set; PE_MISSING
 * for rows without positions or values; PE_UNSUPPORTED for the expected scheme and for dtypes;
 * PE_SHAPE_MISMATCH between samples; PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_diagnose(struct pe_diagnosis **diagnosis, const struct pe_scheme *expected,
                                  const struct pe_sample *samples, size_t count,
                                  struct pe_pool *pool, struct pe_work *work, struct pe_error *err);
/* Estimated nanoseconds of one core for a diagnosis of so many rows in up to two interpretations;
 * rows 0: of frequencies. */
PE_API double pe_diagnosis_work(size_t rows, size_t pairs);
/* The same for checking all of so many rows: those of `all`. */
PE_API double pe_diagnosis_rows_work(size_t rows, size_t pairs, enum pe_dtype dtype);
PE_API void pe_diagnosis_free(struct pe_diagnosis *diagnosis);

PE_API enum pe_verdict pe_diagnosis_verdict(const struct pe_diagnosis *diagnosis);
/* PE_VERDICT_MATCH or PE_VERDICT_CONSISTENT? */
PE_API bool pe_verdict_is_good(enum pe_verdict verdict);
/* Is the value of a parameter the default, or that of a scheme in the list of known ones? */
PE_API bool pe_diagnosis_is_usual(const struct pe_scheme *scheme, size_t param);
/* Does another scheme or bug explain the sample as well? */
PE_API bool pe_diagnosis_is_ambiguous(const struct pe_diagnosis *diagnosis);
/* Is there noise beside rounding, as large as the rms of the first finding? */
PE_API bool pe_diagnosis_is_noisy(const struct pe_diagnosis *diagnosis);
/* The rows whose errors are larger than those of the first finding in the sample. NULL: none. A
 * match with bad rows becomes unknown. */
PE_API const struct pe_bad_rows *pe_diagnosis_bad_rows(const struct pe_diagnosis *diagnosis);
/* The arithmetics, "exact" or "hf", in which the first finding's scheme, without a bug, has the
 * same bits as all values, in the precision of the sample; NULL past the last one. None for samples
 * that were computed by several operations. */
PE_API const char *pe_diagnosis_identical(const struct pe_diagnosis *diagnosis, size_t index);
/* The best first, PE_FINDINGS_MAX at most; NULL past the last one. */
PE_API const struct pe_finding *pe_diagnosis_finding(const struct pe_diagnosis *diagnosis,
                                                     size_t index);

/* Tests the first finding, and no other candidate, on another sample, such as another head of a
 * cache. `sample` has rows, the layout of the finding's sample and as many pairs. The result is
 * written to `held`, whose `size` is set. Any number of threads may test samples on one diagnosis.
 * PE_INVALID where a `size` is not set, PE_SHAPE_MISMATCH for another number of pairs,
 * PE_MISSING, PE_UNSUPPORTED as pe_diagnose; PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_diagnosis_hold(const struct pe_diagnosis *diagnosis,
                                        const struct pe_sample *sample, struct pe_pool *pool,
                                        struct pe_work *work, struct pe_held *held,
                                        struct pe_error *err);

/* ---- tensors as samples ---- */

/* The width of a head, or of a row, by the shapes, for the parameter `dim` of an expected scheme;
 * 0: unknown. */
PE_API size_t pe_observed_dim(const struct pe_observed *observed);
/* Estimated nanoseconds of one core for observations and their diagnosis, from the shapes; 0 for
 * shapes that are refused. */
PE_API double pe_observed_work(const struct pe_observed *observed);
/* Checks the shapes. Positions are needed for axes->batch rows of axes->sequence each; both are 0
 * for inv_freq. PE_INVALID where `size` is not set or a tensor has no data; PE_MISSING and
 * PE_CONFLICT unless there is one kind of tensors; PE_SHAPE_MISMATCH, PE_UNSUPPORTED for a dtype,
 * PE_TOO_LARGE beyond PE_SAMPLE_PAIRS_MAX; errors of pe_axes_parse. Any thread, here and above. */
PE_API enum pe_status pe_observed_axes(const struct pe_observed *observed, struct pe_axes *axes,
                                       struct pe_error *err);
/* Reads at most 256 rows as samples, one for each layout that the tensors may have, and lets a
 * diagnosis check all rows. Errors as above; PE_OUT_OF_RANGE and PE_SHAPE_MISMATCH for positions,
 * PE_INVALID for a sampled element that is not finite, unless all of the sample is uninitialised
 * memory; PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_observations_new(struct pe_observations **observations,
                                          const struct pe_observed *observed, struct pe_work *work,
                                          struct pe_error *err);
/* The samples and their number, for pe_diagnose. They live as long as the observations, which must
 * outlive the diagnosis. */
PE_API const struct pe_sample *pe_observations_samples(const struct pe_observations *observations);
PE_API size_t pe_observations_count(const struct pe_observations *observations);
PE_API void pe_observations_free(struct pe_observations *observations);

/* ---- a cache by layer and head ---- */

/* Checks the shapes; *nanoseconds: the estimated time of one core for pe_diagnose_kv. Positions and
 * the expected scheme are not read. PE_INVALID where `size` is not set, axes are not those of q or
 * a tensor has no data; PE_MISSING for tensors, PE_UNSUPPORTED for a dtype, PE_SHAPE_MISMATCH,
 * PE_TOO_LARGE. Any thread. */
PE_API enum pe_status pe_kv_diagnosis_check(const struct pe_kv_spec *spec, double *nanoseconds,
                                            struct pe_error *err);
/* Diagnoses the first cell of keys, tests its explanation on all others, diagnoses the first one
 * left, and so on, PE_KV_EXPLANATIONS_MAX times at most. Cells are tried on the pool, in
 * stripes; pool NULL: on this thread. The tensors, the scheme and the positions must outlive the
 * diagnosis, which is immutable: any thread. Errors as above and of pe_observations_new and
 * pe_diagnose. */
PE_API enum pe_status pe_diagnose_kv(struct pe_kv_diagnosis **diagnosis,
                                     const struct pe_kv_spec *spec, struct pe_pool *pool,
                                     struct pe_work *work, struct pe_error *err);
PE_API void pe_kv_diagnosis_free(struct pe_kv_diagnosis *diagnosis);

/* A cell, numbered as PE_KV_BATCH; NULL past the last one. The axes of the spec place it. */
PE_API const struct pe_kv_cell *pe_kv_diagnosis_cell(const struct pe_kv_diagnosis *diagnosis,
                                                     size_t cell);
/* A head, numbered as PE_KV_HEADS; NULL past the last one: its first cell that is no match, or
 * else its first, with the bad rows of all batch rows and the largest error. */
PE_API const struct pe_kv_cell *pe_kv_diagnosis_head(const struct pe_kv_diagnosis *diagnosis,
                                                     size_t head);
/* The first cell whose verdict is not good; SIZE_MAX: all are. */
PE_API size_t pe_kv_diagnosis_first_bad(const struct pe_kv_diagnosis *diagnosis);
/* NULL past the last one. */
PE_API const struct pe_kv_explanation *
pe_kv_diagnosis_explanation(const struct pe_kv_diagnosis *diagnosis, size_t index);

PE_DECLARATIONS_END

#endif
