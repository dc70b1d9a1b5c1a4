/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "core/base/errors.h"
#include "core/base/work.h"
#include "core/positions/position_ids.h"

/* Ids of the tokens of models that make images and videos, and of vision towers. Where the text
 * begins, or the image, depends on all tokens of a row, which are counted first. */

enum { CHECK_TOKENS = 1 << 16, Z_IMAGE_MULTIPLE = 32, FLUX2_STEP = 10 };

/* Of base, step and frame_rate: no coordinate overflows. */
#define NUMBER_MIN 1e-9
#define NUMBER_MAX 1e9

static const char *name_of(const struct pe_ids_spec *spec)
{
    return spec->model.name ?: "the model";
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool is_size(double number)
{
    return number >= NUMBER_MIN && number <= NUMBER_MAX;
}

static enum pe_status coordinates_check(const struct pe_ids_spec *spec, struct pe_error *err)
{
    const struct pe_ids_model *model = &spec->model;

    if (model->needs_frame_rate && model->frame_rate == 0)
        return pe_fail(err, PE_MISSING, "parameter:frame_rate",
                       "frame_rate is required: ids of %s are seconds", name_of(spec));
    if (model->frame_rate != 0 && !is_size(model->frame_rate))
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:frame_rate", "frame_rate is %g to %g",
                       NUMBER_MIN, NUMBER_MAX);
    for (int axis = 0; axis < 3; axis++) {
        if (model->base[axis] == 0)
            return pe_fail(err, PE_MISSING, "parameter:base_size",
                           "base_size is required: by which the frames, rows and columns of %s are "
                           "divided, its scale_factor",
                           name_of(spec));
        if (!is_size(model->base[axis]))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:base_size", "a base_size is %g to %g",
                           NUMBER_MIN, NUMBER_MAX);
        if (model->coordinates == PE_IDS_SCALED && !is_size(model->step[axis]))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:grid_step", "a grid_step is %g to %g",
                           NUMBER_MIN, NUMBER_MAX);
    }
    return PE_OK;
}

/* Grids whose tokens run through blocks have whole blocks, and some are no larger than the base. */
static enum pe_status sides_check(const struct pe_ids_spec *spec, const char *where,
                                  const int64_t *grids, size_t count, struct pe_error *err)
{
    const struct pe_ids_model *model = &spec->model;
    const int64_t merge = model->spatial_merge;

    for (size_t i = 0; i < count; i++) {
        const int64_t height = grids[3 * i + 1], width = grids[3 * i + 2];
        if (model->by_blocks && (height % merge != 0 || width % merge != 0))
            return pe_fail(err, PE_SHAPE_MISMATCH, where,
                           "the tokens of %s run through blocks of %lld x %lld patches: a grid has "
                           "a multiple of that, not %lld x %lld",
                           name_of(spec), (long long)merge, (long long)merge, (long long)height,
                           (long long)width);
        if (model->within_base &&
            ((double)height > model->base[1] || (double)width > model->base[2]))
            return pe_fail(
                err, PE_OUT_OF_RANGE, where,
                "a grid of %s is at most %.0f x %.0f, its base_size; its code fails with "
                "%lld x %lld",
                name_of(spec), model->base[1], model->base[2], (long long)height, (long long)width);
    }
    return PE_OK;
}

/* Rules of language models, which would be ignored. */
static enum pe_status others_refuse(const struct pe_ids_spec *spec, struct pe_error *err)
{
    const struct pe_ids_model *model = &spec->model;
    const struct {
        const char *name;
        bool given;
    } rules[] = {{"cu_seqlens", spec->bounds_count > 0},
                 {"spatial_merge_size", model->spatial_merge != 1 && !model->by_blocks},
                 {"temporal_merge_size", model->temporal_merge != 1},
                 {"tokens_per_second", model->tokens_per_second != 0},
                 {"second_per_grid_ts", spec->seconds != NULL},
                 {"continues", spec->by_largest}};
    char where[40];

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        snprintf(where, sizeof(where), "parameter:%s", rules[i].name);
        if (rules[i].given)
            return pe_fail(err, PE_CONFLICT, where, "%s has no use for %s", name_of(spec),
                           rules[i].name);
    }
    return PE_OK;
}

enum pe_status pe_ids_generator_check(const struct pe_ids_spec *spec, struct pe_error *err)
{
    const struct pe_ids_model *model = &spec->model;

    if (others_refuse(spec, err))
        return err->status;
    if (model->one_grid && spec->images_count > 0 && spec->videos_count > 0)
        return pe_fail(err, PE_CONFLICT, "parameter:video_grid_thw",
                       "the grids of %s are those of images or of videos", name_of(spec));
    if ((unsigned)model->coordinates > PE_IDS_CENTRES)
        return pe_fail(err, PE_INVALID, "parameter:model_type", "unknown coordinates");
    if (pe_ids_is_fractional(model) && coordinates_check(spec, err))
        return err->status;
    return sides_check(spec, "parameter:image_grid_thw", spec->images, spec->images_count, err) ||
                   sides_check(spec, "parameter:video_grid_thw", spec->videos, spec->videos_count,
                               err)
               ? err->status
               : PE_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct row {
    const struct pe_ids_spec *spec;
    const struct pe_position_error *error;
    size_t first, images; /* of the row's images, and how many there are */
    int64_t texts;        /* tokens of text */
    int64_t half;         /* the largest half of a side */
    size_t image;         /* of those of the row */
    int64_t text, place;  /* tokens of text, and of this image, so far */
};

static const int64_t *sides_of(const struct row *row, size_t image)
{
    const struct pe_ids_spec *spec = row->spec;

    return (spec->videos_count > 0 ? spec->videos : spec->images) + 3 * (row->first + image);
}

static size_t grids_count(const struct pe_ids_spec *spec)
{
    return spec->videos_count > 0 ? spec->videos_count : spec->images_count;
}

static int64_t tokens_of(const int64_t *sides)
{
    return sides[0] * sides[1] * sides[2];
}

static bool is_padding(const struct row *row, size_t at)
{
    return row->spec->mask && !row->spec->mask[at];
}

static enum pe_ids_kind kind_of(const struct row *row, size_t at)
{
    const enum pe_ids_kind absent =
        row->spec->model.no_text && !is_padding(row, at) ? PE_IDS_IMAGE : PE_IDS_TEXT;

    return row->error->flat ? PE_IDS_TEXT : row->spec->kinds ? row->spec->kinds[at] : absent;
}

static bool is_of_grid(enum pe_ids_kind kind)
{
    return kind != PE_IDS_TEXT;
}

/* Assigns images to the row, and counts its text. */
static enum pe_status row_begin(struct row *row, size_t index, struct pe_error *err)
{
    static const char where[] = "parameter:mm_token_type_ids";
    const struct pe_ids_spec *spec = row->spec;
    int64_t tokens = 0;

    row->texts = row->half = row->text = row->place = 0;
    row->image = row->images = 0;
    for (size_t at = index * spec->tokens; at < (index + 1) * spec->tokens; at++) {
        const enum pe_ids_kind kind = kind_of(row, at);
        if (kind > (spec->model.one_grid ? PE_IDS_VIDEO : PE_IDS_IMAGE))
            return pe_fail(err, PE_INVALID, where, "a token is 0 (text) or 1 (image), got %d",
                           kind);
        if (kind == PE_IDS_TEXT && spec->model.no_text && !is_padding(row, at) && !row->error->flat)
            return pe_fail(err, PE_INVALID, where,
                           "text of %s is not among the tokens that rotate: leave it out",
                           name_of(spec));
        tokens += is_of_grid(kind);
        row->texts += kind == PE_IDS_TEXT && (!is_padding(row, at) || row->error->no_mask);
    }
    while (tokens > 0 && row->first + row->images < grids_count(spec)) {
        const int64_t *sides = sides_of(row, row->images++);
        const int64_t half = (sides[1] > sides[2] ? sides[1] : sides[2]) / 2;
        tokens -= tokens_of(sides);
        row->half = half > row->half ? half : row->half;
    }
    if (tokens != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "row %zu has %lld tokens of images %s than its grids have", index,
                       (long long)(tokens > 0 ? tokens : -tokens), tokens > 0 ? "more" : "fewer");
    if (spec->model.one_grid && row->images > 1)
        return pe_fail(err, PE_CONFLICT, where, "a row of %s has one grid, not %zu", name_of(spec),
                       row->images);
    return PE_OK;
}

static void text_ids(struct row *row, int64_t ids[PE_IDS_AXES_MAX])
{
    const int64_t place = row->text++;
    const bool from_zero = row->error->text_from_zero;

    ids[0] = ids[1] = ids[2] = ids[3] = 0;
    if (row->error->text_counted || row->error->after_text ||
        (row->error->flat && row->spec->model.no_text)) {
        ids[0] = ids[1] = ids[2] = place;
        return;
    }
    switch (row->spec->model.generator) {
    case PE_IDS_FLUX2:
        ids[3] = place;
        break;
    case PE_IDS_QWEN_IMAGE:
        ids[0] = ids[1] = ids[2] = place + (from_zero ? 0 : row->half);
        break;
    case PE_IDS_LUMINA2:
        ids[0] = place;
        break;
    case PE_IDS_Z_IMAGE:
        ids[0] = place + (from_zero ? 0 : 1);
        break;
    case PE_IDS_FLUX:
    case PE_IDS_GRID:
    case PE_IDS_NO_GENERATOR:
    case PE_IDS_GENERATORS:
        break;
    }
}

/* ---- coordinates of a grid ------------------------------------------------------------------- */

/* The first id of the tokens of an image, in its first frame. */
static int64_t image_begin(const struct row *row)
{
    const int64_t multiple = row->error->unpadded ? 1 : Z_IMAGE_MULTIPLE;
    const int64_t padded = (row->texts + multiple - 1) / multiple * multiple;

    switch (row->spec->model.generator) {
    case PE_IDS_FLUX2:
        return FLUX2_STEP * (int64_t)row->image;
    case PE_IDS_LUMINA2:
        return row->error->from_zero ? 0 : row->texts;
    case PE_IDS_Z_IMAGE:
        return row->error->from_zero ? 0 : row->error->text_from_zero ? padded : padded + 1;
    case PE_IDS_GRID:
        return 0;
    case PE_IDS_FLUX:
    case PE_IDS_QWEN_IMAGE:
    case PE_IDS_NO_GENERATOR:
    case PE_IDS_GENERATORS:
        break;
    }
    return (int64_t)row->image;
}

/* To the nearest integer, half to even: round() of Python. */
static double half_even(double number)
{
    const double below = floor(number), part = number - below;

    return part > 0.5 || (part == 0.5 && fmod(below, 2) != 0) ? below + 1 : below;
}

/* Begin and size, on an axis, of the largest crop of the base grid that has the aspect of a grid,
 * by the operations of get_resize_crop_region_for_grid. */
static void crop(const double base[3], const int64_t sides[3], int axis, double *begin,
                 double *size)
{
    const double height = (double)sides[1], width = (double)sides[2];
    const bool by_height = height / width > base[1] / base[2];

    if (by_height)
        *size = axis == 1 ? base[1] : half_even(base[1] / height * width);
    else
        *size = axis == 2 ? base[2] : half_even(base[2] / width * height);
    *begin = half_even((base[axis] - *size) / 2);
}

/* The coordinate `place` of `count` that run evenly from the begin of a crop to its end times
 * (count - 1) / count. */
static double cropped(const double base[3], const int64_t sides[3], int axis, double place)
{
    const double count = (double)sides[axis];
    double begin, size;

    crop(base, sides, axis, &begin, &size);
    if (count == 1)
        return begin;
    return begin + place * (((begin + size) * (count - 1) / count - begin) / (count - 1));
}

static double scaled(const struct row *row, int axis, double place)
{
    const struct pe_ids_model *model = &row->spec->model;
    const bool rated = axis == 0 && model->frame_rate > 0 && !row->error->unrated;

    if (axis == 0 && !rated && !model->needs_frame_rate)
        return place / model->base[0];
    return place * model->step[axis] / (model->base[axis] * (rated ? model->frame_rate : 1));
}

/* The coordinate of a frame (axis 0), row (1) or column (2) of a grid. */
static double coordinate_of(const struct row *row, const int64_t sides[3], int axis, int64_t place)
{
    const struct pe_ids_model *model = &row->spec->model;
    const double at = (double)place, *base = model->base;

    switch (row->error->unscaled ? PE_IDS_WHOLE : model->coordinates) {
    case PE_IDS_SCALED:
        return scaled(row, axis, at);
    case PE_IDS_CROPPED:
        return axis == 0 ? at : cropped(base, sides, axis, at);
    case PE_IDS_CENTRES:
        return axis == 0 ? at
                         : (2 * at + 1 - (double)sides[axis]) / 2 *
                               sqrt(base[1] * base[2] / ((double)sides[1] * (double)sides[2]));
    case PE_IDS_WHOLE:
        break;
    }
    return at;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* The frame, row and column of the next token of a grid. */
static void place_take(struct row *row, const int64_t sides[3], int64_t at[3])
{
    const struct pe_position_error *error = row->error;
    const int64_t merge = row->spec->model.spatial_merge, height = sides[1], width = sides[2];
    const int64_t inner = height * width, place = row->place % inner;

    at[0] = row->place / inner;
    at[1] = error->by_columns ? place % height : place / width;
    at[2] = error->by_columns ? place / height : place % width;
    if (row->spec->model.by_blocks && !error->unblocked && !error->by_columns) {
        const int64_t block = place / (merge * merge), inside = place % (merge * merge);
        at[1] = block / (width / merge) * merge + inside / merge;
        at[2] = block % (width / merge) * merge + inside % merge;
    }
    if (++row->place == tokens_of(sides)) {
        row->image++;
        row->place = 0;
    }
}

static void image_ids(struct row *row, struct pe_ids_token *out)
{
    const struct pe_position_error *error = row->error;
    const struct pe_ids_model *model = &row->spec->model;
    const bool centred = model->generator == PE_IDS_QWEN_IMAGE && !error->uncentred;
    const int64_t *given = sides_of(row, row->image), begin = image_begin(row);
    const int64_t sides[] = {given[0], given[error->swapped_grids ? 2 : 1],
                             given[error->swapped_grids ? 1 : 2]};
    const int64_t offset = error->after_text ? row->texts : 0;
    const int down = model->axes == 2 ? 0 : 1, across = down + 1;
    const bool swapped = model->column_first != error->swapped_ids;
    const int to[] = {0, swapped ? across : down, swapped ? down : across};
    int64_t at[3];

    place_take(row, sides, at);
    for (int axis = model->axes == 2 ? 1 : 0; axis < 3; axis++) {
        const int64_t first = axis == 0 ? begin : centred ? sides[axis] / 2 - sides[axis] : 0;
        out->ids[to[axis]] = first + at[axis] + offset;
        if (pe_ids_is_fractional(model))
            out->coordinates[to[axis]] = coordinate_of(row, sides, axis, at[axis]) + (double)offset;
    }
    if (model->axes > 3)
        out->ids[3] = 0;
}

static void token_ids(struct row *row, size_t at, struct pe_ids_token *out)
{
    const bool of_grid = is_of_grid(kind_of(row, at));

    out->padding = is_padding(row, at);
    if (of_grid)
        image_ids(row, out);
    else if (out->padding && !row->error->no_mask)
        for (int axis = 0; axis < PE_IDS_AXES_MAX; axis++)
            out->ids[axis] = row->spec->model.padding;
    else
        text_ids(row, out->ids);
    for (int axis = 0; axis < PE_IDS_AXES_MAX; axis++) {
        out->ids[axis] += row->error->shift;
        out->coordinates[axis] =
            of_grid ? out->coordinates[axis] + row->error->shift : (double)out->ids[axis];
    }
}

enum pe_status pe_ids_generator_iterate(const struct pe_ids_spec *spec,
                                        const struct pe_position_error *error,
                                        const struct pe_ids_sink *sink, struct pe_work *work,
                                        struct pe_error *err)
{
    struct row row = {.spec = spec, .error = error};

    for (size_t index = 0; index < spec->rows; index++, row.first += row.images) {
        struct pe_ids_token out = {.row = index};
        if (row_begin(&row, index, err))
            return err->status;
        if (sink->deltas)
            sink->deltas[index] = 0;
        for (size_t token = 0; token < spec->start + spec->count; token++) {
            if (token % CHECK_TOKENS == 0 && pe_work_check(work, err))
                return err->status;
            token_ids(&row, index * spec->tokens + token, &out);
            out.index = token - spec->start;
            if (token >= spec->start && !sink->take(sink->context, &out))
                return PE_OK;
        }
    }
    return row.first < grids_count(spec) && !error->flat
               ? pe_fail(err, PE_SHAPE_MISMATCH, "parameter:mm_token_type_ids",
                         "the tokens have %zu images, the grids %zu", row.first, grids_count(spec))
               : PE_OK;
}
