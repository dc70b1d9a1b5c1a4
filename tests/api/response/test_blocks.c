/* SPDX-License-Identifier: MIT */

/* Blocks whose borders fall anywhere, filled by several threads: the bytes are those of the result,
 * and each row is filled exactly once. */

#include <pthread.h>
#include <stdint.h>

#include "api/memory/arena.h"
#include "api/response/blocks.h"
#include "tests/api/harness.h"
#include "tests/check_main.h"

/* A result of known bytes, which counts how often each row is filled. */
struct source {
    struct pe_output outputs[3];
    unsigned *filled[3];
    bool fails;
};

static unsigned char byte_of(size_t output, size_t offset)
{
    return (unsigned char)(offset * 31 + (offset >> 8) * 7 + output * 101 + 3);
}

static bool source_fill(struct api_result *result, size_t output, size_t row_begin, size_t row_end,
                        void *out)
{
    struct source *source = result->state;
    const size_t row_size = api_output_row_size(&source->outputs[output]);
    unsigned char *to = out;

    if (source->fails)
        return false;
    if (result->in_place)
        to = result->in_place[output] + row_begin * row_size;
    for (size_t row = row_begin; row < row_end; row++)
        __atomic_fetch_add(&source->filled[output][row], 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < (row_end - row_begin) * row_size; i++)
        to[i] = byte_of(output, row_begin * row_size + i);
    return true;
}

struct shape {
    size_t rows[3], widths[3], together;
};

struct part {
    struct api_response *response;
    unsigned char *out;
    size_t next;
};

static void *part_run(void *context)
{
    struct part *part = context;
    const struct api_body *body = &part->response->body;
    size_t block;

    while ((block = __atomic_fetch_add(&part->next, 1, __ATOMIC_RELAXED)) < body->blocks)
        ck_assert_uint_ne(body->fill(part->response, block, part->out + block * body->block_size),
                          SIZE_MAX);
    return NULL;
}

/* in_place: 0 not in memory, 1 in memory with a gap, 2 contiguous in memory */
static void blocks_check(const struct shape *shape, bool pure, int in_place)
{
    struct source source = {0};
    struct api_arena *arena = api_arena_new(NULL);
    struct api_response response = {.arena = arena};
    struct api_request request = {.arena = arena};
    struct api_result result = {.outputs = source.outputs,
                                .fill = source_fill,
                                .pure = pure,
                                .rows_together = shape->together,
                                .state = &source};
    unsigned char *places[3], *memory;
    struct pe_error err = {0};
    uint64_t total = 0, at = 0;
    pthread_t threads[4];

    for (size_t i = 0; i < 3 && shape->widths[i] > 0; i++) {
        source.outputs[i] = (struct pe_output){.name = "x",
                                               .dtype = PE_F32,
                                               .rank = 2,
                                               .shape = {shape->rows[i], shape->widths[i]},
                                               .rows = shape->rows[i],
                                               .row_elements = shape->widths[i]};
        source.filled[i] = calloc(shape->rows[i] + 1, sizeof(unsigned));
        total += api_output_size(&source.outputs[i]);
        result.outputs_count++;
    }
    memory = calloc(2, total + 1);
    for (size_t i = 0; i < result.outputs_count; i++) {
        places[i] = memory + at;
        at += api_output_size(&source.outputs[i]);
    }
    if (in_place == 1) /* the first output is last, behind a gap */
        places[0] = memory + total;
    if (in_place)
        result.in_place = places;
    ck_assert_int_eq(api_blocks_render(&request, &result, NULL, 0, &response, &err), PE_OK);
    ck_assert_uint_eq(response.body.size, total);
    if (in_place != 1)
        ck_assert_int_eq(response.body.buffer != NULL, !pure && in_place == 2);

    struct part part = {&response, NULL, 0};
    part.out = malloc(response.body.blocks * response.body.block_size + 1);
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, part_run, &part);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);

    const unsigned char *bytes = response.body.buffer ? response.body.buffer : part.out;
    for (size_t i = 0; i < result.outputs_count; i++) {
        size_t wrong = 0, refilled = 0;
        for (size_t j = 0; j < api_output_size(&source.outputs[i]); j++)
            wrong += *bytes++ != byte_of(i, j);
        for (size_t row = 0; row < source.outputs[i].rows; row++)
            refilled += source.filled[i][row] != 1;
        ck_assert_msg(wrong == 0, "output %zu: %zu wrong bytes", i, wrong);
        ck_assert_msg(refilled == 0, "output %zu: %zu rows not filled once", i, refilled);
        free(source.filled[i]);
    }
    free(part.out);
    free(memory);
    api_arena_free(arena);
}

TEST(test_blocks)
{
    static const struct shape shapes[] = {
        {{4, 4}, {64, 64}, 1},
        {{3000, 3000}, {64, 64}, 1}, /* no border cuts a row */
        {{3001, 2999}, {64, 32}, 1}, /* borders cut rows of the second output */
        {{1999, 5000, 700}, {100, 33, 77}, 1},
        {{5000, 1999}, {33, 100}, 7},
        {{1, 1}, {200000, 150001}, 1}, /* rows larger than a block */
        {{100000, 3}, {5, 100001}, 3},
        {{0, 3000}, {64, 64}, 1},
        {{0}, {64}, 1},
        {{777}, {1000}, 5},
    };
    size_t checked = 0;

    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (int in_place = 0; in_place < 3; in_place++)
            for (int pure = 0; pure < 2; pure++, checked++)
                blocks_check(&shapes[i], pure, in_place);
    printf("%zu bodies of blocks\n", checked);
}

TEST(test_failed_fill)
{
    struct source source = {.fails = true};
    struct api_arena *arena = api_arena_new(NULL);
    struct api_response response = {.arena = arena};
    struct api_request request = {.arena = arena};
    struct api_result result = {
        .outputs = source.outputs, .outputs_count = 1, .fill = source_fill, .state = &source};
    struct pe_error err = {0};
    unsigned char out[64];

    source.outputs[0] = (struct pe_output){
        .name = "x", .dtype = PE_F32, .rank = 2, .shape = {4, 4}, .rows = 4, .row_elements = 4};
    ck_assert_int_eq(api_blocks_render(&request, &result, NULL, 0, &response, &err), PE_OK);
    ck_assert_uint_eq(response.body.fill(&response, 0, out), SIZE_MAX);
    api_arena_free(arena);
}

/* An element without element_work costs a nanosecond. */
TEST(test_cheap_blocks)
{
    struct pe_output output = {.dtype = PE_F32, .rows = 1 << 20, .row_elements = 4};
    struct api_result result = {
        .outputs = &output, .outputs_count = 1, .pure = true, .cheap = true};

    ck_assert(api_blocks_are_cheap(&result)); /* 65536 of them */
    output.dtype = PE_F16;
    ck_assert(!api_blocks_are_cheap(&result)); /* twice as many */
    output.element_work = 0.5;
    ck_assert(api_blocks_are_cheap(&result));
}
