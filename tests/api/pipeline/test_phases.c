/* SPDX-License-Identifier: MIT */

/* The two phases of a handler, with a handler of this test: each is called at most once, on any
 * thread, and `prepare` is not called for a refused result. */

#include "api/pipeline/pipeline.h"
#include "api/routes/handler.h"
#include "tests/api/harness.h"
#include "tests/check_main.h"

static int opened, prepared;
static struct api_result announced; /* the result of `open` */
static const float row[4] = {1, 2, 3, 4};
static const struct pe_output output = {
    .name = "x", .dtype = PE_F32, .rank = 1, .shape = {4}, .rows = 1, .row_elements = 4};

static bool row_fill(struct api_result *result, size_t index, size_t begin, size_t end, void *out)
{
    (void)result, (void)index;
    ck_assert_int_eq(prepared, 1);
    memcpy(out, row, (end - begin) * sizeof(row));
    return true;
}

static enum pe_status open_once(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    (void)request;
    ck_assert_int_eq(opened++, 0);
    ck_assert_uint_eq(result->outputs_count, 0);
    *result = announced;
    return announced.status < 400 ? PE_OK : pe_fail(err, PE_INVALID, "", "as announced");
}

static enum pe_status prepare_once(struct api_request *request, struct api_result *result,
                                   struct pe_error *err)
{
    (void)request, (void)err;
    ck_assert_int_eq(opened, 1);
    ck_assert_int_eq(prepared++, 0);
    if (result->kind == API_REPORT)
        result->report = json_pack("{si}", "found", 7);
    return PE_OK;
}

static const struct api_handler handler = {open_once, prepare_once};

static struct api_result tensors(void)
{
    return (struct api_result){
        .outputs = &output, .outputs_count = 1, .fill = row_fill, .pure = true};
}

/* An intake of a real route, answered by the handler above. The route is in its arena. */
static struct api_intake *intake_of(struct api *api, const char *method, const char *path,
                                    const char *if_none_match)
{
    struct api_field fields[] = {{"If-None-Match", if_none_match}};
    struct api_head head = {
        .method = method, .path = path, .fields = fields, .fields_count = if_none_match ? 1 : 0};
    struct api_intake *intake = NULL;
    struct api_route *route;

    opened = prepared = 0;
    ck_assert_ptr_null(api_begin(api, &head, &intake));
    route = api_arena_take(intake->request.arena, sizeof(*route));
    *route = *intake->request.route;
    route->handler = &handler;
    intake->request.route = route;
    return intake;
}

static struct api_response *answered(const char *method, const char *path,
                                     const char *if_none_match, struct api *api)
{
    struct api_response *response = api_finish(intake_of(api, method, path, if_none_match));

    ck_assert_int_eq(opened, 1);
    return response;
}

/* The cost is that of all elements and the handler's own; exactly the limit is granted. */
TEST(test_work_of_elements)
{
    static const struct {
        enum api_result_kind kind;
        double element_work, work;
        uint64_t most;
        int status;
    } cases[] = {
        {API_TENSORS, 1e6, 0, 3900000, 413},
        {API_TENSORS, 1e6, 0, 4100000, 200},
        {API_REPORT, 0, 100, 99, 413},
        {API_REPORT, 0, 100, 100, 200},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct api_settings settings = settings_make();
        struct pe_output costly = output;
        settings.limits.work_max = cases[i].most;
        OWNED_API api = api_make(&settings);
        announced = tensors();
        announced.kind = cases[i].kind;
        announced.work = cases[i].work;
        announced.outputs = &costly;
        costly.element_work = cases[i].element_work;
        OWNED_RESPONSE response = answered("POST", "/v1/rotation", NULL, api);
        ck_assert_msg(response->status == cases[i].status, "%zu: %d", i, response->status);
        ck_assert_int_eq(prepared, cases[i].status == 200);
    }
}

/* A request begun on the loop, and finished there or on the pool, makes the same two calls. */
TEST(test_once)
{
    OWNED_API api = api_make(NULL);

    for (int quick = 0; quick < 2; quick++) {
        struct api_intake *intake = intake_of(api, "POST", "/v1/rotation", NULL);
        struct api_response *response;
        announced = tensors();
        announced.quick = quick;
        ck_assert_int_eq(api_intake_cost(intake), API_COST_MAYBE_QUICK);
        response = api_finish_if_quick(intake);
        ck_assert(!response == !quick);
        ck_assert_int_eq(opened, 1);
        ck_assert_int_eq(prepared, quick);
        if (!response)
            response = api_finish(intake);
        ck_assert_int_eq(response->status, 200);
        ck_assert_int_eq(opened + prepared, 2);
        ck_assert_uint_eq(response->elements, 4);
        api_response_free(response);
    }
}

/* The loop computes what takes up to a tenth of a millisecond, if it only computes in memory. */
TEST(test_cheap_results)
{
    static const struct {
        bool cheap;
        double milliseconds;
        bool by_loop;
    } cases[] = {{true, 0.05, true}, {true, 0.11, false}, {true, 1, false}, {false, 0.05, false}};
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct api_intake *intake = intake_of(api, "POST", "/v1/rotation", NULL);
        announced = tensors();
        announced.cheap = cases[i].cheap;
        announced.work = cases[i].milliseconds * 1e6;
        struct api_response *response = api_finish_if_quick(intake);
        ck_assert_msg(!response == !cases[i].by_loop, "row %zu", i);
        if (!response)
            response = api_finish(intake);
        ck_assert_int_eq(response->status, 200);
        api_response_free(response);
    }
}

/* The loop makes blocks of numbers as they are; printing them takes longer, and is the pool's. */
TEST(test_cheap_blocks_are_binary)
{
    static const struct {
        const char *query;
        bool cheap;
    } cases[] = {{"dim=64&length=100000&format=raw", true},
                 {"dim=64&length=100000&format=npy", true},
                 {"dim=64&length=100000&format=json", false},
                 {"dim=64&length=100000&format=csv", false}};
    struct api_settings settings = settings_make();
    settings.limits.json_elements_max = 1 << 24;
    OWNED_API api = api_make(&settings);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct api_head head = {
            .method = "GET", .path = "/v1/encodings/rope/table", .query = cases[i].query};
        OWNED_RESPONSE response = api_handle(api, &head, NULL, 0);
        ck_assert_int_eq(response->status, 200);
        ck_assert_int_eq(response->body.kind, API_PLAN);
        ck_assert_msg(response->body.cheap == cases[i].cheap, "%s", cases[i].query);
    }
}

/* A route that can take any time is not even opened on the loop. */
TEST(test_the_pools_own)
{
    OWNED_API api = api_make(NULL);
    struct api_intake *intake = intake_of(api, "POST", "/v1/layout", NULL);

    announced = tensors();
    announced.quick = true;
    ck_assert_int_eq(api_intake_cost(intake), API_COST_LONG);
    ck_assert_ptr_null(api_finish_if_quick(intake));
    ck_assert_int_eq(opened, 0);
    api_intake_free(intake);
}

/* A prepared document is sent by the loop; encoding it takes longer, and is done on the pool. */
TEST(test_coded_on_the_pool)
{
    static const struct {
        const char *path, *accept_encoding;
        enum api_cost cost;
    } table[] = {
        {"/openapi.json", NULL, API_COST_QUICK},       {"/openapi.json", "gzip", API_COST_LONG},
        {"/openapi.json", "identity", API_COST_QUICK}, {"/livez", "gzip", API_COST_QUICK},
        {"/v1/encodings", NULL, API_COST_LONG},
    };
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct api_field fields[] = {{"Accept-Encoding", table[i].accept_encoding}};
        const struct api_head head = {.method = "GET",
                                      .path = table[i].path,
                                      .fields = fields,
                                      .fields_count = table[i].accept_encoding ? 1 : 0};
        struct api_intake *intake = NULL;
        ck_assert_ptr_null(api_begin(api, &head, &intake));
        ck_assert_int_eq(api_intake_cost(intake), table[i].cost);
        api_intake_free(intake);
    }
}

/* Text of some size takes too long to parse on the loop, with any media type; the same number of
 * binary bytes does not. */
TEST(test_long_text_is_the_pools)
{
    enum { SIZE = 16 << 10 };
    static const struct {
        const char *type;
        bool is_text;
        size_t size;
    } table[] = {
        {"application/json", true, SIZE / 4},      {"application/octet-stream", true, SIZE / 4},
        {"application/json", true, SIZE},          {"application/octet-stream", true, SIZE},
        {"application/octet-stream", false, SIZE},
    };
    static char text[SIZE], numbers[SIZE];
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct api_field fields[] = {{"Content-Type", table[i].type}};
        const struct api_head head = {.method = "POST",
                                      .path = "/v1/rotation",
                                      .fields = fields,
                                      .fields_count = 1,
                                      .content_length = table[i].size};
        struct api_intake *intake = NULL;
        memset(text, ' ', sizeof(text));
        text[0] = '{';
        text[table[i].size - 1] = '}';
        ck_assert_ptr_null(api_begin(api, &head, &intake));
        ck_assert_ptr_null(api_feed(intake, table[i].is_text ? text : numbers, table[i].size));
        struct api_response *response = api_finish_if_quick(intake);
        ck_assert_msg(!response == (table[i].is_text && table[i].size == SIZE), "row %zu", i);
        if (response)
            api_response_free(response);
        else
            api_intake_free(intake);
    }
}

TEST(test_refused_on_the_loop)
{
    OWNED_API api = api_make(NULL);
    struct api_intake *intake = intake_of(api, "POST", "/v1/rotation", NULL);
    struct api_response *response;

    announced = (struct api_result){.status = 422};
    response = api_finish_if_quick(intake);
    ck_assert_ptr_nonnull(response);
    ck_assert_int_eq(response->status, 422);
    ck_assert_int_eq(prepared, 0);
    api_response_free(response);
}

/* One more than a limit allows is refused, and `prepare` is not called. */
TEST(test_limits_come_before_the_work)
{
    struct api_settings settings = settings_make();
    settings.limits.output_max = 16;
    settings.limits.json_elements_max = 4;
    settings.limits.dim_max = 9;
    settings.limits.work_max = 1000;
    settings.limits.memory_budget = 64 << 20;
    OWNED_API api = api_make(&settings);
    static const struct pe_output wider = {.name = "x", .rank = 1, .rows = 1, .row_elements = 5};
    static const struct pe_output slow = {.name = "x",
                                          .dtype = PE_F16,
                                          .rank = 1,
                                          .rows = 1,
                                          .row_elements = 2,
                                          .element_work = 400,
                                          .once_work = 164};
    const struct {
        struct api_result result;
        const char *says; /* NULL: within the limits */
    } table[] = {
        {tensors(), NULL},
        {{.outputs = &wider, .outputs_count = 1}, "--output-max"},
        {{.kind = API_REPORT, .elements = 4}, NULL},
        {{.kind = API_REPORT, .elements = 5, .operation = "comparison"}, "--json-elements-max"},
        {{.kind = API_REPORT, .work = 1000}, NULL},
        {{.kind = API_REPORT, .work = 1001, .subject = "the thing"},
         "the thing would take about 1e-06 s of one core, more than the 1e-06 s of --work-max"},
        {{.kind = API_REPORT, .work = INFINITY}, "--work-max"},
        {{.outputs = &slow, .outputs_count = 1}, "about 1.01e-06 s of one core"},
        {{.kind = API_REPORT, .memory = 1 << 20}, NULL},
        {{.kind = API_REPORT, .memory = 1 << 30}, "--memory-budget"},
        {{.kind = API_REPORT, .widths = {{"parameter:dim", "dim", 9}}, .widths_count = 1}, NULL},
        {{.kind = API_REPORT, .widths = {{"parameter:dim", "dim", 10}}, .widths_count = 1},
         "dim is at most 9"},
    };

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct api_response *response;
        announced = table[i].result;
        response = answered("POST", "/v1/layout", NULL, api);
        ck_assert_int_eq(response->status, table[i].says ? 413 : 200);
        ck_assert_int_eq(prepared, !table[i].says);
        if (table[i].says)
            ck_assert_ptr_nonnull(strstr((const char *)response->body.bytes, table[i].says));
        api_response_free(response);
    }
}

/* `prepare` is skipped only where its result is not sent. */
TEST(test_prepared_where_it_is_seen)
{
    static const struct {
        enum api_result_kind kind;
        const char *method, *if_none_match;
        int status, prepared;
    } table[] = {
        {API_TENSORS, "GET", NULL, 200, 1},     {API_TENSORS, "GET", "\"a\"", 304, 0},
        {API_TENSORS, "GET", "\"b\"", 200, 1},  {API_TENSORS, "HEAD", NULL, 200, 0},
        {API_TENSORS, "HEAD", "\"a\"", 304, 0}, {API_REPORT, "GET", NULL, 200, 1},
        {API_REPORT, "GET", "\"a\"", 304, 0},   {API_REPORT, "HEAD", NULL, 200, 1},
        {API_REPORT, "HEAD", "\"a\"", 304, 0},  {API_MEDIA, "GET", NULL, 200, 1},
        {API_MEDIA, "GET", "W/\"a\"", 304, 0},  {API_MEDIA, "HEAD", NULL, 200, 1},
        {API_TENSORS, "POST", "\"a\"", 200, 1},
    };
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct api_response *response;
        announced = tensors();
        announced.kind = table[i].kind;
        announced.etag = "\"a\"";
        announced.media_type = "text/plain";
        announced.bytes = "text";
        announced.size = 4;
        response = answered(table[i].method, "/v1/layout", table[i].if_none_match, api);
        ck_assert_int_eq(response->status, table[i].status);
        ck_assert_int_eq(prepared, table[i].prepared);
        ck_assert(response->head_only ==
                  (table[i].status == 304 || strcmp(table[i].method, "HEAD") == 0));
        ck_assert_str_eq(api_response_field(response, "ETag"), "\"a\"");
        if (table[i].kind == API_TENSORS)
            ck_assert_uint_eq(response->elements, table[i].prepared ? 4 : 0);
        if (table[i].kind == API_MEDIA && table[i].prepared)
            ck_assert_uint_eq(response->body.size, 4);
        api_response_free(response);
    }
}
