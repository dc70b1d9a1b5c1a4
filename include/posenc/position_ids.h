/* SPDX-License-Identifier: MIT */
#ifndef POSENC_POSITION_IDS_H
#define POSENC_POSITION_IDS_H

#include "posenc/status.h"
#include "posenc/work.h"

/* Position ids of tokens, by the rules of models: for text, padding, packed sequences, chunks of a
 * prompt, and the grids of images and videos, whose tokens have a time, a height and a width. Pure
 * functions of their arguments: any thread. */

/* Ids by the pipelines of models that make images. Sides of their grids are in tokens. */
enum pe_ids_generator {
    PE_IDS_NO_GENERATOR,
    PE_IDS_FLUX,  /* text 0; an image its number, row and column */
    PE_IDS_FLUX2, /* 4 axes: text its place on the last; an image 10 times its number, row, column
                   */
    PE_IDS_QWEN_IMAGE, /* rows and columns centred; text alike on all axes, from the largest half of
                        * a side on */
    PE_IDS_LUMINA2, /* text its place on the first axis, an image the number of its tokens there */
    PE_IDS_Z_IMAGE, /* the same, from 1 on, text being padded to a multiple of 32 */
    PE_IDS_GRID,    /* each grid from 0; text, which does not rotate, 0 */
    PE_IDS_GENERATORS
};

/* Coordinate of PE_IDS_GRID: frame, row or column n of N, with step, base and frame_rate of the
 * model. All but PE_IDS_WHOLE may be fractions, which are doubles within an ulp. */
enum pe_ids_coordinates {
    PE_IDS_WHOLE,   /* n */
    PE_IDS_SCALED,  /* n step / base, of frames divided by frame_rate too */
    PE_IDS_CROPPED, /* of rows and columns: from the begin of a crop of the base grid, which has
                     * the grid's aspect, to its end times (N - 1) / N */
    PE_IDS_CENTRES  /* of rows and columns: (n + 1/2 - N / 2) sqrt(base area / area) */
};

/* The rules of a class of models. */
struct pe_ids_model {
    const char *name; /* its model_type in transformers; "text": one id a token */
    unsigned axes; /* 1, or 3: time, height, width; 4 of PE_IDS_FLUX2; 2 of vision towers: height,
                    * width */
    unsigned spatial_merge;     /* rows, and columns, of patches that are merged into one token */
    unsigned temporal_merge;    /* likewise frames of a video; images are never merged in time */
    unsigned tokens_per_second; /* steps of time in a second of a video; 0: a frame is one step */
    bool frames_apart;          /* each frame of a video is a grid of its own, with text between */
    int64_t padding;            /* the ids of padding */
    bool prompt_only;           /* generates images: no ids after the prompt, and no delta */
    enum pe_ids_generator generator;
    /* Members of PE_IDS_GRID; arrays are of time, height and width. */
    bool no_text;      /* no token of text is among those that rotate */
    bool one_grid;     /* a row has one grid, of an image or a video */
    bool column_first; /* of two axes the first is the width */
    bool by_blocks;    /* tokens run through squares of spatial_merge patches a side */
    bool within_base;  /* a grid is at most as high and wide as the base */
    enum pe_ids_coordinates coordinates;
    double step[3], base[3]; /* 1e-9 to 1e9; base 0: the caller sets it */
    double frame_rate;       /* frames a second; 0: frames are one step apart */
    bool needs_frame_rate;
};

enum pe_ids_kind { PE_IDS_TEXT, PE_IDS_IMAGE, PE_IDS_VIDEO };

/* Tokens [rows, tokens]. Arrays are the caller's. */
struct pe_ids_spec {
    size_t size;               /* sizeof(struct pe_ids_spec), for later versions */
    struct pe_ids_model model; /* one of pe_ids_model_at, whose numbers may be changed */
    size_t rows, tokens;
    const unsigned char *kinds;     /* [rows, tokens] of enum pe_ids_kind; NULL: text */
    const unsigned char *mask;      /* [rows, tokens], 0: padding; NULL: there is none */
    const int64_t *bounds;          /* the first token of each packed sequence, then `tokens` */
    size_t bounds_count;            /* 0: one sequence a row; else rows is 1 */
    const int64_t *images, *videos; /* [count, 3] of time, height, width in patches, unmerged */
    size_t images_count, videos_count;
    const double *seconds; /* [videos] of a step of time; NULL: 1 */
    size_t start, count;   /* ids of tokens [start, start + count) of each row; text follows the
                              last token */
    bool by_largest;       /* text after a grid continues from the grid's largest id, time included
                              (transformers 4, vLLM); else from its height or width */
};

/* A known error in position ids. */
struct pe_ids_slip_info {
    const char *code, *explanation, *fix;
};

/* Ids checked against those of a spec. Any id is right for padding. */
struct pe_ids_finding {
    const struct pe_ids_slip_info *slip; /* explains all differences; NULL: there are none, or no
                                            known error explains them all */
    size_t compared, unequal;            /* ids, compared with the correct ones */
    size_t axis, row, token;             /* the first difference, by row, then token */
    int64_t expected, given;
    double expected_coordinate, given_coordinate; /* the same, of a model with fractions */
};

PE_DECLARATIONS_BEGIN

/* Models in the order of a list, "text" first; NULL past the last one. */
PE_API const struct pe_ids_model *pe_ids_model_at(size_t index);
/* NULL: the model is unknown. */
PE_API const struct pe_ids_model *pe_ids_model_find(const char *name);
/* The reason why a known model is not among them; NULL: it is, or it is unknown. A constant. */
PE_API const char *pe_ids_model_refused(const char *name);
/* Known errors, in the order in which they are tried; NULL past the last one. */
PE_API const struct pe_ids_slip_info *pe_ids_slip_at(size_t index);

/* Writes ids [axes, rows, count] and, unless NULL, deltas [rows]: delta = position id of the next
 * token - count of non-padding tokens (Qwen2-VL's rope_delta); 0 for models without decoding.
 * PE_UNSUPPORTED: ids after the prompt of such a model. PE_SHAPE_MISMATCH where grids and tokens do
 * not fit each other; PE_INVALID for bounds, kinds, a model or `size`; PE_CANCELLED, PE_TOO_LARGE
 * of the work. */
PE_API enum pe_status pe_ids_fill(const struct pe_ids_spec *spec, int64_t *ids, int64_t *deltas,
                                  struct pe_work *work, struct pe_error *err);

/* The same as doubles. Models with other coordinates than PE_IDS_WHOLE have no other ids: for them
 * pe_ids_fill and pe_ids_diagnose fail with PE_UNSUPPORTED. */
PE_API enum pe_status pe_ids_fill_f64(const struct pe_ids_spec *spec, double *ids, int64_t *deltas,
                                      struct pe_work *work, struct pe_error *err);

/* The tokens of all grids of the spec, merged ones as one: its `tokens` where no text is among
 * them. PE_OUT_OF_RANGE for sides. */
PE_API enum pe_status pe_ids_grid_tokens(const struct pe_ids_spec *spec, size_t *tokens,
                                         struct pe_error *err);

/* Writes the kinds of token ids of the vocabulary: PE_IDS_IMAGE for image_token, PE_IDS_VIDEO for
 * video_token, else PE_IDS_TEXT. Negative image_token or video_token: there is none. */
PE_API void pe_ids_kinds_fill(const int64_t *tokens, size_t count, int64_t image_token,
                              int64_t video_token, unsigned char *kinds);
/* Writes the mask [rows, tokens] of rows of lengths[rows] tokens, padded on the left or the right.
 * PE_OUT_OF_RANGE: a length is negative or above tokens. */
PE_API enum pe_status pe_ids_mask_fill(const int64_t *lengths, size_t rows, size_t tokens,
                                       bool left, unsigned char *mask, struct pe_error *err);

/* Checks ids [axes, rows, count] against those of the spec; axes is 1 or that of the model. With 1
 * axis, the id is used for all three axes. If some differ, finding->slip is the first known error
 * that explains all. Fails as pe_ids_fill does; PE_SHAPE_MISMATCH for axes. */
PE_API enum pe_status pe_ids_diagnose(struct pe_ids_finding *finding,
                                      const struct pe_ids_spec *spec, const int64_t *ids,
                                      unsigned axes, struct pe_work *work, struct pe_error *err);

/* The same of doubles: right is what is within 2^-15 of the coordinate's size, or of 1. Whole ids
 * are equal to them. */
PE_API enum pe_status pe_ids_diagnose_f64(struct pe_ids_finding *finding,
                                          const struct pe_ids_spec *spec, const double *ids,
                                          unsigned axes, struct pe_work *work,
                                          struct pe_error *err);

/* Estimated nanoseconds of one core for pe_ids_fill; and at most, for pe_ids_diagnose. */
PE_API double pe_ids_work(const struct pe_ids_spec *spec);
PE_API double pe_ids_diagnosis_work(const struct pe_ids_spec *spec);

PE_DECLARATIONS_END

#endif
