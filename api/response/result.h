/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_RESULT_H
#define API_RESPONSE_RESULT_H

/* The result of a handler, filled in by its two phases (api/routes/handler.h). Handlers never
 * render: the pipeline or the negotiated format makes a body of the result. */

#include "api/request/request.h"
#include "posenc/views.h"

/* The kinds of results. One more kind is a constant here, its members below, its limits in judge.c
 * and a case in finish.c. */
enum api_result_kind {
    API_TENSORS, /* named outputs, filled by rows in the format that was negotiated */
    API_REPORT,  /* a JSON value */
    API_MEDIA,   /* bytes of one media type, whole: the contract, metrics */
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

    /* Judged, and set by `open`. */
    struct api_width widths[API_WIDTHS_MAX];
    size_t widths_count;
    double work;       /* nanoseconds that it takes beside its outputs' elements, about */
    uint64_t elements; /* a report: how many elements it is made of; tensors: counted by outputs */
    uint64_t memory;   /* bytes that the work holds, beside what it takes from the arena */
    const char *subject; /* of a sentence about limits: "the attention"; NULL: "the answer" */
    const char *advice;  /* where it takes too long: "send fewer keys"; NULL: that of views */
    bool at_hand; /* `prepare` and the body take under about 100 us, because nothing is left to
                     make: a route whose cost is its size is answered on the loop */

    /* Headers. */
    int status;       /* 0: 200 */
    const char *etag; /* quoted; NULL: none. A GET that the client has already is 304 */
    bool tagged; /* a report whose ETag is made of its bytes, where nothing else is known of them */
    const char *cache_control, *location; /* NULL: none */
    const char *content_location; /* the URL whose GET has the same body; NULL: none is known */
    bool bare;                    /* no header of CORS or negotiation: a probe */
    const char *file_stem;        /* "rope_d128_n4096_f16" for Content-Disposition; NULL: none */
    enum api_download download;
    const char *operation, *encoding_name; /* for metrics and logs; NULL: none */
    enum pe_dtype dtype;                   /* likewise */

    /* API_TENSORS: outputs by `open`, in_place and scalars by `prepare`. */
    const struct pe_output *outputs;
    size_t outputs_count;
    /* Writes rows of one output to out. False: failed, the answer can only be cut. */
    bool (*fill)(struct api_result *result, size_t output, size_t row_begin, size_t row_end,
                 void *out);
    bool first_leads; /* the first output is what was asked for, the others go with it: a format of
                         one tensor may leave them out */
    bool pure;        /* rows may be asked for again: a plan; else each exactly once: a job */
    bool cheap;       /* rows may be filled on a loop where api_blocks_are_cheap: in memory alone */
    bool flat, base64;        /* JSON: how data is written */
    size_t rows_together;     /* cuts between fills fall on multiples of this; 0 means 1 */
    unsigned char **in_place; /* one an output: fill works on the rows there and ignores `out`, so a
                                 binary format can send them from there; NULL: not in memory */
    const struct pe_scalar *scalars;
    size_t scalars_count;
    json_t *encoding;            /* resolved name and parameters; borrowed from the arena */
    json_t *attention;           /* what attention did beside it; likewise; NULL: there is none */
    json_t *warnings;            /* array of strings; likewise */
    const struct api_plot *plot; /* how a view is drawn; NULL: the format is no picture */

    /* API_REPORT, by `prepare`: the answer takes it over. NULL: memory is short. */
    json_t *report;

    /* API_MEDIA, by either phase: bytes that live as long as the arena, or longer. */
    const char *media_type; /* NULL: no body */
    const char *policy;     /* Content-Security-Policy of a page; NULL: none */
    const char *coding;     /* that the bytes have already; NULL: none, they may be given one */
    const void *bytes;
    size_t size;
};

/* A tensor format of the answer, or JSON for a report. api/formats/NAME.c, a line in formats.def.
 */
enum api_picture { API_NO_PICTURE, API_VECTORS, API_PIXELS };

struct api_format {
    const char *name;       /* "npy", for ?format= */
    const char *media_type; /* "application/x-npy" */
    const char *extension;  /* of a file: "npy" */
    const char *parameters; /* of the media type: "; charset=utf-8"; NULL: none */
    const char *policy;     /* Content-Security-Policy; NULL: none */
    bool binary;            /* elements of fixed width: of a known length, not coded, in ranges */
    bool is_file; /* saved by a browser, unless told otherwise; holds tensors and no words,
                     which stand in Encoding-* headers */
    bool packed;  /* compressed already: not coded */
    enum api_picture picture; /* of views alone: see struct api_plot */
    double work;              /* nanoseconds of printing an element, about; binary: 0 */
    /* Can it hold these outputs? The error says what can. NULL: it holds any. */
    enum pe_status (*check)(const struct api_result *result, struct pe_error *err);
    /* Sets response->body (and Tensor-* headers). The result lives in the arena. */
    enum pe_status (*render)(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err);
};

/* ---- what all results have in common ----------------------------------------------------------
 */

/* Parameters of every tensor answer: flat, data_format, download (and revision, which views read).
 * A handler gives a set of them to api_bind beside its own, and the result afterwards. The set is
 * freed with the arena. `format` is read before any handler and known to api_bind already. */
void api_answer_params(struct api_request *request, struct pe_params *params);
enum pe_status api_answer_apply(struct api_request *request, struct pe_params *params,
                                struct api_result *result, struct pe_error *err);

/* The parameter "dtype" (the handler lists it in `own`), or the fallback where it is absent. */
enum pe_status api_request_dtype(struct api_request *request, bool takes_bytes,
                                 enum pe_dtype fallback, enum pe_dtype *dtype,
                                 struct pe_error *err);

/* A width for the judge to hold against --dim-max. `where` and `noun` outlive the result. */
void api_result_width(struct api_result *result, const char *where, const char *noun, double width);
/* Adds widths for the parameters dim and heads, where the set has them. */
void api_result_widths(struct api_result *result, const struct pe_params *params);

extern const struct pe_param api_answer_list[]; /* what api_answer_params sets */
extern const size_t api_answer_count;

#endif
