/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <string.h>

#include "api/codings/coding.h"
#include "api/formats/formats.h"
#include "api/handlers/handler.h"
#include "api/pipeline/stages.h"
#include "api/plots/plots.h"
#include "api/response/blocks.h"
#include "api/response/encode.h"

/* ---- limits --------------------------------------------------------------------------------- */

static enum api_status widths_check(const struct api_request *request,
                                    const struct api_result *result, struct api_error *err)
{
    const double most = (double)request->settings->limits.dim_max;

    for (size_t i = 0; i < result->widths_count; i++) {
        const struct api_width *width = &result->widths[i];
        if (width->width > most)
            return api_fail(err, API_TOO_LARGE, width->where,
                            "%s is at most %.0f, the value of --dim-max", width->noun, most);
    }
    return API_OK;
}

struct amounts {
    unsigned __int128 elements, bytes;
    double rendering, work; /* ns: of the pipeline, and of everything */
    double first_work;      /* before the first row */
};

static double sending_work(const struct api_request *request, double bytes)
{
    const struct api_coding *coding = request->response_coding;

    return bytes * (API_SENDING_WORK + (coding ? coding->encode_work : 0));
}

/* Nanoseconds of an element in base64, and of a whole number. */
#define BASE64_WORK 1.0
#define WHOLE_WORK  4.0

/* Nanoseconds of an element that is printed, encoded and sent, about. */
static double rendering_work(const struct api_request *request, const struct api_result *result,
                             enum pe_dtype dtype)
{
    const struct api_format *format = request->format;
    const double size = (double)pe_dtype_info(dtype)->size;
    if (format->binary)
        return sending_work(request, size);
    if (result->base64)
        return BASE64_WORK + sending_work(request, size * 4 / 3);
    return pe_dtype_is_float(dtype)
               ? format->work + sending_work(request, dtype == PE_F64 ? 20 : 11)
               : WHOLE_WORK + sending_work(request, 7);
}

static struct amounts amounts_sum(const struct api_request *request,
                                  const struct api_result *result)
{
    struct amounts amounts = {
        .elements = result->elements, .work = result->work, .first_work = result->work};
    double rows_work = 0, share;

    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        const double drawn = result->plot ? result->plot->share : 1;
        const unsigned __int128 count =
            (unsigned __int128)((double)output->rows * drawn) * output->row_elements;
        amounts.elements += count;
        amounts.rendering += (double)count * rendering_work(request, result, output->dtype);
        rows_work += pe_output_work(output, output->rows) * drawn;
        amounts.work += output->once_work;
        amounts.first_work += api_block_once_work(output);
        amounts.bytes += count * pe_dtype_info(output->dtype)->size;
    }
    if (result->kind == API_MEDIA)
        amounts.work += sending_work(request, (double)result->size);
    if (result->kind != API_TENSORS || amounts.elements == 0 || amounts.bytes > UINT64_MAX)
        return amounts;
    share = api_range_share(request, result, (uint64_t)amounts.bytes);
    amounts.rendering *= share;
    amounts.work += rows_work * share + amounts.rendering;
    return amounts;
}

/* Advice on how to ask for less. */
static const char *advice_of(const struct api_request *request, const struct api_result *result)
{
    if (result->advice)
        return result->advice;
    if (result->kind == API_REPORT)
        return "ask about fewer positions or pairs";
    if (request->format && request->format->binary)
        return "ask for fewer rows (a shorter length, and the next ones from another start) or a "
               "smaller dim; f64 takes longer than f32";
    return "ask for fewer rows (a shorter length, and the next ones from another start) or a "
           "smaller dim; f64 takes longer than f32, and text longer than format=raw";
}

/* Holds the foretold work, and that of the body so far, against --work-max. */
static enum api_status work_check(const struct api_request *request,
                                  const struct api_result *result, double foretold,
                                  struct api_error *err)
{
    const double most = (double)request->settings->limits.work_max;
    const double work = foretold + (double)pe_work_operations(request->work);

    if (work <= most)
        return API_OK;
    return api_fail(err, API_TOO_LARGE, "",
                    "%s would take about %.3g s of one core, more than the %.3g s of --work-max; "
                    "%s",
                    result->subject ? result->subject : "the answer", work / 1e9, most / 1e9,
                    advice_of(request, result));
}

static enum api_status amounts_check(const struct api_request *request,
                                     const struct api_result *result, const struct amounts *amounts,
                                     struct api_error *err)
{
    const struct api_limits *limits = &request->settings->limits;

    if (amounts->bytes > limits->output_max)
        return api_fail(err, API_TOO_LARGE, "",
                        "the answer would have more than %llu bytes, the value of --output-max",
                        (unsigned long long)limits->output_max);
    if (amounts->elements <= limits->json_elements_max || result->kind == API_MEDIA)
        return API_OK;
    if (result->kind == API_REPORT)
        return api_fail(err, API_TOO_LARGE, "",
                        "a %s reports on at most %llu elements, the value of --json-elements-max; "
                        "compare fewer positions at once",
                        result->operation, (unsigned long long)limits->json_elements_max);
    return api_format_elements_check(
        request, amounts->elements < UINT64_MAX ? (uint64_t)amounts->elements : UINT64_MAX, err);
}

static enum api_status format_check(const struct api_request *request,
                                    const struct api_result *result, struct api_error *err)
{
    return result->kind == API_TENSORS && request->format->check
               ? request->format->check(result, err)
               : API_OK;
}

/* ---- what the client has -------------------------------------------------------------------- */

static void not_modified(struct api_intake *intake)
{
    intake->response->status = 304;
    intake->response->head_only = true;
    intake->response->elements = 0;
    atomic_fetch_add_explicit(&intake->request.api->not_modified, 1, memory_order_relaxed);
}

/* Has the client what an ETag names? */
static bool is_fresh(const struct api_request *request, const char *etag)
{
    return etag && api_etag_listed(request->if_none_match, etag);
}

void api_validate(struct api_intake *intake)
{
    if (is_fresh(&intake->request, api_response_field(intake->response, "ETag")))
        not_modified(intake);
}

enum api_status api_report_tag(struct api_intake *intake, struct api_error *err)
{
    const struct api_coding *coding = intake->request.response_coding;
    struct api_response *response = intake->response;
    struct api_hash hash;
    const char *etag;

    api_hash_start(&hash);
    if (coding)
        api_hash_coding(&hash, coding);
    else
        api_hash_text(&hash, NULL);
    api_hash_bytes(&hash, response->body.bytes, (size_t)response->body.size);
    etag = api_hash_etag(&hash, response->arena);
    if (!etag)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the answer");
    api_response_header(response, "ETag", etag);
    api_validate(intake);
    if (response->status == 304)
        response->body = (struct api_body){0};
    return API_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

enum api_status api_judge(struct api_intake *intake, struct api_error *err)
{
    const struct api_request *request = &intake->request;
    const struct api_result *result = &intake->result;
    struct api_response *response = intake->response;
    const struct amounts amounts = amounts_sum(request, result);
    /* Conditions of other methods are about what they change, and their handlers look at them. */
    const bool fresh =
        strcmp(request->route->method, "GET") == 0 && is_fresh(request, result->etag);

    if (result->operation) {
        response->operation = result->operation;
        response->encoding = result->encoding_name ? result->encoding_name : "";
        response->dtype = result->dtype;
    }
    if (widths_check(request, result, err) || amounts_check(request, result, &amounts, err) ||
        (!fresh && work_check(request, result, amounts.work, err)) ||
        format_check(request, result, err))
        return api_failed(err);
    response->head_only = request->head_only;
    if (fresh)
        not_modified(intake);
    /* A report or a text tells its length when it is made, HEAD asks for that. */
    intake->prepares = result->kind == API_TENSORS ? !response->head_only : response->status != 304;
    if (!intake->prepares)
        return API_OK;
    intake->work = amounts.work;
    intake->first_work = api_streams_cheaply(intake) ? amounts.first_work : amounts.work;
    intake->spent = (double)pe_work_operations(request->work);
    response->elements = (uint64_t)amounts.elements;
    if (!api_arena_count(request->arena, result->memory))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the work");
    return api_core(err, pe_work_spend(request->work, (uint64_t)amounts.rendering, &err->core));
}
