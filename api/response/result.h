/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_RESULT_H
#define API_RESPONSE_RESULT_H

/* The result of a handler, set by its two phases (api/routes/handler.h). The pipeline or the
 * negotiated format makes the body. */

#include "api/request/request.h"
#include "posenc/views.h"

/* A new kind of result has a constant and members here, limits in routes/result_limits.c and a case
 * in pipeline/finish.c. */
enum api_result_kind {
    API_TENSORS, /* named outputs, filled by rows in the negotiated format */
    API_REPORT,  /* a JSON value */
    API_MEDIA,   /* bytes of a media type: the contract, metrics */
};

enum api_download { API_DOWNLOAD_DEFAULT, API_DOWNLOAD_YES, API_DOWNLOAD_NO };

/* A parameter, or the width of a row, that --dim-max bounds. */
struct api_width {
    const char *where; /* "parameter:dim" */
    const char *noun;  /* "dim" */
    double width;
};

enum { API_WIDTHS_MAX = 4 };

struct api_plot;

struct api_result {
    enum api_result_kind kind;
    void *state; /* the handler's, in the arena */

    /* Checked against limits; set by `open`. */
    struct api_width widths[API_WIDTHS_MAX];
    size_t widths_count;
    double work;       /* estimated nanoseconds, without those of the outputs' elements */
    uint64_t elements; /* of a report: elements that it is computed from; tensors: of the outputs */
    uint64_t memory;   /* bytes that the computation holds, without those of the arena */
    const char *subject; /* of a sentence about limits: "the attention"; NULL: "the answer" */
    const char *advice;  /* if it takes too long: "send fewer keys"; NULL: that of views */
    bool quick;          /* `prepare` and the body take less than about 100 us: a route of
                            API_COST_MAYBE_QUICK is answered on the loop */

    /* Headers. */
    int status;                           /* 0: 200 */
    const char *etag;                     /* quoted; NULL: none */
    bool tagged;                          /* a report whose ETag is made of its bytes */
    const char *cache_control, *location; /* NULL: none */
    const char *content_location;         /* the URL whose GET has the same body; NULL: unknown */
    bool bare;                            /* a probe, without the fields of CORS and negotiation */
    const char *file_stem; /* "rope_d128_n4096_f16" for Content-Disposition; NULL: none */
    enum api_download download;
    const char *operation, *encoding_name; /* for metrics and logs; NULL: none */
    enum pe_dtype dtype;                   /* likewise */

    /* API_TENSORS: outputs by `open`, in_place and scalars by `prepare`. */
    const struct pe_output *outputs;
    size_t outputs_count;
    /* Writes rows of one output to out. False: failed, and the connection must be closed. */
    bool (*fill)(struct api_result *result, size_t output, size_t row_begin, size_t row_end,
                 void *out);
    bool first_leads; /* the other outputs accompany the first: a format of one tensor may drop
                         them */
    bool pure;        /* rows can be filled again (API_PLAN); else exactly once (API_JOB) */
    bool cheap; /* filling only computes in memory: the loop may do it if api_blocks_are_cheap */
    bool flat, base64;        /* JSON: how data is written */
    size_t rows_together;     /* rows are filled in multiples of this; 0 means 1 */
    unsigned char **in_place; /* one for each output: fill works on the rows there and ignores
                                 `out`, so a binary format can send them from there; NULL: none */
    const struct pe_scalar *scalars;
    size_t scalars_count;
    json_t *encoding;            /* resolved name and parameters; borrowed from the arena */
    json_t *attention;           /* the report of attention; likewise; NULL: none */
    json_t *golden;              /* the description of a golden file; likewise; NULL: none */
    json_t *warnings;            /* array of strings; likewise */
    const struct api_plot *plot; /* how a view is drawn; NULL: the format is no picture */

    /* API_REPORT, by `prepare`: the answer owns it. NULL: out of memory. */
    json_t *report;
    bool has_points; /* its whole real numbers are written as 4.0 */

    /* API_MEDIA, by either phase: bytes that live at least as long as the arena. */
    const char *media_type; /* NULL: no body */
    const char *policy;     /* Content-Security-Policy of a page; NULL: none */
    const char *coding;     /* of the bytes; NULL: none, and they may be encoded */
    const void *bytes;
    size_t size;
};

enum api_picture { API_NO_PICTURE, API_VECTORS, API_PIXELS };

/* A format of tensor answers: api/formats/NAME.c, and a line in formats.def. */
struct api_format {
    const char *name;       /* "npy", for ?format= */
    const char *media_type; /* "application/x-npy" */
    const char *extension;  /* of a file: "npy" */
    const char *parameters; /* of the media type: "; charset=utf-8"; NULL: none */
    const char *policy;     /* Content-Security-Policy; NULL: none */
    bool binary;            /* elements of fixed width: a known length, ranges, no coding */
    bool is_file; /* saved by browsers by default; contains tensors alone, so that parameters and
                     warnings are in Encoding-* headers */
    bool packed;  /* compressed, so no coding */
    enum api_picture picture; /* for views alone: see struct api_plot */
    double work;              /* estimated nanoseconds of printing an element; binary: 0 */
    /* Can it contain these outputs? The error suggests another format. NULL: any. */
    enum pe_status (*check)(const struct api_result *result, struct pe_error *err);
    /* Sets response->body and Tensor-* fields. The result lives in the arena. */
    enum pe_status (*render)(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err);
};

/* ---- parameters of all tensor answers ------------------------------------------------------- */

/* flat, data_format, download and revision. A handler passes this set to api_bind beside its own,
 * and applies it to the result afterwards. The arena frees it. `format` is read before handlers. */
void api_answer_params(struct api_request *request, struct pe_params *params);
enum pe_status api_answer_apply(struct api_request *request, struct pe_params *params,
                                struct api_result *result, struct pe_error *err);

/* The parameter "dtype", which the handler lists in `own`, or the fallback. */
enum pe_status api_request_dtype(struct api_request *request, bool takes_bytes,
                                 enum pe_dtype fallback, enum pe_dtype *dtype,
                                 struct pe_error *err);

/* Adds a width to be checked against --dim-max. `where` and `noun` outlive the result. */
void api_result_width(struct api_result *result, const char *where, const char *noun, double width);
/* Adds the widths of the parameters dim and heads, if they are set. */
void api_result_widths(struct api_result *result, const struct pe_params *params);

extern const struct pe_param api_answer_list[]; /* the set of api_answer_params */
extern const size_t api_answer_count;

#endif
