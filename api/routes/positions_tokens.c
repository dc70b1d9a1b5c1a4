/* SPDX-License-Identifier: MIT */
#include "api/routes/positions_read.h"

#include <math.h>
#include <string.h>

/* How many tokens there are, which of them are text, and which are padding. */

static enum pe_status size_set(struct api_positions_reading *reading, const char *name,
                               const char *where, size_t rows, size_t tokens)
{
    struct pe_ids_spec *spec = &reading->asked->spec;

    if (spec->rows > 0 && (spec->rows != rows || spec->tokens != tokens))
        return pe_fail(reading->err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu rows of %zu tokens, another list has %zu of %zu", name, rows,
                       tokens, spec->rows, spec->tokens);
    spec->rows = rows;
    spec->tokens = tokens;
    return PE_OK;
}

static unsigned char *flags_take(struct api_positions_reading *reading)
{
    const struct pe_ids_spec *spec = &reading->asked->spec;

    return api_arena_take(reading->request->arena, spec->rows * spec->tokens + 1);
}

static enum pe_status lengths_read(struct api_positions_reading *reading,
                                   const struct api_numbers *lengths)
{
    struct pe_ids_spec *spec = &reading->asked->spec;
    const struct pe_value *side = api_positions_value(reading, "padding_side");
    double most = 0;
    bool differ = false;
    unsigned char *mask;

    for (size_t i = 0; i < api_positions_count(lengths); i++) {
        if (lengths->values[i] < 0)
            return pe_fail(reading->err, PE_OUT_OF_RANGE, lengths->where, "a length is negative");
        most = fmax(most, lengths->values[i]);
        differ |= lengths->values[i] != lengths->values[0];
    }
    if (size_set(reading, "lengths", lengths->where, api_positions_count(lengths), (size_t)most) ||
        !differ)
        return reading->err->status;
    if (!side->given)
        return pe_fail(reading->err, PE_MISSING, "parameter:padding_side",
                       "padding_side is required where lengths differ: left or right");
    if (spec->kinds || spec->mask)
        return pe_fail(reading->err, PE_CONFLICT, lengths->where,
                       "lengths stands for attention_mask; leave one of them out");
    spec->mask = mask = flags_take(reading);
    for (size_t row = 0; mask && row < spec->rows; row++) {
        const size_t length = (size_t)lengths->values[row];
        memset(mask + row * spec->tokens + (side->number == 0 ? spec->tokens - length : 0), 1,
               length);
    }
    return mask ? PE_OK : api_positions_no_memory(reading);
}

/* Of lists of tokens, else of what else is there. */
static enum pe_status sizes_read(struct api_positions_reading *reading)
{
    struct pe_ids_spec *spec = &reading->asked->spec;
    const struct pe_value *length = api_positions_value(reading, "length");
    const struct api_numbers *lengths = api_positions_list(reading, API_POSITIONS_LENGTHS),
                             *posted = api_positions_list(reading, API_POSITIONS_POSTED);

    for (int i = 0; i < API_POSITIONS_OF_TOKENS; i++) {
        const struct api_numbers *list = api_positions_list(reading, (enum api_positions_list)i);
        if (list && size_set(reading, api_positions_names[i], list->where,
                             list->planes * list->rows, list->columns))
            return reading->err->status;
    }
    if (length->given && size_set(reading, "length", "parameter:length",
                                  spec->rows > 0 ? spec->rows : 1, (size_t)length->number))
        return reading->err->status;
    if (lengths)
        return lengths_read(reading, lengths);
    if (spec->rows == 0 && spec->bounds_count > 0)
        return size_set(reading, "cu_seqlens", "parameter:cu_seqlens", 1,
                        (size_t)fmax((double)spec->bounds[spec->bounds_count - 1], 0));
    if (spec->rows == 0 && posted && !api_positions_value(reading, "chunk_start")->given)
        return size_set(reading, "position_ids", posted->where,
                        posted->rank == 1 ? 1 : posted->rows, posted->columns);
    return spec->rows > 0 ? PE_OK
                          : pe_fail(reading->err, PE_MISSING, "parameter:length",
                                    "length is required (or lengths, input_ids, "
                                    "mm_token_type_ids, attention_mask, cu_seqlens)");
}

static enum pe_status kinds_read(struct api_positions_reading *reading)
{
    struct pe_ids_spec *spec = &reading->asked->spec;
    const struct api_numbers *given = api_positions_list(reading, API_POSITIONS_KINDS),
                             *ids = api_positions_list(reading, API_POSITIONS_INPUT_IDS);
    const struct pe_value *image = api_positions_value(reading, "image_token_id"),
                          *video = api_positions_value(reading, "video_token_id");
    const struct api_numbers *list = given ? given : ids;
    unsigned char *kinds;

    if (!given && (!ids || (!image->given && !video->given)))
        return spec->images_count + spec->videos_count == 0 || spec->model.axes == 1
                   ? PE_OK
                   : pe_fail(reading->err, PE_MISSING, "parameter:mm_token_type_ids",
                             "mm_token_type_ids says which tokens are of images (1) and videos "
                             "(2); or input_ids with image_token_id, video_token_id");
    spec->kinds = kinds = flags_take(reading);
    if (!kinds)
        return api_positions_no_memory(reading);
    for (size_t i = 0; i < spec->rows * spec->tokens; i++) {
        const double value = list->values[i];
        if (given && !(value >= 0 && value <= PE_IDS_VIDEO))
            return pe_fail(reading->err, PE_INVALID, given->where,
                           "a token is 0 (text), 1 (image) or 2 (video), got %.17g", value);
        kinds[i] = (unsigned char)(given                                    ? value
                                   : image->given && value == image->number ? PE_IDS_IMAGE
                                   : video->given && value == video->number ? PE_IDS_VIDEO
                                                                            : PE_IDS_TEXT);
    }
    return PE_OK;
}

static enum pe_status mask_read(struct api_positions_reading *reading)
{
    struct pe_ids_spec *spec = &reading->asked->spec;
    const struct api_numbers *given = api_positions_list(reading, API_POSITIONS_MASK);
    unsigned char *mask;

    if (!given)
        return PE_OK;
    spec->mask = mask = flags_take(reading);
    for (size_t i = 0; mask && i < spec->rows * spec->tokens; i++)
        mask[i] = given->values[i] != 0;
    return mask ? PE_OK : api_positions_no_memory(reading);
}

enum pe_status api_positions_tokens_read(struct api_positions_reading *reading)
{
    return sizes_read(reading) || mask_read(reading) || kinds_read(reading) ? reading->err->status
                                                                            : PE_OK;
}
