/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/golden/golden.h"
#include "posenc/comparison.h"

/* Outputs of a kernel against golden tensors. */

/* An output while it is checked, and what keeps its result. */
struct entry {
    const struct pe_golden *golden;
    enum pe_golden_role role;
    const struct pe_tensor *tensor;
    bool is_wide;
    struct pe_golden_result result;
    struct pe_observations *observations; /* of a diagnosis that explains it; NULL: none */
    struct pe_diagnosis *diagnosis;
    struct pe_tensor shaped[2]; /* the tensors of the observations */
};

struct pe_golden_check {
    struct pe_allocations memory;
    struct pe_pool *pool;
    struct pe_work *work;
    const enum pe_path *path;
    struct entry *entries;
    size_t count;
};

static double value_at(const struct pe_tensor *tensor, size_t index)
{
    double value;

    pe_to_f64(&value, (const char *)tensor->data + index * pe_dtype_info(tensor->dtype)->size,
              tensor->dtype, 1);
    return value;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void value_check(struct entry *entry, size_t index, const struct pe_interval *interval)
{
    struct pe_golden_result *result = &entry->result;
    const double value = value_at(entry->tensor, index);
    const double error = fabs(value - interval->real);
    const double most =
        value < interval->real ? interval->real - interval->low : interval->high - interval->real;

    if (!(error <= result->max_abs))
        result->max_abs = isnan(error) ? INFINITY : error;
    if (value >= interval->low && value <= interval->high) {
        result->used = fmax(result->used, most > 0 ? fmin(error / most, 1) : 0);
        return;
    }
    if (result->outside++ > 0)
        return;
    result->first = index;
    result->seen = value;
    result->expected = *interval;
}

/* A value that may be off by a share of itself, beside the rounding to its dtype. */
static void share_check(struct entry *entry, size_t index, double real, double share)
{
    static const double halves[] = {
        [PE_F64] = 0x1p-53, [PE_F32] = 0x1p-24, [PE_F16] = 0x1p-11, [PE_BF16] = 0x1p-8};
    const double most = fabs(real) * (share + halves[entry->tensor->dtype]) +
                        (entry->tensor->dtype == PE_F16 && real != 0 ? 0x1p-25 : 0);

    value_check(entry, index, &(struct pe_interval){real - most, real + most, real, most});
}

/* What float32 code reaches: a power, a blend and a scaling, each of a few roundings. Mistakes move
 * frequencies and scales by more; the error of a frequency that matters shows in cos and sin. */
#define FREQUENCY_SHARE 0x1p-16
#define SCALAR_SHARE    0x1p-20

static void shares_check(struct entry *entry)
{
    const enum pe_golden_role role =
        entry->role == PE_GOLDEN_INV_FREQ ? PE_GOLDEN_INV_FREQ_F64 : entry->role;
    const double *real = (const double *)entry->golden->data[role];

    for (size_t i = 0; i < entry->result.elements; i++)
        share_check(entry, i, real[i],
                    role == PE_GOLDEN_INV_FREQ_F64 ? FREQUENCY_SHARE : SCALAR_SHARE);
}

/* The interval of a cosine or sine. pe_tolerance assumes frequencies that are powers within a few
 * units in the last place. Kernels also compute them as exponentials, whose argument of x = ln(1/w)
 * has 2 u x of rounding, or as products from pair to pair, which have 2 u each; and 10 u are for
 * the other operations (docs/internals/exactness.md, Tolerances, 1). u: 2^-24. */
static enum pe_status interval_find(const struct pe_golden *golden,
                                    const struct pe_tolerance *tolerance, enum pe_path path,
                                    size_t pair, double position, bool is_sin,
                                    struct pe_interval *interval, struct pe_error *err)
{
    const double w = ((const double *)golden->data[PE_GOLDEN_INV_FREQ_F64])[pair];
    const double factor = *(const double *)golden->data[PE_GOLDEN_ATTENTION_FACTOR];
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
    const struct pe_golden_spec *spec = &entry->golden->spec;
    const size_t pairs = entry->golden->outputs[entry->role].row_elements;
    const size_t columns = entry->is_wide ? 2 * pairs : pairs;
    struct pe_interval interval;

    for (size_t i = 0; i < entry->result.elements; i++) {
        const size_t column = i % columns;
        const size_t pair = !entry->is_wide                  ? column
                            : spec->layout == PE_LAYOUT_HALF ? column % pairs
                                                             : column / 2;
        if (interval_find(entry->golden, ways->list[0], ways->paths[0], pair,
                          spec->positions[i / columns], entry->role == PE_GOLDEN_SIN, &interval,
                          err))
            return err->status;
        interval_round(&interval, pe_path_dtype(ways->paths[0]));
        interval_round(&interval, entry->tensor->dtype);
        value_check(entry, i, &interval);
    }
    return PE_OK;
}

/* The interval of both elements of a pair that holds those of all ways. */
static enum pe_status pair_interval(const struct pe_golden *golden, const struct ways *ways,
                                    size_t pair, double position, const double x[2],
                                    enum pe_dtype dtype, struct pe_interval out[2],
                                    struct pe_error *err)
{
    for (size_t way = 0; way < ways->count; way++) {
        const struct pe_tolerance *tolerance = ways->list[way];
        struct pe_tolerance_pair rotated = {.x = {x[0], x[1]}};
        struct pe_interval intervals[2];
        if (interval_find(golden, tolerance, ways->paths[way], pair, position, false, &rotated.cos,
                          err) ||
            interval_find(golden, tolerance, ways->paths[way], pair, position, true, &rotated.sin,
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
    const struct pe_golden *golden = entry->golden;
    const float *source = (const float *)golden->data[pe_golden_source(entry->role)] + begin;
    const size_t pairs = pe_scheme_pairs(golden->spec.scheme);
    const size_t width = golden->outputs[entry->role].row_elements;

    for (size_t pair = 0; pair < pairs; pair++) {
        const bool half = golden->spec.layout == PE_LAYOUT_HALF;
        const size_t columns[] = {half ? pair : 2 * pair, half ? pair + pairs : 2 * pair + 1};
        const double x[] = {source[columns[0]], source[columns[1]]};
        struct pe_interval intervals[2];
        if (pair_interval(golden, ways, pair, position, x, entry->tensor->dtype, intervals, err))
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
    const struct pe_output *output = &entry->golden->outputs[entry->role];

    for (size_t row = 0; row < output->rows; row++)
        if (head_check(entry, ways, row * output->row_elements,
                       entry->golden->positions[row / output->shape[1]], err))
            return err->status;
    return PE_OK;
}

static enum pe_path path_of(const struct pe_golden_check *check, enum pe_dtype dtype)
{
    if (check->path)
        return *check->path;
    return dtype == PE_BF16  ? PE_PATH_BF16_CACHE
           : dtype == PE_F16 ? PE_PATH_F16_Q
                             : PE_PATH_F32_ANGLE;
}

static enum pe_status ways_open(const struct pe_golden_check *check, const struct entry *entry,
                                struct ways *ways, struct pe_error *err)
{
    const struct pe_scheme *scheme = entry->golden->spec.scheme;
    const enum pe_path path = path_of(check, entry->tensor->dtype);

    *ways = (struct ways){.paths = {path, PE_PATH_F32_ANGLE},
                          .count = path == PE_PATH_F32_ANGLE ? 1 : 2};
    return pe_tolerance_new(&ways->list[0], scheme, path, check->work, err) ||
                   (ways->count > 1 &&
                    pe_tolerance_new(&ways->list[1], scheme, PE_PATH_F32_ANGLE, check->work, err))
               ? err->status
               : PE_OK;
}

static enum pe_status values_check(const struct pe_golden_check *check, struct entry *entry,
                                   struct pe_error *err)
{
    struct ways ways;

    if (entry->role < PE_GOLDEN_COS || entry->role > PE_GOLDEN_K_ROTATED) {
        shares_check(entry);
        return PE_OK;
    }
    if (!ways_open(check, entry, &ways, err)) {
        if (entry->role == PE_GOLDEN_COS || entry->role == PE_GOLDEN_SIN)
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
    entry->result.mistake = code;
    entry->result.explanation = explanation;
    entry->result.fix = fix;
}

static bool is_finite(const struct entry *entry)
{
    for (size_t i = 0; i < entry->result.elements; i++)
        if (!isfinite(value_at(entry->tensor, i)))
            return false;
    return true;
}

static bool is_unchanged(const struct entry *entry)
{
    const float *source = (const float *)entry->golden->data[pe_golden_source(entry->role)];

    for (size_t i = 0; i < entry->result.elements; i++)
        if (value_at(entry->tensor, i) != source[i])
            return false;
    return true;
}

/* The other one of cos and sin of the same golden tensors, if it has the same shape and dtype. */
static const struct entry *other_of(const struct pe_golden_check *check, const struct entry *entry)
{
    const enum pe_golden_role other = entry->role == PE_GOLDEN_COS ? PE_GOLDEN_SIN : PE_GOLDEN_COS;

    for (size_t i = 0; i < check->count; i++) {
        const struct entry *at = &check->entries[i];
        if (at->role == other && at->is_wide == entry->is_wide &&
            at->tensor->dtype == entry->tensor->dtype && is_finite(at))
            return at;
    }
    return NULL;
}

/* The tensor in the shape of the golden one. */
static struct pe_tensor shaped(const struct entry *entry)
{
    const struct pe_output *output = &entry->golden->outputs[entry->role];
    struct pe_tensor tensor = {
        .dtype = entry->tensor->dtype, .rank = output->rank, .data = entry->tensor->data};

    memcpy(tensor.shape, output->shape, output->rank * sizeof(*output->shape));
    if (entry->is_wide)
        tensor.shape[1] *= 2;
    return tensor;
}

static enum pe_status observed_set(struct pe_golden_check *check, struct entry *entry,
                                   struct pe_observed *out, struct pe_error *err)
{
    const struct pe_golden *golden = entry->golden;
    const struct entry *other;

    *out = (struct pe_observed){
        .size = sizeof(*out),
        .axes = "shd",
        .expected = golden->spec.scheme,
        .layout = golden->spec.layout == PE_LAYOUT_HALF ? "half" : "interleaved",
        .positions = {.values = golden->positions, .count = golden->spec.positions_count}};
    entry->shaped[0] = shaped(entry);
    if (entry->role == PE_GOLDEN_INV_FREQ || entry->role == PE_GOLDEN_INV_FREQ_F64) {
        out->inv_freq = &entry->shaped[0];
        out->positions = (struct pe_positions){0};
    } else if (entry->role == PE_GOLDEN_COS || entry->role == PE_GOLDEN_SIN) {
        const bool is_cos = entry->role == PE_GOLDEN_COS;
        other = other_of(check, entry);
        if (other)
            entry->shaped[1] = shaped(other);
        out->cos = is_cos ? &entry->shaped[0] : other ? &entry->shaped[1] : NULL;
        out->sin = !is_cos ? &entry->shaped[0] : other ? &entry->shaped[1] : NULL;
    } else {
        const enum pe_dtype dtype = entry->tensor->dtype;
        const size_t count = entry->result.elements;
        entry->shaped[1] = entry->shaped[0];
        entry->shaped[1].data =
            pe_allocations_take(&check->memory, count, pe_dtype_info(dtype)->size, err);
        if (!entry->shaped[1].data)
            return err->status;
        pe_from_f32(entry->shaped[1].data, dtype,
                    (const float *)golden->data[pe_golden_source(entry->role)], count);
        out->q = &entry->shaped[1];
        out->q_rotated = &entry->shaped[0];
    }
    return PE_OK;
}

/* Names what a diagnosis found. */
static void finding_take(struct entry *entry)
{
    const struct pe_finding *finding = pe_diagnosis_finding(entry->diagnosis, 0);
    const bool fits = finding && finding->fits;
    const enum pe_verdict verdict = pe_diagnosis_verdict(entry->diagnosis);

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
        entry->result.scheme = finding->scheme;
}

static enum pe_status diagnose(struct pe_golden_check *check, struct entry *entry,
                               struct pe_error *err)
{
    struct pe_observed observed;

    if (observed_set(check, entry, &observed, err) ||
        pe_observations_new(&entry->observations, &observed, check->work, err) ||
        pe_diagnose(&entry->diagnosis, entry->golden->spec.scheme,
                    pe_observations_samples(entry->observations),
                    pe_observations_count(entry->observations), check->pool, check->work, err))
        return err->status;
    finding_take(entry);
    return PE_OK;
}

static void factor_explain(struct entry *entry)
{
    if (entry->result.seen == 1)
        mistake_set(entry, "attention-factor-missing", "the attention factor is 1",
                    "compute it from the scaling: attention_factor, mscale or the factor");
    else
        mistake_set(entry, "attention-factor-wrong", "the attention factor is another one",
                    "compute it from the scaling: attention_factor, mscale or the factor");
}

static enum pe_status explain(struct pe_golden_check *check, struct entry *entry,
                              struct pe_error *err)
{
    if (!is_finite(entry)) {
        mistake_set(entry, "not-finite", "there are values that are no number or infinite",
                    "fill every element, and compute angles in float32 or wider");
        return PE_OK;
    }
    if (entry->role == PE_GOLDEN_ATTENTION_FACTOR) {
        factor_explain(entry);
        return PE_OK;
    }
    if (entry->role == PE_GOLDEN_SOFTMAX_SCALE) {
        mistake_set(entry, "softmax-scale-wrong", "scores are multiplied by another scale",
                    "use the scale of the model's class, YaRN's mscale_all_dim included");
        return PE_OK;
    }
    if (entry->role >= PE_GOLDEN_Q_ROTATED && is_unchanged(entry)) {
        mistake_set(entry, "not-rotated", "the vectors are the unrotated ones",
                    "apply the rotation, and return its result");
        return PE_OK;
    }
    return diagnose(check, entry, err);
}

/* ---- a check --------------------------------------------------------------------------------- */

/* Nanoseconds of the interval of an element. */
#define INTERVAL_WORK 100.0

double pe_golden_check_work(const struct pe_golden *golden, enum pe_golden_role role,
                            size_t elements)
{
    const size_t pairs = pe_scheme_pairs(golden->spec.scheme);
    double work = INTERVAL_WORK * (double)elements;

    if (role == PE_GOLDEN_INV_FREQ || role == PE_GOLDEN_INV_FREQ_F64)
        work += pe_diagnosis_work(0, pairs);
    else if (role >= PE_GOLDEN_COS && role <= PE_GOLDEN_K_ROTATED)
        work += pe_diagnosis_work(golden->outputs[role].rows, pairs);
    return work;
}

static size_t tensor_elements(const struct pe_tensor *tensor)
{
    size_t count = 1;

    for (unsigned i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static enum pe_status entry_set(const struct pe_golden *golden,
                                const struct pe_golden_observed *observed, struct entry *entry,
                                struct pe_error *err)
{
    const enum pe_golden_role role = observed->role;
    const struct pe_output *output = pe_golden_output(golden, role);
    const bool takes_wide = role == PE_GOLDEN_COS || role == PE_GOLDEN_SIN;
    size_t elements;

    if (!output || pe_golden_is_input(role) || !golden->data[role])
        return pe_fail(err, PE_INVALID, "", "a check is of outputs that golden tensors have");
    elements = output->rows * output->row_elements * (observed->is_wide ? 2 : 1);
    if ((observed->is_wide && !takes_wide) || !pe_dtype_is_float(observed->tensor->dtype) ||
        observed->tensor->rank > PE_RANK_MAX || tensor_elements(observed->tensor) != elements)
        return pe_fail(err, PE_INVALID, "", "%s has %zu elements of a floating dtype", output->name,
                       elements);
    *entry = (struct entry){.golden = golden,
                            .role = role,
                            .tensor = observed->tensor,
                            .is_wide = observed->is_wide,
                            .result = {.elements = elements}};
    return PE_OK;
}

static enum pe_status entries_check(struct pe_golden_check *check, const struct pe_golden *golden,
                                    const struct pe_golden_observed *observed, size_t count,
                                    struct pe_error *err)
{
    check->entries = pe_allocations_take(&check->memory, count, sizeof(*check->entries), err);
    if (!check->entries)
        return err->status;
    for (; check->count < count; check->count++)
        if (entry_set(golden, &observed[check->count], &check->entries[check->count], err))
            return err->status;
    for (size_t i = 0; i < count; i++)
        if (values_check(check, &check->entries[i], err) ||
            (check->entries[i].result.outside > 0 && explain(check, &check->entries[i], err)))
            return err->status;
    return PE_OK;
}

enum pe_status pe_golden_check_new(struct pe_golden_check **out, const struct pe_golden *golden,
                                   const struct pe_golden_observed *observed, size_t count,
                                   const enum pe_path *path, struct pe_pool *pool,
                                   struct pe_work *work, struct pe_error *err)
{
    struct pe_allocations memory = {.work = work, .purpose = "a check"};
    struct pe_golden_check *check = pe_allocations_take(&memory, 1, sizeof(*check), err);

    *out = NULL;
    if (!check)
        return err->status;
    check->memory = memory;
    check->pool = pool;
    check->work = work;
    check->path = path;
    if (entries_check(check, golden, observed, count, err)) {
        pe_golden_check_free(check);
        return err->status;
    }
    *out = check;
    return PE_OK;
}

void pe_golden_check_free(struct pe_golden_check *check)
{
    struct pe_allocations memory;

    if (!check)
        return;
    for (size_t i = 0; i < check->count; i++) {
        pe_diagnosis_free(check->entries[i].diagnosis);
        pe_observations_free(check->entries[i].observations);
    }
    memory = check->memory; /* check itself is one of them */
    pe_allocations_free(&memory);
}

const struct pe_golden_result *pe_golden_check_result(const struct pe_golden_check *check,
                                                      size_t index)
{
    return index < check->count ? &check->entries[index].result : NULL;
}
