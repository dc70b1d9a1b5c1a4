/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/sanitizer.h"
#include "core/base/text.h"
#include "core/base/work.h"
#include "core/diagnosis/diagnosis.h"
#include "core/encodings/rope/rope.h"
#include "core/exact/angle.h"
#include "core/exact/elementary.h"

/* Candidates for a sample: the expected scheme with and without bugs, schemes that models use, and
 * schemes with numbers measured from the sample. */

/* ---- numbers measured from a sample ---------------------------------------------------------- */

/* The largest distance of rows that are compared: errors of float32 angles mislead beyond it. */
#define DISTANCE_MOST 1000.0

/* The largest residual fraction of the log-linear fit; above it the frequencies are not
 * base^(-i/d). */
#define CURVED 0.01

/* A rotation is measured modulo 2 pi. The first step is at most 3 positions, so that the angle
 * cannot wrap (3 * 1 < pi); farther rows refine the frequency found by nearer ones. */
double pe_frequency_measure(const struct pe_sample *sample, size_t pair)
{
    double w = NAN;

    for (size_t row = 1; sample->cos && sample->sin && sample->axes < 2 && row < sample->rows;
         row++) {
        const double distance = sample->positions[row] - sample->positions[0];
        const double c0 = sample->cos[pair], s0 = sample->sin[pair];
        const double c1 = sample->cos[row * sample->pairs + pair];
        const double s1 = sample->sin[row * sample->pairs + pair];
        const double angle =
            pe_circle_angle((struct pe_circle){c1 * c0 + s1 * s0, s1 * c0 - c1 * s0});
        if (!(distance > 0 && distance <= DISTANCE_MOST) || isnan(angle) ||
            (isnan(w) && distance > 3))
            continue;
        w = (angle + (isnan(w) ? 0 : 2 * M_PI * rint((distance * w - angle) / (2 * M_PI)))) /
            distance;
    }
    return w;
}

/* The slope of ln w over pair / divisor by least squares, through 0 at the first pair. */
double pe_base_measure(const struct pe_sample *sample, size_t divisor)
{
    double products = 0, squares = 0, logarithms = 0, base;

    for (size_t pair = 1; pair < sample->pairs; pair++) {
        const double x = (double)pair / (double)divisor;
        const double w =
            sample->frequencies ? sample->frequencies[pair] : pe_frequency_measure(sample, pair);
        if (!(w > 0 && w < 1))
            continue;
        /* The error of ln w is that of a measured rotation over w. */
        const double weight = sample->frequencies ? 1 : w * w;
        products -= weight * x * pe_log(w);
        squares += weight * x * x;
        logarithms += weight * pe_log(w) * pe_log(w);
    }
    if (logarithms - products * products / squares > CURVED * logarithms)
        return NAN;
    base = squares > 0 ? pe_exp(fmin(products / squares, 100)) : NAN;
    return base > 1.01 && base < 1e12 ? base : NAN;
}

double pe_round_digits(double number, int digits)
{
    char text[40];
    const char *at = text;

    pe_text_print(text, sizeof(text), "%.*e", digits - 1, number);
    return pe_text_number(&at, &number) ? number : NAN;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static const struct {
    const char *encoding, *parameters;
} known[] = {
#define KNOWN(encoding, parameters) {#encoding, parameters},
#include "core/diagnosis/known_schemes.def"
#undef KNOWN
};

/* Bugs that are possible with any scheme. */
static const struct {
    enum pe_bug bug;
    struct pe_distortion distortion;
} bugs[] = {
    {PE_BUG_FACTOR_MISSING, {.factors = -1}},
    {PE_BUG_FACTOR_TWICE, {.factors = 1}},
    {PE_BUG_INV_FREQ_BF16, {.frequencies = PE_BF16}},
    {PE_BUG_INV_FREQ_F16, {.frequencies = PE_F16}},
    {PE_BUG_INV_FREQ_TRUNCATED, {.frequencies = PE_BF16, .truncated = true}},
    {PE_BUG_POSITIONS_BF16, {.positions = PE_BF16}},
    {PE_BUG_POSITIONS_F16, {.positions = PE_F16}},
    {PE_BUG_ANGLES_BF16, {.angles = PE_BF16}},
    {PE_BUG_ANGLES_BF16, {.frequencies = PE_BF16, .angles = PE_BF16}},
    {PE_BUG_ANGLES_BF16, {.frequencies = PE_BF16, .positions = PE_BF16}},
    {PE_BUG_ANGLES_BF16, {.frequencies = PE_BF16, .positions = PE_BF16, .angles = PE_BF16}},
    {PE_BUG_ANGLES_F16, {.angles = PE_F16}},
    {PE_BUG_ANGLES_F16, {.frequencies = PE_F16, .angles = PE_F16}},
    {PE_BUG_ANGLES_F16, {.frequencies = PE_F16, .positions = PE_F16}},
    {PE_BUG_ANGLES_F16, {.frequencies = PE_F16, .positions = PE_F16, .angles = PE_F16}},
    {PE_BUG_OFF_BY_ONE, {.shift = 1}},
    {PE_BUG_OFF_BY_ONE, {.shift = -1}},
    {PE_BUG_HALF_MINUS_ONE, {.half_minus_one = true}},
    {PE_BUG_BACKWARDS, {.backwards = true}},
    {PE_BUG_COS_SIN_SWAPPED, {.swapped = true}},
};

static void candidate_add(struct pe_diagnosis *diagnosis, const struct pe_candidate *candidate)
{
    if (candidate->scheme && diagnosis->candidates_count < PE_CANDIDATES_MAX)
        diagnosis->candidates[diagnosis->candidates_count++] = *candidate;
}

static void bugs_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                     bool is_expected)
{
    for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++) {
        /* A scheme that is not expected may have no factor. */
        if (!is_expected && bugs[i].bug == PE_BUG_FACTOR_MISSING)
            continue;
        candidate_add(diagnosis, &(struct pe_candidate){.scheme = scheme,
                                                        .bug = bugs[i].bug,
                                                        .distortion = bugs[i].distortion,
                                                        .is_expected = is_expected});
    }
}

/* Failures of the work fail the whole list; invalid parameters just skip the candidate. */
static void failure_note(struct pe_diagnosis *diagnosis, const struct pe_error *err)
{
    if (pe_work_failed(diagnosis->work, err))
        diagnosis->list_status = err->status;
}

enum pe_status pe_candidates_check(const struct pe_diagnosis *diagnosis, struct pe_error *err)
{
    if (pe_work_check(diagnosis->work, err))
        return err->status;
    if (diagnosis->list_status == PE_OUT_OF_MEMORY)
        return pe_no_memory(err, "the candidates of a diagnosis");
    return diagnosis->list_status
               ? pe_fail(err, diagnosis->list_status, "",
                         "the candidates of a diagnosis take more operations than they may take")
               : PE_OK;
}

/* NULL: the parameters are invalid, or memory or time ran out (diagnosis->list_status). */
static struct pe_scheme *scheme_open(struct pe_diagnosis *diagnosis,
                                     const struct pe_encoding *encoding,
                                     const struct pe_params *params)
{
    struct pe_scheme *scheme = NULL;
    struct pe_error err = {0};

    if (pe_scheme_open(&scheme, encoding, params, diagnosis->work, &err)) {
        failure_note(diagnosis, &err);
        return NULL;
    }
    return scheme;
}

/* Opens a scheme that the diagnosis owns. NULL as above, or where the list is full. */
static struct pe_scheme *scheme_own(struct pe_diagnosis *diagnosis,
                                    const struct pe_encoding *encoding,
                                    const struct pe_params *params)
{
    struct pe_scheme *scheme = diagnosis->schemes_count == PE_CANDIDATES_MAX
                                   ? NULL
                                   : scheme_open(diagnosis, encoding, params);

    if (scheme)
        diagnosis->schemes[diagnosis->schemes_count++] = scheme;
    return scheme;
}

/* ---- variants of the expected scheme --------------------------------------------------------- */

/* The parameters of `keep` only (keep NULL: all but those of `drop`), and the "name=value" pairs of
 * `change`. */
static enum pe_status variant_params(struct pe_params *params, const struct pe_scheme *scheme,
                                     const char *keep, const char *drop, const char *change,
                                     struct pe_error *err)
{
    pe_params_set_pairs(params, change, err);
    for (size_t i = 0; i < params->count && !err->status; i++) {
        const char *name = params->list[i].name;
        const bool is_wanted = keep ? pe_text_lists(keep, ',', name, strlen(name))
                                    : !pe_text_lists(drop, ',', name, strlen(name));
        if (is_wanted && scheme->params.values[i].given && !params->values[i].given)
            pe_params_set_value(params, i, &params->list[i], &scheme->params.values[i], err);
    }
    return err->status;
}

/* The scheme with other parameters; `open` makes it. */
static struct pe_scheme *
variant_make(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme, const char *keep,
             const char *drop, const char *change,
             struct pe_scheme *(*open)(struct pe_diagnosis *, const struct pe_encoding *,
                                       const struct pe_params *))
{
    struct pe_scheme *variant = NULL;
    struct pe_error err = {0};
    struct pe_params params;

    pe_params_init(&params, scheme->encoding->info.params, scheme->encoding->info.params_count);
    params.work = diagnosis->work;
    if (!variant_params(&params, scheme, keep, drop, change, &err))
        variant = open(diagnosis, scheme->encoding, &params);
    failure_note(diagnosis, &err);
    pe_params_free(&params);
    return variant;
}

static struct pe_scheme *variant_own(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                                     const char *keep, const char *drop, const char *change)
{
    return variant_make(diagnosis, scheme, keep, drop, change, scheme_own);
}

struct pe_scheme *pe_candidate_variant(struct pe_diagnosis *diagnosis,
                                       const struct pe_scheme *scheme, const char *change)
{
    return variant_own(diagnosis, scheme, NULL, "", change);
}

/* Parameters of the width, which every variant keeps. */
#define PART   "dim,rotary_dim,partial_rotary_factor"
#define WIDTHS PART ",base"

static void variant_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                        enum pe_bug bug, const char *keep, const char *drop, const char *change)
{
    candidate_add(diagnosis, &(struct pe_candidate){
                                 .scheme = variant_own(diagnosis, scheme, keep, drop, change),
                                 .unlike = scheme,
                                 .bug = bug,
                                 .is_expected = true});
}

static bool has_type(const struct pe_scheme *scheme, const char *name)
{
    return pe_params_find(&scheme->params, "rope_type") >= 0 &&
           strcmp(pe_rope_type_of(scheme)->name, name) == 0;
}

/* The factor by which the slowest pair of the sample is divided, as every type of scaling does;
 * NAN: it cannot be measured. */
static double factor_measure(const struct pe_scheme *scheme, const struct pe_sample *sample)
{
    const size_t last = sample->pairs - 1;
    const int index = pe_params_find(&scheme->params, "base");
    const double w =
        sample->frequencies ? sample->frequencies[last] : pe_frequency_measure(sample, last);
    const double ratio = index < 0 ? NAN
                                   : pe_power(scheme->params.values[index].number,
                                              -(double)last / (double)pe_waves_of(scheme)->pairs) /
                                         w;

    return ratio > 1e-3 && ratio < 1e6 ? ratio : NAN;
}

static void factors_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                        const struct pe_sample *sample, double factor)
{
    static const double common[] = {1,  1.5, 2,  2.5, 3,  4,  5,  6,  8,  10,
                                    12, 16,  20, 24,  32, 40, 48, 64, 96, 128};
    const double seen = factor_measure(scheme, sample);
    const double others[] = {factor * factor, pe_round_digits(seen, 1), pe_round_digits(seen, 2),
                             pe_round_digits(seen, 3)};
    char change[40];

    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
        pe_text_print(change, sizeof(change), "factor=%.17g", common[i]);
        if (common[i] != factor)
            variant_add(diagnosis, scheme, PE_BUG_SCALING_WRONG, NULL, "attention_factor", change);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        pe_text_print(change, sizeof(change), "factor=%.17g", others[i]);
        if (isfinite(others[i]) && others[i] != factor)
            variant_add(diagnosis, scheme, PE_BUG_SCALING_WRONG, NULL, "attention_factor", change);
    }
}

/* Another type of scaling with the expected factor. */
static void type_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                     const struct pe_rope_type *type, double factor)
{
    static const char original[] = "original_max_position_embeddings";
    const bool has_original = pe_text_lists(type->required, ',', original, strlen(original)) ||
                              pe_text_lists(type->optional, ',', original, strlen(original));
    char keep[120], change[160];

    snprintf(keep, sizeof(keep), "%s%s%s%s", WIDTHS, has_original ? "," : "",
             has_original ? original : "", type->float32 ? ",arithmetic" : "");
    pe_text_print(change, sizeof(change), "factor=%.17g rope_type=%s %s", factor, type->name,
                  type->candidate);
    variant_add(diagnosis, scheme, PE_BUG_SCALING_WRONG, keep, NULL, change);
}

static void scalings_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                         const struct pe_sample *sample)
{
    const int index = pe_params_find(&scheme->params, "factor");
    const double factor = index < 0 ? NAN : scheme->params.values[index].number;

    if (pe_params_find(&scheme->params, "rope_type") < 0 || has_type(scheme, "default"))
        return;
    variant_add(diagnosis, scheme, PE_BUG_SCALING_MISSING, WIDTHS ",arithmetic", NULL, "");
    variant_add(diagnosis, scheme, PE_BUG_CONFIG_IGNORED, PART ",arithmetic", NULL, "");
    if (has_type(scheme, "yarn")) {
        variant_add(diagnosis, scheme, PE_BUG_TRUNCATE_IGNORED, NULL, "", "truncate=false");
        variant_add(diagnosis, scheme, PE_BUG_TRUNCATE_IGNORED, NULL, "", "truncate=true");
    }
    if (index < 0 || !scheme->params.values[index].given)
        return;
    variant_add(diagnosis, scheme, PE_BUG_FACTOR_WRONG, NULL,
                "mscale,mscale_all_dim,attention_factor", "");
    for (size_t i = 0; pe_rope_type_at(i); i++)
        if (pe_rope_type_at(i)->candidate)
            type_add(diagnosis, scheme, pe_rope_type_at(i), factor);
    factors_add(diagnosis, scheme, sample, factor);
}

/* Frequencies of the part that rotates in place of those of the whole head: with r rotating pairs
 * of p, base^(-k / r) is (base^(p / r))^(-k / p). */
static void prefix_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme)
{
    const struct pe_frequencies *frequencies = pe_scheme_frequencies(scheme);
    const size_t pairs = pe_waves_of(scheme)->pairs;
    size_t rotating = pairs;
    char change[60];

    while (rotating > 0 && pe_frequencies_near(frequencies, rotating - 1) == 0)
        rotating--;
    if (rotating == 0)
        return;
    pe_text_print(change, sizeof(change), "base=%.17g",
                  pe_power(pe_rope_param(scheme, "base"), (double)pairs / (double)rotating));
    variant_add(diagnosis, scheme, PE_BUG_WRONG_WIDTH, NULL, "base", change);
}

/* Frequencies of the full head for the part that rotates; or a part as wide as the sample. */
static void widths_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                       const struct pe_sample *sample)
{
    static const char part[] = "rotary_dim,partial_rotary_factor";
    const size_t seen = 2 * sample->pairs;
    char change[60];

    variant_add(diagnosis, scheme, PE_BUG_WRONG_WIDTH, NULL, part, "");
    if (sample->pairing == PE_PAIRING_WITHIN_PREFIX)
        prefix_add(diagnosis, scheme);
    if (sample->pairs == pe_waves_of(scheme)->pairs)
        return;
    snprintf(change, sizeof(change), "%s=%zu",
             seen > pe_scheme_head_dim(scheme) ? "dim" : "rotary_dim", seen);
    variant_add(diagnosis, scheme, PE_BUG_WRONG_WIDTH, NULL, part, change);
    for (size_t i = 0; i < diagnosis->candidates_count; i++)
        if (diagnosis->candidates[i].bug == PE_BUG_WRONG_WIDTH)
            diagnosis->candidates[i].unlike = NULL; /* the width alone is the bug */
    candidate_add(diagnosis, &(struct pe_candidate){
                                 .scheme = scheme, .bug = PE_BUG_WRONG_WIDTH, .is_expected = true});
}

static void expected_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                         const struct pe_sample *sample)
{
    if (scheme->encoding->rotary)
        widths_add(diagnosis, scheme, sample);
    if (sample->pairs != pe_waves_of(scheme)->pairs)
        return;
    candidate_add(diagnosis, &(struct pe_candidate){.scheme = scheme, .is_expected = true});
    variant_add(diagnosis, scheme, PE_BUG_BASE_IGNORED, NULL, "base", "");
    scalings_add(diagnosis, scheme, sample);
    bugs_add(diagnosis, scheme, true);
}

/* ---- other schemes --------------------------------------------------------------------------- */

/* Could a known scheme have made the sample: rotary, or rows that are added? */
static bool is_likely(size_t index, const struct pe_sample *sample)
{
    const struct pe_encoding *encoding = pe_encoding_find(known[index].encoding);

    return pe_encoding_has(encoding, PE_KIND_ROTARY) != sample->absolute;
}

static void other_add(struct pe_diagnosis *diagnosis, const struct pe_sample *sample,
                      const char *name, const char *parameters, bool is_measured, bool with_bugs)
{
    const struct pe_encoding *encoding = pe_encoding_find(name);
    const struct pe_scheme *scheme = NULL;
    struct pe_error err = {0};
    struct pe_params params;
    char text[40];

    pe_params_init(&params, encoding->info.params, encoding->info.params_count);
    params.work = diagnosis->work;
    snprintf(text, sizeof(text), "dim=%zu", 2 * sample->pairs);
    if (!pe_params_set_pairs(&params, text, &err) &&
        !pe_params_set_pairs(&params, parameters, &err))
        scheme = scheme_own(diagnosis, encoding, &params);
    failure_note(diagnosis, &err);
    pe_params_free(&params);
    candidate_add(diagnosis, &(struct pe_candidate){.scheme = scheme, .is_measured = is_measured});
    if (scheme && with_bugs)
        bugs_add(diagnosis, scheme, false);
}

/* A base of few digits counts as near if noise may explain its distance from the measured one. */
#define BASE_NEAR 0.01

/* Schemes of a measured base, rounded to 1 to 7 digits: people choose bases of few digits, so those
 * of more than three rank last. Bugs are tried with the first near one. */
static void base_add(struct pe_diagnosis *diagnosis, const struct pe_sample *sample,
                     const char *scheme, const char *more, double base, bool with_bugs)
{
    double last = NAN;
    char text[60];

    for (int digits = 1; digits <= 7 && !isnan(base); digits++) {
        const double rounded = pe_round_digits(base, digits);
        if (rounded == last || !(rounded > 1))
            continue;
        pe_text_print(text, sizeof(text), "base=%.17g %s", rounded, more);
        const bool is_near = digits <= 3 && fabs(rounded - base) <= BASE_NEAR * base;
        other_add(diagnosis, sample, scheme, text, digits > 3, with_bugs && is_near);
        with_bugs = with_bugs && !is_near;
        last = rounded;
    }
}

/* Each sample has a base of its own; rows that are added have one for either spacing. */
static void measured_add(struct pe_diagnosis *diagnosis, const struct pe_sample *samples,
                         size_t count, bool with_bugs)
{
    double before[2] = {NAN, NAN};

    for (size_t i = 0; i < count; i++) {
        const struct pe_sample *sample = &samples[i];
        const size_t pairs = sample->pairs;
        const double base = pe_base_measure(sample, pairs);
        const double endpoint =
            sample->absolute && pairs > 1 ? pe_base_measure(sample, pairs - 1) : NAN;
        if (base != before[0])
            base_add(diagnosis, sample, sample->absolute ? "sinusoidal" : "rope", "", base,
                     with_bugs);
        if (endpoint != before[1])
            base_add(diagnosis, sample, "sinusoidal", "spacing=endpoint", endpoint, with_bugs);
        before[0] = base;
        before[1] = endpoint;
    }
}

/* ---- bugs of schemes that do not fit --------------------------------------------------------- */

static void bug_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme, enum pe_bug bug,
                    const struct pe_distortion *distortion)
{
    candidate_add(diagnosis, &(struct pe_candidate){.scheme = scheme,
                                                    .bug = bug,
                                                    .distortion = *distortion,
                                                    .is_expected = true});
}

static void factor_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                       enum pe_bug bug, double factor)
{
    if (isfinite(factor) && factor > 0)
        bug_add(diagnosis, scheme, bug, &(struct pe_distortion){.factor = factor});
}

/* Yarn's attention factor, by formulas that have it, or mscale, in the wrong place. */
static void attention_factors_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme)
{
    const struct pe_candidate plain = {.scheme = scheme};

    if (!has_type(scheme, "yarn"))
        return;
    const double attention = pe_candidate_factor(&plain);
    const double given = pe_rope_param(scheme, "factor");
    const double factor =
        isnan(given) ? pe_rope_param(scheme, "max_position_embeddings") / pe_rope_original(scheme)
                     : given;
    const double scale = pe_rope_param(scheme, "mscale");
    const double all = pe_rope_param(scheme, "mscale_all_dim");
    const double logarithm = factor > 1 ? pe_log(factor) / 10 : NAN;

    if (pe_param_given(&scheme->params, "attention_factor"))
        factor_add(diagnosis, scheme, PE_BUG_FACTOR_TWICE, attention * (logarithm + 1));
    factor_add(diagnosis, scheme, PE_BUG_FACTOR_IN_LOGARITHM, attention * logarithm + 1);
    factor_add(diagnosis, scheme, PE_BUG_FACTOR_IN_LOGARITHM,
               logarithm + pe_log(attention) / 10 + 1);
    if (!(scale > 0))
        return;
    const double inside = logarithm + pe_log(scale) / 10 + 1;
    factor_add(diagnosis, scheme, PE_BUG_FACTOR_IN_LOGARITHM, inside);
    if (all > 0)
        factor_add(diagnosis, scheme, PE_BUG_FACTOR_IN_LOGARITHM,
                   inside / (logarithm + pe_log(all) / 10 + 1));
    factor_add(diagnosis, scheme, PE_BUG_FACTOR_WRONG, scale * logarithm + 1);
}

/* The offset is the first position: position / factor + offset, or (position + offset / factor) /
 * factor, instead of (position + offset) / factor. */
static void offsets_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                        const struct pe_sample *sample)
{
    if (sample->rows == 0 || !has_type(scheme, "linear"))
        return;
    const double factor = pe_rope_param(scheme, "factor"), offset = sample->positions[0];
    bug_add(diagnosis, scheme, PE_BUG_SCALED_OFFSET,
            &(struct pe_distortion){.shift = offset * (factor - 1)});
    bug_add(diagnosis, scheme, PE_BUG_SCALED_OFFSET,
            &(struct pe_distortion){.shift = offset / factor - offset});
}

/* A hash of the coordinates that rotate the pairs. */
PE_WRAPS("a hash")
static uint64_t axes_hash(const struct pe_candidate *candidate, const struct pe_sample *sample)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t pair = 0; pair < sample->pairs; pair++)
        hash = (hash ^ pe_candidate_axis(candidate, sample->axes, pair)) * UINT64_C(1099511628211);
    return hash;
}

/* Every order of three coordinates, in sections that a scheme assigns; NULL: the expected ones. */
static void orders_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                       const struct pe_scheme *sections, const struct pe_sample *sample,
                       uint64_t *seen, size_t *seen_count)
{
    for (size_t order = 0; order < PE_AXES_ORDERS; order++) {
        const struct pe_candidate candidate = {.scheme = scheme,
                                               .sections = sections,
                                               .bug = PE_BUG_MROPE_ORDER,
                                               .distortion = {.axes_order = order},
                                               .is_expected = true};
        const uint64_t hash = axes_hash(&candidate, sample);
        size_t i = 0;
        while (i < *seen_count && seen[i] != hash)
            i++;
        if (i < *seen_count)
            continue;
        seen[(*seen_count)++] = hash;
        candidate_add(diagnosis, &candidate);
    }
}

/* The lengths of the sections in every order, for each way of placing them that has the same
 * frequencies. */
static void sections_add(struct pe_diagnosis *diagnosis, const struct pe_scheme *scheme,
                         const struct pe_sample *sample)
{
    static const unsigned char lengths[PE_AXES_ORDERS][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const types[] = {"chunked", "interleaved", "ernie"};
    const int index = pe_params_find(&scheme->params, "mrope_section");
    const struct pe_value *given = index < 0 ? NULL : &scheme->params.values[index];
    uint64_t seen[(1 + PE_SECTIONS_MAX) * PE_AXES_ORDERS];
    size_t seen_count = 1;
    char change[120];

    if (!given || sample->axes < 3 || sample->rows == 0)
        return;
    seen[0] = axes_hash(&(struct pe_candidate){.scheme = scheme}, sample);
    orders_add(diagnosis, scheme, NULL, sample, seen, &seen_count);
    for (size_t i = 0; i < PE_AXES_ORDERS * sizeof(types) / sizeof(types[0]); i++) {
        const unsigned char *order = lengths[i % PE_AXES_ORDERS];
        struct pe_scheme *sections;
        if (given->list_count != 3 || diagnosis->sections_count == PE_SECTIONS_MAX)
            continue;
        pe_text_print(change, sizeof(change), "mrope_section=%.0f,%.0f,%.0f mrope_type=%s",
                      given->list[order[0]], given->list[order[1]], given->list[order[2]],
                      types[i / PE_AXES_ORDERS]);
        sections = variant_make(diagnosis, scheme, NULL, "mrope_interleaved", change, scheme_open);
        if (!sections)
            continue;
        diagnosis->sections[diagnosis->sections_count++] = sections;
        orders_add(diagnosis, scheme, sections, sample, seen, &seen_count);
    }
}

enum pe_status pe_candidates_list_rare(struct pe_diagnosis *diagnosis,
                                       const struct pe_scheme *expected,
                                       const struct pe_sample *sample, struct pe_error *err)
{
    const struct pe_scheme *scheme = expected ? expected
                                     : diagnosis->candidates_count == 0
                                         ? NULL
                                         : diagnosis->candidates[0].scheme;

    if (scheme && sample->pairs == pe_waves_of(scheme)->pairs) {
        bug_add(diagnosis, scheme, PE_BUG_NOT_ROTATED, &(struct pe_distortion){.rotations = -1});
        bug_add(diagnosis, scheme, PE_BUG_NOT_ROTATED,
                &(struct pe_distortion){.rotations = -1, .factors = -1});
    }
    if (expected && expected->encoding->rotary && sample->pairs == pe_waves_of(expected)->pairs) {
        bug_add(diagnosis, expected, PE_BUG_ROTATED_TWICE,
                &(struct pe_distortion){.rotations = 1, .factors = 1});
        bug_add(diagnosis, expected, PE_BUG_ROTATED_TWICE, &(struct pe_distortion){.rotations = 1});
        attention_factors_add(diagnosis, expected);
        offsets_add(diagnosis, expected, sample);
        sections_add(diagnosis, expected, sample);
    }
    return pe_candidates_check(diagnosis, err);
}

/* ---- usual parameters ------------------------------------------------------------------------ */

/* Does a known scheme of the encoding have that value of a parameter? */
static bool known_has(const struct pe_encoding *encoding, const struct pe_param *param,
                      const struct pe_value *value)
{
    bool has = false;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && !has; i++) {
        struct pe_error err = {0};
        struct pe_params params;
        if (strcmp(known[i].encoding, encoding->info.name) != 0)
            continue;
        pe_params_init(&params, encoding->info.params, encoding->info.params_count);
        if (!pe_params_set_pairs(&params, known[i].parameters, &err)) {
            const struct pe_value *other = pe_param_value(&params, param->name);
            has = other->given && other->number == value->number;
        }
        pe_params_free(&params);
    }
    return has;
}

bool pe_diagnosis_is_usual(const struct pe_scheme *scheme, size_t index)
{
    if (!scheme || index >= scheme->encoding->info.params_count)
        return false;
    const struct pe_encoding *encoding = scheme->encoding;
    const struct pe_param *param = &encoding->info.params[index];
    const struct pe_value *value = &scheme->params.values[index];
    struct pe_params defaults;
    struct pe_error err = {0};
    bool is_default;

    if (!value->given || !param->fallback ||
        (param->type != PE_NUMBER && param->type != PE_INTEGER))
        return true;
    pe_params_init(&defaults, encoding->info.params, encoding->info.params_count);
    is_default = !pe_params_set_text(&defaults, index, param->fallback, &err) &&
                 defaults.values[index].number == value->number;
    pe_params_free(&defaults);
    return is_default || known_has(encoding, param, value);
}

enum pe_status pe_candidates_list(struct pe_diagnosis *diagnosis, const struct pe_scheme *expected,
                                  const struct pe_sample *samples, size_t count,
                                  struct pe_error *err)
{
    const struct pe_sample *sample = &samples[0];

    if (expected)
        expected_add(diagnosis, expected, sample);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (is_likely(i, sample))
            other_add(diagnosis, sample, known[i].encoding, known[i].parameters, false, !expected);
    measured_add(diagnosis, samples, count, !expected);
    return pe_candidates_check(diagnosis, err);
}
