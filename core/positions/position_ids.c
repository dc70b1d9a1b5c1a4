/* SPDX-License-Identifier: MIT */
#include "core/positions/position_ids.h"

#include <math.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/sizes.h"
#include "core/base/work.h"

/* Within these bounds no id reaches 2^63. */
#define SIDE_MAX    (1 << 20)
#define SECONDS_MAX 1e6
#define TOKENS_MAX  (UINT64_C(1) << 52)

static const struct pe_ids_model models[] = {
#define MODEL(id, count, spatial, temporal, per_second, ...)                                       \
    {.name = id,                                                                                   \
     .axes = count,                                                                                \
     .spatial_merge = spatial,                                                                     \
     .temporal_merge = temporal,                                                                   \
     .tokens_per_second = per_second,                                                              \
     .frames_apart = __VA_ARGS__},
#include "core/positions/position_models.def"
#undef MODEL
};

static const struct refused {
    const char *name, *reason;
} refused[] = {
#define MODEL(...)
#define MODEL_REFUSED(name, reason) {name, reason},
#include "core/positions/position_models.def"
#undef MODEL
};

enum { MODELS = sizeof(models) / sizeof(models[0]) };

const struct pe_ids_model *pe_ids_model_at(size_t index)
{
    return index < MODELS ? &models[index] : NULL;
}

const struct pe_ids_model *pe_ids_model_find(const char *name)
{
    for (size_t i = 0; i < MODELS; i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

const char *pe_ids_model_refused(const char *name)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (strcmp(refused[i].name, name) == 0)
            return refused[i].reason;
    return NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static enum pe_status grids_check(const char *where, const int64_t *grids, size_t count,
                                  struct pe_error *err)
{
    for (size_t i = 0; i < 3 * count; i++)
        if (grids[i] < 1 || grids[i] > SIDE_MAX)
            return pe_fail(err, PE_OUT_OF_RANGE, where,
                           "the sides of a grid are 1 to %d patches, got %lld", SIDE_MAX,
                           (long long)grids[i]);
    return PE_OK;
}

static enum pe_status bounds_check(const struct pe_ids_spec *spec, struct pe_error *err)
{
    static const char where[] = "parameter:cu_seqlens";
    const size_t count = spec->bounds_count;

    if (count == 0)
        return PE_OK;
    if (spec->rows != 1)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "packed sequences stand in one row, here are %zu", spec->rows);
    if (spec->bounds[0] != 0 || (uint64_t)spec->bounds[count - 1] != spec->tokens)
        return pe_fail(err, PE_INVALID, where,
                       "cu_seqlens runs from 0 to the number of tokens, %zu", spec->tokens);
    for (size_t i = 1; i < count; i++)
        if (spec->bounds[i] < spec->bounds[i - 1])
            return pe_fail(err, PE_INVALID, where, "cu_seqlens must not fall");
    return PE_OK;
}

static enum pe_status model_check(const struct pe_ids_spec *spec, struct pe_error *err)
{
    const struct pe_ids_model *model = &spec->model;

    if (model->axes < 1 || model->axes > PE_IDS_AXES_MAX ||
        (unsigned)model->generator >= PE_IDS_GENERATORS ||
        (model->axes == 4) != (model->generator == PE_IDS_FLUX2) ||
        (model->axes == 2 && model->generator != PE_IDS_GRID) || model->spatial_merge == 0 ||
        model->temporal_merge == 0 || model->tokens_per_second > SIDE_MAX)
        return pe_fail(err, PE_INVALID, "parameter:model_type",
                       "a model has 1 to 4 axes, and merges one patch at least");
    if (model->axes == 1 && spec->images_count + spec->videos_count > 0)
        return pe_fail(err, PE_CONFLICT, "parameter:model_type",
                       "text has no images; name the model_type whose grids these are");
    if (model->prompt_only && spec->start + spec->count > spec->tokens)
        return pe_fail(err, PE_UNSUPPORTED, "parameter:chunk_length",
                       "behind its prompt %s makes an image, whose ids are those of a grid: only "
                       "ids of the prompt's %zu tokens are given",
                       model->name ?: "the model", spec->tokens);
    if (model->generator && pe_ids_generator_check(spec, err))
        return err->status;
    if (model->prompt_only && !model->one_grid && spec->videos_count > 0)
        return pe_fail(err, PE_CONFLICT, "parameter:video_grid_thw", "%s has no videos",
                       model->name ?: "the model");
    for (size_t i = 0; spec->seconds && i < spec->videos_count; i++)
        if (!(fabs(spec->seconds[i]) <= SECONDS_MAX))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:second_per_grid_ts",
                           "a step of a video takes up to %g seconds", SECONDS_MAX);
    return PE_OK;
}

/* Always false where size_t has 32 bits. */
static bool is_beyond(uint64_t count)
{
    return count > TOKENS_MAX;
}

enum pe_status pe_ids_spec_read(struct pe_ids_spec *ours, const struct pe_ids_spec *given,
                                struct pe_error *err)
{
    if (pe_struct_read(ours, sizeof(*ours), given, err))
        return err->status;
    if (is_beyond(ours->tokens) || is_beyond(ours->start) || is_beyond(ours->count))
        return pe_fail(err, PE_TOO_LARGE, "parameter:length", "at most 2^52 tokens are counted");
    if (model_check(ours, err) || bounds_check(ours, err) ||
        grids_check("parameter:image_grid_thw", ours->images, ours->images_count, err) ||
        grids_check("parameter:video_grid_thw", ours->videos, ours->videos_count, err))
        return err->status;
    return PE_OK;
}

enum pe_status pe_ids_fractions_refuse(const struct pe_ids_model *model, struct pe_error *err)
{
    return pe_fail(err, PE_UNSUPPORTED, "parameter:model_type",
                   "ids of %s may be fractions: they are f64", model->name ?: "the model");
}

enum pe_status pe_ids_grid_tokens(const struct pe_ids_spec *spec, size_t *tokens,
                                  struct pe_error *err)
{
    const struct pe_ids_model *model = &spec->model;
    const int64_t side = model->generator ? 1 : model->spatial_merge;
    const int64_t frames = model->generator ? 1 : model->temporal_merge;
    uint64_t sum = 0;

    *tokens = 0;
    if (grids_check("parameter:image_grid_thw", spec->images, spec->images_count, err) ||
        grids_check("parameter:video_grid_thw", spec->videos, spec->videos_count, err))
        return err->status;
    for (size_t i = 0; i < spec->images_count + spec->videos_count && sum <= TOKENS_MAX; i++) {
        const bool is_video = i >= spec->images_count;
        const int64_t *sides =
            is_video ? spec->videos + 3 * (i - spec->images_count) : spec->images + 3 * i;
        sum += (uint64_t)(is_video ? sides[0] / frames : sides[0]) * (uint64_t)(sides[1] / side) *
               (uint64_t)(sides[2] / side);
    }
    if (sum > TOKENS_MAX)
        return pe_fail(err, PE_TOO_LARGE, "parameter:image_grid_thw",
                       "at most 2^52 tokens are counted");
    *tokens = pe_count((double)sum);
    return PE_OK;
}

/* ---- counting: grids ------------------------------------------------------------------------- */

enum { CHECK_TOKENS = 1 << 16 }; /* between two checks of the work */

/* One video has fewer than 2^60 steps of time, but videos follow each other. */
#define BASE_MAX (((int64_t)1 << 53) - 1)

/* The grid whose tokens are being counted; sizes are in tokens, after merging. */
struct grid {
    int64_t time, height, width, patches; /* patches: the larger side before merging */
    int64_t next, tokens;                 /* tokens counted so far, and all of them */
    int64_t base;                         /* added to its ids */
    float interval;                       /* between frames */
    bool timed;
    unsigned scaled; /* PE_IDS_SCALED_ */
};

struct counter {
    const struct pe_ids_spec *spec;
    const struct pe_position_error *error;
    struct grid grid;
    size_t images, videos, frames; /* grids begun so far; frames of the last video */
    size_t bound;                  /* index of the next bound */
    int64_t next;                  /* the next id of text */
    int64_t largest, counted;      /* of this row: the largest id, and tokens other than padding */
    bool stopped;                  /* by the sink */
};

static enum pe_status grid_fail(const struct counter *counter, size_t token, const char *what,
                                struct pe_error *err)
{
    const struct grid *grid = &counter->grid;

    return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:mm_token_type_ids",
                   "%s at token %zu: image %zu and video %zu are the last ones that were begun, "
                   "and %lld of %lld tokens of the grid are there",
                   what, token, counter->images, counter->videos, (long long)grid->next,
                   (long long)grid->tokens);
}

/* The time, height and width of the next image, video or frame. */
static const int64_t *grid_take(struct counter *counter, enum pe_ids_kind kind, int64_t *time)
{
    const struct pe_ids_spec *spec = counter->spec;
    const int64_t *sides;

    if (kind == PE_IDS_IMAGE) {
        if (counter->images == spec->images_count)
            return NULL;
        sides = spec->images + 3 * counter->images++;
        *time = sides[0];
        return sides;
    }
    const bool more = spec->model.frames_apart && counter->videos > 0 &&
                      counter->frames < (size_t)spec->videos[3 * (counter->videos - 1)];
    if (!more && counter->videos == spec->videos_count)
        return NULL;
    counter->videos += !more;
    counter->frames = more ? counter->frames + 1 : 1;
    sides = spec->videos + 3 * (counter->videos - 1);
    *time = spec->model.frames_apart ? 1 : sides[0];
    return sides;
}

/* The time of a frame multiplied together with the offset. The product is bounded, so that ids
 * after it do not overflow. */
static int64_t scaled_time(const struct grid *grid, int64_t time)
{
    const int64_t frames = grid->scaled & PE_IDS_SCALED_OFFSETS ? 0 : time;
    const double product = (double)(grid->base + frames) * (double)grid->interval;

    return (int64_t)fmax(fmin(product, (double)BASE_MAX), -(double)BASE_MAX);
}

/* The interval is computed in float32, as in torch. */
static void grid_begin(struct counter *counter, enum pe_ids_kind kind, const int64_t *sides,
                       int64_t time)
{
    const struct pe_ids_model *model = &counter->spec->model;
    const bool swapped = counter->error->swapped_grids, is_video = kind == PE_IDS_VIDEO;
    const int64_t height = sides[swapped ? 2 : 1], width = sides[swapped ? 1 : 2];
    const double *seconds = counter->spec->seconds;
    struct grid *grid = &counter->grid;

    *grid = (struct grid){.time = is_video ? time / model->temporal_merge : time,
                          .height = height / model->spatial_merge,
                          .width = width / model->spatial_merge,
                          .patches = height > width ? height : width,
                          .base = counter->error->from_zero ? 0 : counter->next,
                          .timed = is_video && model->tokens_per_second > 0 &&
                                   !counter->error->no_seconds};
    grid->tokens = grid->time * grid->height * grid->width;
    if (grid->timed)
        grid->interval = (float)model->tokens_per_second *
                         (seconds ? (float)seconds[counter->videos - 1] : 1.0F);
    if (model->tokens_per_second > 0)
        grid->scaled = counter->error->scaled;
    if (!is_video)
        grid->interval = (float)model->tokens_per_second;
}

/* The time of a frame after `time` others. */
static int64_t time_of(const struct grid *grid, int64_t time)
{
    const unsigned scaled =
        grid->scaled & (grid->timed ? PE_IDS_SCALED_VIDEOS : PE_IDS_SCALED_IMAGES);

    if (scaled)
        return scaled_time(grid, time);
    return grid->base + (grid->timed ? (int64_t)((float)time * grid->interval) : time);
}

static void grid_ids(const struct counter *counter, int64_t ids[3])
{
    const struct grid *grid = &counter->grid;
    const int64_t inner = grid->height * grid->width;
    const int64_t time = grid->next / inner, place = grid->next % inner;
    const bool swapped = counter->error->swapped_ids, by_columns = counter->error->by_columns;

    ids[0] = time_of(grid, time);
    ids[swapped ? 2 : 1] = grid->base + (by_columns ? place % grid->height : place / grid->width);
    ids[swapped ? 1 : 2] = grid->base + (by_columns ? place / grid->height : place % grid->width);
}

/* Sets the id of text after a grid whose tokens are all counted. */
static void grid_end(struct counter *counter, int64_t largest)
{
    const struct grid *grid = &counter->grid;
    const enum pe_ids_advance requested =
        counter->spec->by_largest ? PE_IDS_BY_LARGEST : PE_IDS_BY_GRID;

    switch (counter->error->advance ? counter->error->advance : requested) {
    case PE_IDS_BY_LARGEST:
        counter->next = largest + 1;
        return;
    case PE_IDS_BY_TOKENS:
        counter->next += grid->tokens;
        return;
    case PE_IDS_BY_PATCHES:
        counter->next += grid->patches;
        return;
    case PE_IDS_AS_REQUESTED:
    case PE_IDS_BY_GRID:
        counter->next += grid->patches / counter->spec->model.spatial_merge;
    }
}

/* ---- counting: tokens ------------------------------------------------------------------------ */

static int64_t largest_of(const int64_t ids[3])
{
    const int64_t larger = ids[1] > ids[2] ? ids[1] : ids[2];

    return ids[0] > larger ? ids[0] : larger;
}

static enum pe_status vision_count(struct counter *counter, enum pe_ids_kind kind, size_t token,
                                   int64_t ids[3], struct pe_error *err)
{
    struct grid *grid = &counter->grid;
    int64_t time;

    if (kind > PE_IDS_VIDEO)
        return pe_fail(err, PE_INVALID, "parameter:mm_token_type_ids",
                       "a token is 0 (text), 1 (image) or 2 (video), got %d at token %zu", kind,
                       token);
    while (grid->next == grid->tokens) {
        const int64_t *sides = grid_take(counter, kind, &time);
        if (!sides)
            return grid_fail(counter, token, "there is no grid left for a token", err);
        grid_begin(counter, kind, sides, time);
        if (grid->tokens == 0)
            return grid_fail(counter, token, "a grid has no tokens", err);
        if (grid->base > BASE_MAX)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:second_per_grid_ts",
                           "the ids before token %zu pass 2^53 - 1", token);
    }
    grid_ids(counter, ids);
    /* The last token has the largest time, height and width. */
    if (++grid->next == grid->tokens)
        grid_end(counter, largest_of(ids));
    return PE_OK;
}

static void text_count(struct counter *counter, int64_t ids[3])
{
    ids[0] = ids[1] = ids[2] = counter->next++;
}

/* Skips text after the last token that is not requested. */
static void text_skip(struct counter *counter, size_t tokens)
{
    counter->next += (int64_t)tokens;
    counter->largest = counter->next - 1 > counter->largest ? counter->next - 1 : counter->largest;
    counter->counted += (int64_t)tokens;
}

/* Sets the next id at the start of a packed sequence and at the end of the prompt. */
static void boundary_pass(struct counter *counter, size_t token)
{
    const struct pe_ids_spec *spec = counter->spec;

    if (counter->bound < spec->bounds_count && token == (size_t)spec->bounds[counter->bound]) {
        while (counter->bound < spec->bounds_count && token == (size_t)spec->bounds[counter->bound])
            counter->bound++;
        if (!counter->error->no_bounds && token < spec->tokens) {
            counter->next = 0;
            counter->largest = -1;
        }
    }
    if (token == spec->tokens && token > 0)
        counter->next = counter->error->no_delta ? counter->counted : counter->largest + 1;
}

static enum pe_status token_count(struct counter *counter, size_t row, size_t token,
                                  struct pe_ids_token *out, struct pe_error *err)
{
    const struct pe_ids_spec *spec = counter->spec;
    const size_t at = row * spec->tokens + token;
    const bool in_prompt = token < spec->tokens;
    const enum pe_ids_kind kind =
        in_prompt && spec->kinds && !counter->error->flat ? spec->kinds[at] : PE_IDS_TEXT;

    out->padding = in_prompt && spec->mask && !spec->mask[at];
    out->ids[0] = out->ids[1] = out->ids[2] = spec->model.padding;
    if (out->padding && !counter->error->no_mask)
        return PE_OK;
    if (kind == PE_IDS_TEXT && counter->grid.next < counter->grid.tokens)
        return grid_fail(counter, token, "text stands among the tokens of a grid", err);
    if (kind == PE_IDS_TEXT || spec->model.axes == 1)
        text_count(counter, out->ids);
    else if (vision_count(counter, kind, token, out->ids, err))
        return err->status;
    const int64_t largest = largest_of(out->ids);
    counter->largest = largest > counter->largest ? largest : counter->largest;
    counter->counted += !out->padding;
    for (int axis = 0; axis < 3; axis++)
        out->ids[axis] += counter->error->shift;
    return PE_OK;
}

static enum pe_status row_iterate(struct counter *counter, size_t row,
                                  const struct pe_ids_sink *sink, struct pe_work *work,
                                  struct pe_error *err)
{
    const struct pe_ids_spec *spec = counter->spec;
    const size_t end = spec->start + spec->count;
    const size_t last = end > spec->tokens ? end : spec->tokens;
    struct pe_ids_token out = {.row = row};

    counter->next = counter->counted = 0;
    counter->largest = -1;
    for (size_t token = 0; token < last; token++) {
        boundary_pass(counter, token);
        if (token >= spec->tokens && token < spec->start &&
            counter->grid.next == counter->grid.tokens) {
            text_skip(counter, spec->start - token);
            token = spec->start;
        }
        if (counter->error->no_start && token == spec->start)
            counter->next = 0;
        if ((token % CHECK_TOKENS == 0 && pe_work_check(work, err)) ||
            token_count(counter, row, token, &out, err))
            return err->status;
        if (token + 1 == spec->tokens && sink->deltas)
            sink->deltas[row] =
                spec->model.prompt_only ? 0 : counter->largest + 1 - counter->counted;
        if (token < spec->start || token >= end)
            continue;
        out.index = token - spec->start;
        if (!sink->take(sink->context, &out)) {
            counter->stopped = true;
            return PE_OK;
        }
    }
    if (counter->grid.next < counter->grid.tokens)
        return grid_fail(counter, last, "the tokens end among those of a grid", err);
    return PE_OK;
}

enum pe_status pe_ids_iterate(const struct pe_ids_spec *spec, const struct pe_position_error *error,
                              const struct pe_ids_sink *sink, struct pe_work *work,
                              struct pe_error *err)
{
    struct counter counter = {.spec = spec, .error = error};

    if (spec->model.generator)
        return pe_ids_generator_iterate(spec, error, sink, work, err);
    for (size_t row = 0; row < spec->rows && !counter.stopped; row++)
        if (row_iterate(&counter, row, sink, work, err))
            return err->status;
    if (counter.stopped || error->flat)
        return PE_OK;
    if (counter.images < spec->images_count || counter.videos < spec->videos_count)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:mm_token_type_ids",
                       "the tokens have %zu images and %zu videos, the grids %zu and %zu",
                       counter.images, counter.videos, spec->images_count, spec->videos_count);
    return PE_OK;
}

/* ---- all ids --------------------------------------------------------------------------------- */

double pe_ids_work(const struct pe_ids_spec *spec)
{
    enum { TOKEN_COST = 12 };
    const double tokens = (double)spec->tokens, start = (double)spec->start;
    const double behind = start + (double)spec->count - fmax(start, tokens);

    return TOKEN_COST * (double)spec->rows * (tokens + fmax(behind, 0));
}

struct ids_buffer {
    const struct pe_ids_spec *spec;
    int64_t *ids;        /* NULL: coordinates */
    double *coordinates; /* of any model */
};

static bool ids_put(void *context, const struct pe_ids_token *token)
{
    const struct ids_buffer *buffer = context;
    const struct pe_ids_spec *spec = buffer->spec;

    for (unsigned axis = 0; axis < spec->model.axes; axis++)
        buffer->ids[(axis * spec->rows + token->row) * spec->count + token->index] =
            token->ids[axis];
    return true;
}

static bool coordinates_put(void *context, const struct pe_ids_token *token)
{
    const struct ids_buffer *buffer = context;
    const struct pe_ids_spec *spec = buffer->spec;

    for (unsigned axis = 0; axis < spec->model.axes; axis++)
        buffer->coordinates[(axis * spec->rows + token->row) * spec->count + token->index] =
            pe_ids_coordinate(token, &spec->model, axis);
    return true;
}

static enum pe_status buffer_fill(struct ids_buffer *buffer, struct pe_ids_spec *spec,
                                  const struct pe_ids_spec *given, int64_t *deltas,
                                  struct pe_work *work, struct pe_error *err)
{
    static const struct pe_position_error none = {0};
    const struct pe_ids_sink sink = {buffer->ids ? ids_put : coordinates_put, buffer, deltas};

    if (pe_ids_spec_read(spec, given, err) || pe_spend(work, pe_ids_work(spec), err))
        return err->status;
    if (buffer->ids && pe_ids_is_fractional(&spec->model))
        return pe_ids_fractions_refuse(&spec->model, err);
    return pe_ids_iterate(spec, &none, &sink, work, err);
}

enum pe_status pe_ids_fill(const struct pe_ids_spec *given, int64_t *ids, int64_t *deltas,
                           struct pe_work *work, struct pe_error *err)
{
    struct pe_ids_spec spec;
    struct ids_buffer buffer = {.spec = &spec, .ids = ids};

    return buffer_fill(&buffer, &spec, given, deltas, work, err);
}

enum pe_status pe_ids_fill_f64(const struct pe_ids_spec *given, double *ids, int64_t *deltas,
                               struct pe_work *work, struct pe_error *err)
{
    struct pe_ids_spec spec;
    struct ids_buffer buffer = {.spec = &spec, .coordinates = ids};

    return buffer_fill(&buffer, &spec, given, deltas, work, err);
}
