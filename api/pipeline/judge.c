/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <string.h>

#include "api/codings/coding.h"
#include "api/formats/formats.h"
#include "api/pictures/plots.h"
#include "api/pipeline/stages.h"
#include "api/response/blocks.h"
#include "api/response/encode.h"
#include "api/routes/handler.h"
#include "api/routes/limits.h"

static enum pe_status format_check(const struct api_request *request,
                                   const struct api_result *result, struct pe_error *err)
{
    return result->kind == API_TENSORS && request->format->check
               ? request->format->check(result, err)
               : PE_OK;
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

enum pe_status api_report_tag(struct api_intake *intake, struct pe_error *err)
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
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    api_response_header(response, "ETag", etag);
    api_validate(intake);
    if (response->status == 304)
        response->body = (struct api_body){0};
    return PE_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

enum pe_status api_judge(struct api_intake *intake, struct pe_error *err)
{
    const struct api_request *request = &intake->request;
    const struct api_result *result = &intake->result;
    struct api_response *response = intake->response;
    struct api_amounts amounts = api_amounts_of(request, result);
    /* Conditions of other methods are about what they change, and their handlers look at them. */
    const bool fresh =
        strcmp(request->route->method, "GET") == 0 && is_fresh(request, result->etag);

    if (amounts.bytes <= UINT64_MAX)
        api_amounts_send(&amounts, result,
                         api_range_share(request, result, (uint64_t)amounts.bytes));
    if (result->operation) {
        response->operation = result->operation;
        response->encoding = result->encoding_name ? result->encoding_name : "";
        response->dtype = result->dtype;
    }
    if (api_limits_check(request, result, &amounts, !fresh, err) ||
        format_check(request, result, err))
        return err->status;
    response->head_only = request->head_only;
    if (fresh)
        not_modified(intake);
    /* A report or a text tells its length when it is made, HEAD asks for that. */
    intake->prepares = result->kind == API_TENSORS ? !response->head_only : response->status != 304;
    if (!intake->prepares)
        return PE_OK;
    intake->work = amounts.work;
    intake->first_work = api_streams_cheaply(intake) ? amounts.first_work : amounts.work;
    intake->spent = (double)pe_work_operations(request->work);
    response->elements = (uint64_t)amounts.elements;
    if (!api_arena_count(request->arena, result->memory))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the work");
    return pe_work_spend(request->work, (uint64_t)amounts.rendering, err);
}
