/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/base/names.h"
#include "api/memory/json.h"
#include "api/routes/handler.h"
#include "posenc/position_ids.h"

/* POST /v1/positions. Arrays are in the arena. */
struct positions_args {
    struct pe_params params;
    struct pe_ids_spec spec;
    /* The position_ids to diagnose, [posted_axes, rows, count]; in posted_f64 for models with
     * fractional coordinates. Both NULL: the request has none, and the answer is the correct ids.
     */
    const int64_t *posted;
    const double *posted_f64;
    unsigned posted_axes;
};

enum { IDS, DELTAS, OUTPUTS_MAX, SCALARS = 3 };

struct state {
    struct positions_args args;
    struct pe_params answer_params;
    void *ids; /* of int64_t; of double for models with fractional coordinates */
    int64_t *deltas;
    struct pe_output outputs[OUTPUTS_MAX];
    struct pe_scalar scalars[SCALARS];
};

/* ---- reading a request ----------------------------------------------------------------------- */

/* Lists of a request. Those before LIST_LENGTHS have one element for each token and must have equal
 * shapes. */
enum list {
    LIST_KINDS,
    LIST_INPUT_IDS,
    LIST_MASK,
    LIST_LENGTHS,
    LIST_IMAGES,
    LIST_VIDEOS,
    LIST_SECONDS,
    LIST_BOUNDS,
    LIST_POSTED,
    LISTS
};

/* A request being read. */
struct reader {
    struct api_request *request;
    struct positions_args *args;
    struct api_numbers lists[LISTS];
    struct pe_error *err;
};

#define INTEGER_MAX (0x1p53 - 1)

static const struct pe_param params_list[] = {
    {.name = "model_type",
     .type = PE_TEXT,
     .fallback = "text",
     .doc =
         "The model_type of the config.json of the model that the ids are for: qwen2_vl, qwen3_vl, "
         "glm4v and others; text, which has one id for each token; a model that makes images or "
         "videos: flux, chroma, flux2, qwen_image, lumina2, z_image, hunyuan_video, wan, "
         "cogvideox, cogvideox1_5, mochi, kandinsky5, cosmos or ltx_video, whose grids are in "
         "tokens; a vision tower: pixtral, qwen2_vl_vision, qwen3_vl_vision, glm4v_vision; or "
         "sam2, the memory attention."},
    {.name = "length",
     .type = PE_INTEGER,
     .unit = "positions",
     .min = 0,
     .max = INTEGER_MAX,
     .doc = "The number of tokens, where no list of tokens is given."},
    {.name = "padding_side",
     .type = PE_CHOICE,
     .choices = "left,right",
     .doc = "The side on which shorter rows are padded."},
    {.name = "chunk_start",
     .type = PE_INTEGER,
     .min = 0,
     .max = INTEGER_MAX,
     .fallback = "0",
     .doc =
         "The index of the first token in the answer, which is the number of tokens in the cache."},
    {.name = "chunk_length",
     .type = PE_INTEGER,
     .unit = "positions",
     .min = 0,
     .max = INTEGER_MAX,
     .doc = "The number of ids of each row in the answer; up to its end if absent. Tokens after "
            "the last one count as text."},
    {.name = "continues",
     .type = PE_CHOICE,
     .choices = "grid,largest",
     .fallback = "grid",
     .doc =
         "The id after a video. grid: it follows the larger of height and width (transformers 5). "
         "largest: it follows the largest id of the video, time included (transformers 4, vLLM)."},
    {.name = "spatial_merge_size",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 10,
     .doc = "The number of patches on each side of the square that is one token; that of the model "
            "if absent."},
    {.name = "temporal_merge_size",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 10,
     .doc = "The number of frames of a video that are one token; that of the model if absent."},
    {.name = "tokens_per_second",
     .type = PE_INTEGER,
     .min = 0,
     .max = 1 << 20,
     .doc = "The time steps per second of a video; that of the model if absent. 0: each frame is "
            "one step."},
    {.name = "base_size",
     .aliases = "scale_factor",
     .type = PE_NUMBERS,
     .min = 0,
     .above_min = true,
     .max = 1e9,
     .doc = "The frames, rows and columns of the grid that a model was made for, to which others "
            "are scaled: 1,30,45 of cogvideox, 1,192,192 of mochi, 20,2048,2048 of ltx_video if "
            "absent. kandinsky5 needs it, where it is called scale_factor: 1,2,2 or "
            "1,3.16,3.16."},
    {.name = "grid_step",
     .type = PE_NUMBERS,
     .min = 0,
     .above_min = true,
     .max = 1e9,
     .doc = "The distance of two frames, rows and columns before base_size and frame_rate divide "
            "it: 8,32,32 of ltx_video, the compression of its VAE, and 24,1,1 of cosmos, its "
            "base_fps, if absent."},
    {.name = "frame_rate",
     .aliases = "fps",
     .type = PE_NUMBER,
     .min = 0,
     .above_min = true,
     .max = 1e9,
     .doc = "The frames per second of the video. ltx_video needs it; without it the frames of "
            "cosmos are one step apart, as those of its images."},
    {.name = "image_token_id",
     .type = PE_INTEGER,
     .min = 0,
     .max = INTEGER_MAX,
     .doc = "The id in input_ids that stands for images, where mm_token_type_ids is absent."},
    {.name = "video_token_id",
     .type = PE_INTEGER,
     .min = 0,
     .max = INTEGER_MAX,
     .doc = "The id in input_ids that stands for videos, where mm_token_type_ids is absent."},
};

/* The names of the lists in a request. Most are those of a model's processor. */
static const char *const list_names[LISTS] = {
    "mm_token_type_ids", "input_ids",          "attention_mask", "lengths",     "image_grid_thw",
    "video_grid_thw",    "second_per_grid_ts", "cu_seqlens",     "position_ids"};

/* Names of a request that are not in params_list. An error message lists those after "tensor ". */
static const char own[] = "tensors tensor mm_token_type_ids input_ids attention_mask lengths "
                          "image_grid_thw video_grid_thw second_per_grid_ts cu_seqlens "
                          "position_ids";

/* NULL: the request does not have the list. */
static const struct api_numbers *given_list(const struct reader *reader, enum list list)
{
    return reader->lists[list].given ? &reader->lists[list] : NULL;
}

static size_t count_of(const struct api_numbers *numbers)
{
    return numbers ? numbers->planes * numbers->rows * numbers->columns : 0;
}

static const struct pe_value *value_of(const struct reader *reader, const char *name)
{
    return pe_param_value(&reader->args->params, name);
}

static enum pe_status no_memory(const struct reader *reader)
{
    return pe_fail(reader->err, PE_OUT_OF_MEMORY, "", "no memory for the tokens");
}

static bool is_fractional(const struct pe_ids_spec *spec)
{
    return spec->model.coordinates != PE_IDS_WHOLE;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static enum pe_status lists_read(struct reader *reader)
{
    for (int i = 0; i < LISTS; i++) {
        struct api_numbers *numbers = &reader->lists[i];
        if (api_numbers_read(reader->request, list_names[i], numbers, reader->err))
            return reader->err->status;
        if (numbers->object)
            return pe_fail(reader->err, PE_INVALID, numbers->where, "%s is a list of numbers",
                           list_names[i]);
        const bool allows_fractions =
            i == LIST_SECONDS || (i == LIST_POSTED && is_fractional(&reader->args->spec));
        const size_t checked = numbers->given && !allows_fractions ? count_of(numbers) : 0;
        for (size_t at = 0; at < checked; at++)
            if (numbers->values[at] != floor(numbers->values[at]))
                return pe_fail(reader->err, PE_INVALID, numbers->where,
                               "%s holds whole numbers, got %.17g", list_names[i],
                               numbers->values[at]);
    }
    return PE_OK;
}

/* Refuses a tensor that is not a list of the request. */
static enum pe_status tensors_check(const struct reader *reader)
{
    for (size_t i = 0; i < reader->request->tensors_count; i++) {
        const char *name = reader->request->tensors[i].name;
        bool is_list = false;
        for (int list = 0; list < LISTS; list++)
            is_list |=
                strcmp(name, list_names[list]) == 0 ||
                (reader->lists[list].tensor && strcmp(name, reader->lists[list].tensor) == 0);
        if (!is_list)
            return pe_fail(reader->err, PE_UNKNOWN_PARAMETER, "parameter:tensors",
                           "unknown tensor '%.60s'; for an npy file or raw bytes tensor=NAME is "
                           "one of: %s",
                           name, own + strlen("tensors tensor "));
    }
    return PE_OK;
}

static int64_t *integers_copy(struct reader *reader, const double *values, size_t count)
{
    int64_t *copy = api_arena_take(reader->request->arena, (count + 1) * sizeof(*copy));

    for (size_t i = 0; copy && i < count; i++)
        copy[i] = (int64_t)values[i];
    return copy;
}

static enum pe_status grids_read(struct reader *reader, enum list list, const int64_t **grids,
                                 size_t *count)
{
    const struct api_numbers *numbers = given_list(reader, list);

    if (!numbers)
        return PE_OK;
    if (numbers->columns != 3 || numbers->planes != 1)
        return pe_fail(reader->err, PE_SHAPE_MISMATCH, numbers->where,
                       "%s is [count, 3]: time, height and width of each grid", list_names[list]);
    *count = numbers->rows;
    *grids = integers_copy(reader, numbers->values, 3 * *count);
    return *grids ? PE_OK : no_memory(reader);
}

static enum pe_status vision_read(struct reader *reader)
{
    struct pe_ids_spec *spec = &reader->args->spec;
    const struct api_numbers *seconds = given_list(reader, LIST_SECONDS);
    const struct api_numbers *bounds = given_list(reader, LIST_BOUNDS);

    if (grids_read(reader, LIST_IMAGES, &spec->images, &spec->images_count) ||
        grids_read(reader, LIST_VIDEOS, &spec->videos, &spec->videos_count))
        return reader->err->status;
    if (seconds && count_of(seconds) != spec->videos_count)
        return pe_fail(reader->err, PE_SHAPE_MISMATCH, seconds->where,
                       "second_per_grid_ts has %zu numbers, there are %zu videos",
                       count_of(seconds), spec->videos_count);
    spec->seconds = seconds ? seconds->values : NULL;
    if (!bounds)
        return PE_OK;
    spec->bounds_count = count_of(bounds);
    spec->bounds = integers_copy(reader, bounds->values, spec->bounds_count);
    if (spec->bounds_count < 2)
        return pe_fail(reader->err, PE_INVALID, bounds->where,
                       "cu_seqlens must have at least two numbers: 0, then the end of each "
                       "sequence; the last is the number of tokens");
    return spec->bounds ? PE_OK : no_memory(reader);
}

/* ---- tokens: rows, lengths, padding, kinds --------------------------------------------------- */

/* Sets rows and tokens from the list or parameter `name`, and refuses a size other than that of an
 * earlier one. */
static enum pe_status size_set(struct reader *reader, const char *name, const char *where,
                               size_t rows, size_t tokens)
{
    struct pe_ids_spec *spec = &reader->args->spec;

    if (spec->rows > 0 && (spec->rows != rows || spec->tokens != tokens))
        return pe_fail(reader->err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu rows of %zu tokens, another list has %zu of %zu", name, rows,
                       tokens, spec->rows, spec->tokens);
    spec->rows = rows;
    spec->tokens = tokens;
    return PE_OK;
}

/* One byte for each token. */
static unsigned char *token_bytes_take(struct reader *reader)
{
    const struct pe_ids_spec *spec = &reader->args->spec;

    return api_arena_take(reader->request->arena, spec->rows * spec->tokens + 1);
}

static enum pe_status lengths_read(struct reader *reader, const struct api_numbers *lengths)
{
    struct pe_ids_spec *spec = &reader->args->spec;
    const struct pe_value *side = value_of(reader, "padding_side");
    const size_t rows = count_of(lengths);
    const int64_t *values;
    double longest = 0;
    bool differ = false;
    unsigned char *mask;

    for (size_t i = 0; i < rows; i++) {
        if (lengths->values[i] < 0)
            return pe_fail(reader->err, PE_OUT_OF_RANGE, lengths->where, "a length is negative");
        longest = fmax(longest, lengths->values[i]);
        differ |= lengths->values[i] != lengths->values[0];
    }
    if (given_list(reader, LIST_MASK))
        return pe_fail(reader->err, PE_CONFLICT, lengths->where,
                       "lengths stands for attention_mask; leave one of them out");
    if (size_set(reader, "lengths", lengths->where, rows, (size_t)longest) || !differ)
        return reader->err->status;
    if (!side->given)
        return pe_fail(reader->err, PE_MISSING, "parameter:padding_side",
                       "padding_side is required where lengths differ: left or right");
    spec->mask = mask = token_bytes_take(reader);
    values = integers_copy(reader, lengths->values, rows);
    if (!mask || !values)
        return no_memory(reader);
    return pe_ids_mask_fill(values, rows, spec->tokens, side->number == 0, mask, reader->err);
}

/* Sets rows and tokens. All lists with one element for each token, length and lengths must agree;
 * if there are none, the size follows from the grids, cu_seqlens or position_ids. */
static enum pe_status sizes_read(struct reader *reader)
{
    struct pe_ids_spec *spec = &reader->args->spec;
    const struct pe_value *length = value_of(reader, "length");
    const struct api_numbers *lengths = given_list(reader, LIST_LENGTHS),
                             *posted = given_list(reader, LIST_POSTED);

    for (int i = 0; i < LIST_LENGTHS; i++) {
        const struct api_numbers *list = given_list(reader, (enum list)i);
        if (list &&
            size_set(reader, list_names[i], list->where, list->planes * list->rows, list->columns))
            return reader->err->status;
    }
    if (length->given && size_set(reader, "length", "parameter:length",
                                  spec->rows > 0 ? spec->rows : 1, (size_t)length->number))
        return reader->err->status;
    if (lengths)
        return lengths_read(reader, lengths);
    if (spec->rows == 0 && spec->model.no_text && spec->images_count + spec->videos_count > 0) {
        size_t tokens;
        return pe_ids_grid_tokens(spec, &tokens, reader->err)
                   ? reader->err->status
                   : size_set(reader, "the grids", "parameter:image_grid_thw", 1, tokens);
    }
    if (spec->rows == 0 && spec->bounds_count > 0)
        return size_set(reader, "cu_seqlens", "parameter:cu_seqlens", 1,
                        (size_t)fmax((double)spec->bounds[spec->bounds_count - 1], 0));
    if (spec->rows == 0 && posted && !value_of(reader, "chunk_start")->given)
        return size_set(reader, "position_ids", posted->where, posted->rank == 1 ? 1 : posted->rows,
                        posted->columns);
    return spec->rows > 0 ? PE_OK
                          : pe_fail(reader->err, PE_MISSING, "parameter:length",
                                    "length is required (or lengths, input_ids, "
                                    "mm_token_type_ids, attention_mask, cu_seqlens)");
}

/* Fills kinds from token ids, which are converted from double in blocks. */
static void kinds_from_ids_fill(const struct api_numbers *ids, double image, double video,
                                unsigned char *kinds, size_t count)
{
    int64_t tokens[256];

    for (size_t at = 0, step; at < count; at += step) {
        step = count - at < 256 ? count - at : 256;
        for (size_t i = 0; i < step; i++)
            tokens[i] = (int64_t)ids->values[at + i];
        pe_ids_kinds_fill(tokens, step, (int64_t)image, (int64_t)video, kinds + at);
    }
}

static enum pe_status kinds_read(struct reader *reader)
{
    struct pe_ids_spec *spec = &reader->args->spec;
    const struct api_numbers *given = given_list(reader, LIST_KINDS),
                             *ids = given_list(reader, LIST_INPUT_IDS);
    const struct pe_value *image = value_of(reader, "image_token_id"),
                          *video = value_of(reader, "video_token_id");
    unsigned char *kinds;

    if (!given && (!ids || (!image->given && !video->given)))
        return spec->images_count + spec->videos_count == 0 || spec->model.axes == 1 ||
                       spec->model.no_text
                   ? PE_OK
                   : pe_fail(reader->err, PE_MISSING, "parameter:mm_token_type_ids",
                             "mm_token_type_ids says which tokens are of images (1) and videos "
                             "(2); or input_ids with image_token_id, video_token_id");
    spec->kinds = kinds = token_bytes_take(reader);
    if (!kinds)
        return no_memory(reader);
    if (!given) {
        kinds_from_ids_fill(ids, image->given ? image->number : -1,
                            video->given ? video->number : -1, kinds, spec->rows * spec->tokens);
        return PE_OK;
    }
    for (size_t i = 0; i < spec->rows * spec->tokens; i++) {
        const double value = given->values[i];
        if (!(value >= 0 && value <= PE_IDS_VIDEO))
            return pe_fail(reader->err, PE_INVALID, given->where,
                           "a token is 0 (text), 1 (image) or 2 (video), got %.17g", value);
        kinds[i] = (unsigned char)value;
    }
    return PE_OK;
}

static enum pe_status mask_read(struct reader *reader)
{
    struct pe_ids_spec *spec = &reader->args->spec;
    const struct api_numbers *given = given_list(reader, LIST_MASK);
    unsigned char *mask;

    if (!given)
        return PE_OK;
    spec->mask = mask = token_bytes_take(reader);
    for (size_t i = 0; mask && i < spec->rows * spec->tokens; i++)
        mask[i] = given->values[i] != 0;
    return mask ? PE_OK : no_memory(reader);
}

static enum pe_status tokens_read(struct reader *reader)
{
    return sizes_read(reader) || mask_read(reader) || kinds_read(reader) ? reader->err->status
                                                                         : PE_OK;
}

/* ---- the model and the chunk ----------------------------------------------------------------- */

static enum pe_status model_unknown(const struct reader *reader, const char *text)
{
    char names[800] = "";
    size_t used = 0;

    for (size_t i = 0; pe_ids_model_at(i) && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                 pe_ids_model_at(i)->name);
    return pe_fail(reader->err, PE_INVALID, "parameter:model_type",
                   "positions of '%.40s' are not known; known: %s", text, names);
}

/* A model name is accepted as model_type: "Qwen2.5-VL" becomes qwen2_5_vl. */
static enum pe_status model_read(struct reader *reader)
{
    struct pe_ids_model *model = &reader->args->spec.model;
    const char *text = value_of(reader, "model_type")->text;
    const struct {
        const char *name;
        unsigned *member;
    } overrides[] = {{"spatial_merge_size", &model->spatial_merge},
                     {"temporal_merge_size", &model->temporal_merge},
                     {"tokens_per_second", &model->tokens_per_second}};
    char name[48] = "";

    for (size_t i = 0; text[i] && i + 1 < sizeof(name); i++)
        name[i] = text[i] == '.' ? '_' : api_letter_fold(text[i]);
    if (pe_ids_model_refused(name))
        return pe_fail(reader->err, PE_UNSUPPORTED, "parameter:model_type",
                       "positions of %s are not counted here: %s", name,
                       pe_ids_model_refused(name));
    if (!pe_ids_model_find(name))
        return model_unknown(reader, text);
    *model = *pe_ids_model_find(name);
    for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++)
        if (value_of(reader, overrides[i].name)->given)
            *overrides[i].member = (unsigned)value_of(reader, overrides[i].name)->number;
    return PE_OK;
}

/* Reads the three numbers of base_size or grid_step. PE_CONFLICT: the model has no such parameter.
 */
static enum pe_status triple_read(const struct reader *reader, const char *name, bool has_parameter,
                                  double numbers[3])
{
    const struct pe_value *list = value_of(reader, name);
    const struct pe_ids_model *model = &reader->args->spec.model;
    char where[32];

    snprintf(where, sizeof(where), "parameter:%s", name);
    if (!list->given)
        return PE_OK;
    if (!has_parameter)
        return pe_fail(reader->err, PE_CONFLICT, where, "%s has no %s", model->name, name);
    if (list->list_count != 3)
        return pe_fail(reader->err, PE_SHAPE_MISMATCH, where,
                       "%s has three numbers, of frames, rows and columns, got %zu", name,
                       list->list_count);
    memcpy(numbers, list->list, 3 * sizeof(*numbers));
    return PE_OK;
}

static enum pe_status coordinates_read(struct reader *reader)
{
    struct pe_ids_model *model = &reader->args->spec.model;
    const struct pe_value *rate = value_of(reader, "frame_rate");
    const bool scaled = model->coordinates == PE_IDS_SCALED;

    if (triple_read(reader, "base_size", model->within_base || is_fractional(&reader->args->spec),
                    model->base) ||
        triple_read(reader, "grid_step", scaled, model->step))
        return reader->err->status;
    if (rate->given && !scaled)
        return pe_fail(reader->err, PE_CONFLICT, "parameter:frame_rate", "%s has no frame_rate",
                       model->name);
    model->frame_rate = rate->given ? rate->number : 0;
    return PE_OK;
}

static enum pe_status chunk_read(struct reader *reader)
{
    struct pe_ids_spec *spec = &reader->args->spec;
    const struct pe_value *length = value_of(reader, "chunk_length");
    const struct api_numbers *posted = given_list(reader, LIST_POSTED);

    spec->start = (size_t)pe_param_number(&reader->args->params, "chunk_start");
    if (!length->given && !posted && spec->start > spec->tokens)
        return pe_fail(reader->err, PE_MISSING, "parameter:chunk_length",
                       "chunk_length is required where chunk_start is beyond the %zu tokens",
                       spec->tokens);
    spec->count = length->given ? (size_t)length->number
                  : posted      ? posted->columns
                                : spec->tokens - spec->start;
    return PE_OK;
}

/* Reads position_ids of shape [count], [rows, count], [axes, count] for one row, or
 * [axes, rows, count]. Where axes is 3, four planes are accepted too, and the first one, the ids of
 * text, is skipped. */
static enum pe_status posted_read(struct reader *reader)
{
    struct positions_args *args = reader->args;
    const struct api_numbers *posted = given_list(reader, LIST_POSTED);
    const struct pe_ids_spec *spec = &args->spec;

    if (!posted)
        return PE_OK;
    const size_t axes = spec->model.axes > 1 ? spec->model.axes : 3;
    const bool rows_are_axes = posted->rank == 2 && spec->rows == 1 && posted->rows == axes;
    const size_t planes = rows_are_axes ? axes : posted->planes;
    const size_t rows = rows_are_axes ? 1 : posted->rows;
    const bool has_text_plane = planes == 4 && axes == 3;
    const size_t skipped = has_text_plane ? rows * posted->columns : 0;
    if (rows != spec->rows || posted->columns != spec->count)
        return pe_fail(reader->err, PE_SHAPE_MISMATCH, posted->where,
                       "position_ids has %zu rows of %zu ids, %zu of %zu are expected", rows,
                       posted->columns, spec->rows, spec->count);
    args->posted_axes = has_text_plane ? 3 : (unsigned)planes;
    if (is_fractional(spec)) {
        args->posted_f64 = posted->values + skipped;
        return PE_OK;
    }
    args->posted = integers_copy(reader, posted->values + skipped, count_of(posted) - skipped);
    return args->posted ? PE_OK : no_memory(reader);
}

static enum pe_status args_read(struct api_request *request, struct positions_args *args,
                                struct pe_params *answer_params, struct pe_error *err)
{
    struct pe_params *sets[] = {&args->params, answer_params};
    struct reader reader = {.request = request, .args = args, .err = err};

    args->spec.size = sizeof(args->spec);
    pe_params_init(&args->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    if (!api_params_keep(request->arena, &args->params))
        return no_memory(&reader);
    if (api_bind(request, sets, 2, own, err) || pe_params_finish(&args->params, err) ||
        model_read(&reader) || coordinates_read(&reader) || lists_read(&reader) ||
        tensors_check(&reader) || vision_read(&reader) || tokens_read(&reader) ||
        chunk_read(&reader) || posted_read(&reader))
        return err->status;
    args->spec.by_largest = pe_param_number(&args->params, "continues") == 1;
    return PE_OK;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static bool positions_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                                size_t row_end, void *out)
{
    const struct state *state = result->state;
    const size_t columns = state->outputs[output].row_elements;
    const int64_t *values = output == IDS ? (const int64_t *)state->ids : state->deltas;

    /* Fractional ids are doubles, which have the size of int64_t: the bytes are copied. */
    memcpy(out, values + row_begin * columns, (row_end - row_begin) * columns * sizeof(*values));
    return true;
}

/* rope_deltas are absent for models of one axis, for packed sequences, and for models with a
 * generator. */
static void outputs_set(struct state *state, struct api_result *result)
{
    const struct pe_ids_spec *spec = &state->args.spec;
    const bool has_one_axis = spec->model.axes == 1;
    const struct pe_scalar scalars[SCALARS] = {
        {.name = "spatial_merge_size", .value = spec->model.spatial_merge},
        {.name = "temporal_merge_size", .value = spec->model.temporal_merge},
        {.name = "tokens_per_second", .value = spec->model.tokens_per_second}};

    state->outputs[IDS] = (struct pe_output){.name = "position_ids",
                                             .dtype = is_fractional(spec) ? PE_F64 : PE_I64,
                                             .rank = has_one_axis ? 2 : 3,
                                             .shape = {spec->model.axes, spec->rows, spec->count},
                                             .rows = spec->model.axes * spec->rows,
                                             .row_elements = spec->count,
                                             .element_work = 0.5};
    if (has_one_axis)
        memmove(state->outputs[IDS].shape, state->outputs[IDS].shape + 1, 2 * sizeof(size_t));
    state->outputs[DELTAS] = (struct pe_output){.name = "rope_deltas",
                                                .dtype = PE_I64,
                                                .rank = 2,
                                                .shape = {spec->rows, 1},
                                                .rows = spec->rows,
                                                .row_elements = 1};
    memcpy(state->scalars, scalars, sizeof(scalars));
    result->outputs = state->outputs;
    result->outputs_count = has_one_axis || spec->bounds_count > 0 || spec->model.generator ? 1 : 2;
    result->scalars = state->scalars;
    result->scalars_count = has_one_axis || spec->model.generator ? 0 : SCALARS;
    result->first_leads = true;
    result->fill = positions_rows_fill;
    result->pure = true;
    result->work = pe_ids_work(spec);
}

static enum pe_status ids_make(struct api_request *request, struct state *state,
                               struct pe_error *err)
{
    const struct pe_ids_spec *spec = &state->args.spec;
    const size_t shape[] = {spec->model.axes, spec->rows, spec->count, sizeof(int64_t)};
    size_t size;

    if (pe_shape_elements(shape, 4, &size))
        state->ids = api_arena_take(request->arena, size);
    state->deltas = api_arena_take(request->arena, (spec->rows + 1) * sizeof(*state->deltas));
    if (!state->ids || !state->deltas)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the ids");
    return is_fractional(spec)
               ? pe_ids_fill_f64(spec, state->ids, state->deltas, request->work, err)
               : pe_ids_fill(spec, state->ids, state->deltas, request->work, err);
}

/* ---- a diagnosis ----------------------------------------------------------------------------- */

/* The first difference of a diagnosis; null: there is none. */
static json_t *first_json(const struct pe_ids_spec *spec, const struct pe_ids_finding *finding)
{
    static const char *const axis_names[] = {"time", "height", "width", "text"};
    const struct pe_ids_model *model = &spec->model;
    const bool fractional = is_fractional(spec);
    /* Two axes are height and width, or width and height if column_first. */
    const size_t axis =
        model->axes == 2 ? 1 + (finding->axis != model->column_first) : finding->axis;

    if (finding->unequal == 0)
        return json_null();
    return json_pack(
        "{so sI sI so so}", "axis", model->axes == 1 ? json_null() : json_string(axis_names[axis]),
        "row", (json_int_t)finding->row, "token", (json_int_t)finding->token, "expected",
        fractional ? json_real(finding->expected_coordinate) : json_integer(finding->expected),
        "given", fractional ? json_real(finding->given_coordinate) : json_integer(finding->given));
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static enum pe_status ids_diagnose(struct api_request *request, struct state *state,
                                   struct api_result *result, struct pe_error *err)
{
    const struct positions_args *args = &state->args;
    const struct pe_ids_slip_info *slip;
    struct pe_ids_finding finding;

    if (args->posted ? pe_ids_diagnose(&finding, &args->spec, args->posted, args->posted_axes,
                                       request->work, err)
                     : pe_ids_diagnose_f64(&finding, &args->spec, args->posted_f64,
                                           args->posted_axes, request->work, err))
        return err->status;
    slip = finding.slip;
    result->report = json_pack("{ss so so so sI sI so s[]}", "verdict",
                               finding.unequal == 0 ? "match"
                               : slip               ? "known-bug"
                                                    : "unknown",
                               "bug", text_or_null(slip ? slip->code : NULL), "explanation",
                               text_or_null(slip ? slip->explanation : NULL), "fix",
                               text_or_null(slip ? slip->fix : NULL), "compared",
                               (json_int_t)finding.compared, "unequal", (json_int_t)finding.unequal,
                               "first", first_json(&args->spec, &finding), "warnings");
    return PE_OK;
}

static bool is_diagnosis(const struct positions_args *args)
{
    return args->posted || args->posted_f64;
}

/* ---- the handler ----------------------------------------------------------------------------- */

static enum pe_status positions_open(struct api_request *request, struct api_result *result,
                                     struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for positions");
    api_answer_params(request, &state->answer_params);
    if (args_read(request, &state->args, &state->answer_params, err) ||
        api_answer_apply(request, &state->answer_params, result, err))
        return err->status;
    result->operation = result->file_stem = "positions";
    result->dtype = is_fractional(&state->args.spec) ? PE_F64 : PE_I64;
    result->subject = "the positions";
    result->advice = "ask for fewer tokens";
    if (!is_diagnosis(&state->args)) {
        outputs_set(state, result);
        result->warnings = json_array();
        return api_json_keep(request->arena, result->warnings)
                   ? PE_OK
                   : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    }
    result->kind = API_REPORT;
    result->file_stem = NULL;
    result->cache_control = "no-store";
    result->work = pe_ids_diagnosis_work(&state->args.spec);
    return PE_OK;
}

static enum pe_status positions_prepare(struct api_request *request, struct api_result *result,
                                        struct pe_error *err)
{
    struct state *state = result->state;

    return is_diagnosis(&state->args) ? ids_diagnose(request, state, result, err)
                                      : ids_make(request, state, err);
}

const struct api_handler api_handler_positions = {positions_open, positions_prepare};
