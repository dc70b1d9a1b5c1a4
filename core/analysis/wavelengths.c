/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/analysis/analysis.h"
#include "core/base/fail.h"
#include "core/tables/frequencies.h"

/* Wavelengths beside a context: how often each pair turns in it, and how many never do. All are
 * correctly rounded. */

enum { WAVELENGTHS, TURNS };

static const struct pe_param params[] = {
    {.name = "context",
     .type = PE_NUMBER,
     .min = 0,
     .above_min = true,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "How many positions a text has; max_position_embeddings if absent."},
};

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
    const struct pe_scheme *scheme = view->scheme;
    const size_t *pairs = &scheme->pairs;

    if (pe_analysis_new(view, err))
        return err->status;
    view->analysis->context = length_of(scheme, values);
    if (isnan(view->analysis->context))
        return pe_fail(err, PE_MISSING, "parameter:context",
                       "context is required: how many positions wavelengths are set against");
    return pe_view_add(view, "wavelengths", view->dtype, 1, pairs, err)
               ? err->status
               : pe_view_add(view, "turns", view->dtype, 1, pairs, err);
}

/* context * w / 2 pi */
static void turns_evaluate(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_view *view = context;
    mpfr_t pi;

    mpfr_init2(pi, mpfr_get_prec(out));
    mpfr_const_pi(pi, MPFR_RNDN);
    pe_frequencies_real(out, view->scheme->frequencies, pair);
    mpfr_mul_d(out, out, view->analysis->context, MPFR_RNDN);
    mpfr_div(out, out, pi, MPFR_RNDN);
    mpfr_div_2ui(out, out, 1, MPFR_RNDN);
    mpfr_clear(pi);
}

/* Is a wavelength longer than the context? Decided on the real numbers; where 4096 bits do not tell
 * them apart they are equal. */
static bool never_turns(const struct pe_view *view, size_t pair)
{
    int order = 0;

    for (mpfr_prec_t precision = PE_PRECISION_FIRST; !order && precision <= PE_PRECISION_LAST;
         precision *= 2) {
        mpfr_t turns;
        mpfr_init2(turns, precision);
        turns_evaluate(turns, view, pair);
        mpfr_sub_ui(turns, turns, 1, MPFR_RNDN);
        if (mpfr_regular_p(turns) && mpfr_get_exp(turns) > 32 - precision)
            order = mpfr_sgn(turns);
        mpfr_clear(turns);
    }
    return order < 0;
}

static bool scalar(const struct pe_view *view, size_t index, struct pe_scalar *out)
{
    static const char *const names[] = {"context", "shortest", "longest", "never_turn"};
    const struct pe_frequencies *f = view->scheme->frequencies;
    const size_t pairs = pe_frequencies_count(f);
    double shortest = INFINITY, longest = 0, never = 0, wavelength;

    if (index >= sizeof(names) / sizeof(names[0]) || (index > 0 && pairs == 0))
        return false;
    for (size_t pair = 0; index > 0 && pair < pairs; pair++) {
        if (index == 3) {
            never += never_turns(view, pair);
            continue;
        }
        pe_frequencies_write(f, pair, PE_F64, NULL, &wavelength);
        shortest = fmin(shortest, wavelength);
        longest = fmax(longest, wavelength);
    }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
    out->name = names[index];
    out->value = (double[]){view->analysis->context, shortest, longest, never}[index];
    return true;
}

static void fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                 void *out)
{
    const struct pe_scheme *scheme = view->scheme;
    const size_t size = pe_dtype_info(view->dtype)->size;

    for (size_t pair = 0; row_begin < row_end && pair < scheme->pairs; pair++) {
        char *at = (char *)out + pair * size;
        if (output == WAVELENGTHS)
            pe_frequencies_write(scheme->frequencies, pair, view->dtype, NULL, at);
        else
            pe_real_round(turns_evaluate, view, pair, view->dtype, at);
    }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

const struct pe_view_type pe_view_wavelengths = {
    .info.name = "wavelengths",
    .info.group = "analysis",
    .info.title = "Wavelengths beside a context",
    .info.doc = "`wavelengths` [pairs], positions a turn, and `turns` [pairs], how often each "
                "turns in the context; `shortest`, `longest`, and `never_turn`, how many pairs "
                "do not turn once. All correctly rounded.",
    .info.example = "context=1000",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .open = open,
    .fill = fill,
    .scalar = scalar,
};
