/* SPDX-License-Identifier: MIT */
#include "api/response/blocks.h"

#include <pthread.h>
#include <string.h>

/* Blocks are a fixed grid of bytes, and results fill rows. If all rows have one size, the grid is a
 * multiple of it and every block has complete rows. Otherwise a border between two blocks may cut a
 * group of rows: the block that comes first fills the group into memory taken with the response. */

struct cut {
    pthread_mutex_t mutex;
    unsigned char *bytes; /* the group */
    bool filled, failed;
};

struct blocks {
    struct api_result *result;
    uint64_t total; /* bytes of all blocks */
    /* One for each border from that after block `first_cut` on; NULL: no border cuts a group. */
    struct cut *cuts;
    size_t first_cut, cuts_count;
};

size_t api_output_row_size(const struct pe_output *output)
{
    return output->row_elements * pe_dtype_info(output->dtype)->size;
}

uint64_t api_output_size(const struct pe_output *output)
{
    return (uint64_t)output->rows * api_output_row_size(output);
}

/* Nanoseconds of an element. */
static double element_cost(const struct pe_output *output)
{
    return output->element_work > 0 ? output->element_work : 1;
}

/* Nanoseconds of a block, after which the pool schedules its threads again. */
#define BLOCK_COST 1e7

size_t api_block_size(const struct pe_output *output)
{
    const double size =
        BLOCK_COST / element_cost(output) * (double)pe_dtype_info(output->dtype)->size;

    if (size >= API_BLOCK_SIZE || size >= (double)api_output_size(output))
        return API_BLOCK_SIZE;
    return (size_t)size;
}

unsigned api_output_shape(const struct pe_output *output, size_t *shape)
{
    memcpy(shape, output->shape, output->rank * sizeof(*shape));
    if (output->is_complex)
        shape[output->rank] = 2;
    return output->rank + output->is_complex;
}

const unsigned char *api_rows_get(struct api_result *result, size_t output, size_t row_begin,
                                  size_t row_end, unsigned char *buffer)
{
    const size_t row_size = api_output_row_size(&result->outputs[output]);

    if (row_size == 0 || row_begin == row_end)
        return buffer;
    if (!result->fill(result, output, row_begin, row_end, buffer))
        return NULL;
    return result->in_place ? result->in_place[output] + row_begin * row_size : buffer;
}

/* ---- filling -------------------------------------------------------------------------------- */

/* Rows that are filled together, and their bytes in the output. */
struct group {
    size_t row_begin, row_end;
    uint64_t begin, end;
};

static size_t group_rows(const struct api_result *result)
{
    return result->rows_together ? result->rows_together : 1;
}

static struct group group_at(const struct api_result *result, const struct pe_output *output,
                             uint64_t offset)
{
    const size_t row_size = api_output_row_size(output), together = group_rows(result);
    struct group group;

    group.row_begin = offset / row_size / together * together;
    group.row_end =
        output->rows - group.row_begin < together ? output->rows : group.row_begin + together;
    group.begin = (uint64_t)group.row_begin * row_size;
    group.end = (uint64_t)group.row_end * row_size;
    return group;
}

static bool result_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                             size_t row_end, unsigned char *out)
{
    const size_t row_size = api_output_row_size(&result->outputs[output]);
    const unsigned char *at = NULL;

    if (!result->fill(result, output, row_begin, row_end, out))
        return false;
    if (result->in_place)
        at = result->in_place[output] + row_begin * row_size;
    if (at && at != out)
        memcpy(out, at, (row_end - row_begin) * row_size);
    return true;
}

/* The bytes [begin, end) of a group that a border cuts. */
static bool cut_copy(struct blocks *blocks, struct cut *cut, size_t output,
                     const struct group *group, uint64_t begin, uint64_t end, unsigned char *out)
{
    bool failed;

    pthread_mutex_lock(&cut->mutex);
    if (!cut->filled) {
        cut->failed =
            !result_rows_fill(blocks->result, output, group->row_begin, group->row_end, cut->bytes);
        cut->filled = true;
    }
    failed = cut->failed;
    pthread_mutex_unlock(&cut->mutex);
    if (!failed)
        memcpy(out, cut->bytes + (begin - group->begin), end - begin);
    return !failed;
}

/* Fills the bytes [begin, end) of one output, the part of it in one block. */
static bool part_fill(struct blocks *blocks, size_t block, size_t output, uint64_t begin,
                      uint64_t end, unsigned char *out)
{
    struct api_result *result = blocks->result;
    const struct pe_output *from = &result->outputs[output];
    const size_t row_size = api_output_row_size(from);
    const struct group first = group_at(result, from, begin),
                       last = group_at(result, from, end - 1);
    size_t row_begin = first.row_begin, row_end = last.row_end;

    if (begin > first.begin) {
        const uint64_t stop = end < first.end ? end : first.end;
        if (!cut_copy(blocks, &blocks->cuts[block - 1 - blocks->first_cut], output, &first, begin,
                      stop, out))
            return false;
        if (stop == end)
            return true;
        row_begin = first.row_end;
    }
    if (end < last.end) {
        const uint64_t start = last.begin;
        if (!cut_copy(blocks, &blocks->cuts[block - blocks->first_cut], output, &last, start, end,
                      out + (start - begin)))
            return false;
        row_end = last.row_begin;
    }
    return row_begin >= row_end || result_rows_fill(result, output, row_begin, row_end,
                                                    out + ((uint64_t)row_begin * row_size - begin));
}

/* Bytes [begin, end) of all blocks. */
struct extent {
    uint64_t begin, end;
};

/* Restricts a part to the groups of rows that the requested range touches. */
static struct extent range_cut(const struct api_body *body, const struct api_result *result,
                               const struct pe_output *output, uint64_t start, struct extent part)
{
    const uint64_t first = body->skip > body->prefix_size ? body->skip - body->prefix_size : 0;
    const uint64_t last = body->skip + body->size - body->prefix_size;

    if (body->buffer || body->size == API_SIZE_UNKNOWN)
        return part;
    if (first >= part.end || body->skip + body->size <= body->prefix_size + part.begin)
        return (struct extent){part.end, part.end};
    if (first > part.begin) {
        const uint64_t group = start + group_at(result, output, first - start).begin;
        part.begin = group > part.begin ? group : part.begin;
    }
    if (last < part.end) {
        const uint64_t group = start + group_at(result, output, last - 1 - start).end;
        part.end = group < part.end ? group : part.end;
    }
    return part;
}

static size_t grid_block_fill(struct api_response *response, size_t block, unsigned char *out)
{
    struct blocks *blocks = response->body.state;
    const struct api_body *body = &response->body;
    const uint64_t total = blocks->total;
    const uint64_t begin = (uint64_t)block * body->block_size;
    const uint64_t end = total - begin < body->block_size ? total : begin + body->block_size;
    uint64_t start = 0; /* where the output begins */

    if (body->buffer)
        out = body->buffer + begin;
    for (size_t i = 0; i < blocks->result->outputs_count; i++) {
        const uint64_t stop = start + api_output_size(&blocks->result->outputs[i]);
        struct extent part = {begin > start ? begin : start, end < stop ? end : stop};
        if (part.begin < part.end)
            part = range_cut(body, blocks->result, &blocks->result->outputs[i], start, part);
        if (part.begin < part.end && !part_fill(blocks, block, i, part.begin - start,
                                                part.end - start, out + (part.begin - begin)))
            return SIZE_MAX;
        start = stop;
    }
    return end - begin;
}

/* ---- cheap blocks ---------------------------------------------------------------------------- */

/* Nanoseconds of a block that the event loop may fill, and of the once_work that a worker may do
 * before: the first byte waits for it. */
#define CHEAP_COST 1e5
#define ONCE_COST  3e6

double api_block_once_cost(const struct pe_output *output)
{
    const double parts = output->once_parts > 1 ? (double)output->once_parts : 1;
    const double met = 1 + API_CHEAP_BLOCK * parts / ((double)api_output_size(output) + 1);

    return output->once_work / parts * (met < parts ? met : parts);
}

/* Nanoseconds of the most expensive block, without once_work; above CHEAP_COST where the loop must
 * not fill it in any case. */
static double block_cost(const struct api_result *result)
{
    double largest = 0, cost = 0;

    if (!result->cheap || !result->pure || result->in_place)
        return 2 * CHEAP_COST;
    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        const double block =
            element_cost(output) * API_CHEAP_BLOCK / (double)pe_dtype_info(output->dtype)->size;
        const double all = pe_output_work(output, output->rows);
        if (api_group_size(result, output) > API_CHEAP_BLOCK)
            return 2 * CHEAP_COST;
        /* A short output, such as the slopes of a bias, may share a block with the end of another.
         */
        if (all < block)
            cost += all;
        else if (block > largest)
            largest = block;
    }
    return cost + largest;
}

bool api_blocks_are_cheap(const struct api_result *result)
{
    double cost = block_cost(result);

    for (size_t i = 0; i < result->outputs_count; i++)
        cost += api_block_once_cost(&result->outputs[i]);
    return cost <= CHEAP_COST;
}

/* Are blocks cheap once the once_work is done, and does this not take long? */
static bool become_cheap(const struct api_result *result)
{
    double once = 0;

    for (size_t i = 0; i < result->outputs_count; i++)
        once += result->outputs[i].once_work;
    return once <= ONCE_COST && block_cost(result) <= CHEAP_COST;
}

/* Fills the first rows of each part, which does its once_work. */
static bool parts_begin(struct api_result *result, size_t output, unsigned char *buffer)
{
    const struct pe_output *of = &result->outputs[output];
    const size_t together = result->rows_together ? result->rows_together : 1;
    const size_t parts = of->once_parts > 1 ? of->once_parts : 1;

    if (of->once_work == 0)
        return true;
    for (size_t part = 0; part < parts; part++) {
        const size_t row = (size_t)((double)of->rows / (double)parts * (double)part);
        const size_t begin = row / together * together, left = of->rows - begin;
        if (!result->fill(result, output, begin, begin + (left < together ? left : together),
                          buffer))
            return false;
    }
    return true;
}

void api_blocks_make_cheap(struct api_result *result, struct api_response *response)
{
    bool begun = become_cheap(result);
    unsigned char *buffer;

    if (!begun || response->body.cheap)
        return;
    buffer = api_arena_buffer(response->arena, API_CHEAP_BLOCK);
    for (size_t i = 0; begun && i < result->outputs_count; i++)
        begun = buffer && parts_begin(result, i, buffer);
    api_arena_buffer_drop(response->arena, buffer);
    response->body.cheap = begun;
}

/* ---- the grid ------------------------------------------------------------------------------- */

size_t api_group_size(const struct api_result *result, const struct pe_output *output)
{
    const size_t together = group_rows(result);

    return api_output_row_size(output) * (together < output->rows ? together : output->rows);
}

/* A multiple of the groups of the largest output, which is not cut if it is the first output; and
 * at least the largest group, so that each is cut at most once. */
static size_t grid_choose(const struct api_result *result, uint64_t total)
{
    size_t unit = 1, least = API_BLOCK_SIZE, most = 1;
    uint64_t largest = 0;

    if (become_cheap(result))
        least = API_CHEAP_BLOCK;
    for (size_t i = 0; i < result->outputs_count; i++) {
        const size_t group = api_group_size(result, &result->outputs[i]);
        if (api_output_size(&result->outputs[i]) > largest) {
            largest = api_output_size(&result->outputs[i]);
            unit = group;
        }
        if (api_block_size(&result->outputs[i]) < least)
            least = api_block_size(&result->outputs[i]);
        if (group > most)
            most = group;
    }
    least = most > least ? most : least;
    if (total <= least)
        return total > 0 ? total : 1;
    return (least + unit - 1) / unit * unit;
}

static void cuts_release(void *handle)
{
    struct blocks *blocks = handle;

    for (size_t i = 0; i < blocks->cuts_count; i++)
        pthread_mutex_destroy(&blocks->cuts[i].mutex);
}

/* Takes memory for the group that the border after `block` cuts. Called in order of borders. */
static bool cut_add(struct blocks *blocks, struct api_arena *arena, size_t block, size_t borders,
                    size_t group)
{
    if (!blocks->cuts) {
        blocks->first_cut = block;
        blocks->cuts = api_arena_take(arena, (borders - block) * sizeof(*blocks->cuts));
        if (!blocks->cuts || !api_arena_defer(arena, cuts_release, blocks))
            return false;
        for (; blocks->cuts_count < borders - block; blocks->cuts_count++)
            blocks->cuts[blocks->cuts_count].mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    }
    return (blocks->cuts[block - blocks->first_cut].bytes = api_arena_take(arena, group));
}

/* Finds the borders that cut groups. */
static enum pe_status cuts_make(struct api_request *request, struct api_response *response,
                                struct pe_error *err)
{
    struct blocks *blocks = response->body.state;
    const uint64_t grid = response->body.block_size;
    uint64_t start = 0;

    for (size_t i = 0; i < blocks->result->outputs_count; i++) {
        const struct pe_output *output = &blocks->result->outputs[i];
        const uint64_t stop = start + api_output_size(output);
        const size_t group = api_group_size(blocks->result, output);
        for (uint64_t border = (start / grid + 1) * grid; border < stop; border += grid) {
            if (grid % group == 0 && start % group == 0)
                break;
            if ((border - start) % group != 0 && !cut_add(blocks, request->arena, border / grid - 1,
                                                          response->body.blocks - 1, group))
                return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
        }
        start = stop;
    }
    return PE_OK;
}

/* The memory of results that are contiguous there, from which they can be sent; else NULL. */
static unsigned char *buffer_of(const struct api_result *result)
{
    unsigned char *end;

    if (!result->in_place || result->pure || result->outputs_count == 0)
        return NULL;
    end = result->in_place[0];
    for (size_t i = 0; i < result->outputs_count; i++) {
        if (result->in_place[i] != end)
            return NULL;
        end += api_output_size(&result->outputs[i]);
    }
    return result->in_place[0];
}

enum pe_status api_blocks_render(struct api_request *request, struct api_result *result,
                                 const void *prefix, size_t prefix_size,
                                 struct api_response *response, struct pe_error *err)
{
    struct blocks *blocks = api_arena_take(request->arena, sizeof(*blocks));
    struct api_body *body = &response->body;
    uint64_t total = 0;

    if (!blocks)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    for (size_t i = 0; i < result->outputs_count; i++) {
        if (api_output_row_size(&result->outputs[i]) > API_ROW_SIZE_MAX)
            return pe_fail(err, PE_TOO_LARGE, "", "a row of %s would have more than 64 MiB",
                           result->outputs[i].name);
        total += api_output_size(&result->outputs[i]);
    }
    blocks->result = result;
    blocks->total = total;
    *body = (struct api_body){
        .kind = result->pure ? API_PLAN : API_JOB,
        .size = prefix_size + total,
        .prefix = prefix,
        .prefix_size = prefix_size,
        .block_size = grid_choose(result, total),
        .buffer = buffer_of(result),
        .fill = grid_block_fill,
        .cheap = api_blocks_are_cheap(result),
        .state = blocks,
    };
    body->blocks = (total + body->block_size - 1) / body->block_size;
    if (request->head_only)
        return PE_OK;
    return cuts_make(request, response, err);
}
