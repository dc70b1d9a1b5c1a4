/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_RESULT_H
#define API_RESPONSE_RESULT_H

/* What a handler hands back. It never renders: it fills in a struct api_result, and the negotiated
 * format makes a body of it. */

#include "api/request/request.h"
#include "posenc/views.h"

/* Named tensors that an answer consists of. */
struct api_result {
    const struct pe_output *outputs;
    size_t outputs_count;
    /* Writes rows of one output to out. False: failed, the answer can only be cut. */
    bool (*fill)(struct api_result *result, size_t output, size_t row_begin, size_t row_end,
                 void *out);
    bool first_leads; /* the first output is what was asked for, the others go with it: a format of
                         one tensor may leave them out */
    bool pure;        /* rows may be asked for again: a plan; else each exactly once: a job */
    unsigned char **in_place; /* one an output: fill works on the rows there and ignores `out`, so a
                                 binary format can send them from there; NULL: not in memory */
    size_t rows_together;     /* cuts between fills fall on multiples of this; 0 means 1 */
    bool cheap;               /* a quarter of a megabyte takes under about 100 us to fill */
    const struct pe_scalar *scalars;
    size_t scalars_count;
    json_t *encoding;      /* resolved name and parameters; borrowed from the arena */
    json_t *warnings;      /* array of strings */
    const char *file_stem; /* "rope_d128_n4096_f16" for Content-Disposition */
    enum { API_DOWNLOAD_DEFAULT, API_DOWNLOAD_YES, API_DOWNLOAD_NO } download;
    bool flat, base64; /* JSON: how data is written */
    void *state;       /* the handler's; freed by the arena */
};

/* A tensor format of the answer, or JSON for a report. api/formats/NAME.c, a line in formats.def.
 */
struct api_format {
    const char *name;       /* "npy", for ?format= */
    const char *media_type; /* "application/x-npy" */
    const char *extension;  /* of a file: "npy" */
    bool binary;            /* Encoding-* headers, Accept-Ranges, attachment */
    /* Can it hold these outputs? The error says what can. */
    enum api_status (*check)(const struct api_result *result, struct api_error *err);
    /* Sets response->body (and Tensor-* headers). The result lives in the arena. */
    enum api_status (*render)(struct api_request *request, struct api_result *result,
                              struct api_response *response, struct api_error *err);
};

/* ---- what all results have in common ----------------------------------------------------------
 */

/* Parameters of every tensor answer: flat, data_format, download (and revision, which views read).
 * A handler gives a set of them to api_bind beside its own, and the result afterwards. The set is
 * freed with the arena. `format` is read before any handler and known to api_bind already. */
void api_answer_params(struct api_request *request, struct pe_params *params);
enum api_status api_answer_apply(struct api_request *request, struct pe_params *params,
                                 struct api_result *result, struct api_error *err);

/* The parameter "dtype" (the handler lists it in `own`), or the fallback where it is absent. */
enum api_status api_request_dtype(struct api_request *request, enum pe_dtype fallback,
                                  enum pe_dtype *dtype, struct api_error *err);

/* Is the answer within --output-max, --json-elements-max and --work-max? Before any work; sets
 * response->elements. The formats' own `check` comes after it, by the caller of the handler. */
enum api_status api_result_check(struct api_request *request, const struct api_result *result,
                                 struct api_response *response, struct api_error *err);

extern const struct pe_param api_answer_list[]; /* what api_answer_params sets */
extern const size_t api_answer_count;

#endif
