/* SPDX-License-Identifier: MIT */
#include "core/positions/walk.h"

#include "core/base/fail.h"

enum { CHECK_TOKENS = 1 << 16 };

/* The steps of time of one video are fewer than 2^60, but videos stand behind each other. */
#define BASE_MAX (((int64_t)1 << 53) - 1)

/* A grid whose tokens are being counted, in tokens: merged. */
struct grid {
    int64_t time, height, width, patches; /* patches: the larger side, unmerged */
    int64_t next, tokens;                 /* how many have been counted, of how many */
    int64_t base;                         /* of its ids */
    float interval;                       /* of its frames */
    bool timed;
};

struct walk {
    const struct pe_ids_spec *spec;
    const struct pe_ids_slip *slip;
    struct grid grid;
    size_t images, videos, frames; /* grids that were begun; frames of the last video */
    size_t bound;                  /* the next one */
    int64_t next;                  /* the next id of text */
    int64_t largest, counted;      /* of this row: the largest id, and tokens that are no padding */
    bool stopped;                  /* by the sink */
};

/* ---- grids ----------------------------------------------------------------------------------- */

static enum pe_status grid_fail(const struct walk *walk, size_t token, const char *what,
                                struct pe_error *err)
{
    const struct grid *grid = &walk->grid;

    return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:mm_token_type_ids",
                   "%s at token %zu: image %zu and video %zu are the last ones that were begun, "
                   "and %lld of %lld tokens of the grid are there",
                   what, token, walk->images, walk->videos, (long long)grid->next,
                   (long long)grid->tokens);
}

/* The sides of the next image, video or frame. */
static const int64_t *grid_take(struct walk *walk, enum pe_ids_kind kind, int64_t *time)
{
    const struct pe_ids_spec *spec = walk->spec;
    const int64_t *sides;

    if (kind == PE_IDS_IMAGE) {
        if (walk->images == spec->images_count)
            return NULL;
        sides = spec->images + 3 * walk->images++;
        *time = sides[0];
        return sides;
    }
    const bool more = spec->model.frames_apart && walk->videos > 0 &&
                      walk->frames < (size_t)spec->videos[3 * (walk->videos - 1)];
    if (!more && walk->videos == spec->videos_count)
        return NULL;
    walk->videos += !more;
    walk->frames = more ? walk->frames + 1 : 1;
    sides = spec->videos + 3 * (walk->videos - 1);
    *time = spec->model.frames_apart ? 1 : sides[0];
    return sides;
}

/* The interval is a product of numbers in float32, as torch has it. */
static void grid_begin(struct walk *walk, enum pe_ids_kind kind, const int64_t *sides, int64_t time)
{
    const struct pe_ids_model *model = &walk->spec->model;
    const bool swapped = walk->slip->swapped_grids, is_video = kind == PE_IDS_VIDEO;
    const int64_t height = sides[swapped ? 2 : 1], width = sides[swapped ? 1 : 2];
    const double *seconds = walk->spec->seconds;
    struct grid *grid = &walk->grid;

    *grid =
        (struct grid){.time = is_video ? time / model->temporal_merge : time,
                      .height = height / model->spatial_merge,
                      .width = width / model->spatial_merge,
                      .patches = height > width ? height : width,
                      .base = walk->slip->from_zero ? 0 : walk->next,
                      .timed = is_video && model->tokens_per_second > 0 && !walk->slip->no_seconds};
    grid->tokens = grid->time * grid->height * grid->width;
    if (grid->timed)
        grid->interval =
            (float)model->tokens_per_second * (seconds ? (float)seconds[walk->videos - 1] : 1.0F);
}

static void grid_ids(const struct walk *walk, int64_t ids[3])
{
    const struct grid *grid = &walk->grid;
    const int64_t inner = grid->height * grid->width;
    const int64_t time = grid->next / inner, place = grid->next % inner;
    const bool swapped = walk->slip->swapped_ids, by_columns = walk->slip->by_columns;
    const int64_t step = grid->timed ? (int64_t)((float)time * grid->interval) : time;

    ids[0] = grid->base + step;
    ids[swapped ? 2 : 1] = grid->base + (by_columns ? place % grid->height : place / grid->width);
    ids[swapped ? 1 : 2] = grid->base + (by_columns ? place / grid->height : place % grid->width);
}

/* Where text goes on behind a grid whose tokens are all counted. */
static void grid_end(struct walk *walk, int64_t largest)
{
    const struct grid *grid = &walk->grid;
    const enum pe_ids_advance asked = walk->spec->by_largest ? PE_IDS_BY_LARGEST : PE_IDS_BY_GRID;

    switch (walk->slip->advance ? walk->slip->advance : asked) {
    case PE_IDS_BY_LARGEST:
        walk->next = largest + 1;
        return;
    case PE_IDS_BY_TOKENS:
        walk->next += grid->tokens;
        return;
    case PE_IDS_BY_PATCHES:
        walk->next += grid->patches;
        return;
    case PE_IDS_AS_ASKED:
    case PE_IDS_BY_GRID:
        walk->next += grid->patches / walk->spec->model.spatial_merge;
    }
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static int64_t largest_of(const int64_t ids[3])
{
    const int64_t larger = ids[1] > ids[2] ? ids[1] : ids[2];

    return ids[0] > larger ? ids[0] : larger;
}

static enum pe_status vision_count(struct walk *walk, enum pe_ids_kind kind, size_t token,
                                   int64_t ids[3], struct pe_error *err)
{
    struct grid *grid = &walk->grid;
    int64_t time;

    if (kind > PE_IDS_VIDEO)
        return pe_fail(err, PE_INVALID, "parameter:mm_token_type_ids",
                       "a token is 0 (text), 1 (image) or 2 (video), got %d at token %zu", kind,
                       token);
    while (grid->next == grid->tokens) {
        const int64_t *sides = grid_take(walk, kind, &time);
        if (!sides)
            return grid_fail(walk, token, "there is no grid left for a token", err);
        grid_begin(walk, kind, sides, time);
        if (grid->tokens == 0)
            return grid_fail(walk, token, "a grid has no tokens", err);
        if (grid->base > BASE_MAX)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:second_per_grid_ts",
                           "the ids before token %zu pass 2^53 - 1", token);
    }
    grid_ids(walk, ids);
    /* The last token has the largest time, height and width. */
    if (++grid->next == grid->tokens)
        grid_end(walk, largest_of(ids));
    return PE_OK;
}

static void text_count(struct walk *walk, int64_t ids[3])
{
    ids[0] = ids[1] = ids[2] = walk->next++;
}

/* Text that nobody asks for, behind the last token: as if so many tokens were counted. */
static void text_pass(struct walk *walk, size_t tokens)
{
    walk->next += (int64_t)tokens;
    walk->largest = walk->next - 1 > walk->largest ? walk->next - 1 : walk->largest;
    walk->counted += (int64_t)tokens;
}

/* Packed sequences begin anew, and so does what is behind the prompt. */
static void seams_pass(struct walk *walk, size_t token)
{
    const struct pe_ids_spec *spec = walk->spec;

    if (walk->bound < spec->bounds_count && token == (size_t)spec->bounds[walk->bound]) {
        while (walk->bound < spec->bounds_count && token == (size_t)spec->bounds[walk->bound])
            walk->bound++;
        if (!walk->slip->no_bounds && token < spec->tokens) {
            walk->next = 0;
            walk->largest = -1;
        }
    }
    if (token == spec->tokens && token > 0)
        walk->next = walk->slip->no_delta ? walk->counted : walk->largest + 1;
}

static enum pe_status token_count(struct walk *walk, size_t row, size_t token,
                                  struct pe_ids_token *out, struct pe_error *err)
{
    const struct pe_ids_spec *spec = walk->spec;
    const size_t at = row * spec->tokens + token;
    const bool is_there = token < spec->tokens;
    const enum pe_ids_kind kind =
        is_there && spec->kinds && !walk->slip->flat ? spec->kinds[at] : PE_IDS_TEXT;

    out->padding = is_there && spec->mask && !spec->mask[at];
    out->ids[0] = out->ids[1] = out->ids[2] = spec->model.padding;
    if (out->padding && !walk->slip->no_mask)
        return PE_OK;
    if (kind == PE_IDS_TEXT && walk->grid.next < walk->grid.tokens)
        return grid_fail(walk, token, "text stands among the tokens of a grid", err);
    if (kind == PE_IDS_TEXT || spec->model.axes == 1)
        text_count(walk, out->ids);
    else if (vision_count(walk, kind, token, out->ids, err))
        return err->status;
    const int64_t largest = largest_of(out->ids);
    walk->largest = largest > walk->largest ? largest : walk->largest;
    walk->counted += !out->padding;
    for (int axis = 0; axis < 3; axis++)
        out->ids[axis] += walk->slip->shift;
    return PE_OK;
}

/* A chunk that is counted from 0 is told by tokens from its first one on. */
static enum pe_status row_walk(struct walk *walk, size_t row, const struct pe_ids_sink *sink,
                               struct pe_work *work, struct pe_error *err)
{
    const struct pe_ids_spec *spec = walk->spec;
    const size_t end = spec->start + spec->count;
    const size_t last = end > spec->tokens ? end : spec->tokens;
    struct pe_ids_token out = {.row = row};

    walk->next = walk->counted = 0;
    walk->largest = -1;
    for (size_t token = 0; token < last; token++) {
        seams_pass(walk, token);
        if (token >= spec->tokens && token < spec->start && walk->grid.next == walk->grid.tokens) {
            text_pass(walk, spec->start - token);
            token = spec->start;
        }
        if (walk->slip->no_start && token == spec->start)
            walk->next = 0;
        if ((token % CHECK_TOKENS == 0 && pe_work_check(work, err)) ||
            token_count(walk, row, token, &out, err))
            return err->status;
        if (token + 1 == spec->tokens && sink->deltas)
            sink->deltas[row] = spec->model.prompt_only ? 0 : walk->largest + 1 - walk->counted;
        if (token < spec->start || token >= end)
            continue;
        out.index = token - spec->start;
        if (!sink->take(sink->context, &out)) {
            walk->stopped = true;
            return PE_OK;
        }
    }
    if (walk->grid.next < walk->grid.tokens)
        return grid_fail(walk, last, "the tokens end among those of a grid", err);
    return PE_OK;
}

enum pe_status pe_ids_walk(const struct pe_ids_spec *spec, const struct pe_ids_slip *slip,
                           const struct pe_ids_sink *sink, struct pe_work *work,
                           struct pe_error *err)
{
    struct walk walk = {.spec = spec, .slip = slip};

    for (size_t row = 0; row < spec->rows && !walk.stopped; row++)
        if (row_walk(&walk, row, sink, work, err))
            return err->status;
    if (walk.stopped || slip->flat)
        return PE_OK;
    if (walk.images < spec->images_count || walk.videos < spec->videos_count)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:mm_token_type_ids",
                       "the tokens have %zu images and %zu videos, the grids %zu and %zu",
                       walk.images, walk.videos, spec->images_count, spec->videos_count);
    return PE_OK;
}
