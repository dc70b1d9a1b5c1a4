/* SPDX-License-Identifier: MIT */
#include "api/routes/result_limits.h"

#include "api/codings/coding.h"
#include "api/formats/formats.h"
#include "api/pictures/plot.h"
#include "api/response/blocks.h"
#include "api/response/encode.h"

static enum pe_status widths_check(const struct api_request *request,
                                   const struct api_result *result, struct pe_error *err)
{
    const double most = (double)request->settings->limits.dim_max;

    for (size_t i = 0; i < result->widths_count; i++) {
        const struct api_width *width = &result->widths[i];
        if (width->width > most)
            return pe_fail(err, PE_TOO_LARGE, width->where,
                           "%s is at most %.0f, the value of --dim-max", width->noun, most);
    }
    return PE_OK;
}

static double sending_work(const struct api_request *request, double bytes)
{
    const struct api_coding *coding = request->response_coding;

    return bytes * (API_SENDING_COST + (coding ? coding->encode_cost : 0));
}

/* Nanoseconds of an element in base64, and of an integer. */
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

struct api_amounts api_amounts_of(const struct api_request *request,
                                  const struct api_result *result)
{
    struct api_amounts amounts = {
        .elements = result->elements, .work = result->work, .first_work = result->work};
    double rows_work = 0;

    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        const double drawn = result->plot ? result->plot->fraction : 1;
        const unsigned __int128 count =
            (unsigned __int128)((double)output->rows * drawn) * output->row_elements;
        amounts.elements += count;
        amounts.rendering += (double)count * rendering_work(request, result, output->dtype);
        rows_work += pe_output_work(output, output->rows) * drawn;
        amounts.work += output->once_work;
        amounts.first_work += api_block_once_cost(output);
        amounts.bytes += count * pe_dtype_info(output->dtype)->size;
    }
    if (result->kind == API_MEDIA)
        amounts.work += sending_work(request, (double)result->size);
    if (result->kind == API_TENSORS && amounts.elements > 0 && amounts.bytes <= UINT64_MAX)
        amounts.rows_work = rows_work;
    return amounts;
}

void api_amounts_send(struct api_amounts *amounts, const struct api_result *result, double fraction)
{
    if (result->kind != API_TENSORS || amounts->elements == 0 || amounts->bytes > UINT64_MAX)
        return;
    amounts->rendering *= fraction;
    amounts->work += amounts->rows_work * fraction + amounts->rendering;
}

/* Advice for a smaller request. */
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

/* Compares the estimated cost, and that of the body so far, with --work-max. */
static enum pe_status work_check(const struct api_request *request, const struct api_result *result,
                                 double estimated, struct pe_error *err)
{
    const double most = (double)request->settings->limits.work_max;
    const double work = estimated + (double)pe_work_operations(request->work);

    if (work <= most)
        return PE_OK;
    return pe_fail(err, PE_TOO_LARGE, "",
                   "%s would take about %.3g s of one core, more than the %.3g s of --work-max; "
                   "%s",
                   result->subject ? result->subject : "the answer", work / 1e9, most / 1e9,
                   advice_of(request, result));
}

static enum pe_status amounts_check(const struct api_request *request,
                                    const struct api_result *result,
                                    const struct api_amounts *amounts, struct pe_error *err)
{
    const struct api_limits *limits = &request->settings->limits;

    if (amounts->bytes > limits->output_max)
        return pe_fail(err, PE_TOO_LARGE, "",
                       "the answer would have more than %llu bytes, the value of --output-max",
                       (unsigned long long)limits->output_max);
    if (amounts->elements <= limits->json_elements_max || result->kind == API_MEDIA)
        return PE_OK;
    if (result->kind == API_REPORT)
        return pe_fail(err, PE_TOO_LARGE, "",
                       "a %s reports on at most %llu elements, the value of --json-elements-max; "
                       "compare fewer positions at once",
                       result->operation, (unsigned long long)limits->json_elements_max);
    return api_format_elements_check(
        request, amounts->elements < UINT64_MAX ? (uint64_t)amounts->elements : UINT64_MAX, err);
}

enum pe_status api_limits_check(const struct api_request *request, const struct api_result *result,
                                const struct api_amounts *amounts, bool counts_work,
                                struct pe_error *err)
{
    return widths_check(request, result, err) || amounts_check(request, result, amounts, err) ||
                   (counts_work && work_check(request, result, amounts->work, err))
               ? err->status
               : PE_OK;
}
