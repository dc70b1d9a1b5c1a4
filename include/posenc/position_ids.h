/* SPDX-License-Identifier: MIT */
#ifndef POSENC_POSITION_IDS_H
#define POSENC_POSITION_IDS_H

#include "posenc/status.h"
#include "posenc/work.h"

/* Positions of tokens as models count them: text, padding, packed sequences, chunks of a prompt,
 * and the grids of images and videos, whose tokens have a time, a height and a width. Pure
 * functions of their arguments: any thread. */

/* How a class of models counts. */
struct pe_ids_model {
    const char *name;           /* its model_type, as transformers has it; "text": one id a token */
    unsigned axes;              /* 1, or 3: time, height, width */
    unsigned spatial_merge;     /* rows and columns of a grid that are one of tokens */
    unsigned temporal_merge;    /* frames of a video likewise; images are never merged in time */
    unsigned tokens_per_second; /* steps of time in a second of a video; 0: a frame is one step */
    bool frames_apart;          /* each frame of a video stands alone, with text between */
    int64_t padding;            /* the ids of padding */
    bool prompt_only;           /* behind the prompt it makes an image: no ids and no delta */
};

enum pe_ids_kind { PE_IDS_TEXT, PE_IDS_IMAGE, PE_IDS_VIDEO };

/* Tokens [rows, tokens]. Arrays are the caller's. */
struct pe_ids_spec {
    size_t size;               /* sizeof(struct pe_ids_spec), for later versions */
    struct pe_ids_model model; /* one of pe_ids_model_at, whose numbers may be changed */
    size_t rows, tokens;
    const unsigned char *kinds;     /* [rows, tokens] of enum pe_ids_kind; NULL: text */
    const unsigned char *mask;      /* [rows, tokens], 0: padding; NULL: there is none */
    const int64_t *bounds;          /* where packed sequences begin, and the end: 0 .. tokens */
    size_t bounds_count;            /* 0: one sequence a row; else rows is 1 */
    const int64_t *images, *videos; /* [count, 3] of time, height, width in patches, unmerged */
    size_t images_count, videos_count;
    const double *seconds; /* [videos] of a step of time; NULL: 1 */
    size_t start, count;   /* which ids: tokens [start, start + count) of each row; behind the last
                              token text goes on */
    bool by_largest;       /* text behind a grid goes on behind its largest id, time included
                              (transformers 4, vLLM), not behind its height or width */
};

/* A mistake that posted ids may be made with. */
struct pe_ids_slip_info {
    const char *code, *explanation, *fix;
};

/* Ids held against those of a spec. Where tokens are padding, any id is right. */
struct pe_ids_finding {
    const struct pe_ids_slip_info *slip; /* NULL: none, or none that explains them all */
    size_t compared, unequal;            /* ids, without any slip */
    size_t axis, row, token;             /* the first that differs: the first row, then token */
    int64_t expected, given;
};

PE_DECLARATIONS_BEGIN

/* Models in the order of a list, "text" first; NULL past the last one. */
PE_API const struct pe_ids_model *pe_ids_model_at(size_t index);
/* NULL: it is not known. */
PE_API const struct pe_ids_model *pe_ids_model_find(const char *name);
/* Why a model that is known has no row among them; NULL: it has one, or is not known. A constant.
 */
PE_API const char *pe_ids_model_refused(const char *name);
/* Slips in the order in which they are named; NULL past the last one. */
PE_API const struct pe_ids_slip_info *pe_ids_slip_at(size_t index);

/* Writes ids [axes, rows, count], those of padding as the model has them, and deltas [rows], NULL:
 * not wanted. A delta is what a token behind the last one has beside the number of tokens before it
 * that are no padding; 0 of a model that has prompts alone. PE_UNSUPPORTED: ids behind such one.
 * PE_SHAPE_MISMATCH where grids and tokens do not fit each other; PE_INVALID for bounds, kinds, a
 * model or `size`; PE_CANCELLED, PE_TOO_LARGE of the work. */
PE_API enum pe_status pe_ids_fill(const struct pe_ids_spec *spec, int64_t *ids, int64_t *deltas,
                                  struct pe_work *work, struct pe_error *err);

/* Writes the kinds of ids of the vocabulary: PE_IDS_IMAGE for image_token, PE_IDS_VIDEO for
 * video_token, else PE_IDS_TEXT. A token below 0 is none. */
PE_API void pe_ids_kinds_fill(const int64_t *tokens, size_t count, int64_t image_token,
                              int64_t video_token, unsigned char *kinds);
/* Writes the mask [rows, tokens] of rows of lengths[rows] tokens, padded on the left or the right.
 * PE_OUT_OF_RANGE: a length is negative or above tokens. */
PE_API enum pe_status pe_ids_mask_fill(const int64_t *lengths, size_t rows, size_t tokens,
                                       bool left, unsigned char *mask, struct pe_error *err);

/* Holds ids [axes, rows, count] against those of the spec, axes being 1 or those of the model: one
 * id a token stands for three alike. Where they differ, finding->slip is the first slip that
 * explains every one. Fails as pe_ids_fill does; PE_SHAPE_MISMATCH for axes. */
PE_API enum pe_status pe_ids_diagnose(struct pe_ids_finding *finding,
                                      const struct pe_ids_spec *spec, const int64_t *ids,
                                      unsigned axes, struct pe_work *work, struct pe_error *err);

/* Nanoseconds of one core that pe_ids_fill takes, about; and pe_ids_diagnose at most. */
PE_API double pe_ids_work(const struct pe_ids_spec *spec);
PE_API double pe_ids_diagnosis_work(const struct pe_ids_spec *spec);

PE_DECLARATIONS_END

#endif
