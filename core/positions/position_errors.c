/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/base/errors.h"
#include "core/base/sanitizer.h"
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

PE_WRAPS("counts down past 0")
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
    const int64_t *ids; /* NULL: coordinates */
    const double *coordinates;
    unsigned axes;
    struct pe_ids_finding *finding; /* NULL: stop at the first difference */
    bool differs;
};

static void difference_note(struct comparison *comparison, const struct pe_ids_token *token,
                            unsigned axis, size_t place)
{
    struct pe_ids_finding *finding = comparison->finding;

    comparison->differs = true;
    if (!finding || finding->unequal++ > 0)
        return;
    finding->axis = axis;
    finding->row = token->row;
    finding->token = comparison->spec->start + token->index;
    finding->expected = token->ids[axis];
    finding->given = comparison->ids ? comparison->ids[place] : 0;
    finding->expected_coordinate = pe_ids_coordinate(token, &comparison->spec->model, axis);
    finding->given_coordinate =
        comparison->ids ? (double)comparison->ids[place] : comparison->coordinates[place];
}

/* Whole ids are equal; coordinates are within the roundings of float32. */
static bool is_right(const struct comparison *comparison, const struct pe_ids_token *token,
                     unsigned axis, size_t place)
{
    if (comparison->ids)
        return comparison->ids[place] == token->ids[axis];
    const double expected = pe_ids_coordinate(token, &comparison->spec->model, axis);
    const double given = comparison->coordinates[place];
    if (!pe_ids_is_fractional(&comparison->spec->model))
        return given == expected;
    return fabs(given - expected) <= 0x1p-15 * fmax(1, fabs(expected));
}

static bool ids_compare(void *context, const struct pe_ids_token *token)
{
    struct comparison *comparison = context;
    const struct pe_ids_spec *spec = comparison->spec;

    for (unsigned axis = 0; axis < spec->model.axes && !token->padding; axis++) {
        const size_t plane = comparison->axes == 1 ? 0 : axis;
        const size_t place = (plane * spec->rows + token->row) * spec->count + token->index;
        if (comparison->finding)
            comparison->finding->compared++;
        if (!is_right(comparison, token, axis, place))
            difference_note(comparison, token, axis, place);
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

static enum pe_status compare(struct comparison *comparison, struct pe_ids_spec *spec,
                              const struct pe_ids_spec *given, struct pe_work *work,
                              struct pe_error *err)
{
    static const struct pe_position_error none = {0};
    const struct pe_ids_sink sink = {ids_compare, comparison, NULL};
    struct pe_ids_finding *finding = comparison->finding;
    const unsigned axes = comparison->axes;

    *finding = (struct pe_ids_finding){0};
    if (pe_ids_spec_read(spec, given, err) || pe_spend(work, pe_ids_diagnosis_work(spec), err))
        return err->status;
    if (comparison->ids && pe_ids_is_fractional(&spec->model))
        return pe_ids_fractions_refuse(&spec->model, err);
    if (axes != 1 && axes != spec->model.axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:position_ids",
                       "%s has %u ids a token, here are %u", spec->model.name ?: "the model",
                       spec->model.axes, axes);
    if (pe_ids_iterate(spec, &none, &sink, work, err))
        return err->status;
    comparison->finding = NULL;
    for (size_t i = 0; i < ERRORS && finding->unequal > 0 && !finding->slip && !err->status; i++)
        if (error_explains(comparison, &errors[i].error, work, err))
            finding->slip = info_of(i);
    return err->status;
}

enum pe_status pe_ids_diagnose(struct pe_ids_finding *finding, const struct pe_ids_spec *given,
                               const int64_t *ids, unsigned axes, struct pe_work *work,
                               struct pe_error *err)
{
    struct pe_ids_spec spec;
    struct comparison comparison = {.spec = &spec, .ids = ids, .axes = axes, .finding = finding};

    return compare(&comparison, &spec, given, work, err);
}

enum pe_status pe_ids_diagnose_f64(struct pe_ids_finding *finding, const struct pe_ids_spec *given,
                                   const double *ids, unsigned axes, struct pe_work *work,
                                   struct pe_error *err)
{
    struct pe_ids_spec spec;
    struct comparison comparison = {
        .spec = &spec, .coordinates = ids, .axes = axes, .finding = finding};

    return compare(&comparison, &spec, given, work, err);
}
