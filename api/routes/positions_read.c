/* SPDX-License-Identifier: MIT */
#include "api/routes/positions_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/base/names.h"

/* Tokens, grids and ids under the names that models' processors give them. */

#define WHOLE_MAX (0x1p53 - 1)

static const struct pe_param params_list[] = {
    {.name = "model_type",
     .type = PE_TEXT,
     .fallback = "text",
     .doc = "How the model counts, as its config.json has it: text (one id a token), qwen2_vl, "
            "qwen3_vl, glm4v ..."},
    {.name = "length",
     .type = PE_INTEGER,
     .unit = "positions",
     .min = 0,
     .max = WHOLE_MAX,
     .doc = "How many tokens, where no list of tokens says it."},
    {.name = "padding_side",
     .type = PE_CHOICE,
     .choices = "left,right",
     .doc = "Where rows of lengths that differ are padded."},
    {.name = "chunk_start",
     .type = PE_INTEGER,
     .min = 0,
     .max = WHOLE_MAX,
     .fallback = "0",
     .doc = "The first token whose id is wanted: as many are in the cache."},
    {.name = "chunk_length",
     .type = PE_INTEGER,
     .unit = "positions",
     .min = 0,
     .max = WHOLE_MAX,
     .doc = "How many ids of a row are wanted; to its end where absent. Behind the last token text "
            "goes on."},
    {.name = "continues",
     .type = PE_CHOICE,
     .choices = "grid,largest",
     .fallback = "grid",
     .doc = "Where text goes on behind a video: behind its height or width (transformers 5), or "
            "behind its largest id, time included (transformers 4, vLLM)."},
    {.name = "spatial_merge_size",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 10,
     .doc = "Rows and columns of patches that are one of tokens; the model's where absent."},
    {.name = "temporal_merge_size",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 10,
     .doc = "Frames of a video likewise."},
    {.name = "tokens_per_second",
     .type = PE_INTEGER,
     .min = 0,
     .max = 1 << 20,
     .doc = "Steps of time in a second of a video; 0: a frame is one step."},
    {.name = "image_token_id",
     .type = PE_INTEGER,
     .min = 0,
     .max = WHOLE_MAX,
     .doc = "Which of input_ids stand for images, where mm_token_type_ids is absent."},
    {.name = "video_token_id",
     .type = PE_INTEGER,
     .min = 0,
     .max = WHOLE_MAX,
     .doc = "Which of them stand for videos."},
};

const char *const api_positions_names[API_POSITIONS_LISTS] = {
    "mm_token_type_ids", "input_ids",          "attention_mask", "lengths",     "image_grid_thw",
    "video_grid_thw",    "second_per_grid_ts", "cu_seqlens",     "position_ids"};

static const char own[] = "tensors tensor mm_token_type_ids input_ids attention_mask lengths "
                          "image_grid_thw video_grid_thw second_per_grid_ts cu_seqlens "
                          "position_ids";

const struct api_numbers *api_positions_list(const struct api_positions_reading *reading,
                                             enum api_positions_list list)
{
    return reading->lists[list].given ? &reading->lists[list] : NULL;
}

size_t api_positions_count(const struct api_numbers *numbers)
{
    return numbers ? numbers->planes * numbers->rows * numbers->columns : 0;
}

const struct pe_value *api_positions_value(const struct api_positions_reading *reading,
                                           const char *name)
{
    return pe_param_value(&reading->asked->params, name);
}

enum pe_status api_positions_no_memory(const struct api_positions_reading *reading)
{
    return pe_fail(reading->err, PE_OUT_OF_MEMORY, "", "no memory for the tokens");
}

/* ---- lists ----------------------------------------------------------------------------------- */

static enum pe_status lists_read(struct api_positions_reading *reading)
{
    for (int i = 0; i < API_POSITIONS_LISTS; i++) {
        struct api_numbers *numbers = &reading->lists[i];
        if (api_numbers_read(reading->request, api_positions_names[i], numbers, reading->err))
            return reading->err->status;
        if (numbers->object)
            return pe_fail(reading->err, PE_INVALID, numbers->where, "%s is a list of numbers",
                           api_positions_names[i]);
        for (size_t at = 0;
             i != API_POSITIONS_SECONDS && at < (numbers->given ? api_positions_count(numbers) : 0);
             at++)
            if (numbers->values[at] != floor(numbers->values[at]))
                return pe_fail(reading->err, PE_INVALID, numbers->where,
                               "%s holds whole numbers, got %.17g", api_positions_names[i],
                               numbers->values[at]);
    }
    return PE_OK;
}

/* A tensor of another name would be left out without a word. */
static enum pe_status tensors_check(const struct api_positions_reading *reading)
{
    for (size_t i = 0; i < reading->request->tensors_count; i++) {
        const char *name = reading->request->tensors[i].name;
        bool known = false;
        for (int list = 0; list < API_POSITIONS_LISTS; list++)
            known |=
                strcmp(name, api_positions_names[list]) == 0 ||
                (reading->lists[list].tensor && strcmp(name, reading->lists[list].tensor) == 0);
        if (!known)
            return pe_fail(reading->err, PE_UNKNOWN_PARAMETER, "parameter:tensors",
                           "there is no use for a tensor '%.60s'; tensor=NAME names that of an npy "
                           "file or raw bytes: %s",
                           name, own + strlen("tensors tensor "));
    }
    return PE_OK;
}

static int64_t *whole_copy(struct api_positions_reading *reading, const double *values,
                           size_t count)
{
    int64_t *copy = api_arena_take(reading->request->arena, (count + 1) * sizeof(*copy));

    for (size_t i = 0; copy && i < count; i++)
        copy[i] = (int64_t)values[i];
    return copy;
}

static enum pe_status grids_read(struct api_positions_reading *reading,
                                 enum api_positions_list list, const int64_t **grids, size_t *count)
{
    const struct api_numbers *numbers = api_positions_list(reading, list);

    if (!numbers)
        return PE_OK;
    if (numbers->columns != 3 || numbers->planes != 1)
        return pe_fail(reading->err, PE_SHAPE_MISMATCH, numbers->where,
                       "%s is [count, 3]: time, height and width of each grid",
                       api_positions_names[list]);
    *count = numbers->rows;
    *grids = whole_copy(reading, numbers->values, 3 * *count);
    return *grids ? PE_OK : api_positions_no_memory(reading);
}

static enum pe_status vision_read(struct api_positions_reading *reading)
{
    struct pe_ids_spec *spec = &reading->asked->spec;
    const struct api_numbers *seconds = api_positions_list(reading, API_POSITIONS_SECONDS);
    const struct api_numbers *bounds = api_positions_list(reading, API_POSITIONS_BOUNDS);

    if (grids_read(reading, API_POSITIONS_IMAGES, &spec->images, &spec->images_count) ||
        grids_read(reading, API_POSITIONS_VIDEOS, &spec->videos, &spec->videos_count))
        return reading->err->status;
    if (seconds && api_positions_count(seconds) != spec->videos_count)
        return pe_fail(reading->err, PE_SHAPE_MISMATCH, seconds->where,
                       "second_per_grid_ts has %zu numbers, there are %zu videos",
                       api_positions_count(seconds), spec->videos_count);
    spec->seconds = seconds ? seconds->values : NULL;
    if (!bounds)
        return PE_OK;
    spec->bounds_count = api_positions_count(bounds);
    spec->bounds = whole_copy(reading, bounds->values, spec->bounds_count);
    if (spec->bounds_count < 2)
        return pe_fail(reading->err, PE_INVALID, bounds->where,
                       "cu_seqlens is 0, where each sequence ends, and so the number of tokens");
    return spec->bounds ? PE_OK : api_positions_no_memory(reading);
}

/* ---- the model and the chunk ----------------------------------------------------------------- */

static enum pe_status model_unknown(const struct api_positions_reading *reading, const char *text)
{
    char names[400] = "";
    size_t used = 0;

    for (size_t i = 0; pe_ids_model_at(i) && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                 pe_ids_model_at(i)->name);
    return pe_fail(reading->err, PE_INVALID, "parameter:model_type",
                   "positions of '%.40s' are not known; known: %s", text, names);
}

/* "Qwen2.5-VL" is qwen2_5_vl. */
static enum pe_status model_read(struct api_positions_reading *reading)
{
    struct pe_ids_model *model = &reading->asked->spec.model;
    const char *text = api_positions_value(reading, "model_type")->text;
    const struct {
        const char *name;
        unsigned *number;
    } numbers[] = {{"spatial_merge_size", &model->spatial_merge},
                   {"temporal_merge_size", &model->temporal_merge},
                   {"tokens_per_second", &model->tokens_per_second}};
    char name[48] = "";

    for (size_t i = 0; text[i] && i + 1 < sizeof(name); i++)
        name[i] = text[i] == '.' ? '_' : api_letter_fold(text[i]);
    if (pe_ids_model_refused(name))
        return pe_fail(reading->err, PE_UNSUPPORTED, "parameter:model_type",
                       "positions of %s are not counted here: %s", name,
                       pe_ids_model_refused(name));
    if (!pe_ids_model_find(name))
        return model_unknown(reading, text);
    *model = *pe_ids_model_find(name);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (api_positions_value(reading, numbers[i].name)->given)
            *numbers[i].number = (unsigned)api_positions_value(reading, numbers[i].name)->number;
    return PE_OK;
}

static enum pe_status chunk_read(struct api_positions_reading *reading)
{
    struct pe_ids_spec *spec = &reading->asked->spec;
    const struct pe_value *length = api_positions_value(reading, "chunk_length");
    const struct api_numbers *posted = api_positions_list(reading, API_POSITIONS_POSTED);

    spec->start = (size_t)pe_param_number(&reading->asked->params, "chunk_start");
    if (!length->given && !posted && spec->start > spec->tokens)
        return pe_fail(reading->err, PE_MISSING, "parameter:chunk_length",
                       "chunk_length is required behind the last of %zu tokens", spec->tokens);
    spec->count = length->given ? (size_t)length->number
                  : posted      ? posted->columns
                                : spec->tokens - spec->start;
    return PE_OK;
}

/* [count], [rows, count], [3, count] of one row, [3, rows, count]; or four, the first of which are
 * those of text. */
static enum pe_status posted_read(struct api_positions_reading *reading)
{
    struct api_positions_asked *asked = reading->asked;
    const struct api_numbers *posted = api_positions_list(reading, API_POSITIONS_POSTED);
    const struct pe_ids_spec *spec = &asked->spec;

    if (!posted)
        return PE_OK;
    const bool by_axes = posted->rank == 2 && spec->rows == 1 && posted->rows == 3;
    const size_t planes = by_axes ? 3 : posted->planes, rows = by_axes ? 1 : posted->rows;
    const size_t skipped = planes == 4 ? rows * posted->columns : 0;
    if (rows != spec->rows || posted->columns != spec->count)
        return pe_fail(reading->err, PE_SHAPE_MISMATCH, posted->where,
                       "position_ids has %zu rows of %zu ids, %zu of %zu are expected", rows,
                       posted->columns, spec->rows, spec->count);
    asked->posted_axes = planes == 4 ? 3 : (unsigned)planes;
    asked->posted =
        whole_copy(reading, posted->values + skipped, api_positions_count(posted) - skipped);
    return asked->posted ? PE_OK : api_positions_no_memory(reading);
}

enum pe_status api_positions_asked_read(struct api_request *request,
                                        struct api_positions_asked *asked,
                                        struct pe_params *answer_params, struct pe_error *err)
{
    struct pe_params *sets[] = {&asked->params, answer_params};
    struct api_positions_reading reading = {.request = request, .asked = asked, .err = err};

    asked->spec.size = sizeof(asked->spec);
    pe_params_init(&asked->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    if (!api_params_keep(request->arena, &asked->params))
        return api_positions_no_memory(&reading);
    if (api_bind(request, sets, 2, own, err) || pe_params_finish(&asked->params, err) ||
        model_read(&reading) || lists_read(&reading) || tensors_check(&reading) ||
        vision_read(&reading) || api_positions_tokens_read(&reading) || chunk_read(&reading) ||
        posted_read(&reading))
        return err->status;
    asked->spec.by_largest = pe_param_number(&asked->params, "continues") == 1;
    return PE_OK;
}
