/* SPDX-License-Identifier: MIT */

/* The cost of a range is its share of the rows, wherever it begins. */

#include <math.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

enum { SIZE = 20000 * 64 * 4, SHARES = 8 }; /* bytes of TABLE; the share that --work-max allows */

#define TABLE "/v1/encodings/rope/table?dim=64&length=20000&format=raw&step=0.37"

static int status_of(struct api *api, const char *method, const char *target, const char *headers)
{
    OWNED_ANSWER answer = call(api, method, target, headers, NULL);

    return answer.status;
}

static int range_status(struct api *api, const char *target, size_t first, size_t last)
{
    char headers[100];

    snprintf(headers, sizeof(headers), "Range: bytes=%zu-%zu", first, last);
    return status_of(api, "GET", target, headers);
}

static struct api *api_of_work(uint64_t most)
{
    struct api_settings settings = settings_make();

    settings.limits.work_max = most;
    return api_make(&settings);
}

static int posted_status(struct api *api, const char *target, const char *headers, const void *body,
                         size_t size)
{
    OWNED_ANSWER answer = call_bytes(api, "POST", target, headers, body, size);

    return answer.status;
}

/* The least --work-max that grants a request, to a thousandth; body: a POST. */
static uint64_t asked_work(const char *target, const char *headers, const void *body, size_t size)
{
    uint64_t low = 0, high = UINT64_C(1) << 40;

    while (high - low > 1 + high / 1000) {
        const uint64_t middle = low + (high - low) / 2;
        OWNED_API api = api_of_work(middle);
        const int status = body ? posted_status(api, target, headers, body, size)
                                : status_of(api, "GET", target, headers);
        ck_assert_msg(status == 413 || status < 300, "%s: %d", target, status);
        *(status == 413 ? &low : &high) = middle;
    }
    return high;
}

static uint64_t work_of(const char *target)
{
    return asked_work(target, NULL, NULL, 0);
}

/* The longest granted range from a byte on. */
static size_t longest(struct api *api, size_t first)
{
    size_t low = 0, high = SIZE - first + 1;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        const int status = range_status(api, TABLE, first, first + middle - 1);
        ck_assert_msg(status == 413 || status == 206, "%zu bytes from %zu: %d", middle, first,
                      status);
        *(status == 206 ? &low : &high) = middle;
    }
    return low;
}

TEST(a_range_costs_its_share)
{
    const uint64_t whole = work_of(TABLE);
    OWNED_API api = api_of_work(whole / SHARES);
    static const size_t firsts[] = {
        0, 1, 255, 256, 1000003, SIZE / 2, SIZE - SIZE / SHARES * 2 + 3};

    ck_assert_int_eq(status_of(api, "GET", TABLE, NULL), 413);
    for (size_t i = 0; i < COUNT_OF(firsts); i++) {
        const double share = (double)longest(api, firsts[i]) / SIZE;
        ck_assert_msg(fabs(share * SHARES - 1) < 0.1, "from byte %zu: %g of the answer granted",
                      firsts[i], share);
    }
    ck_assert_int_eq(range_status(api, TABLE, SIZE - 400, SIZE + 1000), 206);
    ck_assert_int_eq(range_status(api, TABLE, SIZE / 2 + 1, SIZE + 1000), 413);
}

/* A range of a few bytes costs all rows that it touches. */
TEST(rows_that_are_touched_are_paid)
{
    static const char target[] = "/v1/encodings/sinusoidal/table?dim=65536&length=4&format=raw";
    enum { ROW = 65536 * 4 };
    const double whole = (double)work_of(target);
    const double one = (double)asked_work(target, "Range: bytes=0-9", NULL, 0);
    char headers[100];

    snprintf(headers, sizeof(headers), "Range: bytes=%d-%d", ROW - 5, ROW + 4);
    const double two = (double)asked_work(target, headers, NULL, 0);
    ck_assert_msg(fabs((two - one) * 3 / (whole - one) - 1) < 0.05,
                  "of 4 rows: one costs %g, two cost %g, all cost %g", one, two, whole);
}

/* Anything but a range of a pure binary answer costs all of it; HEAD costs nothing. */
TEST(what_else_costs_all)
{
    const uint64_t whole = work_of(TABLE);
    OWNED_API api = api_of_work(whole / SHARES);
    static const char *const all[] = {"Range: rows=0-9",  "Range: bytes=0-9,20-29",
                                      "Range: bytes=9-0", "Range: bytes=99999999999-",
                                      "Range: bytes=-0",  "Range: bytes=0-9\nIf-Range: \"other\""};

    for (size_t i = 0; i < COUNT_OF(all); i++)
        ck_assert_msg(status_of(api, "GET", TABLE, all[i]) == 413, "%s is granted", all[i]);
    ck_assert_int_eq(status_of(api, "HEAD", TABLE, NULL), 200);
    ck_assert_int_eq(status_of(api, "GET", TABLE, "Range: bytes=-9"), 206);
    ck_assert_int_eq(status_of(api, "GET", TABLE, "Range: bytes=0-9"), 206);
    OWNED_ANSWER head = call(api, "HEAD", TABLE, NULL, NULL);
    char headers[200];
    snprintf(headers, sizeof(headers), "Range: bytes=0-9\nIf-Range: %s",
             answer_header(&head, "ETag"));
    ck_assert_int_eq(status_of(api, "GET", TABLE, headers), 206);
}

/* An answer that has no ranges costs all of it: a POST of a view, and one of tensors. */
TEST(an_answer_without_ranges_costs_all)
{
    static const char *const targets[] = {
        TABLE,
        "/v1/encodings/sinusoidal/table?dim=64&length=20000&format=raw",
        "/v1/layout?from_layout=half&to_layout=interleaved&kind=table&format=raw",
        "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0&format=raw",
    };
    enum { BODY = 1 << 20 };
    static const char tensor[] = "Content-Type: application/octet-stream\n"
                                 "Tensor-Dtype: f32\nTensor-Shape: 1,2,2048,64";
    unsigned char *bytes = calloc(1, BODY);

    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        const bool is_view = strstr(targets[i], "/encodings/");
        const char *type = is_view ? "Content-Type: application/json" : tensor;
        const void *body = is_view ? (const void *)"{}" : bytes;
        const size_t size = is_view ? 2 : BODY;
        const uint64_t whole = asked_work(targets[i], type, body, size);
        OWNED_API api = api_of_work(whole / SHARES);
        char headers[200];
        snprintf(headers, sizeof(headers), "%s\nRange: bytes=0-9", type);
        ck_assert_msg(posted_status(api, targets[i], headers, body, size) == 413,
                      "POST %s with a range is granted", targets[i]);
    }
    free(bytes);
}

/* Text has no ranges: a requested one costs all of it. */
TEST(text_costs_all)
{
    static const char target[] = "/v1/encodings/rope/table?dim=64&length=2000&format=csv";
    OWNED_API api = api_of_work(work_of(target) / SHARES);

    ck_assert_int_eq(status_of(api, "GET", target, "Range: bytes=0-9"), 413);
}
