/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "api/pipeline/pipeline.h"
#include "tests/api/harness.h"

/* The estimated cost of requests against their time by the thread's clock: within a factor, at
 * three sizes each. Bodies are fed in pieces as received from a socket, and answers are sent to
 * one. Times below 500 us are skipped: the pipeline alone takes 50. */

#define LEAST_NS 5e5

enum { SIZES = 3, RUNS = 5, PIECE = 32 << 10, HEADERS_MAX = 8 };

struct body {
    unsigned char *bytes;
    size_t size;
};

struct subject {
    double factor;                         /* the largest allowed ratio, either way */
    const char *method, *target, *headers; /* target: %zu is the size */
    struct body (*make)(size_t size);      /* NULL: there is none */
    const char *coding;                    /* of the body; NULL: none */
    size_t sizes[SIZES];
};

static size_t passed, failed, skipped;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static struct body room(size_t size)
{
    struct body body = {malloc(size + 1), size};

    if (!body.bytes)
        exit(2);
    return body;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Floats between 0 and 1 of [1, 1, size, 64], which compress to nine tenths. */
static struct body floats_make(size_t size)
{
    struct body body = room(size * 64 * sizeof(float));
    uint32_t state = 1;

    for (size_t i = 0; i < size * 64; i++) {
        state = (uint32_t)(state * 1664525ull + 1013904223);
        ((float *)body.bytes)[i] = (float)(state >> 8) * 0x1p-24f;
    }
    return body;
}

static struct body zeros_make(size_t size)
{
    struct body body = room(size * 64 * sizeof(float));

    memset(body.bytes, 0, body.size);
    return body;
}

/* A config with `size` unknown keys, and kinds of layers, which are read one by one. */
static struct body config_make(size_t size, int kinds, const char *value)
{
    struct body body = room(2000 + 40 * size);
    int at = sprintf((char *)body.bytes,
                     "{\"model_type\":\"%s\",\"hidden_size\":4096,"
                     "\"num_attention_heads\":32,\"rope_parameters\":{",
                     kinds > 0 ? "a" : "llama");

    for (int i = 0; i < kinds; i++)
        at += sprintf((char *)body.bytes + at, "%s\"t%d\":{}", i > 0 ? "," : "", i);
    at += sprintf((char *)body.bytes + at, "}");
    for (size_t i = 0; i < size; i++)
        at += sprintf((char *)body.bytes + at, ",\"k%zu\":%s", i, value);
    at += sprintf((char *)body.bytes + at, "}");
    body.size = (size_t)at;
    return body;
}

static struct body objects_make(size_t size)
{
    return config_make(size, 0, "[{}]");
}

static struct body kinds_make(size_t size)
{
    return config_make(size, 60, "1");
}

/* A config with a list of numbers and texts. */
static struct body list_make(size_t size)
{
    struct body body = room(200 + 60 * size);
    int at = sprintf((char *)body.bytes, "{\"model_type\":\"llama\",\"hidden_size\":4096,"
                                         "\"num_attention_heads\":32,\"list\":[null");

    for (size_t i = 0; i < size; i++)
        at += sprintf((char *)body.bytes + at, i % 2 ? ",%zu.5" : ",\"layer_%zu\"", i);
    at += sprintf((char *)body.bytes + at, "]}");
    body.size = (size_t)at;
    return body;
}

static struct body rotation_make(size_t size)
{
    struct body body = room(300 + 12 * 64 * size);
    int at = sprintf((char *)body.bytes,
                     "{\"axes\":\"bhsd\",\"layout\":\"half\",\"start\":0,\"encoding\":{\"name\":"
                     "\"rope\",\"dim\":64},\"tensors\":{\"q\":{\"shape\":[1,1,%zu,64],\"data\":[1",
                     size);

    for (size_t i = 1; i < 64 * size; i++)
        at += sprintf((char *)body.bytes + at, ",0.%zu", i % 100000000 + 1);
    at += sprintf((char *)body.bytes + at, "]}}}");
    body.size = (size_t)at;
    return body;
}

/* A tensor that repeats one number. */
static struct body numbers_make(size_t size, const char *dtype, const char *number)
{
    struct body body = room(200 + (strlen(number) + 1) * 64 * size);
    int at =
        sprintf((char *)body.bytes,
                "{\"axes\":\"bhsd\",\"layout\":\"half\",\"start\":0,\"encoding\":{\"name\":"
                "\"rope\",\"dim\":64},\"tensors\":{\"q\":{\"dtype\":\"%s\",\"shape\":[1,1,%zu,64],"
                "\"data\":[",
                dtype, size);

    for (size_t i = 0; i < 64 * size; i++)
        at += sprintf((char *)body.bytes + at, "%s%s", i > 0 ? "," : "", number);
    at += sprintf((char *)body.bytes + at, "]}}}");
    body.size = (size_t)at;
    return body;
}

/* Ties: of two f16, of two f64 that are subnormal, and of two f64 in all their digits. */
static struct body short_ties_make(size_t size)
{
    return numbers_make(size, "f16", "6.10649585723876953125e-5");
}

static struct body subnormal_ties_make(size_t size)
{
    return numbers_make(size, "f64", "2.4703282292062327208e-324");
}

static struct body long_ties_make(size_t size)
{
    char number[1200];

    snprintf(number, sizeof(number), "%.766e", 0x1p-1073);
    for (char *at = strchr(number, 'e'); at[-1] == '0'; at--)
        memmove(at - 1, at, strlen(at) + 1);
    return numbers_make(size, "f64", number);
}

static struct body encoded(struct body plain, const char *coding)
{
    struct body body = room(ZSTD_compressBound(plain.size) + plain.size / 8 + 1000);
    z_stream stream = {.next_in = plain.bytes,
                       .avail_in = (uInt)plain.size,
                       .next_out = body.bytes,
                       .avail_out = (uInt)body.size};

    if (strcmp(coding, "zstd") == 0) {
        body.size = ZSTD_compress(body.bytes, body.size, plain.bytes, plain.size, 3);
    } else {
        deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
        deflate(&stream, Z_FINISH);
        body.size = stream.total_out;
        deflateEnd(&stream);
    }
    free(plain.bytes);
    return body;
}

/* ---- the socket ------------------------------------------------------------------------------ */

/* The other end of the connection reads all that is sent, and sends a body on request. */
static int other;
static const struct body *posted;
static sem_t asked;

static void *reader_run(void *context)
{
    static char bytes[1 << 20];

    while (recv(other, bytes, sizeof(bytes), 0) > 0)
        continue;
    return context;
}

static void *writer_run(void *context)
{
    while (sem_wait(&asked) == 0) {
        const struct body body = *posted;
        for (size_t at = 0; at < body.size;) {
            const ssize_t sent = send(other, body.bytes + at, body.size - at, 0);
            if (sent < 0)
                exit(2);
            at += (size_t)sent;
        }
    }
    return context;
}

/* One end of a connection over loopback. */
static int connection_make(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM, 0), here = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t reader, writer;

    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &size) ||
        connect(here, (struct sockaddr *)&address, size) ||
        (other = accept(listener, NULL, NULL)) < 0 || sem_init(&asked, 0, 0) ||
        pthread_create(&reader, NULL, reader_run, NULL) ||
        pthread_create(&writer, NULL, writer_run, NULL))
        exit(2);
    return here;
}

/* Through a buffer, as the server does. */
static bool sink(void *context, const void *bytes, size_t size)
{
    static char buffer[256 << 10];

    while (size > 0) {
        const size_t part = size < sizeof(buffer) ? size : sizeof(buffer);
        memcpy(buffer, bytes, part);
        for (size_t at = 0; at < part;) {
            const ssize_t sent = send(*(int *)context, buffer + at, part - at, 0);
            if (sent < 0)
                exit(2);
            at += (size_t)sent;
        }
        bytes = (const char *)bytes + part;
        size -= part;
    }
    return true;
}

static struct api_response *body_feed(int connection, struct api_intake *intake, size_t size)
{
    static char piece[PIECE];
    struct api_response *response = NULL;

    if (size > 0)
        sem_post(&asked);
    for (size_t left = size; left > 0;) {
        const ssize_t got = recv(connection, piece, left < PIECE ? left : PIECE, 0);
        if (got <= 0)
            exit(2);
        left -= (size_t)got;
        if (!response)
            response = api_feed(intake, piece, (size_t)got);
    }
    return response;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void head_fill(struct api_head *head, struct api_field *fields, char *target, char *headers)
{
    head->path = strsep(&target, "?");
    head->query = target;
    head->fields = fields;
    for (char *line; (line = strsep(&headers, "\n")) && *line;) {
        char *value = strstr(line, ": ");
        *value = '\0';
        fields[head->fields_count++] = (struct api_field){line, value + 2};
    }
}

static int request_measure(struct api *api, const struct api_head *head, const struct body *body,
                           double *took, double *estimated)
{
    static int connection = -1;
    struct api_intake *intake = NULL;
    struct api_response *response;
    double begin;
    int status;

    if (connection < 0)
        connection = connection_make();
    posted = body;
    begin = now();
    response = api_begin(api, head, &intake);
    if (!response)
        response = body_feed(connection, intake, body->size);
    if (!response)
        response = api_finish(intake);
    api_drain(response, sink, &connection);
    *took = fmin(*took, now() - begin);
    *estimated = intake->spent + intake->cost;
    status = response->status;
    api_response_free(response);
    return status;
}

static void subject_check(struct api *api, const struct subject *subject, size_t size)
{
    char target[300], headers[300];
    struct api_field fields[HEADERS_MAX];
    struct api_head head = {.method = subject->method};
    struct body body = subject->make ? subject->make(size) : (struct body){0};
    double took = INFINITY, estimated = 0;
    int status = 200;

    snprintf(target, sizeof(target), subject->target, size);
    snprintf(headers, sizeof(headers), subject->headers ? subject->headers : "", size);
    head_fill(&head, fields, target, headers);
    if (subject->coding)
        body = encoded(body, subject->coding);
    head.content_length = body.size;
    for (int run = 0; run < RUNS && status == 200 && (run < 2 || took < 5e7); run++)
        status = request_measure(api, &head, &body, &took, &estimated);
    free(body.bytes);
    const bool fits =
        status == 200 && took < subject->factor * estimated && estimated < subject->factor * took;
    if (took < LEAST_NS && status == 200) {
        skipped++;
        return;
    }
    *(fits ? &passed : &failed) += 1;
    if (!fits || getenv("COSTS_ALL"))
        printf("%s %s %s %s, %zu: status %d, %.0f us, estimated %.0f us, a factor of %.2f\n",
               subject->method, subject->target, subject->headers ? subject->headers : "",
               subject->make == zeros_make ? "zeros" : "", size, status, took / 1e3,
               estimated / 1e3, took / estimated);
}

#define LONG                                                                                       \
    {                                                                                              \
        500, 5000, 50000                                                                           \
    }
#define MEDIUM                                                                                     \
    {                                                                                              \
        100, 1000, 10000                                                                           \
    }
#define ONE                                                                                        \
    {                                                                                              \
        1, 1, 1                                                                                    \
    }
#define TABLE      "/v1/encodings/rope/table?dim=128&length=%zu"
#define BIAS       "/v1/encodings/alibi/bias?heads=1&key_length=1024&query_length=%zu"
#define ROTATION   "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0"
#define LAYOUT     "/v1/layout?from_layout=half&to_layout=meta"
#define EMBEDDING  "/v1/embedding?start=0&encoding="
#define JSON       "Content-Type: application/json"
#define ACCEPT     "Accept-Encoding: "
#define RAW(dtype) "Content-Type: application/octet-stream\nTensor-Dtype: " dtype "\nTensor-Shape: "
#define HEADS      RAW("f32") "1,1,%zu,64"
#define ROWS       RAW("f32") "%zu,64"
#define ENCODED    "\nContent-Encoding: "

/* The time of codings depends on the content, and that of a rotation on the caches. */
static const struct subject subjects[] = {
    {2, "GET", BIAS "&format=raw", NULL, NULL, NULL, {1000, 4000, 64000}},
    {2, "GET", TABLE, NULL, NULL, NULL, MEDIUM},
    {2, "GET", TABLE "&format=csv", NULL, NULL, NULL, MEDIUM},
    {2, "GET", TABLE "&dtype=f64", NULL, NULL, NULL, {10, 100, 1000}},
    {2, "GET", TABLE "&dtype=bf16", NULL, NULL, NULL, MEDIUM},
    {2, "GET", TABLE "&data_format=base64", NULL, NULL, NULL, {1000, 10000, 40000}},
    {2, "GET", BIAS, NULL, NULL, NULL, MEDIUM},
    {2, "GET", LAYOUT "&head_dim=64&heads=%zu", NULL, NULL, NULL, {100, 1000, 16384}},
    {2, "GET", LAYOUT "&head_dim=64&heads=%zu&format=raw", NULL, NULL, NULL, {100, 1000, 16384}},
    {2, "GET", TABLE, ACCEPT "gzip", NULL, NULL, MEDIUM},
    {2, "GET", TABLE "&format=csv", ACCEPT "deflate", NULL, NULL, MEDIUM},
    {2, "GET", TABLE, ACCEPT "zstd", NULL, NULL, MEDIUM},
    {4, "GET", BIAS, ACCEPT "gzip", NULL, NULL, {10, 100, 1000}},
    {4, "GET", BIAS, ACCEPT "zstd", NULL, NULL, {10, 100, 1000}},
    {4, "GET", "/openapi.json", ACCEPT "gzip", NULL, NULL, ONE},
    {4, "GET", "/openapi.json", ACCEPT "zstd", NULL, NULL, ONE},
    {2, "GET", "/v1/encodings", NULL, NULL, NULL, ONE},
    {2, "GET", "/v1/encodings", ACCEPT "gzip", NULL, NULL, ONE},
    {4, "POST", ROTATION, HEADS, floats_make, NULL, LONG},
    {2, "POST", ROTATION, HEADS ENCODED "gzip", floats_make, "gzip", LONG},
    {2, "POST", ROTATION, HEADS ENCODED "zstd", floats_make, "zstd", LONG},
    {2, "POST", ROTATION, HEADS ENCODED "gzip", zeros_make, "gzip", LONG},
    {4, "POST", ROTATION, HEADS ENCODED "zstd", zeros_make, "zstd", LONG},
    {2, "POST", "/v1/rotation", JSON, rotation_make, NULL, {50, 500, 2000}},
    {3, "POST", "/v1/rotation", JSON, short_ties_make, NULL, {50, 500, 5000}},
    {3, "POST", "/v1/rotation", JSON ENCODED "zstd", short_ties_make, "zstd", {50, 500, 5000}},
    {3, "POST", "/v1/rotation", JSON, subnormal_ties_make, NULL, {50, 500, 5000}},
    {4, "POST", "/v1/rotation", JSON, long_ties_make, NULL, {10, 100, 500}},
    {2, "POST", "/v1/config", JSON, objects_make, NULL, {1000, 10000, 40000}},
    {2, "POST", "/v1/config", JSON, list_make, NULL, {1000, 10000, 100000}},
    {2, "POST", "/v1/config", JSON, kinds_make, NULL, {1000, 10000, 60000}},
    {2, "POST", LAYOUT "&kind=activations&axes=bhsd", HEADS, floats_make, NULL, LONG},
    {2, "POST", LAYOUT "&kind=table", RAW("f16") "1,%zu,128", floats_make, NULL, LONG},
    {2, "POST", LAYOUT "&kind=table", RAW("u8") "%zu,256", floats_make, NULL, LONG},
    {2, "POST", LAYOUT "&kind=table", RAW("f64") "%zu,32", floats_make, NULL, LONG},
    {2, "POST", LAYOUT "&kind=table", RAW("f64") "%zu,16,2", floats_make, NULL, LONG},
    {2, "POST", LAYOUT "&kind=projection_rows&head_dim=50", ROWS, floats_make, NULL, LONG},
    {2, "POST", LAYOUT "&kind=projection_rows&head_dim=50", RAW("u8") "%zu,256", floats_make, NULL,
     LONG},
    {2, "POST", EMBEDDING "sinusoidal", ROWS, floats_make, NULL, LONG},
    {2, "POST", EMBEDDING "sinusoidal&dim=64&merge_mode=concat", ROWS, floats_make, NULL, LONG},
    {2, "POST", EMBEDDING "index&merge_mode=concat&dtype=f16", ROWS, floats_make, NULL, LONG},
    {2, "POST", EMBEDDING "sinusoidal", RAW("bf16") "%zu,128", floats_make, NULL, LONG},
    {2, "POST", EMBEDDING "sinusoidal", RAW("f64") "1,%zu,32", floats_make, NULL, LONG},
};

int main(void)
{
    struct api_settings settings = settings_make();
    struct pe_error err = {0};
    struct api *api;

    settings.limits.body_max = settings.limits.json_body_max = 1 << 30;
    settings.limits.json_elements_max = 1 << 30;
    if (api_new(&api, &settings, &err)) {
        puts(err.detail);
        return 2;
    }
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
        for (size_t size = 0; size < SIZES; size++)
            subject_check(api, &subjects[i], subjects[i].sizes[size]);
    api_free(api);
    printf("%zu passed, %zu failed, %zu skipped\n", passed, failed, skipped);
    return failed > 0;
}
