/* SPDX-License-Identifier: MIT */
#include "api/response/blocks.h"

/* Nanoseconds of a block that a loop makes for itself, and of what a worker does before, so that
 * the loop can: the first byte waits for all of it. */
#define CHEAP_WORK 1e5
#define ONCE_WORK  3e6

double api_block_once_work(const struct pe_output *output)
{
    const double parts = output->once_parts > 1 ? (double)output->once_parts : 1;
    const double met = 1 + API_CHEAP_BLOCK * parts / ((double)api_output_size(output) + 1);

    return output->once_work / parts * (met < parts ? met : parts);
}

/* Nanoseconds of the dearest block without what is done once; above CHEAP_WORK where the loop must
 * not make it whatever it takes. */
static double block_work(const struct api_result *result)
{
    double largest = 0, work = 0;

    if (!result->cheap || !result->pure || result->in_place)
        return 2 * CHEAP_WORK;
    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        const double block =
            api_element_work(output) * API_CHEAP_BLOCK / (double)pe_dtype_info(output->dtype)->size;
        const double whole = pe_output_work(output, output->rows);
        if (api_group_size(result, output) > API_CHEAP_BLOCK)
            return 2 * CHEAP_WORK;
        /* A short output, as the slopes of a bias, may be in a block beside the end of another. */
        if (whole < block)
            work += whole;
        else if (block > largest)
            largest = block;
    }
    return work + largest;
}

bool api_blocks_are_cheap(const struct api_result *result)
{
    double work = block_work(result);

    for (size_t i = 0; i < result->outputs_count; i++)
        work += api_block_once_work(&result->outputs[i]);
    return work <= CHEAP_WORK;
}

bool api_blocks_get_cheap(const struct api_result *result)
{
    double once = 0;

    for (size_t i = 0; i < result->outputs_count; i++)
        once += result->outputs[i].once_work;
    return once <= ONCE_WORK && block_work(result) <= CHEAP_WORK;
}

/* The first rows of each part do what is done once. */
static bool parts_begin(struct api_result *result, size_t output, unsigned char *room)
{
    const struct pe_output *of = &result->outputs[output];
    const size_t together = result->rows_together ? result->rows_together : 1;
    const size_t parts = of->once_parts > 1 ? of->once_parts : 1;

    if (of->once_work == 0)
        return true;
    for (size_t part = 0; part < parts; part++) {
        const size_t row = (size_t)((double)of->rows / (double)parts * (double)part);
        const size_t begin = row / together * together, left = of->rows - begin;
        if (!result->fill(result, output, begin, begin + (left < together ? left : together), room))
            return false;
    }
    return true;
}

void api_blocks_cheapen(struct api_result *result, struct api_response *response)
{
    bool begun = api_blocks_get_cheap(result);
    unsigned char *room;

    if (!begun || response->body.cheap)
        return;
    room = api_arena_room(response->arena, API_CHEAP_BLOCK);
    for (size_t i = 0; begun && i < result->outputs_count; i++)
        begun = room && parts_begin(result, i, room);
    api_arena_room_drop(response->arena, room);
    response->body.cheap = begun;
}
