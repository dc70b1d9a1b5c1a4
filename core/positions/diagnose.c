/* SPDX-License-Identifier: MIT */
#include "core/base/fail.h"
#include "core/base/spend.h"
#include "core/positions/walk.h"

/* Ids that were seen, beside those of a spec and of every slip. */

static const struct {
    struct pe_ids_slip_info info;
    struct pe_ids_slip slip;
} slips[] = {
#define SLIP(code, made, explanation, fix) {{code, explanation, fix}, {made}},
#include "core/positions/slips.def"
#undef SLIP
};

enum { SLIPS = sizeof(slips) / sizeof(slips[0]) };

const struct pe_ids_slip_info *pe_ids_slip_at(size_t index)
{
    return index < SLIPS ? &slips[index].info : NULL;
}

double pe_ids_diagnosis_work(const struct pe_ids_spec *spec)
{
    return (1 + SLIPS) * pe_ids_work(spec);
}

struct seen {
    const struct pe_ids_spec *spec;
    const int64_t *ids;
    unsigned axes;
    struct pe_ids_finding *finding; /* NULL: one that differs is enough to know */
    bool differs;
};

static void difference_note(struct seen *seen, const struct pe_ids_token *token, unsigned axis,
                            int64_t given)
{
    struct pe_ids_finding *finding = seen->finding;

    seen->differs = true;
    if (!finding || finding->unequal++ > 0)
        return;
    finding->axis = axis;
    finding->row = token->row;
    finding->token = seen->spec->start + token->index;
    finding->expected = token->ids[axis];
    finding->given = given;
}

static bool ids_compare(void *context, const struct pe_ids_token *token)
{
    struct seen *seen = context;
    const struct pe_ids_spec *spec = seen->spec;

    for (unsigned axis = 0; axis < spec->model.axes && !token->padding; axis++) {
        const size_t plane = seen->axes == 1 ? 0 : axis;
        const int64_t given =
            seen->ids[(plane * spec->rows + token->row) * spec->count + token->index];
        if (seen->finding)
            seen->finding->compared++;
        if (given != token->ids[axis])
            difference_note(seen, token, axis, given);
    }
    return seen->finding || !seen->differs;
}

/* A slip that the grids do not allow explains nothing; what ends the work does. */
static bool slip_explains(struct seen *seen, const struct pe_ids_slip *slip, struct pe_work *work,
                          struct pe_error *err)
{
    const struct pe_ids_sink sink = {ids_compare, seen, NULL};
    struct pe_error its = {0};

    seen->differs = false;
    if (pe_work_check(work, err))
        return true;
    return !pe_ids_walk(seen->spec, slip, &sink, work, &its) && !seen->differs;
}

enum pe_status pe_ids_diagnose(struct pe_ids_finding *finding, const struct pe_ids_spec *given,
                               const int64_t *ids, unsigned axes, struct pe_work *work,
                               struct pe_error *err)
{
    static const struct pe_ids_slip none = {0};
    struct pe_ids_spec spec;
    struct seen seen = {&spec, ids, axes, finding, false};
    const struct pe_ids_sink sink = {ids_compare, &seen, NULL};

    *finding = (struct pe_ids_finding){0};
    if (pe_ids_spec_read(&spec, given, err) || pe_spend(work, pe_ids_diagnosis_work(&spec), err))
        return err->status;
    if (axes != 1 && axes != spec.model.axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:position_ids",
                       "%s has %u ids a token, here are %u", spec.model.name ?: "the model",
                       spec.model.axes, axes);
    if (pe_ids_walk(&spec, &none, &sink, work, err))
        return err->status;
    seen.finding = NULL;
    for (size_t i = 0; i < SLIPS && finding->unequal > 0 && !finding->slip && !err->status; i++)
        if (slip_explains(&seen, &slips[i].slip, work, err))
            finding->slip = &slips[i].info;
    return err->status;
}
