/* SPDX-License-Identifier: MIT */

/* Every allocation fails once: the answer is 503 or the right one, nothing leaks, nothing crashes.
 * The requests are those that need no GMP, which ends the process when memory is short. */

#include <errno.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

#ifdef __SANITIZE_ADDRESS__

int main(void)
{
    printf("not with AddressSanitizer, which brings an allocator of its own\n");
    return 0;
}

#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static bool counting;
static long until_failure, live;

static bool fails(void)
{
    if (!counting || until_failure-- != 1)
        return false;
    errno = ENOMEM;
    return true;
}

static void *count(void *memory)
{
    live += counting && memory;
    return memory;
}

void *malloc(size_t size)
{
    return fails() ? NULL : count(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : count(__libc_calloc(n, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : count(__libc_memalign(alignment, size));
}

void *realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    return old ? __libc_realloc(old, size) : count(__libc_malloc(size));
}

void free(void *memory)
{
    live -= counting && memory;
    __libc_free(memory);
}

/* A list that is long enough to be read as elements are. */
#define TEN(t)      t t t t t t t t t t
#define LONG        TEN(TEN("0.000000123,"))
#define BODY(dtype) "{\"tensors\":{\"q\":{\"data\":[[1,2],[3,4]]" dtype "}},\"delta\":[" LONG "1]}"

/* {"dim":8,"nonsense":[1,2]} */
#define GZIP                                                                                       \
    "\037\213\010\000\000\000\000\000\002\003\253\126\112\311\314\125\262\262\320\121\312\313\317" \
    "\053"                                                                                         \
    "\116\005\042\045\253\150\103\035\243\330\132\000\010\002\047\132\032\000\000\000"
#define DEFLATE                                                                                    \
    "\170\234\253\126\112\311\314\125\262\262\320\121\312\313\317\053\116\005\042\045\253\150\103" \
    "\035"                                                                                         \
    "\243\330\132\000\157\342\010\103"
#define ZSTD "\050\265\057\375\040\032\321\000\000{\"dim\":8,\"nonsense\":[1,2]}"

#define NO_CODING NULL, NULL, 0

static const struct {
    const char *method, *path, *query, *body;
    int status;
    const char *header, *value; /* NULL: none */
    size_t size;                /* of a body that is no text */
} requests[] = {
    {"GET", "/v1/encodings", "family=relative", NULL, 200, NO_CODING},
    {"GET", "/v1/encodings/rope", NULL, NULL, 200, NO_CODING},
    {"GET", "/v1", NULL, NULL, 200, NO_CODING},
    {"GET", "/metrics", NULL, NULL, 200, NO_CODING},
    {"GET", "/problems/busy", NULL, NULL, 200, NO_CODING},
    {"GET", "/nowhere", NULL, NULL, 404, NO_CODING},
    {"GET", "/v1/encodings/alibi/bias", "heads=3&query_length=5", NULL, 200,
     NO_CODING}, /* is kept */
    {"OPTIONS", "/v1", NULL, NULL, 204, NO_CODING},
    {"HEAD", "/v1/encodings/rope/table", "dim=8&positions=0..9&format=safetensors", NULL, 200,
     NO_CODING},
    {"HEAD", "/v1/encodings/rope/table", "dim=8&length=5", NULL, 200, NO_CODING},
    {"HEAD", "/v1/encodings/alibi/bias", "heads=3&query_length=500&format=raw", NULL, 200,
     NO_CODING},
    {"POST", "/v1/encodings/rope/table", "dtype=f16", "{\"dim\":8,\"positions\":[1,2],\"base\":1}",
     422, NO_CODING},
    {"POST", "/v1/encodings/rope/table", NULL, "{\"dim\":8,\"nonsense\":[1,2]}", 422, NO_CODING},
    {"POST", "/v1/rotation", NULL, BODY(""), 422, NO_CODING},
    {"POST", "/v1/rotation", NULL, BODY(",\"dtype\":\"f64\""), 422, NO_CODING},
    {"GET", "/v1/encodings", "family=relative", NULL, 200, "Accept-Encoding", "gzip", 0},
    {"GET", "/v1/encodings", "family=relative", NULL, 200, "Accept-Encoding", "zstd", 0},
    {"HEAD", "/v1/encodings/rope/table", "dim=8&length=5", NULL, 200, "Accept-Encoding", "deflate",
     0},
    {"POST", "/v1/encodings/rope/table", NULL, GZIP, 422, "Content-Encoding", "gzip",
     sizeof(GZIP) - 1},
    {"POST", "/v1/encodings/rope/table", NULL, DEFLATE, 422, "Content-Encoding", "deflate",
     sizeof(DEFLATE) - 1},
    {"POST", "/v1/encodings/rope/table", NULL, ZSTD, 422, "Content-Encoding", "zstd",
     sizeof(ZSTD) - 1},
};

static bool bytes_add(void *context, const void *bytes, size_t size)
{
    unsigned long *sum = context;

    for (size_t i = 0; i < size; i++)
        *sum = *sum * 31 + ((const unsigned char *)bytes)[i];
    return true;
}

/* The status of one request in which allocation k fails; *sum: of its bytes. */
static int request_run(struct api *api, size_t which, long k, unsigned long *sum)
{
    struct api_field fields[] = {{"X-Request-Id", "1"},
                                 {requests[which].header, requests[which].value}};
    struct api_head head = {.method = requests[which].method,
                            .path = requests[which].path,
                            .query = requests[which].query,
                            .fields = fields,
                            .fields_count = requests[which].header ? 2 : 1};
    struct api_response *response;
    int status;

    head.content_length = requests[which].size;
    if (requests[which].body && head.content_length == 0)
        head.content_length = strlen(requests[which].body);
    live = 0;
    until_failure = k;
    counting = true;
    response = api_handle(api, &head, requests[which].body, head.content_length);
    status = response->status;
    *sum = 0;
    if (!response->head_only)
        api_drain(response, bytes_add, sum);
    api_response_free(response);
    counting = false;
    ck_assert_msg(live == 0, "%s: %ld pieces leak when allocation %ld fails", head.path, live, k);
    return status;
}

TEST(test_every_allocation)
{
    OWNED_API api = api_make(NULL);
    unsigned long injected = 0, refused = 0, plain;

    request_run(api, 0, 0, &plain);
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        unsigned long right, sum;
        int status;
        ck_assert_int_eq(request_run(api, i, 0, &right), requests[i].status);
        ck_assert_int_eq(request_run(api, i, 0, &right), requests[i].status);
        for (long k = 1; k < 100000; k++, injected++) {
            status = request_run(api, i, k, &sum);
            refused += status == 503;
            if (until_failure > 0)
                break; /* it needs fewer than k */
            ck_assert_msg(status == 503 || status == requests[i].status, "%s: %d at %ld",
                          requests[i].path, status, k);
            /* Short of memory for a coding, the answer may be sent as it is. */
            ck_assert_msg(status == 503 || strcmp(requests[i].path, "/metrics") == 0 ||
                              sum == right || (requests[i].value && sum == plain),
                          "%s: another answer when allocation %ld fails", requests[i].path, k);
        }
    }
    ck_assert_uint_gt(refused, injected / 2);
    printf("%lu allocations failed, %lu answers were 503\n", injected, refused);
}

#endif
