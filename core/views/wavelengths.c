/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/scheme/scheme.h"
#include "core/views/analysis.h"

/* The analysis `wavelengths`: how many rotations each pair makes in a context, and how many pairs
 * make none. All numbers are correctly rounded. */

enum { WAVELENGTHS, TURNS };

enum { CHECK_PAIRS = 64 }; /* between two checks of the work */

static const struct pe_param params[] = {
    {.name = "context",
     .type = PE_NUMBER,
     .min = 0,
     .above_min = true,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "The context length; max_position_embeddings of the encoding if absent."},
};

/* Estimated nanoseconds of a wavelength that double-doubles decide, and of a number that takes wide
 * numbers: of a power of the base, and of a power of 2. */
enum { NEAR_COST = 120, REAL_COST = 3000, HALVED_COST = 1000 };

struct state {
    double context; /* positions */
};

static double context_of(const struct pe_view *view)
{
    return ((const struct state *)view->state)->context;
}

static const struct pe_frequencies *frequencies_of(const struct pe_view *view)
{
    return pe_waves_of(view->scheme)->frequencies;
}

static double length_of(const struct pe_scheme *scheme, const struct pe_params *values)
{
    const double given = pe_param_number(values, "context");

    return isnan(given) && pe_params_find(&scheme->params, "max_position_embeddings") >= 0
               ? pe_param_number(&scheme->params, "max_position_embeddings")
               : given;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const size_t *pairs = &pe_waves_of(view->scheme)->pairs;
    struct state *state = view->state;

    state->context = length_of(view->scheme, values);
    if (isnan(state->context))
        return pe_fail(err, PE_MISSING, "parameter:context",
                       "context is required: how many positions wavelengths are set against");
    if (pe_view_add(view, "wavelengths", view->dtype, 1, pairs, err) ||
        pe_view_add(view, "turns", view->dtype, 1, pairs, err))
        return err->status;
    view->outputs[WAVELENGTHS].element_work = NEAR_COST;
    view->outputs[TURNS].element_work =
        pe_waves_of(view->scheme)->meets_axes
            ? HALVED_COST
            : REAL_COST * fmax(1, (double)pe_scheme_axes(view->scheme));
    view->outputs[WAVELENGTHS].once_work =
        view->outputs[TURNS].element_work * (double)*pairs; /* of the scalars */
    return PE_OK;
}

/* context * w / 2 pi */
static struct pe_wide rotations(unsigned bits, const void *context, size_t pair)
{
    const struct pe_view *view = context;
    const struct pe_wide w = pe_frequencies_real(bits, frequencies_of(view), pair);

    return pe_wide_scale(pe_wide_div(pe_wide_mul_double(w, context_of(view)), pe_wide_pi(bits)),
                         -1);
}

/* True where the wavelength, a real number, is longer than the context. They are equal if 1280 bits
 * do not distinguish them. */
static bool never_turns(const struct pe_view *view, size_t pair)
{
    int order = 0;

    for (unsigned bits = PE_PRECISION_FIRST; !order && bits <= PE_PRECISION_LAST;
         bits = pe_precision_next(bits)) {
        const struct pe_wide more = pe_wide_sub_double(rotations(bits, view, pair), 1);
        if (pe_wide_exponent(more) > 32 - (int64_t)bits)
            order = pe_wide_sign(more);
    }
    return order < 0;
}

static bool scalar(const struct pe_view *view, size_t index, struct pe_scalar *out)
{
    static const char *const names[] = {"context", "shortest", "longest", "never_turn"};
    const struct pe_frequencies *f = frequencies_of(view);
    const size_t pairs = pe_frequencies_count(f);
    double shortest = INFINITY, longest = 0, never = 0, wavelength;

    if (index >= sizeof(names) / sizeof(names[0]) || (index > 0 && pairs == 0))
        return false;
    for (size_t pair = 0; index > 0 && pair < pairs; pair++) {
        if (pair % CHECK_PAIRS == 0 && pe_work_ended(view->work))
            return false;
        if (index == 3) {
            never += never_turns(view, pair);
            continue;
        }
        pe_frequencies_write(f, pair, PE_F64, NULL, &wavelength);
        shortest = fmin(shortest, wavelength);
        longest = fmax(longest, wavelength);
    }
    out->name = names[index];
    out->value = (double[]){context_of(view), shortest, longest, never}[index];
    return true;
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const size_t size = pe_dtype_info(view->dtype)->size;

    (void)row_begin, (void)row_end; /* a tensor of rank 1 is one row */
    for (size_t pair = 0; pair < pe_waves_of(view->scheme)->pairs; pair++) {
        char *at = (char *)out + pair * size;
        if (pair % CHECK_PAIRS == 0 && pe_work_check(work, err))
            break;
        if (output == WAVELENGTHS)
            pe_frequencies_write(frequencies_of(view), pair, view->dtype, NULL, at);
        else
            pe_real_round(rotations, view, pair, view->dtype, at);
    }
    return err->status;
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_wavelengths;
const struct pe_view_type pe_view_wavelengths = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "wavelengths",
    .info.title = "Wavelengths compared with a context length",
    .info.doc = "`wavelengths` [pairs]: the positions of a full rotation of each pair. `turns` "
                "[pairs]: the rotations of each pair in the context. `shortest` and `longest`: the "
                "extreme wavelengths. `never_turn`: the number of pairs with less than one "
                "rotation in the context. All numbers are correctly rounded.",
    .info.example = "context=1000",
    .scalar = scalar,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return encoding->rotary || pe_analysis_has_sines(encoding) ? &pe_view_wavelengths : NULL;
}
