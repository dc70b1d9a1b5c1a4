/* SPDX-License-Identifier: MIT */

/* The work of a request: memory and costs charged to it, and its cancellation. */

#include <pthread.h>
#include <time.h>
#include <zlib.h>

#include "api/memory/arena.h"
#include "api/memory/budget.h"
#include "api/memory/json.h"
#include "tests/api/harness.h"
#include "tests/check_main.h"

enum { BUDGET = 32 << 20 };

static struct api *api_with_budget(void)
{
    struct api_settings settings = settings_make();

    settings.limits.memory_budget = BUDGET;
    settings.limits.json_body_max = 1 << 20;
    return api_make(&settings);
}

/* {"a":[{},{},...]}: three bytes per object, whose value takes about two hundred. */
static char *objects(size_t count)
{
    char *text = malloc(3 * count + 10), *at = stpcpy(text, "{\"a\":[{}");

    while (--count > 0)
        at = stpcpy(at, ",{}");
    strcpy(at, "]}");
    return text;
}

static uint64_t held(struct api *api)
{
    return api_state_read(api).memory_held;
}

/* The tree of a body of 30 KB is counted until the response is freed. */
TEST(test_a_tree_is_charged)
{
    OWNED_API api = api_with_budget();
    OWNED_MEMORY char *body = objects(10000);
    struct answer answer = call(api, "POST", "/v1/config", NULL, body);

    ck_assert_int_eq(answer.status, 422);
    ck_assert_uint_gt(held(api), 10000 * 64);
    ck_assert_uint_lt(held(api), 10000 * 500);
    answer_free(&answer);
    ck_assert_uint_eq(held(api), 0);
}

/* A body of 900 KB whose tree exceeds the budget gets 413, and its memory is released. */
TEST(test_a_tree_beyond_the_budget)
{
    OWNED_API api = api_with_budget();
    OWNED_MEMORY char *body = objects(300000);
    struct answer answer = call(api, "POST", "/v1/config", NULL, body);

    ck_assert_int_eq(answer.status, 413);
    ck_assert_ptr_nonnull(strstr(member_text(&answer, "detail"), "--memory-budget"));
    answer_free(&answer);
    ck_assert_uint_eq(held(api), 0);
}

/* Another request holds most of the budget: the tree may fit later. */
TEST(test_a_tree_that_fits_later)
{
    OWNED_API api = api_with_budget();
    struct api_head head = {
        .method = "POST", .path = "/v1/rotation", .query = "", .content_length = 1 << 20};
    OWNED_MEMORY char *body = objects(60000);
    struct api_intake *others[12];
    struct answer answer;

    for (size_t i = 0; i < COUNT_OF(others); i++)
        ck_assert_ptr_null(api_begin(api, &head, &others[i]));
    answer = call(api, "POST", "/v1/config", NULL, body);
    ck_assert_int_eq(answer.status, 503);
    answer_free(&answer);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        api_intake_free(others[i]);
    answer = call(api, "POST", "/v1/config", NULL, body);
    ck_assert_int_eq(answer.status, 422);
    answer_free(&answer);
}

/* Values charged to an owner, and those of others in the same tree. */
TEST(test_owners)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    struct api_arena *arena = api_arena_new(memory);
    struct api_json_owner owner, inner;
    json_t *before, *mine;

    api_json_memory_init();
    before = json_string("made before anybody was charged");
    api_json_own(&owner, arena);
    mine = json_array();
    for (int i = 0; i < 1000; i++)
        json_array_append_new(mine, json_integer(i));
    const uint64_t charged = api_memory_state(memory).held;
    ck_assert_uint_ge(charged, 1000 * 16);
    api_json_own(&inner, NULL);
    for (int i = 0; i < 10000; i++)
        json_array_append_new(mine, json_real(i));
    ck_assert_uint_eq(api_memory_state(memory).held, charged);
    api_json_disown(&inner);
    json_decref(before);
    json_decref(mine);
    api_json_disown(&owner);
    ck_assert_uint_eq(api_memory_state(memory).held, charged);
    api_arena_free(arena);
    ck_assert_uint_eq(api_memory_state(memory).held, 0);
    api_memory_free(memory);
}

/* A thread that makes and frees small trees in succession is charged for one. */
TEST(test_trees_one_after_another)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    struct api_arena *arena = api_arena_new(memory);
    struct api_json_owner owner;

    api_json_memory_init();
    api_json_own(&owner, arena);
    for (int i = 0; i < 5000; i++)
        json_decref(json_pack("{s[iii]}", "a", i, i + 1, i + 2));
    ck_assert_uint_gt(api_memory_state(memory).held, 0);
    ck_assert_uint_le(api_memory_state(memory).held, 32 << 10);
    api_json_disown(&owner);
    api_arena_free(arena);
    ck_assert_uint_eq(api_memory_state(memory).held, 0);
    api_memory_free(memory);
}

enum { THREADS = 4, TURNS = 20000 };

static void *charge(void *context)
{
    struct pe_work *work = context;

    for (int i = 0; i < TURNS; i++)
        if (pe_work_reserve(work, 100))
            pe_work_release(work, 100);
    return pe_work_reserve(work, 7) ? work : NULL;
}

/* Threads of the pool charge concurrently; memory released after api_arena_settle leaves the
 * budget. */
TEST(test_many_threads)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    struct api_arena *arena = api_arena_new(memory);
    struct pe_work *work = api_arena_work_new(arena, 0, 0);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, charge, work), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        ck_assert_ptr_nonnull(result);
    }
    ck_assert_uint_eq(pe_work_memory(work), 7 * THREADS);
    api_arena_settle(arena);
    ck_assert_uint_eq(api_memory_state(memory).held, 7 * THREADS);
    pe_work_release(work, 7);
    ck_assert_uint_eq(api_memory_state(memory).held, 7 * (THREADS - 1));
    ck_assert(api_memory_reserve(memory, 1 << 19)); /* another request */
    ck_assert(!pe_work_reserve(work, 1 << 19));
    ck_assert(api_arena_refused(arena) && !api_arena_over_budget(arena));
    ck_assert(!pe_work_reserve(work, 2 << 20));
    ck_assert(api_arena_over_budget(arena));
    api_arena_free(arena);
    ck_assert_uint_eq(api_memory_state(memory).held, 1 << 19);
    api_memory_release(memory, 1 << 19);
    api_memory_free(memory);
}

/* Ranges are expanded once if a view reads their elements; one range of a view never is, nor one
 * longer than the tensors of a function. */
TEST(test_ranges_are_held_once)
{
    enum { COUNT = 2000000, LIST = COUNT * 8, ELSE = 6 << 20 };
    static const struct asked rows[] = {
        {"/v1/encodings/index/table?dtype=f16&format=raw",
         "{'positions': '0..999999,1000001..2000000'}", "200", NULL},
        {"/v1/rotation",
         "{'positions': '0..1999999', 'encoding': {'name': 'rope', 'dim': 2}, 'layout': 'half',"
         "'axes': 'sd', 'tensors': {'q': {'shape': [1, 2], 'data': [1, 1]}}}",
         "422", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        OWNED_API api = api_with_budget();
        OWNED_ANSWER answer = call(api, "POST", rows[i].target, NULL, rows[i].body);
        ck_assert_int_eq(answer.status, atoi(rows[i].answer));
        const uint64_t list = i == 0 ? LIST : 0;
        ck_assert_uint_ge(api_state_read(api).memory_held_max, list);
        ck_assert_uint_lt(api_state_read(api).memory_held_max, list + ELSE);
    }
    OWNED_API api = api_with_budget();
    OWNED_ANSWER answer = call(api, "POST", rows[0].target, NULL, "{'positions': '0..1999999'}");
    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_lt(api_state_read(api).memory_held_max, ELSE);
}

/* A config with a list of 3000 values, of 15 KB. */
static size_t config_make(char *text)
{
    int size = sprintf(text, "{\"model_type\":\"llama\",\"hidden_size\":64,"
                             "\"num_attention_heads\":1,\"list\":[true");

    for (int i = 1; i < 3000; i++)
        size += sprintf(text + size, ",true");
    return (size_t)(size + sprintf(text + size, "]}"));
}

/* A config with `kinds` kinds of layers and `keys` unknown keys. */
static size_t kinds_make(char *text, int kinds, int keys)
{
    int size = sprintf(text, "{\"model_type\":\"a\",\"hidden_size\":64,"
                             "\"num_attention_heads\":1,\"rope_parameters\":{\"t\":{}");

    for (int i = 1; i < kinds; i++)
        size += sprintf(text + size, ",\"t%d\":{}", i);
    size += sprintf(text + size, "}");
    for (int i = 0; i < keys; i++)
        size += sprintf(text + size, ",\"k%d\":1", i);
    return (size_t)(size + sprintf(text + size, "}"));
}

static size_t gzip(const char *text, size_t size, void *out, size_t room)
{
    z_stream stream = {.next_in = (unsigned char *)text,
                       .avail_in = (uInt)size,
                       .next_out = out,
                       .avail_out = (uInt)room};

    deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

/* Reading a body is charged, and so are codings in both directions. */
TEST(test_codings_and_configs_are_work)
{
    enum { PLAIN, CODED, ZEROS, KINDS, NONE, BODIES };
    static const char zeros[1 << 19];
    static const struct {
        const char *target, *headers;
        int body;
        uint64_t refused, served; /* with this --work-max */
    } rows[] = {
        {"/v1/encodings/rope/table?dim=128&length=1000", NULL, NONE, 2500000, 5000000},
        {"/v1/encodings/rope/table?dim=128&length=1000", "Accept-Encoding: gzip", NONE, 10000000,
         25000000},
        {"/openapi.json", "Accept-Encoding: zstd", NONE, 500000, 2000000},
        {"/v1/config", "Content-Encoding: gzip", CODED, 15000, 3000000},
        {"/v1/config", NULL, PLAIN, 400000, 3000000},
        {"/v1/config", NULL, KINDS, 3000000, 60000000},
        {"/v1/layout?from_layout=half&to_layout=meta&kind=table",
         "Content-Type: application/octet-stream\nTensor-Dtype: f32\nTensor-Shape: 2048,64\n"
         "Content-Encoding: gzip",
         ZEROS, 600000, 3000000},
    };
    char bodies[BODIES][1 << 14];
    size_t sizes[BODIES] = {config_make(bodies[PLAIN])};

    sizes[CODED] = gzip(bodies[PLAIN], sizes[PLAIN], bodies[CODED], sizeof(bodies[CODED]));
    sizes[KINDS] = kinds_make(bodies[KINDS], 60, 1000);
    sizes[ZEROS] = gzip(zeros, sizeof(zeros), bodies[ZEROS], sizeof(bodies[ZEROS]));
    for (size_t i = 0; i < 2 * COUNT_OF(rows); i++) {
        struct api_settings settings = settings_make();
        const int body = rows[i / 2].body;
        settings.limits.work_max = i % 2 ? rows[i / 2].served : rows[i / 2].refused;
        OWNED_API api = api_make(&settings);
        OWNED_ANSWER answer = call_bytes(api, body == NONE ? "GET" : "POST", rows[i / 2].target,
                                         rows[i / 2].headers, bodies[body], sizes[body]);
        ck_assert_msg(answer.status == (i % 2 ? 200 : 413), "%zu: %d %.300s", i, answer.status,
                      answer.body);
    }
}

static double thread_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static const char comparison[] = "{\"a\":{\"name\":\"rope\",\"dim\":8},\"b\":{\"name\":\"rope\","
                                 "\"dim\":8,\"base\":500},\"length\":100}";

static struct api_intake *compare_begin(struct api *api, uint64_t deadline)
{
    const struct api_head head = {.method = "POST",
                                  .path = "/v1/comparison",
                                  .content_length = sizeof(comparison) - 1,
                                  .deadline = deadline};
    struct api_intake *intake;

    ck_assert_ptr_null(api_begin(api, &head, &intake));
    ck_assert_ptr_null(api_feed(intake, comparison, sizeof(comparison) - 1));
    return intake;
}

static void finish_expect(struct api_intake *intake, int status)
{
    OWNED_RESPONSE response = api_finish(intake);

    ck_assert_int_eq(response->status, status);
    if (status == 503)
        ck_assert_ptr_nonnull(strstr((const char *)response->body.bytes, "--request-timeout"));
    api_intake_cancel(intake); /* late, and allowed until the response is freed */
}

/* Cancelled or past its deadline, a request gets 503 with --request-timeout. A later deadline has
 * no effect. */
TEST(test_endings)
{
    OWNED_API api = api_with_budget();
    struct api_intake *intake = compare_begin(api, 0);

    finish_expect(intake, 200);
    intake = compare_begin(api, 0);
    api_intake_cancel(intake);
    finish_expect(intake, 503);
    finish_expect(compare_begin(api, 1), 503);
    finish_expect(compare_begin(api, UINT64_MAX), 200);
    ck_assert_uint_eq(held(api), 0);
}

/* Cancellation is checked between kinds of layers: so many milliseconds after the beginning, by the
 * clock of the thread. */
TEST_LOOP(2, test_kinds_end_soon)
{
    enum { KEYS = 60000, BODY = 15 * KEYS, LATE_MS = 20 };
    static const double ends[] = {30, 60};
    struct api_settings settings = settings_make();
    OWNED_API api = api_make(&settings);
    OWNED_MEMORY char *body = malloc(BODY);
    const size_t size = kinds_make(body, 60, KEYS);
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    const double begin = thread_ms(), wall = (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
    const struct api_head head = {.method = "POST",
                                  .path = "/v1/config",
                                  .content_length = size,
                                  .deadline = (uint64_t)(wall + ends[_i] * 1e6)};
    struct api_intake *intake;
    ck_assert_ptr_null(api_begin(api, &head, &intake));
    ck_assert_ptr_null(api_feed(intake, body, size));
    OWNED_RESPONSE response = api_finish(intake);
    const double took = thread_ms() - begin;
    ck_assert_msg(took < ends[_i] + LATE_MS, "%d after %.1f ms", response->status, took);
}

/* cos and sin are charged while they are made, then they are the cache's and counted there alone.
 */
TEST(test_a_rotation_is_charged_once)
{
    enum { ROWS = 4096, DIM = 64, TENSOR = ROWS * DIM * 4 };
    struct api_settings settings = settings_make();
    settings.limits.memory_budget = BUDGET;
    settings.limits.cache_max = BUDGET / 4;
    settings.limits.body_max = 2 * TENSOR;
    OWNED_API api = api_make(&settings);
    OWNED_MEMORY void *body = calloc(1, TENSOR);
    struct answer answer = call_bytes(
        api, "POST",
        "/v1/rotation?encoding=rope&layout=half&axes=bhsd&format=raw"
        "&start=0",
        "Content-Type: application/octet-stream\nTensor-Dtype: f32\nTensor-Shape: 1,1,4096,64",
        body, TENSOR);
    const struct api_state state = api_state_read(api);

    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_ge(state.cache_size, TENSOR);
    ck_assert_uint_lt(state.cache_size, TENSOR + TENSOR / 4);
    ck_assert_uint_ge(state.memory_held, TENSOR);
    ck_assert_uint_lt(state.memory_held, TENSOR + TENSOR / 4);
    answer_free(&answer);
    ck_assert_uint_eq(held(api), 0);
}

/* The bytes of an answer that are made before it is sent. */
static uint64_t made_before(const struct api_response *response)
{
    const struct api_body *body = &response->body;

    return body->kind == API_BYTES || body->buffer ? body->size : 0;
}

/* One answer, unsent. beside: bytes that may be held beside it; TEXT: twice *plain, the size of the
 * same answer without a coding. */
#define TEXT UINT64_MAX

static void memory_check(struct api *api, const char *target, const char *coding, uint64_t beside,
                         uint64_t *plain)
{
    enum { PIECES = 24 << 10 };
    const struct api_field fields[] = {{"Accept-Encoding", coding}};
    char path[200], *query = path;

    snprintf(path, sizeof(path), "%s", target);
    strsep(&query, "?");
    const struct api_head head = {
        .method = "GET", .path = path, .query = query, .fields = fields, .fields_count = 1};
    struct api_response *response = api_handle(api, &head, NULL, 0);
    ck_assert_ptr_nonnull(response);
    /* csv does not hold matrices beside vectors. */
    ck_assert_msg(response->status == 200 || response->status == 406, "%s: %d", target,
                  response->status);
    if (strcmp(coding, "identity") == 0)
        *plain = made_before(response);
    const uint64_t most = made_before(response) + PIECES + (beside == TEXT ? 2 * *plain : beside);
    ck_assert_msg(held(api) <= most, "%s, %s: %ju bytes held, %ju are enough", target, coding,
                  (uintmax_t)held(api), (uintmax_t)most);
    api_response_free(response);
    ck_assert_uint_eq(held(api), 0);
}

/* A client may read slowly: what made an answer is released before the answer is sent. Reports and
 * pictures are printed to texts that double, which stay beside what is encoded of them. */
TEST(unsent_answers_hold_no_more_than_themselves)
{
    static const char *const views[] = {
        "/v1/encodings/rope/table?dim=64&length=200",
        "/v1/encodings/rope/table?dim=64&length=6000&dtype=f64&rope_type=yarn&factor=2"
        "&original_max_position_embeddings=4096",
        "/v1/encodings/alibi/bias?heads=3&query_length=40&key_length=50",
        "/v1/encodings/alibi/bias?heads=8&query_length=300&key_length=300",
        "/v1/encodings/rope/frequencies?dim=64",
        "/v1/encodings/rope/analysis/decay?dim=64&max_offset=400",
        "/v1/encodings/sinusoidal/table?dim=64&length=40000",
    };
    static const char *const formats[] = {"json", "csv", "npy", "raw", "safetensors", "svg", "png"};
    static const char *const reports[] = {"/v1/encodings", "/openapi.json", "/metrics", "/v1"};
    static const struct {
        const char *target;
        uint64_t terms; /* bytes of the bias of each distance, which all blocks share */
    } streams[] = {
        {"/v1/encodings/alibi/bias?heads=32&query_length=500&key_length=3000&format=raw", 448000},
        {"/v1/encodings/rope/table?dim=64&length=40000&dtype=f64&format=safetensors", 0},
    };
    static const char *const codings[] = {"identity", "gzip"};
    static const size_t caches[] = {0, 1 << 20};

    for (size_t cache = 0; cache < COUNT_OF(caches); cache++) {
        struct api_settings settings = settings_make();
        settings.limits.memory_budget = BUDGET;
        settings.limits.cache_max = caches[cache];
        settings.limits.json_elements_max = 1 << 23;
        OWNED_API api = api_make(&settings);
        uint64_t plain = 0;
        for (size_t i = 0; i < COUNT_OF(reports) * COUNT_OF(codings); i++)
            memory_check(api, reports[i / COUNT_OF(codings)], codings[i % COUNT_OF(codings)], TEXT,
                         &plain);
        for (size_t i = 0; i < COUNT_OF(streams); i++)
            memory_check(api, streams[i].target, "identity", streams[i].terms, &plain);
        const size_t answers = COUNT_OF(formats) * COUNT_OF(codings);
        for (size_t i = 0; i < (cache > 0 ? 1 : COUNT_OF(views)) * answers; i++) {
            const char *view = views[i / COUNT_OF(codings) / COUNT_OF(formats)];
            const char *format = formats[i / COUNT_OF(codings) % COUNT_OF(formats)];
            char target[200];
            snprintf(target, sizeof(target), "%s&format=%s", view, format);
            memory_check(api, target, codings[i % COUNT_OF(codings)],
                         strcmp(format, "svg") == 0 || strcmp(format, "png") == 0 ? TEXT : 0,
                         &plain);
        }
    }
}

/* With any limit of work a report is refused, or whole: no part of it says that it has no encoding
 * because the work ran out. */
TEST(reports_are_whole_or_refused)
{
#define ROPE                                                                                       \
    "'rope_parameters':{'rope_theta':5,'rope_type':'yarn','factor':4,"                             \
    "'original_max_position_embeddings':64}"
#define TOWER                                                                                      \
    "'vision_config':{'model_type':'qwen2_5_vl_vision','depth':2,'hidden_size':64,"                \
    "'num_heads':2},'audio_config':{'model_type':'llama','head_dim':64," ROPE "}"
#define MODEL                                                                                      \
    "'model_type':'gemma3_text','num_hidden_layers':8,'head_dim':64,"                              \
    "'max_position_embeddings':256,'rope_parameters':{'full_attention':{'rope_theta':5,"           \
    "'rope_type':'linear','factor':2},'sliding_attention':{'rope_theta':6,"                        \
    "'rope_type':'default'}}"
    static const struct {
        const char *target, *body;
    } rows[] = {
        {"/v1/config", "{" MODEL "," TOWER "}"},
        {"/v1/config", "{'model_type':'qwen2_5_vl','head_dim':128," ROPE "," TOWER "}"},
        {"/v1/lint", "{" MODEL "}"},
        {"/v1/extend?to=4096", "{'model_type':'llama','head_dim':64,"
                               "'max_position_embeddings':64,'rope_theta':9}"},
        {"/v1/golden?format=json", "{" MODEL "}"},
    };
    struct api_settings settings = settings_make();
    OWNED_API free = api_make(&settings);

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t refused = 0, whole = 0;
        OWNED_ANSWER want = call(free, "POST", rows[i].target, NULL, rows[i].body);
        ck_assert_msg(want.status == 200, "%s: %s", rows[i].target, (char *)want.body);
        for (uint64_t most = 1 << 12; most < 1 << 28; most += most / 4) {
            settings.limits.work_max = most;
            OWNED_API api = api_make(&settings);
            OWNED_ANSWER got = call(api, "POST", rows[i].target, NULL, rows[i].body);
            refused += got.status == 413;
            whole += got.status == 200;
            ck_assert_msg(got.status == 413 || got.status == 200, "%s: %d", rows[i].target,
                          got.status);
            ck_assert_msg(got.status == 413 || (got.size == want.size &&
                                                memcmp(got.body, want.body, want.size) == 0),
                          "%s with %ju: %s", rows[i].target, (uintmax_t)most, (char *)got.body);
        }
        ck_assert_msg(refused > 0 && whole > 0, "%s: %zu, %zu", rows[i].target, refused, whole);
    }
}
