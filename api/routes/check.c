/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/formats/formats.h"
#include "api/memory/json.h"
#include "api/request/parameters.h"
#include "api/routes/golden.h"
#include "posenc/comparison.h"
#include "posenc/diagnosis.h"
#include "posenc/tolerance.h"

/* POST /v1/check: outputs of a kernel against a golden file. Values have to lie in the intervals
 * that rounding allows (posenc/tolerance.h); a diagnosis names the mistake of those that do not.
 *
 * The body has the outputs under their names, the description of the golden file as "golden" (a
 * member of JSON, metadata of safetensors), and, to be verified, its tensors as "golden.NAME". */

static const struct pe_param params_list[] = {
    {.name = "tolerance_of",
     .type = PE_CHOICE,
     .choices = "f32-angle,bf16-cache,f16-q",
     .doc = "The arithmetic whose rounding is allowed. If absent, that of the dtype: float32 "
            "angles for f64 and f32; then cos and sin in bf16 or f16."},
};

static const char own[] = "tensors golden";
static const char prefix[] = "golden.";

struct state;

/* An output that was posted. */
struct entry {
    struct golden_kind *kind;
    enum golden_role role;
    const struct api_tensor *tensor;
    bool is_wide; /* cos and sin: each pair twice, in the kind's layout */
    size_t elements, outside;
    double used, max_abs; /* the largest fraction of the allowed error; the largest error */
    size_t first;         /* the first element outside */
    double seen, real;    /* there */
    double low, high;
    const char *mistake; /* NULL: it is right */
    const char *explanation, *fix;
    json_t *encoding; /* that explains it; NULL: none */
};

struct state {
    struct api_request *request;
    struct pe_params params, answer_params;
    struct golden golden;
    struct entry *entries;
    size_t count;
};

/* ---- the request ----------------------------------------------------------------------------- */

/* The text of "golden" in a JSON body or in metadata, with the prefix of parameters or without. */
static const char *description_text(const struct api_request *request)
{
    const char *text = api_request_text(request, "golden");

    for (size_t i = 0; !text && i < request->passed_metadata_count; i++)
        if (strcmp(request->passed_metadata[i].name, "golden") == 0)
            text = request->passed_metadata[i].value;
    return text;
}

static enum pe_status description_find(struct api_request *request, json_t **out,
                                       struct pe_error *err)
{
    const char *text;

    *out = json_object_get(request->json, "golden");
    if (json_is_object(*out))
        return PE_OK;
    text = description_text(request);
    if (!text)
        return pe_fail(err, PE_MISSING, "parameter:golden",
                       "golden is required: the description in the metadata of a golden file");
    *out = api_json_parse_limited(text, strlen(text), "parameter:golden",
                                  request->settings->limits.json_values_max, request->work, err);
    if (!*out)
        return err->status;
    return api_json_keep_whole(request->arena, *out)
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a golden file");
}

/* Finds the kind and the role of a name. */
static bool name_find(struct golden *golden, const char *name, struct golden_kind **kind,
                      enum golden_role *role)
{
    for (size_t i = 0; i < golden->count; i++)
        for (int at = 0; at < GOLDEN_ROLES; at++)
            if (golden->kinds[i].outputs[at].name &&
                strcmp(golden->kinds[i].outputs[at].name, name) == 0) {
                *kind = &golden->kinds[i];
                *role = (enum golden_role)at;
                return true;
            }
    return false;
}

static enum pe_status unknown_fail(const struct golden *golden, const struct api_tensor *tensor,
                                   struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                   "the golden file has no tensor '%.60s'; its first ones are %.40s, %.40s, %.40s",
                   tensor->name, golden->kinds[0].outputs[GOLDEN_COS].name,
                   golden->kinds[0].outputs[GOLDEN_SIN].name,
                   golden->kinds[0].outputs[GOLDEN_Q_ROTATED].name);
}

/* Is the shape that of the output, axes of 1 aside? *wide: its rows are twice as long. */
static bool shape_fits(const struct pe_tensor *tensor, const struct pe_output *output, bool *wide)
{
    size_t axes[PE_RANK_MAX], expected[PE_RANK_MAX];
    unsigned rank = 0, expected_rank = 0;

    for (unsigned i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] != 1)
            axes[rank++] = tensor->shape[i];
    for (unsigned i = 0; i < output->rank; i++)
        if (output->shape[i] != 1)
            expected[expected_rank++] = output->shape[i];
    *wide = false;
    if (rank == expected_rank && memcmp(axes, expected, rank * sizeof(*axes)) == 0)
        return true;
    *wide = output->rank == 2 && tensor->rank >= 2 &&
            tensor->shape[tensor->rank - 1] == 2 * output->row_elements &&
            tensor->shape[tensor->rank - 2] == output->rows;
    for (unsigned i = 0; *wide && i + 2 < tensor->rank; i++)
        *wide = tensor->shape[i] == 1;
    return *wide;
}

static enum pe_status tensor_check(const struct api_tensor *tensor, const struct pe_output *output,
                                   bool takes_wide, bool *wide, struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    if (!shape_fits(&tensor->tensor, output, wide) || (*wide && !takes_wide))
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%.60s has another shape than in the golden file: %u axes, there %u, the "
                       "last of %zu",
                       tensor->name, tensor->tensor.rank, output->rank, output->row_elements);
    return PE_OK;
}

static enum pe_status entry_add(struct state *state, const struct api_tensor *tensor,
                                struct golden_kind *kind, enum golden_role role,
                                struct pe_error *err)
{
    struct entry *entry = &state->entries[state->count];
    char where[sizeof(err->where)];

    *entry = (struct entry){.kind = kind, .role = role, .tensor = tensor};
    if (tensor_check(tensor, &kind->outputs[role], true, &entry->is_wide, err))
        return err->status;
    entry->elements = kind->outputs[role].rows * kind->outputs[role].row_elements;
    entry->elements *= entry->is_wide ? 2 : 1;
    state->count += !golden_is_input(role);
    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    return golden_is_input(role) || pe_dtype_is_float(tensor->tensor.dtype)
               ? PE_OK
               : pe_fail(err, PE_UNSUPPORTED, where, "%.60s must be floating point; got %s",
                         tensor->name, pe_dtype_info(tensor->tensor.dtype)->name);
}

static enum pe_status entries_read(struct state *state, struct pe_error *err)
{
    struct api_request *request = state->request;
    struct golden_kind *kind;
    enum golden_role role;

    state->entries =
        api_arena_take(request->arena, (request->tensors_count + 1) * sizeof(*state->entries));
    if (!state->entries)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a check");
    for (size_t i = 0; i < request->tensors_count; i++) {
        const struct api_tensor *tensor = &request->tensors[i];
        const bool is_golden = strncmp(tensor->name, prefix, strlen(prefix)) == 0;
        const char *name = tensor->name + (is_golden ? strlen(prefix) : 0);
        if (!name_find(&state->golden, name, &kind, &role))
            return unknown_fail(&state->golden, tensor, err);
        if (!is_golden && entry_add(state, tensor, kind, role, err))
            return err->status;
    }
    return state->count > 0 ? PE_OK
                            : pe_fail(err, PE_MISSING, "parameter:tensors",
                                      "there is no output to check: post at least one, such as "
                                      "%.60s",
                                      state->golden.kinds[0].outputs[GOLDEN_Q_ROTATED].name);
}

/* ---- the golden file itself ------------------------------------------------------------------ */

static double value_at(const struct pe_tensor *tensor, size_t index)
{
    double value;

    pe_to_f64(&value, (const char *)tensor->data + index * pe_dtype_info(tensor->dtype)->size,
              tensor->dtype, 1);
    return value;
}

/* Tensors of the golden file, and copies of its inputs, have to be what its description makes. */
static enum pe_status golden_verify(struct state *state, struct pe_error *err)
{
    struct golden_kind *kind;
    enum golden_role role;
    char where[sizeof(err->where)];

    for (size_t i = 0; i < state->request->tensors_count; i++) {
        const struct api_tensor *tensor = &state->request->tensors[i];
        const bool is_golden = strncmp(tensor->name, prefix, strlen(prefix)) == 0;
        const char *name = tensor->name + (is_golden ? strlen(prefix) : 0);
        bool wide;
        if (!name_find(&state->golden, name, &kind, &role) ||
            (!is_golden && !golden_is_input(role)))
            continue;
        const struct pe_output *output = &kind->outputs[role];
        const struct pe_tensor made = {output->dtype, 1, {0}, kind->data[role]};
        if (tensor_check(tensor, output, false, &wide, err))
            return err->status;
        for (size_t at = 0; at < output->rows * output->row_elements; at++)
            if (value_at(&tensor->tensor, at) != value_at(&made, at)) {
                snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
                return pe_fail(err, PE_CONFLICT, where,
                               "element %zu of %.60s is %.9g, and %.9g by the golden file's "
                               "description: the file was changed",
                               at, tensor->name, value_at(&tensor->tensor, at),
                               value_at(&made, at));
            }
    }
    return PE_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void value_check(struct entry *entry, size_t index, const struct pe_interval *interval)
{
    const double value = value_at(&entry->tensor->tensor, index);
    const double error = fabs(value - interval->real);
    const double most =
        value < interval->real ? interval->real - interval->low : interval->high - interval->real;

    if (!(error <= entry->max_abs))
        entry->max_abs = isnan(error) ? INFINITY : error;
    if (value >= interval->low && value <= interval->high) {
        entry->used = fmax(entry->used, most > 0 ? fmin(error / most, 1) : 0);
        return;
    }
    if (entry->outside++ > 0)
        return;
    entry->first = index;
    entry->seen = value;
    entry->real = interval->real;
    entry->low = interval->low;
    entry->high = interval->high;
}

/* A value that may be off by a share of itself, beside the rounding to its dtype. */
static void share_check(struct entry *entry, size_t index, double real, double share)
{
    static const double halves[] = {
        [PE_F64] = 0x1p-53, [PE_F32] = 0x1p-24, [PE_F16] = 0x1p-11, [PE_BF16] = 0x1p-8};
    const double most = fabs(real) * (share + halves[entry->tensor->tensor.dtype]) +
                        (entry->tensor->tensor.dtype == PE_F16 && real != 0 ? 0x1p-25 : 0);

    value_check(entry, index, &(struct pe_interval){real - most, real + most, real, most});
}

/* What float32 code reaches: a power, a blend and a scaling, each of a few roundings. Mistakes move
 * frequencies and scales by more; the error of a frequency that matters shows in cos and sin. */
#define FREQUENCY_SHARE 0x1p-16
#define SCALAR_SHARE    0x1p-20

static void shares_check(struct entry *entry)
{
    const enum golden_role role =
        entry->role == GOLDEN_INV_FREQ ? GOLDEN_INV_FREQ_F64 : entry->role;
    const double *real = (const double *)entry->kind->data[role];

    for (size_t i = 0; i < entry->elements; i++)
        share_check(entry, i, real[i],
                    role == GOLDEN_INV_FREQ_F64 ? FREQUENCY_SHARE : SCALAR_SHARE);
}

/* The interval of a cosine or sine. pe_tolerance assumes frequencies that are powers within a few
 * units in the last place. Kernels also compute them as exponentials, whose argument of x = ln(1/w)
 * has 2 u x of rounding, or as products from pair to pair, which have 2 u each; and 10 u are for
 * the other operations (docs/internals/exactness.md, Tolerances, 1). u: 2^-24. */
static enum pe_status interval_find(const struct golden_kind *kind,
                                    const struct pe_tolerance *tolerance, enum pe_path path,
                                    size_t pair, double position, bool is_sin,
                                    struct pe_interval *interval, struct pe_error *err)
{
    const double w = ((const double *)kind->data[GOLDEN_INV_FREQ_F64])[pair];
    const double factor = *(const double *)kind->data[GOLDEN_ATTENTION_FACTOR];
    const double half_ulp = pe_path_dtype(path) == PE_F32   ? 0x1p-24
                            : pe_path_dtype(path) == PE_F16 ? 0x1p-11
                                                            : 0x1p-8;
    double more;
    int exponent;

    if (pe_tolerance_interval(tolerance, pair, position, is_sin, PE_F64, interval))
        return pe_fail(err, PE_INTERNAL, "", "a value of a golden file has no tolerance");
    if (position == 0 || w == 0)
        return PE_OK;
    frexp(w, &exponent); /* |ln w| is at most ln 2 times the larger of the powers of 2 around w */
    more = factor * position * w * (10 + 2 * fmax(M_LN2 * (abs(exponent) + 1), (double)pair)) *
           0x1p-24;
    interval->low -= more + half_ulp * fabs(interval->low);
    interval->high += more + half_ulp * fabs(interval->high);
    return PE_OK;
}

static void interval_round(struct pe_interval *interval, enum pe_dtype dtype)
{
    interval->low = pe_round_to(interval->low, dtype);
    interval->high = pe_round_to(interval->high, dtype);
}

/* The ways of computing that are allowed: that of the dtype, and float32, which is more exact. */
struct ways {
    struct pe_tolerance *list[2];
    enum pe_path paths[2];
    size_t count;
};

static enum pe_status table_check(struct entry *entry, const struct ways *ways,
                                  struct pe_error *err)
{
    const size_t pairs = entry->kind->outputs[entry->role].row_elements;
    const size_t columns = entry->is_wide ? 2 * pairs : pairs;
    struct pe_interval interval;

    for (size_t i = 0; i < entry->elements; i++) {
        const size_t column = i % columns;
        const size_t pair = !entry->is_wide                         ? column
                            : entry->kind->layout == PE_LAYOUT_HALF ? column % pairs
                                                                    : column / 2;
        if (interval_find(entry->kind, ways->list[0], ways->paths[0], pair,
                          entry->kind->positions[i / columns], entry->role == GOLDEN_SIN, &interval,
                          err))
            return err->status;
        interval_round(&interval, pe_path_dtype(ways->paths[0]));
        interval_round(&interval, entry->tensor->tensor.dtype);
        value_check(entry, i, &interval);
    }
    return PE_OK;
}

/* The interval of both elements of a pair that holds those of all ways. */
static enum pe_status pair_interval(const struct golden_kind *kind, const struct ways *ways,
                                    size_t pair, double position, const double x[2],
                                    enum pe_dtype dtype, struct pe_interval out[2],
                                    struct pe_error *err)
{
    for (size_t way = 0; way < ways->count; way++) {
        const struct pe_tolerance *tolerance = ways->list[way];
        struct pe_tolerance_pair rotated = {.x = {x[0], x[1]}};
        struct pe_interval intervals[2];
        if (interval_find(kind, tolerance, ways->paths[way], pair, position, false, &rotated.cos,
                          err) ||
            interval_find(kind, tolerance, ways->paths[way], pair, position, true, &rotated.sin,
                          err))
            return err->status;
        pe_tolerance_rotated(tolerance, &rotated, intervals);
        for (size_t i = 0; i < 2; i++) {
            const double low = pe_round_to(intervals[i].low, dtype);
            const double high = pe_round_to(intervals[i].high, dtype);
            if (way == 0)
                out[i] = intervals[i];
            out[i].low = way == 0 ? low : fmin(out[i].low, low);
            out[i].high = way == 0 ? high : fmax(out[i].high, high);
        }
    }
    return PE_OK;
}

/* The elements of a head that rotate, and the others, which stay. */
static enum pe_status head_check(struct entry *entry, const struct ways *ways, size_t begin,
                                 double position, struct pe_error *err)
{
    const struct golden_kind *kind = entry->kind;
    const float *source =
        (const float *)kind->data[entry->role == GOLDEN_Q_ROTATED ? GOLDEN_Q : GOLDEN_K] + begin;
    const size_t pairs = pe_scheme_pairs(kind->scheme);
    const size_t width = kind->outputs[entry->role].row_elements;

    for (size_t pair = 0; pair < pairs; pair++) {
        const bool half = kind->layout == PE_LAYOUT_HALF;
        const size_t columns[] = {half ? pair : 2 * pair, half ? pair + pairs : 2 * pair + 1};
        const double x[] = {source[columns[0]], source[columns[1]]};
        struct pe_interval intervals[2];
        if (pair_interval(kind, ways, pair, position, x, entry->tensor->tensor.dtype, intervals,
                          err))
            return err->status;
        for (size_t i = 0; i < 2; i++)
            value_check(entry, begin + columns[i], &intervals[i]);
    }
    for (size_t column = 2 * pairs; column < width; column++)
        value_check(entry, begin + column,
                    &(struct pe_interval){source[column], source[column], source[column], 0});
    return PE_OK;
}

static enum pe_status rotated_check(struct entry *entry, const struct ways *ways,
                                    struct pe_error *err)
{
    const struct pe_output *output = &entry->kind->outputs[entry->role];

    for (size_t row = 0; row < output->rows; row++)
        if (head_check(entry, ways, row * output->row_elements,
                       entry->kind->positions[row / output->shape[1]], err))
            return err->status;
    return PE_OK;
}

static enum pe_path path_of(const struct state *state, enum pe_dtype dtype)
{
    const struct pe_value *given = pe_param_value(&state->params, "tolerance_of");

    if (given->given)
        return (enum pe_path)given->number;
    return dtype == PE_BF16  ? PE_PATH_BF16_CACHE
           : dtype == PE_F16 ? PE_PATH_F16_Q
                             : PE_PATH_F32_ANGLE;
}

static enum pe_status ways_open(struct state *state, const struct entry *entry, struct ways *ways,
                                struct pe_error *err)
{
    const struct pe_scheme *scheme = entry->kind->scheme;
    const enum pe_path path = path_of(state, entry->tensor->tensor.dtype);

    *ways = (struct ways){.paths = {path, PE_PATH_F32_ANGLE},
                          .count = path == PE_PATH_F32_ANGLE ? 1 : 2};
    return pe_tolerance_new(&ways->list[0], scheme, path, state->request->work, err) ||
                   (ways->count > 1 && pe_tolerance_new(&ways->list[1], scheme, PE_PATH_F32_ANGLE,
                                                        state->request->work, err))
               ? err->status
               : PE_OK;
}

static enum pe_status entry_check(struct state *state, struct entry *entry, struct pe_error *err)
{
    struct ways ways;

    if (entry->role < GOLDEN_COS || entry->role > GOLDEN_K_ROTATED) {
        shares_check(entry);
        return PE_OK;
    }
    if (!ways_open(state, entry, &ways, err)) {
        if (entry->role == GOLDEN_COS || entry->role == GOLDEN_SIN)
            table_check(entry, &ways, err);
        else
            rotated_check(entry, &ways, err);
    }
    for (size_t i = 0; i < ways.count; i++)
        pe_tolerance_free(ways.list[i]);
    return err->status;
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void mistake_set(struct entry *entry, const char *code, const char *explanation,
                        const char *fix)
{
    entry->mistake = code;
    entry->explanation = explanation;
    entry->fix = fix;
}

static bool is_finite(const struct entry *entry)
{
    for (size_t i = 0; i < entry->elements; i++)
        if (!isfinite(value_at(&entry->tensor->tensor, i)))
            return false;
    return true;
}

static bool is_unchanged(const struct entry *entry)
{
    const float *source =
        (const float *)entry->kind->data[entry->role == GOLDEN_Q_ROTATED ? GOLDEN_Q : GOLDEN_K];

    for (size_t i = 0; i < entry->elements; i++)
        if (value_at(&entry->tensor->tensor, i) != source[i])
            return false;
    return true;
}

/* The other one of cos and sin, if it was posted with the same shape and dtype. */
static const struct entry *other_of(const struct state *state, const struct entry *entry)
{
    const enum golden_role other = entry->role == GOLDEN_COS ? GOLDEN_SIN : GOLDEN_COS;

    for (size_t i = 0; i < state->count; i++) {
        const struct entry *at = &state->entries[i];
        if (at->kind == entry->kind && at->role == other && at->is_wide == entry->is_wide &&
            at->tensor->tensor.dtype == entry->tensor->tensor.dtype && is_finite(at))
            return at;
    }
    return NULL;
}

/* The tensors of a diagnosis, in the shapes of the golden file. */
struct observed {
    struct pe_tensor tensors[2];
    struct pe_observed observed;
};

static struct pe_tensor shaped(const struct entry *entry)
{
    const struct pe_output *output = &entry->kind->outputs[entry->role];
    struct pe_tensor tensor = {.dtype = entry->tensor->tensor.dtype,
                               .rank = output->rank,
                               .data = entry->tensor->tensor.data};

    memcpy(tensor.shape, output->shape, output->rank * sizeof(*output->shape));
    if (entry->is_wide)
        tensor.shape[1] *= 2;
    return tensor;
}

static enum pe_status observed_set(const struct state *state, const struct entry *entry,
                                   struct observed *out, struct pe_error *err)
{
    struct golden_kind *kind = entry->kind;
    const bool is_q = entry->role == GOLDEN_Q_ROTATED;
    const struct entry *other;
    size_t count;

    out->observed = (struct pe_observed){
        .size = sizeof(out->observed),
        .axes = "shd",
        .expected = kind->scheme,
        .layout = api_layout_name(kind->layout),
        .positions = {.values = kind->positions, .count = kind->positions_count}};
    out->tensors[0] = shaped(entry);
    if (entry->role == GOLDEN_INV_FREQ || entry->role == GOLDEN_INV_FREQ_F64) {
        out->observed.inv_freq = &out->tensors[0];
        out->observed.positions = (struct pe_positions){0};
    } else if (entry->role == GOLDEN_COS || entry->role == GOLDEN_SIN) {
        other = other_of(state, entry);
        if (other)
            out->tensors[1] = shaped(other);
        const bool is_cos = entry->role == GOLDEN_COS;
        out->observed.cos = is_cos ? &out->tensors[0] : other ? &out->tensors[1] : NULL;
        out->observed.sin = !is_cos ? &out->tensors[0] : other ? &out->tensors[1] : NULL;
    } else {
        out->tensors[1] = out->tensors[0];
        count = entry->elements;
        out->tensors[1].data = api_arena_take(state->request->arena,
                                              count * pe_dtype_info(out->tensors[1].dtype)->size);
        if (!out->tensors[1].data)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a check");
        pe_from_f32(out->tensors[1].data, out->tensors[1].dtype,
                    (const float *)kind->data[is_q ? GOLDEN_Q : GOLDEN_K], count);
        out->observed.q = &out->tensors[1];
        out->observed.q_rotated = &out->tensors[0];
    }
    return PE_OK;
}

/* Names what a diagnosis found. */
static void finding_take(struct entry *entry, const struct pe_diagnosis *diagnosis)
{
    const struct pe_finding *finding = pe_diagnosis_finding(diagnosis, 0);
    const bool fits = finding && finding->fits;
    const enum pe_verdict verdict = pe_diagnosis_verdict(diagnosis);

    if (fits && finding->bug && verdict == PE_VERDICT_KNOWN_BUG)
        mistake_set(entry, finding->bug->code, finding->bug->explanation, finding->bug->fix);
    else if (fits && verdict == PE_VERDICT_OTHER_SCHEME)
        mistake_set(entry, "other-scheme",
                    "the values are those of another encoding, which `encoding` has",
                    "pass the parameters of the golden file's encoding on");
    else if (fits && pe_verdict_is_good(verdict))
        mistake_set(entry, "imprecise",
                    "the values are the expected ones, but for errors that rounding does not "
                    "explain",
                    "compute frequencies, angles, cos and sin in float32 or wider, without fast "
                    "approximations");
    else
        mistake_set(entry, "unknown", "no known mistake explains the values", NULL);
    if (fits)
        entry->encoding = api_scheme_json(finding->scheme);
}

static enum pe_status entry_diagnose(struct state *state, struct entry *entry, struct pe_error *err)
{
    struct api_request *request = state->request;
    struct pe_observations *observations = NULL;
    struct pe_diagnosis *diagnosis = NULL;
    struct observed observed;

    if (observed_set(state, entry, &observed, err) ||
        pe_observations_new(&observations, &observed.observed, request->work, err))
        return err->status;
    if (!pe_diagnose(&diagnosis, entry->kind->scheme, pe_observations_samples(observations),
                     pe_observations_count(observations), api_pool(request->api), request->work,
                     err))
        finding_take(entry, diagnosis);
    pe_diagnosis_free(diagnosis);
    pe_observations_free(observations);
    return err->status;
}

static void factor_explain(struct entry *entry)
{
    if (entry->seen == 1)
        mistake_set(entry, "attention-factor-missing", "the attention factor is 1",
                    "compute it from the scaling: attention_factor, mscale or the factor");
    else
        mistake_set(entry, "attention-factor-wrong", "the attention factor is another one",
                    "compute it from the scaling: attention_factor, mscale or the factor");
}

static enum pe_status entry_explain(struct state *state, struct entry *entry, struct pe_error *err)
{
    if (!is_finite(entry)) {
        mistake_set(entry, "not-finite", "there are values that are no number or infinite",
                    "fill every element, and compute angles in float32 or wider");
        return PE_OK;
    }
    if (entry->role == GOLDEN_ATTENTION_FACTOR) {
        factor_explain(entry);
        return PE_OK;
    }
    if (entry->role == GOLDEN_SOFTMAX_SCALE) {
        mistake_set(entry, "softmax-scale-wrong", "scores are multiplied by another scale",
                    "use the scale of the model's class, YaRN's mscale_all_dim included");
        return PE_OK;
    }
    if (entry->role >= GOLDEN_Q_ROTATED && is_unchanged(entry)) {
        mistake_set(entry, "not-rotated", "the vectors are the unrotated ones",
                    "apply the rotation, and return its result");
        return PE_OK;
    }
    return entry_diagnose(state, entry, err);
}

/* ---- the report ------------------------------------------------------------------------------ */

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* {"position", "pair" or "element", ...} of the first value outside. */
static json_t *first_json(const struct entry *entry)
{
    const struct pe_output *output = &entry->kind->outputs[entry->role];
    const size_t columns = output->row_elements * (entry->is_wide ? 2 : 1);
    const size_t row = entry->first / columns;
    json_t *json;

    if (entry->outside == 0)
        return json_null();
    json = json_pack("{sI so so so so}", "element", (json_int_t)(entry->first % columns), "seen",
                     api_number_json(entry->seen), "expected", api_number_json(entry->real), "low",
                     api_number_json(entry->low), "high", api_number_json(entry->high));
    if (output->rank > 1)
        json_object_set_new(
            json, "position",
            api_number_json(
                entry->kind->positions[output->rank == 3 ? row / output->shape[1] : row]));
    if (output->rank == 3)
        json_object_set_new(json, "head", json_integer((json_int_t)(row % output->shape[1])));
    return json;
}

static json_t *entry_json(const struct entry *entry)
{
    json_t *json =
        json_pack("{ss ss ss sI sI so so so so so so}", "tensor", entry->tensor->name, "dtype",
                  pe_dtype_info(entry->tensor->tensor.dtype)->name, "verdict",
                  entry->mistake ? "wrong" : "right", "elements", (json_int_t)entry->elements,
                  "outside", (json_int_t)entry->outside, "max_abs", api_number_json(entry->max_abs),
                  "used", api_number_json(entry->used), "mistake", text_or_null(entry->mistake),
                  "explanation", text_or_null(entry->explanation), "fix", text_or_null(entry->fix),
                  "first", first_json(entry));

    if (entry->encoding)
        json_object_set(json, "encoding", entry->encoding);
    return json;
}

/* The names of outputs that were not posted. */
static json_t *missing_json(const struct state *state, size_t *outputs)
{
    json_t *list = json_array();

    *outputs = 0;
    for (size_t i = 0; i < state->golden.count; i++)
        for (int role = 0; role < GOLDEN_ROLES; role++) {
            const struct golden_kind *kind = &state->golden.kinds[i];
            bool posted = false;
            if (golden_is_input((enum golden_role)role) || !kind->outputs[role].name)
                continue;
            ++*outputs;
            for (size_t at = 0; at < state->count; at++)
                posted = posted ||
                         (state->entries[at].kind == kind && (int)state->entries[at].role == role);
            if (!posted)
                json_array_append_new(list, json_string(kind->outputs[role].name));
        }
    return list;
}

/* The first wrong output whose mistake has a name, else the first wrong one; NULL: all are right.
 */
static const struct entry *wrong_find(const struct state *state)
{
    const struct entry *wrong = NULL;

    for (size_t i = 0; i < state->count; i++) {
        const struct entry *entry = &state->entries[i];
        if (entry->mistake && (!wrong || (strcmp(wrong->mistake, "unknown") == 0 &&
                                          strcmp(entry->mistake, "unknown") != 0)))
            wrong = entry;
    }
    return wrong;
}

static json_t *report_make(const struct state *state)
{
    const struct entry *wrong = wrong_find(state);
    json_t *rows = json_array(), *missing;
    size_t outputs;

    for (size_t i = 0; i < state->count; i++) {
        json_array_append_new(rows, entry_json(&state->entries[i]));
        json_decref(state->entries[i].encoding);
    }
    missing = missing_json(state, &outputs);
    return json_pack("{ss so so so sI sI so so s[]}", "verdict", wrong ? "wrong" : "right",
                     "mistake", text_or_null(wrong ? wrong->mistake : NULL), "explanation",
                     text_or_null(wrong ? wrong->explanation : NULL), "fix",
                     text_or_null(wrong ? wrong->fix : NULL), "checked", (json_int_t)state->count,
                     "outputs", (json_int_t)outputs, "missing", missing, "tensors", rows,
                     "warnings");
}

/* ---- the handler ----------------------------------------------------------------------------- */

/* Nanoseconds of the interval of an element. */
#define INTERVAL_WORK 100.0

/* The diagnosis of an output that is wrong. */
static double diagnosis_work(const struct golden_kind *kind, enum golden_role role)
{
    const size_t pairs = pe_scheme_pairs(kind->scheme);

    switch (role) {
    case GOLDEN_INV_FREQ:
    case GOLDEN_INV_FREQ_F64:
        return pe_diagnosis_work(0, pairs);
    case GOLDEN_COS:
    case GOLDEN_SIN:
    case GOLDEN_Q_ROTATED:
    case GOLDEN_K_ROTATED:
        return pe_diagnosis_work(kind->outputs[role].rows, pairs);
    default:
        return 0;
    }
}

static enum pe_status check_open(struct api_request *request, struct api_result *result,
                                 struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));
    json_t *description;
    struct pe_params *sets[2];

    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a check");
    state->request = request;
    sets[0] = &state->params;
    sets[1] = &state->answer_params;
    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_answer_params(request, &state->answer_params);
    if (api_function_start(request, "", err) || description_find(request, &description, err) ||
        golden_of_description(request, description, &state->golden, err) ||
        api_bind(request, sets, 2, own, err) || pe_params_finish(&state->params, err) ||
        api_answer_apply(request, &state->answer_params, NULL, err) || entries_read(state, err))
        return err->status;
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    result->operation = "check";
    result->subject = "the check";
    result->encoding_name = "rope";
    result->dtype = state->entries[0].tensor->tensor.dtype;
    result->work = golden_work(&state->golden);
    for (size_t i = 0; i < state->count; i++)
        result->work += INTERVAL_WORK * (double)state->entries[i].elements +
                        diagnosis_work(state->entries[i].kind, state->entries[i].role);
    return PE_OK;
}

static enum pe_status check_prepare(struct api_request *request, struct api_result *result,
                                    struct pe_error *err)
{
    struct state *state = result->state;

    if (golden_compute(request, &state->golden, err) || golden_verify(state, err))
        return err->status;
    for (size_t i = 0; i < state->count; i++)
        if (entry_check(state, &state->entries[i], err) ||
            (state->entries[i].outside > 0 && entry_explain(state, &state->entries[i], err)))
            return err->status;
    result->report = report_make(state);
    return PE_OK;
}

const struct api_handler api_handler_check = {check_open, check_prepare};
