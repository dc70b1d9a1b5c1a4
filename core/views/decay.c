/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/exact/elementary.h"
#include "core/scheme/bias.h"
#include "core/tables/cosine_sums.h"
#include "core/views/analysis.h"

/* The analysis `decay`: what depends on the distance from an anchor. Of rows (pe_view_decay) it is
 * their product with the anchor's row, of biases (pe_view_bias_decay) the number itself. */

/* ---- offsets --------------------------------------------------------------------------------- */

enum { SAMPLES_MAX = 1 << 16 };

#define PARAMS_OFFSETS                                                                             \
    {.name = "max_offset",                                                                         \
     .type = PE_INTEGER,                                                                           \
     .min = -0x1p53 + 1,                                                                           \
     .max = 0x1p53 - 1,                                                                            \
     .required = true,                                                                             \
     .unit = "positions",                                                                          \
     .doc = "The last offset from the query or the anchor."},                                      \
        {.name = "min_offset",                                                                     \
         .type = PE_INTEGER,                                                                       \
         .min = -0x1p53 + 1,                                                                       \
         .max = 0x1p53 - 1,                                                                        \
         .fallback = "0",                                                                          \
         .unit = "positions",                                                                      \
         .doc = "The first offset from the query or the anchor; negative offsets are positions "   \
                "before it."},                                                                     \
        {.name = "samples",                                                                        \
         .type = PE_INTEGER,                                                                       \
         .min = 2,                                                                                 \
         .max = SAMPLES_MAX,                                                                       \
         .doc = "The largest number of offsets, both ends included; all offsets if absent."},      \
    {                                                                                              \
        .name = "sample_spacing", .type = PE_CHOICE, .choices = "linear,log",                      \
        .doc =                                                                                     \
            "The spacing of the samples. linear, the default: even. log: dense around offset 0."   \
    }

/* Ascending whole distances: all from first to last, or some of them. */
struct offsets {
    int64_t first, last;
    size_t count;
    int64_t *samples; /* NULL: all */
};

static int64_t offset_at(const struct offsets *offsets, size_t index)
{
    return offsets->samples ? offsets->samples[index] : offsets->first + (int64_t)index;
}

/* A scale that is dense around 0, and its inverse. The functions are the library's own, so that
 * samples are the same on every machine. */
static double log_scale(double offset)
{
    return offset == 0 ? 0 : copysign(pe_log1p(fabs(offset)), offset);
}

static double log_scale_inverse(double place)
{
    return copysign(round(pe_exp(fabs(place)) - 1), place);
}

static double sample_of(const struct offsets *offsets, double fraction, bool dense)
{
    const double first = (double)offsets->first, last = (double)offsets->last;

    if (!dense)
        return round(first + fraction * (last - first));
    return log_scale_inverse(log_scale(first) + fraction * (log_scale(last) - log_scale(first)));
}

/* Samples that coincide are merged. The first and the last offset are always among them, and so is
 * 0 where they are dense around it. */
static enum pe_status samples_make(struct offsets *offsets, size_t samples, bool dense,
                                   struct pe_error *err)
{
    size_t count = 0;

    offsets->samples = malloc(samples * sizeof(*offsets->samples));
    if (!offsets->samples)
        return pe_no_memory(err, "the samples");
    offsets->samples[count++] = offsets->first;
    for (size_t i = 1; i + 1 < samples; i++) {
        const double fraction = (double)i / (double)(samples - 1);
        int64_t offset = (int64_t)sample_of(offsets, fraction, dense);
        if (dense && offsets->samples[count - 1] < 0 && offset > 0)
            offset = 0;
        if (offset > offsets->samples[count - 1] && offset < offsets->last)
            offsets->samples[count++] = offset;
    }
    offsets->samples[count++] = offsets->last;
    offsets->count = count;
    return PE_OK;
}

/* The samples are to be freed, also after an error. */
static enum pe_status offsets_read(struct offsets *offsets, const struct pe_params *params,
                                   struct pe_error *err)
{
    const double first = pe_param_number(params, "min_offset");
    const double last = pe_param_number(params, "max_offset");
    const double samples = pe_param_number(params, "samples");

    if (last < first)
        return pe_fail(err, PE_CONFLICT, "parameter:max_offset",
                       "max_offset must not be below min_offset, got %.0f and %.0f", last, first);
    if (isnan(samples) && pe_param_given(params, "sample_spacing"))
        return pe_fail(err, PE_CONFLICT, "parameter:sample_spacing",
                       "sample_spacing goes with samples, which says how many there are");
    *offsets = (struct offsets){.first = (int64_t)first,
                                .last = (int64_t)last,
                                .count = (size_t)((int64_t)last - (int64_t)first) + 1};
    if (isnan(samples) || samples >= (double)offsets->count)
        return PE_OK;
    return samples_make(offsets, (size_t)samples, pe_param_number(params, "sample_spacing") == 1,
                        err);
}

/* How many offsets are negative. */
static size_t negative_count(const struct offsets *offsets)
{
    size_t count = 0;

    if (offsets->first >= 0)
        return 0;
    if (!offsets->samples)
        return (uint64_t)-offsets->first < offsets->count ? (size_t)-offsets->first
                                                          : offsets->count;
    while (count < offsets->count && offsets->samples[count] < 0)
        count++;
    return count;
}

static void offsets_write(const struct offsets *offsets, int64_t *out)
{
    for (size_t i = 0; i < offsets->count; i++)
        out[i] = offset_at(offsets, i);
}

/* ---- decay of rows --------------------------------------------------------------------------- */

/* Where all columns are complete pairs, the product is a sum of cosines, the same for every anchor
 * and correctly rounded; else it is the product of two rows, with the error of similarity.c. */

enum { ROWS_DECAY, ROWS_ENVELOPE, ROWS_OFFSETS };

enum {
    GROUP = 128,     /* samples whose sums are computed together */
    BESIDE_COST = 20 /* estimated nanoseconds of a number beside its sum */
};

static const struct pe_param rows_params[] = {
    PARAMS_OFFSETS,
    {.name = "anchor",
     .type = PE_INTEGER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .fallback = "0",
     .unit = "positions",
     .doc = "The position from which offsets are counted. Sums of cosines do not depend on it."},
    {.name = "normalize",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether products are divided by the norms of both rows, which gives the cosine of the "
            "angle between them; 0 if a row is zero."},
};

struct rows_state {
    struct offsets offsets;
    bool normalize;
    struct pe_positions anchor_position;
    struct pe_row_cache *rows, *anchor; /* NULL: sums of cosines */
};

static const struct rows_state *rows_state(const struct pe_view *view)
{
    return view->state;
}

static enum pe_status sample_positions(struct pe_view *view, double anchor, struct pe_error *err)
{
    const struct offsets *offsets = &rows_state(view)->offsets;
    double *list = pe_memory_take(view->work, offsets->count, sizeof(*list), "the positions", err);
    enum pe_status status;

    if (!list)
        return err->status;
    for (size_t i = 0; i < offsets->count; i++)
        list[i] = anchor + (double)offsets->samples[i];
    status = pe_view_positions_list(
        view, &(struct pe_value){.list = list, .list_count = offsets->count}, err);
    pe_memory_give(view->work, list, offsets->count, sizeof(*list));
    return status;
}

/* For an encoding whose products depend on the anchor. */
static enum pe_status products_open(struct pe_view *view, double anchor, struct pe_error *err)
{
    struct rows_state *state = view->state;
    const struct pe_scheme *scheme = view->scheme;
    const struct offsets *offsets = &state->offsets;
    const double first = anchor + (double)offsets->first;

    if (fabs(first) > 0x1p53 - 1 || fabs(anchor + (double)offsets->last) > 0x1p53 - 1)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:anchor",
                       "anchor and offset make a position outside +-(2^53 - 1)");
    view->positions = (struct pe_positions){.start = first, .step = 1, .count = offsets->count};
    if (offsets->samples && sample_positions(view, anchor, err))
        return err->status;
    state->anchor_position = (struct pe_positions){.start = anchor, .count = 1};
    if (pe_analysis_positions_check(scheme, &state->anchor_position, "parameter:anchor", err) ||
        pe_analysis_positions_check(scheme, &view->positions, "parameter:anchor", err))
        return err->status;
    return pe_row_cache_new(&state->anchor, scheme, &state->anchor_position, PE_F64, err) ||
                   pe_row_cache_new(&state->rows, scheme, &view->positions, PE_F64, err)
               ? err->status
               : PE_OK;
}

static enum pe_status rows_open(struct pe_view *view, const struct pe_params *values,
                                struct pe_error *err)
{
    const double anchor = pe_param_number(values, "anchor");
    const bool sums = pe_analysis_complete_pairs(view->scheme);
    struct rows_state *state = view->state;
    const size_t *count = &state->offsets.count;

    if (offsets_read(&state->offsets, values, err) || (!sums && products_open(view, anchor, err)))
        return err->status;
    state->normalize = pe_param_number(values, "normalize") != 0;
    if (pe_view_add(view, "decay", view->dtype, 1, count, err) ||
        pe_view_add(view, "envelope", view->dtype, 1, count, err) ||
        pe_view_add(view, "offsets", PE_I64, 1, count, err))
        return err->status;
    for (size_t i = ROWS_DECAY; i <= ROWS_ENVELOPE; i++)
        view->outputs[i].element_work =
            sums ? pe_cosines_cost(view->scheme, view->dtype) + BESIDE_COST
                 : pe_product_cost(view->scheme) * (state->normalize ? 3 : 1) + BESIDE_COST;
    if (!sums)
        view->outputs[ROWS_DECAY].once_work =
            (double)*count * pe_row_cost(view->scheme, &view->positions, PE_F64);
    return PE_OK;
}

static void rows_close(struct pe_view *view)
{
    pe_row_cache_free(rows_state(view)->rows);
    pe_row_cache_free(rows_state(view)->anchor);
    free(rows_state(view)->offsets.samples);
}

static enum pe_status sums_write(const struct pe_view *view, size_t count, char *out,
                                 struct pe_work *work, struct pe_error *err)
{
    const struct rows_state *state = rows_state(view);
    const struct pe_cosines cosines =
        pe_cosines_of(pe_waves_of(view->scheme)->frequencies, state->normalize);
    const struct offsets *offsets = &state->offsets;
    const struct pe_positions even = {
        .start = (double)offsets->first, .step = 1, .count = offsets->count};
    const size_t size = pe_dtype_info(view->dtype)->size;

    if (!offsets->samples)
        return pe_cosines_fill(&cosines, &even, 0, count, view->dtype, out, work, err);
    for (size_t i = 0, group; i < count; i += group) {
        double values[GROUP];
        group = pe_min(count - i, GROUP);
        for (size_t k = 0; k < group; k++)
            values[k] = (double)offset_at(offsets, i + k);
        if (pe_cosines_fill(&cosines, &(struct pe_positions){.values = values, .count = group}, 0,
                            group, view->dtype, out + i * size, work, err))
            break;
    }
    return err->status;
}

static enum pe_status products_write(const struct pe_view *view, size_t count, char *out,
                                     struct pe_work *work, struct pe_error *err)
{
    const struct rows_state *state = rows_state(view);
    const size_t width = pe_row_width(view->scheme), size = pe_dtype_info(view->dtype)->size;
    const double *anchor = pe_row_cache_get(state->anchor, 0, work, err);

    for (size_t i = 0; anchor && i < count; i++) {
        const double *row = pe_row_cache_get(state->rows, i, work, err);
        if (!row || pe_work_check(work, err))
            break;
        const double value = pe_row_similarity(anchor, row, width, state->normalize);
        pe_from_f64(out + i * size, view->dtype, &value, 1);
    }
    return err->status;
}

/* Sets *most and the number at `index` to the larger of *most and |number|. */
static void envelope_step(const struct pe_view *view, char *out, size_t index, double *most)
{
    const size_t size = pe_dtype_info(view->dtype)->size;
    double value;

    pe_to_f64(&value, out + index * size, view->dtype, 1);
    *most = fmax(*most, fabs(value));
    pe_from_f64(out + index * size, view->dtype, most, 1);
}

/* Replaces decay by its envelope: the largest |decay| among the requested offsets that are as far
 * from the anchor or farther, on the same side. Rounding preserves order: the envelope is rounded
 * as well as the decay. */
static void envelope_make(const struct pe_view *view, size_t count, char *out)
{
    const struct offsets *offsets = &rows_state(view)->offsets;
    const size_t zero = negative_count(offsets);
    double before = 0, behind = 0;

    for (size_t i = 0; i < zero; i++)
        envelope_step(view, out, i, &before);
    for (size_t i = count; i > zero; i--)
        envelope_step(view, out, i - 1, &behind);
    if (zero < count && offset_at(offsets, zero) == 0)
        envelope_step(view, out, zero, &before);
}

static enum pe_status rows_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                size_t row_end, void *out, struct pe_work *work,
                                struct pe_error *err)
{
    const size_t count = rows_state(view)->offsets.count;

    (void)row_begin, (void)row_end; /* a tensor of rank 1 is one row */
    if (output == ROWS_OFFSETS) {
        offsets_write(&rows_state(view)->offsets, out);
        return PE_OK;
    }
    if ((rows_state(view)->rows ? products_write : sums_write)(view, count, out, work, err))
        return err->status;
    if (output == ROWS_ENVELOPE)
        envelope_make(view, count, out);
    return PE_OK;
}

static size_t rows_memory(const struct pe_view *view)
{
    return pe_row_cache_size(rows_state(view)->rows);
}

static const struct pe_view_type *rows_of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_decay;
const struct pe_view_type pe_view_decay = {
    .info.name = "decay",
    .info.group = "analysis",
    .info.title = "Similarity of rows by distance",
    .info.doc = "`decay` [offsets]: the dot product of the row at `anchor` with the row at anchor "
                "+ offset. `envelope` [offsets]: the largest listed |decay| at this offset "
                "or farther on the same side. `offsets` [offsets], i64: the offsets. Where all "
                "columns are pairs of sine and cosine, decay is a sum of cosines, correctly "
                "rounded; elsewhere its error is bounded as that of `similarity`.",
    .info.example = "max_offset=3",
    .info.note =
        "products of rows need not fall steadily with the offset: sums of cosines oscillate, and "
        "fall on average only; envelope is what no farther offset exceeds",
    PE_INFO_PARAMS(rows_params),
    .of = rows_of,
    .state_size = sizeof(struct rows_state),
    .open = rows_open,
    .fill = rows_fill,
    .close = rows_close,
    .memory = rows_memory,
};

static const struct pe_view_type *rows_of(const struct pe_encoding *encoding)
{
    return pe_analysis_has_rows(encoding) ? &pe_view_decay : NULL;
}

/* ---- decay of biases ------------------------------------------------------------------------- */

/* The bias of every head; for a learned bias without weights, the bucket of each distance. */

enum { BIAS_DECAY, BIAS_OFFSETS };

enum { CHECK_OFFSETS = 1 << 14 }; /* buckets between two checks of the work */

static const struct pe_param bias_params[] = {PARAMS_OFFSETS};

struct bias_state {
    struct offsets offsets;
    struct pe_bias_common *common;
};

static const struct bias_state *bias_state(const struct pe_view *view)
{
    return view->state;
}

static enum pe_status bias_open(struct pe_view *view, const struct pe_params *values,
                                struct pe_error *err)
{
    const struct pe_bias_kind *kind = view->scheme->encoding->bias;
    struct bias_state *state = view->state;
    const struct offsets *o = &state->offsets;

    if (offsets_read(&state->offsets, values, err))
        return err->status;
    if (pe_weights_lack(view->scheme)
            ? pe_view_add(view, "buckets", PE_I64, 1, &o->count, err)
            : pe_view_add(view, "decay", view->dtype, 2,
                          (size_t[]){pe_bias_heads(view->scheme), o->count}, err))
        return err->status;
    if (pe_bias_common_new(&state->common, view->scheme, o->first, o->last + 1, view->dtype, NULL,
                           err) ||
        pe_view_add(view, "offsets", PE_I64, 1, &o->count, err))
        return err->status;
    view->outputs[BIAS_DECAY].once_work = pe_bias_common_cost(state->common);
    view->outputs[BIAS_DECAY].element_work = pe_bias_cost(view->scheme, view->dtype);
    if (kind->common_cost && !state->common)
        view->outputs[BIAS_DECAY].element_work += kind->common_cost(view->scheme, view->dtype);
    return PE_OK;
}

static void bias_close(struct pe_view *view)
{
    pe_bias_common_free(bias_state(view)->common);
    free(bias_state(view)->offsets.samples);
}

static size_t bias_memory(const struct pe_view *view)
{
    return pe_bias_common_size(bias_state(view)->common);
}

static enum pe_status buckets_write(const struct pe_view *view, int64_t *out, struct pe_work *work,
                                    struct pe_error *err)
{
    const struct offsets *o = &bias_state(view)->offsets;

    for (size_t i = 0; i < o->count; i++) {
        if (i % CHECK_OFFSETS == 0 && pe_work_check(work, err))
            return err->status;
        out[i] = view->scheme->encoding->bias->bucket(view->scheme, offset_at(o, i));
    }
    return PE_OK;
}

/* Consecutive offsets. Positions of keys count from 0, so that the query is at -first where the
 * first offset is negative. */
static enum pe_status run_write(const struct pe_view *view, size_t head, int64_t first,
                                size_t count, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_bias_part part = {.scheme = view->scheme,
                                      .head = head,
                                      .query = first < 0 ? (double)-first : 0,
                                      .key_begin = first < 0 ? 0 : (size_t)first,
                                      .key_count = count,
                                      .dtype = view->dtype,
                                      .common = bias_state(view)->common};

    return view->scheme->encoding->bias->row(&part, out, work, err);
}

static enum pe_status head_write(const struct pe_view *view, size_t head, char *out,
                                 struct pe_work *work, struct pe_error *err)
{
    const struct offsets *o = &bias_state(view)->offsets;
    const size_t size = pe_dtype_info(view->dtype)->size;

    if (!o->samples)
        return run_write(view, head, o->first, o->count, out, work, err);
    for (size_t i = 0; i < o->count; i++)
        if (run_write(view, head, o->samples[i], 1, out + i * size, work, err))
            break;
    return err->status;
}

static enum pe_status bias_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                size_t row_end, void *out, struct pe_work *work,
                                struct pe_error *err)
{
    const struct offsets *o = &bias_state(view)->offsets;
    const size_t size = o->count * pe_dtype_info(view->dtype)->size;

    if (output == BIAS_OFFSETS) {
        offsets_write(o, out);
        return PE_OK;
    }
    if (view->outputs[BIAS_DECAY].dtype == PE_I64)
        return buckets_write(view, out, work, err);
    for (size_t head = row_begin; head < row_end; head++)
        if (head_write(view, head, (char *)out + (head - row_begin) * size, work, err))
            return err->status;
    return PE_OK;
}

static const struct pe_view_type *bias_of(const struct pe_encoding *encoding);

/* Members of both types; only the learned one is given a tensor. */
#define BIAS_MEMBERS                                                                               \
    .info.name = "decay", .info.group = "analysis", .info.example = "max_offset=3",                \
    PE_INFO_PARAMS(bias_params), .of = bias_of, .state_size = sizeof(struct bias_state),           \
    .open = bias_open, .fill = bias_fill, .close = bias_close, .memory = bias_memory

extern const struct pe_view_type pe_view_bias_decay;
const struct pe_view_type pe_view_bias_decay = {
    BIAS_MEMBERS,
    .info.title = "Bias by distance",
    .info.doc =
        "`decay` [heads, offsets]: the bias at each offset, which is added to the attention logit. "
        "`offsets` [offsets], i64: position of the key minus that of the query.",
};

static const struct pe_view_type learned_decay = {
    BIAS_MEMBERS,
    .info.title = "Learned bias by distance",
    .info.doc =
        "`decay` [heads, offsets], with `weights` [num_buckets, heads] given: the bias at each "
        "offset. Without weights `buckets` [offsets], i64: the row of the weights at each offset. "
        "`offsets` [offsets], i64: position of the key minus that of the query.",
    .info.tensor = "weights",
};

static const struct pe_view_type *bias_of(const struct pe_encoding *encoding)
{
    if (!pe_bias_is_known(encoding))
        return NULL;
    return encoding->bias->buckets_count ? &learned_decay : &pe_view_bias_decay;
}
