/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/base/fail.h"
#include "core/base/spend.h"
#include "core/positions/walk.h"

/* Bounds below which no id passes 2^63. */
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
#include "core/positions/models.def"
#undef MODEL
};

static const struct refused {
    const char *name, *reason;
} refused[] = {
#define MODEL(...)
#define MODEL_REFUSED(name, reason) {name, reason},
#include "core/positions/models.def"
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

    if ((model->axes != 1 && model->axes != 3) || model->spatial_merge == 0 ||
        model->temporal_merge == 0 || model->tokens_per_second > SIDE_MAX)
        return pe_fail(err, PE_INVALID, "parameter:model_type",
                       "a model has 1 or 3 axes, and merges one patch at least");
    if (model->axes == 1 && spec->images_count + spec->videos_count > 0)
        return pe_fail(err, PE_CONFLICT, "parameter:model_type",
                       "text has no images; name the model_type whose grids these are");
    if (model->prompt_only && spec->start + spec->count > spec->tokens)
        return pe_fail(err, PE_UNSUPPORTED, "parameter:chunk_length",
                       "behind its prompt %s makes an image, whose ids are those of a grid: only "
                       "ids of the prompt's %zu tokens are told",
                       model->name ?: "the model", spec->tokens);
    if (model->prompt_only && spec->videos_count > 0)
        return pe_fail(err, PE_CONFLICT, "parameter:video_grid_thw", "%s has no videos",
                       model->name ?: "the model");
    for (size_t i = 0; spec->seconds && i < spec->videos_count; i++)
        if (!(fabs(spec->seconds[i]) <= SECONDS_MAX))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:second_per_grid_ts",
                           "a step of a video takes up to %g seconds", SECONDS_MAX);
    return PE_OK;
}

/* Never, where size_t has 32 bits. */
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

/* ---- ids ------------------------------------------------------------------------------------- */

double pe_ids_work(const struct pe_ids_spec *spec)
{
    enum { TOKEN = 12 };
    const double tokens = (double)spec->tokens, start = (double)spec->start;
    const double behind = start + (double)spec->count - fmax(start, tokens);

    return TOKEN * (double)spec->rows * (tokens + fmax(behind, 0));
}

struct ids_room {
    const struct pe_ids_spec *spec;
    int64_t *ids;
};

static bool ids_put(void *context, const struct pe_ids_token *token)
{
    const struct ids_room *room = context;
    const struct pe_ids_spec *spec = room->spec;

    for (unsigned axis = 0; axis < spec->model.axes; axis++)
        room->ids[(axis * spec->rows + token->row) * spec->count + token->index] = token->ids[axis];
    return true;
}

enum pe_status pe_ids_fill(const struct pe_ids_spec *given, int64_t *ids, int64_t *deltas,
                           struct pe_work *work, struct pe_error *err)
{
    static const struct pe_ids_slip none = {0};
    struct pe_ids_spec spec;
    struct ids_room room = {&spec, ids};
    const struct pe_ids_sink sink = {ids_put, &room, deltas};

    if (pe_ids_spec_read(&spec, given, err) || pe_spend(work, pe_ids_work(&spec), err))
        return err->status;
    return pe_ids_walk(&spec, &none, &sink, work, err);
}
