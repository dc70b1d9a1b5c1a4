/* SPDX-License-Identifier: MIT */
#include "bench/numbers.h"

#include <jansson.h>
#include <string.h>

#include "api/formats/formats.h"
#include "api/memory/budget.h"
#include "api/numbers/print.h"
#include "api/numbers/scan.h"

/* Kept between requests, as the server does. */
static struct api_memory *memory_kept(void)
{
    static struct api_memory *memory;

    return memory ? memory : (memory = api_memory_new(UINT64_MAX));
}

size_t posencd_number(char *out, float number)
{
    return api_number_print(out, PE_F32, &number);
}

bool posencd_parse(const char *body, size_t size, float *out)
{
    const struct api_settings settings = {.limits.tensors_max = 16};
    struct api_request request = {.settings = &settings,
                                  .arena = api_arena_new(memory_kept()),
                                  .body = (unsigned char *)body,
                                  .body_size = size};
    struct pe_error err = {0};
    const bool right = api_reader_json.read(&request, &err) == PE_OK &&
                       request.tensors[0].tensor.rank == 2 &&
                       request.tensors[0].tensor.shape[1] == COLUMNS;

    if (right && out)
        memcpy(out, request.tensors[0].tensor.data, COUNT * sizeof(*out));
    api_arena_free(request.arena);
    return right;
}

bool jansson_parse(const char *body, size_t size, float *out)
{
    json_t *root = json_loadb(body, size, 0, NULL), *row;
    json_t *tensor = json_object_get(json_object_get(root, "tensors"), "q");
    size_t i, count = 0;

    json_array_foreach(json_object_get(tensor, "data"), i, row)
    {
        for (size_t j = 0; j < json_array_size(row); j++)
            out[count++] = (float)json_number_value(json_array_get(row, j));
    }
    json_decref(root);
    return count == COUNT;
}

bool posencd_scan(const char *text, size_t size, float *out)
{
    struct api_json_run run = {.at = (const unsigned char *)text + 1,
                               .end = (const unsigned char *)text + size,
                               .out = (unsigned char *)out,
                               .capacity = COUNT};

    return api_json_run_read(&run, PE_F32) == PE_OK && run.count == COUNT;
}

static bool rows_fill(struct api_result *result, size_t output, size_t row_begin, size_t row_end,
                      void *out)
{
    const float *floats = result->state;

    (void)output;
    memcpy(out, floats + row_begin * COLUMNS, (row_end - row_begin) * COLUMNS * sizeof(*floats));
    return true;
}

bool posencd_print(const float *floats, char *out, size_t room)
{
    const struct pe_output output = {.name = "q",
                                     .dtype = PE_F32,
                                     .rank = 2,
                                     .shape = {ROWS, COLUMNS},
                                     .rows = ROWS,
                                     .row_elements = COLUMNS};
    struct api_result result = {
        .outputs = &output, .outputs_count = 1, .fill = rows_fill, .state = (void *)floats};
    struct api_arena *arena = api_arena_new(memory_kept());
    struct api_request request = {.arena = arena};
    struct api_response response = {.arena = arena};
    struct pe_error err = {0};
    bool right = api_format_json.render(&request, &result, &response, &err) == PE_OK &&
                 response.body.block_size <= room;

    for (size_t i = 0; right && i < response.body.blocks; i++)
        right = response.body.fill(&response, i, (unsigned char *)out) <= response.body.block_size;
    api_arena_free(arena);
    return right;
}

bool jansson_print(const float *floats, char *out, size_t room)
{
    json_t *rows = json_array();
    size_t size;

    for (size_t i = 0; i < ROWS; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < COLUMNS; j++)
            json_array_append_new(row, json_real(floats[i * COLUMNS + j]));
        json_array_append_new(rows, row);
    }
    size = json_dumpb(rows, out, room, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(rows);
    return size > 0 && size <= room;
}
