/* SPDX-License-Identifier: MIT */

/* service/body_reader.c: blocks that are made on a pool while earlier ones are read. */

#include <stdatomic.h>
#include <unistd.h>

#include "service/service.h"
#include "tests/api/harness.h"
#include "tests/check_main.h"

enum { BLOCKS = 64, BLOCK = 64, WORKERS = 2 };

static atomic_int begun, ended;

/* The first batch is made at once, the next one slowly. */
static size_t block_fill(struct api_response *response, size_t block, unsigned char *out)
{
    (void)response;
    atomic_fetch_add(&begun, 1);
    if (block >= WORKERS)
        usleep(50000);
    memset(out, (int)block, BLOCK);
    atomic_fetch_add(&ended, 1);
    return BLOCK;
}

static struct pe_pool *pool_of(void *context)
{
    return context;
}

/* The memory of a batch is that of the response: none is being made when the reader has ended,
 * however much of the body was read. */
TEST_LOOP(3, no_block_is_made_after_the_end)
{
    const struct api_head head = {
        .method = "GET", .path = "/v1/encodings/rope/table", .query = "dim=8&length=4&format=raw"};
    OWNED_API api = api_make(NULL);
    OWNED_RESPONSE response = api_handle(api, &head, NULL, 0);
    struct svc_body_reader reader;
    const unsigned char *bytes;
    struct pe_pool *pool;
    size_t size = 0;

    ck_assert_int_eq(response->status, 200);
    ck_assert(!pe_pool_new(&pool, WORKERS, false, &(struct pe_error){0}));
    atomic_store(&begun, 0);
    atomic_store(&ended, 0);
    response->body = (struct api_body){.kind = API_PLAN,
                                       .size = BLOCKS * BLOCK,
                                       .blocks = BLOCKS,
                                       .block_size = BLOCK,
                                       .fill = block_fill};
    svc_body_reader_begin(&reader, response, pool_of, pool);
    for (int i = 0; i < _i; i++) {
        ck_assert(svc_body_reader_next(&reader, &bytes, &size));
        ck_assert(size == BLOCK && bytes[0] == i && bytes[BLOCK - 1] == i);
    }
    svc_body_reader_end(&reader);
    const int made = atomic_load(&ended);
    ck_assert_int_eq(atomic_load(&begun), made);
    ck_assert_uint_eq(pe_pool_depth(pool), 0);
    pe_pool_free(pool);
    ck_assert_int_eq(atomic_load(&ended), made);
    ck_assert_int_eq(made, _i == 0 ? 0 : 2 * WORKERS);
}
