/* SPDX-License-Identifier: MIT */
#include "core/base/errors.h"
#include "core/base/work.h"
#include "core/positions/position_ids.h"

/* Ids of the tokens of models that make images. Where the text begins, or the image, depends on all
 * tokens of a row, which are counted first. */

enum { CHECK_TOKENS = 1 << 16, Z_IMAGE_MULTIPLE = 32, FLUX2_STEP = 10 };

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
    return row->spec->images + 3 * (row->first + image);
}

static int64_t tokens_of(const int64_t *sides)
{
    return sides[0] * sides[1] * sides[2];
}

static enum pe_ids_kind kind_of(const struct row *row, size_t at)
{
    return row->spec->kinds && !row->error->flat ? row->spec->kinds[at] : PE_IDS_TEXT;
}

static bool is_padding(const struct row *row, size_t at)
{
    return row->spec->mask && !row->spec->mask[at];
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
        if (kind > PE_IDS_IMAGE)
            return pe_fail(err, PE_INVALID, where, "a token is 0 (text) or 1 (image), got %d",
                           kind);
        tokens += kind == PE_IDS_IMAGE;
        row->texts += kind == PE_IDS_TEXT && (!is_padding(row, at) || row->error->no_mask);
    }
    while (tokens > 0 && row->first + row->images < spec->images_count) {
        const int64_t *sides = sides_of(row, row->images++);
        const int64_t half = (sides[1] > sides[2] ? sides[1] : sides[2]) / 2;
        tokens -= tokens_of(sides);
        row->half = half > row->half ? half : row->half;
    }
    if (tokens != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "row %zu has %lld tokens of images %s than its grids have", index,
                       (long long)(tokens > 0 ? tokens : -tokens), tokens > 0 ? "more" : "fewer");
    return PE_OK;
}

static void text_ids(struct row *row, int64_t ids[PE_IDS_AXES_MAX])
{
    const int64_t place = row->text++;
    const bool from_zero = row->error->text_from_zero;

    ids[0] = ids[1] = ids[2] = ids[3] = 0;
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
    case PE_IDS_NO_GENERATOR:
    case PE_IDS_GENERATORS:
        break;
    }
}

/* The first id of the tokens of an image, in its first frame. */
static int64_t image_begin(const struct row *row)
{
    const int64_t padded = (row->texts + Z_IMAGE_MULTIPLE - 1) / Z_IMAGE_MULTIPLE;

    switch (row->spec->model.generator) {
    case PE_IDS_FLUX2:
        return FLUX2_STEP * (int64_t)row->image;
    case PE_IDS_LUMINA2:
        return row->error->from_zero ? 0 : row->texts;
    case PE_IDS_Z_IMAGE:
        return row->error->from_zero        ? 0
               : row->error->text_from_zero ? Z_IMAGE_MULTIPLE * padded
                                            : Z_IMAGE_MULTIPLE * padded + 1;
    case PE_IDS_FLUX:
    case PE_IDS_QWEN_IMAGE:
    case PE_IDS_NO_GENERATOR:
    case PE_IDS_GENERATORS:
        break;
    }
    return (int64_t)row->image;
}

static void image_ids(struct row *row, int64_t ids[PE_IDS_AXES_MAX])
{
    const struct pe_position_error *error = row->error;
    const int64_t *sides = sides_of(row, row->image);
    const int64_t height = sides[error->swapped_grids ? 2 : 1];
    const int64_t width = sides[error->swapped_grids ? 1 : 2], inner = height * width;
    const int64_t place = row->place % inner;
    const bool centred = row->spec->model.generator == PE_IDS_QWEN_IMAGE && !error->uncentred;
    const int64_t y =
        (error->by_columns ? place % height : place / width) - (centred ? height - height / 2 : 0);
    const int64_t x =
        (error->by_columns ? place / height : place % width) - (centred ? width - width / 2 : 0);

    ids[0] = image_begin(row) + row->place / inner;
    ids[1] = error->swapped_ids ? x : y;
    ids[2] = error->swapped_ids ? y : x;
    ids[3] = 0;
    if (++row->place == tokens_of(sides)) {
        row->image++;
        row->place = 0;
    }
}

static void token_ids(struct row *row, size_t at, struct pe_ids_token *out)
{
    out->padding = is_padding(row, at);
    if (kind_of(row, at) == PE_IDS_IMAGE)
        image_ids(row, out->ids);
    else if (out->padding && !row->error->no_mask)
        for (int axis = 0; axis < PE_IDS_AXES_MAX; axis++)
            out->ids[axis] = row->spec->model.padding;
    else
        text_ids(row, out->ids);
    for (int axis = 0; axis < PE_IDS_AXES_MAX; axis++)
        out->ids[axis] += row->error->shift;
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
    return row.first < spec->images_count && !error->flat
               ? pe_fail(err, PE_SHAPE_MISMATCH, "parameter:mm_token_type_ids",
                         "the tokens have %zu images, the grids %zu", row.first, spec->images_count)
               : PE_OK;
}
