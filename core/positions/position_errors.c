/* SPDX-License-Identifier: MIT */
#include "core/base/errors.h"
#include "core/base/work.h"
#include "core/positions/position_ids.h"

/* Ids are compared with those of a spec, and with those of each known error. */

static const struct {
    struct pe_ids_slip_info info; /* code NULL: that of the error before */
    struct pe_position_error error;
} errors[] = {
#define POSITION_ERROR(code, made, explanation, fix) {{code, explanation, fix}, {made}},
#define POSITION_VARIANT(made)                       {{0}, {made}},
#include "core/positions/position_errors.def"
#undef POSITION_ERROR
};

enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };

const struct pe_ids_slip_info *pe_ids_slip_at(size_t index)
{
    for (size_t i = 0; i < ERRORS; i++)
        if (errors[i].info.code && index-- == 0)
            return &errors[i].info;
    return NULL;
}

/* Of an error or a variant of it. */
static const struct pe_ids_slip_info *info_of(size_t index)
{
    while (!errors[index].info.code)
        index--;
    return &errors[index].info;
}

double pe_ids_diagnosis_work(const struct pe_ids_spec *spec)
{
    return (1 + ERRORS) * pe_ids_work(spec);
}

struct comparison {
    const struct pe_ids_spec *spec;
    const int64_t *ids;
    unsigned axes;
    struct pe_ids_finding *finding; /* NULL: stop at the first difference */
    bool differs;
};

static void difference_note(struct comparison *comparison, const struct pe_ids_token *token,
                            unsigned axis, int64_t given)
{
    struct pe_ids_finding *finding = comparison->finding;

    comparison->differs = true;
    if (!finding || finding->unequal++ > 0)
        return;
    finding->axis = axis;
    finding->row = token->row;
    finding->token = comparison->spec->start + token->index;
    finding->expected = token->ids[axis];
    finding->given = given;
}

static bool ids_compare(void *context, const struct pe_ids_token *token)
{
    struct comparison *comparison = context;
    const struct pe_ids_spec *spec = comparison->spec;

    for (unsigned axis = 0; axis < spec->model.axes && !token->padding; axis++) {
        const size_t plane = comparison->axes == 1 ? 0 : axis;
        const int64_t given =
            comparison->ids[(plane * spec->rows + token->row) * spec->count + token->index];
        if (comparison->finding)
            comparison->finding->compared++;
        if (given != token->ids[axis])
            difference_note(comparison, token, axis, given);
    }
    return comparison->finding || !comparison->differs;
}

/* True where the error gives the ids, or the work has ended. An error that the grids do not allow
 * explains nothing. */
static bool error_explains(struct comparison *comparison, const struct pe_position_error *error,
                           struct pe_work *work, struct pe_error *err)
{
    const struct pe_ids_sink sink = {ids_compare, comparison, NULL};
    struct pe_error ignored = {0};

    comparison->differs = false;
    if (pe_work_check(work, err))
        return true;
    return !pe_ids_iterate(comparison->spec, error, &sink, work, &ignored) && !comparison->differs;
}

enum pe_status pe_ids_diagnose(struct pe_ids_finding *finding, const struct pe_ids_spec *given,
                               const int64_t *ids, unsigned axes, struct pe_work *work,
                               struct pe_error *err)
{
    static const struct pe_position_error none = {0};
    struct pe_ids_spec spec;
    struct comparison comparison = {&spec, ids, axes, finding, false};
    const struct pe_ids_sink sink = {ids_compare, &comparison, NULL};

    *finding = (struct pe_ids_finding){0};
    if (pe_ids_spec_read(&spec, given, err) || pe_spend(work, pe_ids_diagnosis_work(&spec), err))
        return err->status;
    if (axes != 1 && axes != spec.model.axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:position_ids",
                       "%s has %u ids a token, here are %u", spec.model.name ?: "the model",
                       spec.model.axes, axes);
    if (pe_ids_iterate(&spec, &none, &sink, work, err))
        return err->status;
    comparison.finding = NULL;
    for (size_t i = 0; i < ERRORS && finding->unequal > 0 && !finding->slip && !err->status; i++)
        if (error_explains(&comparison, &errors[i].error, work, err))
            finding->slip = info_of(i);
    return err->status;
}
