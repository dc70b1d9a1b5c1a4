/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/base/least.h"
#include "core/base/memory.h"
#include "core/scheme/scheme.h"
#include "core/tables/cosine_sums.h"
#include "core/views/analysis.h"

/* Likeness of rows so many positions apart. Where rows are pairs that turn it is a sum of
 * cosines, the same for every anchor, and correctly rounded; else the product of two rows, with the
 * bound of similarity.c. */

enum { DECAY, ENVELOPE, OFFSETS };

enum { SAMPLES = 128 }; /* that are looked at together */

enum { LOOK_COST = 20 }; /* nanoseconds of a number beside its sum, about */

static const struct pe_param params[] = {
    PE_PARAMS_OFFSETS,
    {.name = "anchor",
     .type = PE_INTEGER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .fallback = "0",
     .unit = "positions",
     .doc = "The position that offsets count from; sums of cosines are the same for all."},
    {.name = "normalize",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Divide by both norms: the cosine of the angle between the rows, 0 where one is 0."},
};

struct state {
    struct pe_offsets offsets;
    bool normalize;
    struct pe_positions alone;   /* where the anchor stands */
    struct pe_rows *rows, *only; /* those compared, that of the anchor; NULL: sums of cosines */
};

static const struct state *state_of(const struct pe_view *view)
{
    return view->state;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Positions so far from the anchor. */
static enum pe_status samples_stand(struct pe_view *view, double anchor, struct pe_error *err)
{
    const struct pe_offsets *offsets = &state_of(view)->offsets;
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

/* The rows of an encoding whose products depend on the anchor. */
static enum pe_status rows_open(struct pe_view *view, double anchor, struct pe_error *err)
{
    struct state *state = view->state;
    const struct pe_scheme *scheme = view->scheme;
    const struct pe_offsets *offsets = &state->offsets;
    const double first = anchor + (double)offsets->first;

    if (fabs(first) > 0x1p53 - 1 || fabs(anchor + (double)offsets->last) > 0x1p53 - 1)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:anchor",
                       "anchor and offset make a position outside +-(2^53 - 1)");
    view->positions = (struct pe_positions){.start = first, .step = 1, .count = offsets->count};
    if (offsets->samples && samples_stand(view, anchor, err))
        return err->status;
    state->alone = (struct pe_positions){.start = anchor, .count = 1};
    if (pe_analysis_stand(scheme, &state->alone, "parameter:anchor", err) ||
        pe_analysis_stand(scheme, &view->positions, "parameter:anchor", err))
        return err->status;
    return pe_rows_new(&state->only, scheme, &state->alone, PE_F64, err) ||
                   pe_rows_new(&state->rows, scheme, &view->positions, PE_F64, err)
               ? err->status
               : PE_OK;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const double anchor = pe_param_number(values, "anchor");
    const bool sums = pe_analysis_turns(view->scheme);
    struct state *state = view->state;
    const size_t *count = &state->offsets.count;

    if (pe_offsets_read(&state->offsets, values, err) || (!sums && rows_open(view, anchor, err)))
        return err->status;
    state->normalize = pe_param_number(values, "normalize") != 0;
    if (pe_view_add(view, "decay", view->dtype, 1, count, err) ||
        pe_view_add(view, "envelope", view->dtype, 1, count, err) ||
        pe_view_add(view, "offsets", PE_I64, 1, count, err))
        return err->status;
    for (size_t i = DECAY; i <= ENVELOPE; i++)
        view->outputs[i].element_work =
            sums ? pe_cosines_cost(view->scheme, view->dtype) + LOOK_COST
                 : pe_product_cost(view->scheme) * (state->normalize ? 3 : 1) + LOOK_COST;
    if (!sums)
        view->outputs[DECAY].once_work =
            (double)*count * pe_row_cost(view->scheme, &view->positions, PE_F64);
    return PE_OK;
}

static void close_all(struct pe_view *view)
{
    pe_rows_free(state_of(view)->rows);
    pe_rows_free(state_of(view)->only);
    pe_offsets_close(&((struct state *)view->state)->offsets);
}

static enum pe_status sums_write(const struct pe_view *view, size_t count, char *out,
                                 struct pe_work *work, struct pe_error *err)
{
    const struct state *state = state_of(view);
    const struct pe_cosines cosines =
        pe_cosines_of(pe_waves_of(view->scheme)->frequencies, state->normalize);
    const struct pe_offsets *offsets = &state->offsets;
    const struct pe_positions even = {
        .start = (double)offsets->first, .step = 1, .count = offsets->count};
    const size_t size = pe_dtype_info(view->dtype)->size;

    if (!offsets->samples)
        return pe_cosines_fill(&cosines, &even, 0, count, view->dtype, out, work, err);
    for (size_t i = 0, group; i < count; i += group) {
        double values[SAMPLES];
        group = pe_least(count - i, SAMPLES);
        for (size_t k = 0; k < group; k++)
            values[k] = (double)pe_offset_at(offsets, i + k);
        if (pe_cosines_fill(&cosines, &(struct pe_positions){.values = values, .count = group}, 0,
                            group, view->dtype, out + i * size, work, err))
            break;
    }
    return err->status;
}

static enum pe_status products_write(const struct pe_view *view, size_t count, char *out,
                                     struct pe_work *work, struct pe_error *err)
{
    const struct state *state = state_of(view);
    const size_t width = pe_rows_width(view->scheme), size = pe_dtype_info(view->dtype)->size;
    const double *anchor = pe_rows_get(state->only, 0, work, err);

    for (size_t i = 0; anchor && i < count; i++) {
        const double *row = pe_rows_get(state->rows, i, work, err);
        if (!row || pe_work_check(work, err))
            break;
        const double value = pe_row_similarity(anchor, row, width, state->normalize);
        pe_from_f64(out + i * size, view->dtype, &value, 1);
    }
    return err->status;
}

/* Raises the absolute value at `index` to `most`, and `most` to it. */
static void envelope_step(const struct pe_view *view, char *out, size_t index, double *most)
{
    const size_t size = pe_dtype_info(view->dtype)->size;
    double value;

    pe_to_f64(&value, out + index * size, view->dtype, 1);
    *most = fmax(*most, fabs(value));
    pe_from_f64(out + index * size, view->dtype, most, 1);
}

/* Turns decay into its envelope: the largest |decay| so far or farther from the anchor on the same
 * side, of the offsets asked for. Rounding keeps order: an envelope is as well rounded as the
 * decay. */
static void envelope_make(const struct pe_view *view, size_t count, char *out)
{
    const struct pe_offsets *offsets = &state_of(view)->offsets;
    const size_t zero = pe_offsets_zero(offsets);
    double before = 0, behind = 0;

    for (size_t i = 0; i < zero; i++)
        envelope_step(view, out, i, &before);
    for (size_t i = count; i > zero; i--)
        envelope_step(view, out, i - 1, &behind);
    if (zero < count && pe_offset_at(offsets, zero) == 0)
        envelope_step(view, out, zero, &before);
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const size_t count = state_of(view)->offsets.count;

    (void)row_begin, (void)row_end; /* a tensor of rank 1 is one row */
    if (output == OFFSETS) {
        pe_offsets_write(&state_of(view)->offsets, out);
        return PE_OK;
    }
    if ((state_of(view)->rows ? products_write : sums_write)(view, count, out, work, err))
        return err->status;
    if (output == ENVELOPE)
        envelope_make(view, count, out);
    return PE_OK;
}

static size_t memory_of(const struct pe_view *view)
{
    return pe_rows_size(state_of(view)->rows);
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_decay;
const struct pe_view_type pe_view_decay = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "decay",
    .info.title = "How likeness falls with distance",
    .info.doc = "`decay` [offsets], the product of the row at `anchor` with the row so far from"
                " it; `envelope` [offsets], the largest |decay| so far or farther on the same "
                "side, of those asked for; `offsets` [offsets]. Where all columns are "
                "pairs that turn, `decay` is a sum of cosines, correctly rounded; else as good "
                "as `similarity`.",
    .info.example = "max_offset=3",
    .info.note =
        "products of rows need not fall steadily with the offset: sums of cosines oscillate, and "
        "fall on average only; envelope is what no farther offset exceeds",
    .close = close_all,
    .memory = memory_of,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return pe_analysis_has_rows(encoding) ? &pe_view_decay : NULL;
}
