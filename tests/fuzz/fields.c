/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api/codings/coding.h"
#include "api/pipeline/pipeline.h"
#include "api/response/etag.h"
#include "api/response/response.h"
#include "tests/fuzz/fuzz.h"

static void ranges(struct api_intake *intake, uint64_t size, const char *range, const char *etag)
{
    struct api_response response = {.status = 200, .arena = intake->request.arena};
    struct pe_error err = {0};

    response.body = (struct api_body){.kind = API_PLAN, .size = size};
    api_response_header(&response, "Accept-Ranges", "bytes");
    api_response_header(&response, "ETag", "\"0123\"");
    intake->response = &response;
    intake->request.range = range;
    intake->request.if_range = *etag ? etag : NULL;
    if (api_range_apply(intake, &err) == PE_OK && response.status == 206) {
        FUZZ_CHECK(response.body.size > 0 && response.body.size <= size);
        FUZZ_CHECK(response.body.skip <= size - response.body.size);
    } else {
        FUZZ_CHECK(err.status == PE_OK || err.status == PE_RANGE);
        FUZZ_CHECK(response.body.size == size && response.body.skip == 0);
    }
    api_etag_listed(etag, "\"0123\"");
}

/* A byte that makes a size, and a line each of Range, Accept, Accept-Encoding, Content-Encoding,
 * If-None-Match and If-Range, and the parameter format. */
void fuzz_fields(const uint8_t *data, size_t size)
{
    const uint8_t shift = fuzz_byte(&data, &size);
    char *range = fuzz_line(&data, &size), *accept = fuzz_line(&data, &size),
         *coding = fuzz_line(&data, &size), *coded = fuzz_line(&data, &size),
         *etag = fuzz_line(&data, &size), *format = fuzz_line(&data, &size);
    const struct api_field field = {"Content-Encoding", coded};
    const struct api_head head = {.fields = &field, .fields_count = 1};
    const struct api_coding *of_body = NULL;
    struct pe_error err = {0}, coding_err = {0};
    struct fuzz_request made;
    struct api_intake intake = {.accept = accept, .accept_encoding = coding};
    const char *allow = NULL;

    fuzz_request_open(&made);
    made.request.settings = &(struct api_settings){.base_path = ""};
    intake.request = made.request;
    intake.format_wanted = *format ? format : NULL;
    FUZZ_CHECK(!api_route_find(&intake.request, "/v1/encodings/rope/table", &allow, &err));
    if (api_format_choose(&intake, &err) == PE_OK)
        FUZZ_CHECK(intake.request.format);
    else
        FUZZ_CHECK(err.status == PE_NOT_ACCEPTABLE);
    if (api_coding_find(&head, &of_body, &coding_err))
        FUZZ_CHECK(!of_body && coding_err.status == PE_UNKNOWN_FORMAT);
    ranges(&intake, (1ull << (shift & 63)) - (shift >> 7), range, etag);
    fuzz_request_close(&made);
    free(range);
    free(accept);
    free(coding);
    free(coded);
    free(etag);
    free(format);
}
