/* SPDX-License-Identifier: MIT */

/* posenc/service.h: settings, wrong arguments, bodies in pieces, cancellation. The answers
 * themselves are compared with posencd's by tests/recorded. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "posenc/service.h"
#include "tests/check_main.h"

OWNED(service, struct pe_service *, pe_service_free(*it))
OWNED(request, struct pe_request *, pe_request_free(*it))
#define OWNED_SERVICE OWNER(service) struct pe_service *
#define OWNED_REQUEST OWNER(request) struct pe_request *

#define TABLE "/v1/encodings/sinusoidal/table?dim=512&format=npy&length="

static struct pe_service *service_make(const char *threads)
{
    const struct pe_setting setting = {"threads", threads};
    const struct pe_service_options options =
        SIZED(pe_service_options, .settings = &setting, .settings_count = 1);
    struct pe_service *service;
    struct pe_error err = {0};

    ck_assert_msg(pe_service_new(&service, &options, &err) == PE_OK, "%s", err.detail);
    return service;
}

static struct pe_request *request_make(struct pe_service *service, const char *method,
                                       const char *target, uint64_t length)
{
    const struct pe_request_head head =
        SIZED(pe_request_head, .method = method, .target = target, .body_length = length);
    struct pe_request *request;
    struct pe_error err = {0};

    ck_assert_int_eq(pe_request_new(&request, service, &head, &err), PE_OK);
    return request;
}

/* ---- settings -------------------------------------------------------------------------------- */

TEST(every_setting_takes_its_fallback)
{
    struct pe_setting settings[64];
    size_t count = 0;

    for (const struct pe_setting_info *info; (info = pe_service_setting(count)); count++) {
        ck_assert(*info->takes && *info->doc);
        settings[count] = (struct pe_setting){info->name, info->fallback};
    }
    ck_assert_uint_gt(count, 15);
    const struct pe_service_options options =
        SIZED(pe_service_options, .settings = settings, .settings_count = count);
    OWNED_SERVICE service = NULL;
    ck_assert_int_eq(pe_service_new(&service, &options, &(struct pe_error){0}), PE_OK);
}

TEST(settings_that_are_refused)
{
    static const struct {
        struct pe_setting settings[2];
        enum pe_status status;
        const char *where, *says;
    } rows[] = {
        {{{"threads", "2"}, {"threads", "two"}}, PE_INVALID, "setting:threads", "whole number"},
        {{{"threads", "2000"}, {"dim-max", "8"}}, PE_OUT_OF_RANGE, "", "up to 1024"},
        {{{"port", "80"}, {"dim-max", "8"}}, PE_NOT_FOUND, "setting:port", "no setting"},
        {{{NULL, "80"}, {"dim-max", "8"}}, PE_NOT_FOUND, "setting:", "no setting"},
        {{{"dim-max", NULL}, {"threads", "1"}}, PE_INVALID, "setting:dim-max", "got ''"},
        {{{"base-path", "x"}, {"threads", "1"}}, PE_OUT_OF_RANGE, "", "begins with /"},
        {{{"tables", "/nowhere/at/all"}, {"threads", "1"}}, PE_INTERNAL, "", "/nowhere"},
    };
    struct pe_service *service;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct pe_service_options options =
            SIZED(pe_service_options, .settings = rows[i].settings, .settings_count = 2);
        struct pe_error err = {0};
        ck_assert_int_eq(pe_service_new(&service, &options, &err), rows[i].status);
        ck_assert_ptr_null(service);
        ck_assert_str_eq(err.where, rows[i].where);
        ck_assert_ptr_nonnull(strstr(err.detail, rows[i].says));
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

TEST(structs_that_are_filled_in_wrongly)
{
    OWNED_SERVICE service = service_make("1");
    const struct pe_request_head heads[] = {
        {.method = "GET", .target = "/v1"},
        SIZED(pe_request_head, .target = "/v1"),
        SIZED(pe_request_head, .method = "GET"),
        SIZED(pe_request_head, .method = "GET", .target = "/v1", .fields_count = 1),
    };
    const struct pe_service_options unsized = {0};

    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        struct pe_request *request;
        struct pe_error err = {0};
        ck_assert_int_eq(pe_request_new(&request, service, &heads[i], &err), PE_INVALID);
        ck_assert_ptr_null(request);
        ck_assert_str_ne(err.detail, "");
    }
    struct pe_service *none;
    ck_assert_int_eq(pe_service_new(&none, &unsized, &(struct pe_error){0}), PE_INVALID);
    pe_service_free(NULL);
    pe_request_free(NULL);
}

/* A refused head takes no body, and finishing it twice gives one response. */
TEST(a_refusal_is_a_response)
{
    OWNED_SERVICE service = service_make("1");
    OWNED_REQUEST request = request_make(service, "POST", "/v1/nothing", 4);
    const struct pe_response *response;

    ck_assert(!pe_request_feed(request, "body", 4));
    response = pe_request_finish(request);
    ck_assert_int_eq(response->status, 404);
    ck_assert_str_eq(response->problem, "not-found");
    ck_assert_str_eq(pe_response_field(response, "CONTENT-type"), "application/problem+json");
    ck_assert_ptr_null(pe_response_field(response, "Content-Length"));
    ck_assert_ptr_eq(pe_request_finish(request), response);

    OWNED_REQUEST long_one = request_make(service, "POST", "/v1/layout", 2);
    ck_assert(pe_request_feed(long_one, "{}", 2) && !pe_request_feed(long_one, "x", 1));
    ck_assert_int_eq(pe_request_finish(long_one)->status, 400);
}

static bool collect(void *context, const void *bytes, size_t size)
{
    FILE *file = context;

    return fwrite(bytes, 1, size, file) == size;
}

/* Reads 20 MB, streamed: by a sink, in runs, and in pieces of 1000 bytes alternating with runs. */
TEST_LOOP(2, each_way_to_read_gives_the_same)
{
    OWNED_SERVICE service = service_make(_i ? "3" : "1");
    OWNED_MEMORY char *whole = NULL, *pieces = NULL;
    size_t sizes[2], room[1] = {0};
    const void *run;
    FILE *files[2] = {open_memstream(&whole, &sizes[0]), open_memstream(&pieces, &sizes[1])};

    OWNED_REQUEST drained = request_make(service, "GET", TABLE "10000", 0);
    const uint64_t length = pe_request_finish(drained)->length;
    ck_assert_int_eq(pe_request_drain(drained, collect, files[0]), PE_OK);
    OWNED_REQUEST read = request_make(service, "GET", TABLE "10000", 0);
    ck_assert(pe_request_finish(read)->has_body);
    for (unsigned turn = 0; turn == 0 || *room > 0; turn++) {
        char buffer[1000];
        if (turn % 7 == 6) {
            ck_assert_int_eq(pe_request_next(read, &run, room), PE_OK);
        } else {
            ck_assert_int_eq(pe_request_read(read, buffer, sizeof(buffer), room), PE_OK);
            run = buffer;
        }
        fwrite(run, 1, *room, files[1]);
    }
    ck_assert(fclose(files[0]) == 0 && fclose(files[1]) == 0);
    ck_assert(sizes[0] == length && sizes[1] == length);
    ck_assert_mem_eq(whole, pieces, length);
    ck_assert_int_eq(pe_request_read(read, NULL, 0, room), PE_OK);
}

TEST(head_has_a_length_and_no_body)
{
    OWNED_SERVICE service = service_make("1");
    OWNED_REQUEST request = request_make(service, "HEAD", TABLE "10000", 0);
    const struct pe_response *response = pe_request_finish(request);
    const void *run;
    size_t size;

    ck_assert(!response->has_body && response->length > 20000000);
    ck_assert_int_eq(pe_request_next(request, &run, &size), PE_OK);
    ck_assert_uint_eq(size, 0);
}

/* A range is that part of the whole answer: of short bodies and of one that
 * is made in batches. */
TEST_LOOP(2, ranges_are_parts_of_the_whole)
{
    static const char *const targets[] = {"/v1/encodings/rope/table?dim=64&length=9&format=raw",
                                          "/v1/encodings/rope/table?dim=8&length=9&format=npy",
                                          TABLE "10000"};
    static const char *const ranges[] = {"bytes=0-0", "bytes=0-79", "bytes=79-131", "bytes=3-200",
                                         "bytes=100-"};
    OWNED_SERVICE service = service_make(_i ? "3" : "1");

    for (size_t i = 0; i < COUNT_OF(targets) * COUNT_OF(ranges); i++) {
        const struct pe_field field = {"Range", ranges[i % COUNT_OF(ranges)]};
        const struct pe_request_head head =
            SIZED(pe_request_head, .method = "GET", .target = targets[i / COUNT_OF(ranges)],
                  .fields = &field, .fields_count = 1);
        OWNED_MEMORY char *whole = NULL, *part = NULL;
        size_t size, got;
        FILE *files[2] = {open_memstream(&whole, &size), open_memstream(&part, &got)};
        struct pe_request *ranged;
        OWNED_REQUEST all = request_make(service, "GET", head.target, 0);
        ck_assert_int_eq(pe_request_finish(all)->status, 200);
        ck_assert_int_eq(pe_request_drain(all, collect, files[0]), PE_OK);
        ck_assert_int_eq(pe_request_new(&ranged, service, &head, &(struct pe_error){0}), PE_OK);
        ck_assert_int_eq(pe_request_finish(ranged)->status, 206);
        ck_assert_int_eq(pe_request_drain(ranged, collect, files[1]), PE_OK);
        pe_request_free(ranged);
        ck_assert(fclose(files[0]) == 0 && fclose(files[1]) == 0);
        size_t first = 0, last = size - 1;
        sscanf(field.value, "bytes=%zu-%zu", &first, &last);
        ck_assert_msg(got == last - first + 1, "%s of %s: %zu bytes", field.value, head.target,
                      got);
        ck_assert_mem_eq(part, whole + first, got);
    }
}

/* ---- stored tables --------------------------------------------------------------------------- */

static struct pe_service *on_folder(const char *folder, const char *poll, const char *writes)
{
    const struct pe_setting settings[] = {
        {"threads", "1"}, {"tables", folder}, {"tables-poll", poll}, {"anonymous-writes", writes}};
    const struct pe_service_options options =
        SIZED(pe_service_options, .settings = settings, .settings_count = COUNT_OF(settings));
    struct pe_service *service;
    struct pe_error err = {0};

    ck_assert_msg(pe_service_new(&service, &options, &err) == PE_OK, "%s", err.detail);
    return service;
}

/* The status of a request about the table "mine"; a PUT has a safetensors file. */
static int table_ask(struct pe_service *service, const char *method, bool *has_body)
{
    static const struct pe_field type = {"Content-Type", "application/x-safetensors"};
    static const char header[] =
        "{\"t\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}";
    static const float rows[2][2] = {{0, 1}, {1, 0}};
    const unsigned char length[8] = {sizeof(header) - 1};
    const bool stores = strcmp(method, "PUT") == 0;
    const size_t size = sizeof(length) + sizeof(header) - 1 + sizeof(rows);
    const struct pe_request_head head =
        SIZED(pe_request_head, .method = method, .target = "/v1/encodings/mine", .fields = &type,
              .fields_count = stores, .body_length = stores ? size : 0);
    struct pe_request *made;

    ck_assert_int_eq(pe_request_new(&made, service, &head, &(struct pe_error){0}), PE_OK);
    OWNED_REQUEST request = made;
    if (stores)
        ck_assert(pe_request_feed(request, length, sizeof(length)) &&
                  pe_request_feed(request, header, sizeof(header) - 1) &&
                  pe_request_feed(request, rows, sizeof(rows)));
    const struct pe_response *response = pe_request_finish(request);
    *has_body = response->has_body;
    return response->status;
}

/* What another service stores is found when this one is tended, but not without a poll; 204 has no
 * body, which other answers have. */
TEST(tables_that_others_store)
{
    char folder[] = "/tmp/posenc-library-XXXXXX", path[64];
    bool has_body;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    {
        OWNED_SERVICE writer = on_folder(folder, "0", "true");
        OWNED_SERVICE polls = on_folder(folder, "60m", "false");
        OWNED_SERVICE never = on_folder(folder, "0", "false");
        ck_assert_int_eq(table_ask(writer, "PUT", &has_body), 201);
        ck_assert(has_body);
        pe_service_tend(polls);
        pe_service_tend(never);
        ck_assert_int_eq(table_ask(polls, "GET", &has_body), 200);
        ck_assert(has_body);
        ck_assert_int_eq(table_ask(never, "GET", &has_body), 404);
        ck_assert_int_eq(table_ask(writer, "DELETE", &has_body), 204);
        ck_assert(!has_body);
        ck_assert_int_eq(table_ask(writer, "OPTIONS", &has_body), 204);
        ck_assert(!has_body);
    }
    snprintf(path, sizeof(path), "rm -r %s", folder);
    ck_assert_int_eq(system(path), 0);
}

/* ---- cancellation ---------------------------------------------------------------------------- */

static void *cancel_soon(void *request)
{
    usleep(20000);
    pe_request_cancel(request);
    return NULL;
}

/* Cancels before the end; from another thread while it is read; and frees it partly read. */
TEST_LOOP(2, requests_that_are_given_up)
{
    OWNED_SERVICE service = service_make(_i ? "3" : "1");
    OWNED_REQUEST early = request_make(service, "GET", TABLE "10000", 0);
    pthread_t thread;

    pe_request_cancel(early);
    ck_assert_int_eq(pe_request_finish(early)->status, 503);

    OWNED_REQUEST stream = request_make(service, "GET", TABLE "10000000", 0);
    const void *run;
    size_t size, runs = 0;
    ck_assert_int_eq(pe_request_finish(stream)->status, 200);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_soon, stream), 0);
    while (pe_request_next(stream, &run, &size) == PE_OK)
        ck_assert(++runs < 100000 && size > 0);
    ck_assert_int_eq(pe_request_next(stream, &run, &size), PE_CANCELLED);
    pthread_join(thread, NULL);

    OWNED_REQUEST left = request_make(service, "GET", TABLE "10000000", 0);
    ck_assert_int_eq(pe_request_finish(left)->status, 200);
    ck_assert_int_eq(pe_request_next(left, &run, &size), PE_OK);
    pe_service_tend(service);
}

/* ---- a borrowed body ------------------------------------------------------------------------- */

static struct pe_request *rotation_make(struct pe_service *service)
{
    static const struct pe_field fields[] = {{"Content-Type", "application/octet-stream"},
                                             {"Tensor-Dtype", "f32"},
                                             {"Tensor-Shape", "2,1,4"}};
    const struct pe_request_head head =
        SIZED(pe_request_head, .method = "POST", .body_length = PE_LENGTH_UNKNOWN,
              .target = "/v1/rotation?encoding=rope&layout=half&axes=shd&start=0", .fields = fields,
              .fields_count = COUNT_OF(fields));
    struct pe_request *request;

    ck_assert_int_eq(pe_request_new(&request, service, &head, &(struct pe_error){0}), PE_OK);
    return request;
}

TEST(a_rotation_is_made_where_its_body_lies)
{
    const float turned[8] = {1, 0, 0, 0, 0x1.14a28p-1f, 0, 0x1.aed548p-1f, 0};
    float q[8] = {1, 0, 0, 0, 1, 0, 0, 0};
    OWNED_SERVICE service = service_make("1");
    OWNED_REQUEST request = rotation_make(service);
    const void *run;
    size_t size;

    ck_assert(pe_request_lend(request, q, sizeof(q)));
    ck_assert_int_eq(pe_request_finish(request)->status, 200);
    ck_assert(pe_request_finish(request)->in_place && q[4] == 1);
    ck_assert_int_eq(pe_request_next(request, &run, &size), PE_OK);
    ck_assert(run == q && size == sizeof(q));
    for (size_t i = 0; i < COUNT_OF(q); i++)
        ck_assert_float_eq_tol(q[i], turned[i], 1e-6f);
}

static struct pe_request *lent_make(struct pe_service *service, const char *target,
                                    const char *dtype, const char *shape, void *bytes, size_t size)
{
    const struct pe_field fields[] = {{"Content-Type", "application/octet-stream"},
                                      {"Tensor-Dtype", dtype},
                                      {"Tensor-Shape", shape}};
    const struct pe_request_head head =
        SIZED(pe_request_head, .method = "POST", .body_length = PE_LENGTH_UNKNOWN, .target = target,
              .fields = fields, .fields_count = COUNT_OF(fields));
    struct pe_request *request;

    ck_assert_int_eq(pe_request_new(&request, service, &head, &(struct pe_error){0}), PE_OK);
    ck_assert(pe_request_lend(request, bytes, size));
    return request;
}

/* Borrowed bytes are unchanged until the first byte of the body is read, so that several requests
 * can be finished and freed unread: of each size, in each dtype, and also with cached cos and sin.
 * in_place reports where the body will be. */
TEST(nothing_is_written_before_the_body_is_read)
{
    static const struct {
        const char *dtype, *target;
        size_t element;
        bool in_place;
    } cases[] = {
        {"f32", "", 4, true},
        {"f64", "", 8, true},
        {"f16", "", 2, true},
        {"bf16", "", 2, true},
        {"f32", "&base=77", 4, true},
        {"f32", "&inverse=true", 4, true},
        {"f32", "&dtype=f64", 4, false},
        {"f32", "&dtype=f16", 4, false},
        {"f32", "&format=json", 4, false},
        {"f32", "&format=npy", 4, false},
        {"f32", "&output_layout=interleaved", 4, true},
    };
    static const size_t tokens[] = {1, 2, 64, 4096, 20000};
    static unsigned char bytes[20000 * 4 * 8], before[sizeof(bytes)];
    OWNED_SERVICE service = service_make("2");

    for (size_t i = 0; i < COUNT_OF(cases) * COUNT_OF(tokens) * 2; i++) {
        const size_t n = tokens[i / 2 % COUNT_OF(tokens)], c = i / 2 / COUNT_OF(tokens);
        const size_t size = n * 4 * cases[c].element;
        char target[160], shape[32];
        const void *run;
        size_t run_size;
        memset(bytes, 0x3a, size);
        memcpy(before, bytes, size);
        snprintf(shape, sizeof(shape), "%zu,1,4", n);
        snprintf(target, sizeof(target),
                 "/v1/rotation?encoding=rope&layout=half&axes=shd&start=3%s", cases[c].target);
        OWNED_REQUEST request = lent_make(service, target, cases[c].dtype, shape, bytes, size);
        const struct pe_response *response = pe_request_finish(request);
        ck_assert_msg(response->status == 200, "%s: %d", target, response->status);
        ck_assert_msg(memcmp(bytes, before, size) == 0, "%s %zu: written", target, n);
        ck_assert_msg(response->in_place == cases[c].in_place, "%s %s %zu: in_place %d",
                      cases[c].dtype, target, n, response->in_place);
        if (i % 2)
            continue; /* freed unread */
        ck_assert_int_eq(pe_request_next(request, &run, &run_size), PE_OK);
        ck_assert_int_eq(run == bytes, cases[c].in_place);
        ck_assert(!cases[c].in_place || memcmp(bytes, before, size) != 0);
    }
}

/* More bytes than were lent, more than a body may have, and a route that takes no body. */
TEST(a_body_that_cannot_be_lent)
{
    const struct pe_setting setting = {"body-max", "16"};
    const struct pe_service_options options =
        SIZED(pe_service_options, .settings = &setting, .settings_count = 1);
    struct pe_service *small;
    float q[8] = {1, 0, 0, 0, 1, 0, 0, 0};
    OWNED_SERVICE service = service_make("1");
    OWNED_REQUEST twice = rotation_make(service);

    ck_assert(pe_request_lend(twice, q, sizeof(q)) && !pe_request_lend(twice, q, sizeof(q)));
    ck_assert_int_eq(pe_request_finish(twice)->status, 400);
    OWNED_REQUEST unasked = request_make(service, "GET", "/v1", PE_LENGTH_UNKNOWN);
    ck_assert(pe_request_lend(unasked, q, sizeof(q)));
    ck_assert_int_eq(pe_request_finish(unasked)->status, 200);

    ck_assert_int_eq(pe_service_new(&small, &options, &(struct pe_error){0}), PE_OK);
    OWNED_SERVICE owned = small;
    OWNED_REQUEST large = rotation_make(owned);
    ck_assert(!pe_request_lend(large, q, sizeof(q)));
    ck_assert_str_eq(pe_request_finish(large)->problem, "too-large");
    ck_assert(q[0] == 1 && q[4] == 1);
}
