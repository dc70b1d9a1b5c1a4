/* SPDX-License-Identifier: MIT */

/* core/golden: positions, tensors, and the check of outputs, for each type of scaling. */

#include <math.h>
#include <string.h>

#include "posenc/golden.h"
#include "tests/core/public_fixture.h"
#include "tests/core/refusing_work.h"

static const char *const schemes[] = {
    "dim=64",
    "dim=64 rotary_dim=32 base=777000",
    "dim=64 rope_type=linear factor=8",
    "dim=64 rope_type=llama3 factor=8 low_freq_factor=1 high_freq_factor=4 "
    "original_max_position_embeddings=8192",
    "dim=64 rope_type=yarn factor=16 original_max_position_embeddings=4096",
    "dim=64 rope_type=yarn factor=16 original_max_position_embeddings=4096 truncate=false "
    "attention_factor=1.25",
};

static struct pe_golden *computed(struct pe_scheme *scheme, enum pe_layout layout, double scale)
{
    double positions[PE_GOLDEN_POSITIONS_MAX];
    struct pe_golden_spec spec = {.size = sizeof(spec),
                                  .scheme = scheme,
                                  .layout = layout,
                                  .softmax_scale = scale,
                                  .positions = positions};
    struct pe_golden *golden;

    spec.positions_count = pe_golden_positions(pe_golden_edge(scheme),
                                               fmax(pe_golden_context(scheme, 0), 8192), positions);
    ACCEPTED(pe_golden_new(&golden, &spec, NULL, &err));
    ck_assert(pe_golden_work(golden) > 0);
    ACCEPTED(pe_golden_compute(golden, NULL, &err));
    return golden;
}

/* ---- positions ------------------------------------------------------------------------------- */

static bool has(const double *positions, size_t count, double position)
{
    for (size_t i = 0; i < count; i++)
        if (positions[i] == position)
            return true;
    return false;
}

TEST(positions_ascend_and_hold_edge_and_end)
{
    static const double numbers[] = {0, 1, 2, 255, 256, 257, 258, 4095, 4096, 4097, 131072};
    enum { COUNT = sizeof(numbers) / sizeof(numbers[0]) };
    double positions[PE_GOLDEN_POSITIONS_MAX];

    for (size_t i = 0; i < COUNT * COUNT; i++) {
        const double edge = numbers[i / COUNT], length = numbers[i % COUNT];
        const size_t count = pe_golden_positions(edge, length, positions);
        for (size_t at = 0; at < count; at++)
            ck_assert(positions[at] >= 0 && positions[at] < length &&
                      (at == 0 || positions[at] > positions[at - 1]));
        for (size_t at = 0; at < COUNT; at++)
            if (numbers[at] < 258 && numbers[at] != 2 && numbers[at] < length)
                ck_assert(has(positions, count, numbers[at]));
        ck_assert(length < 1 || has(positions, count, length - 1));
        for (double near = edge - 1; edge > 0 && near <= edge + 1; near++)
            ck_assert(near >= length || has(positions, count, near));
    }
    ck_assert_uint_eq(pe_golden_positions(0, 4096, positions), 6);
    ck_assert_uint_eq(pe_golden_positions(0, 0, positions), 0);
}

/* ---- right outputs --------------------------------------------------------------------------- */

/* A golden tensor in a dtype; wide: each pair twice. */
static struct pe_tensor copied(const struct pe_golden *golden, enum pe_golden_role role,
                               enum pe_dtype dtype, bool wide, enum pe_layout layout)
{
    const struct pe_output *output = pe_golden_output(golden, role);
    const size_t columns = output->row_elements, count = output->rows * columns;
    const size_t copies = wide ? 2 : 1;
    struct pe_tensor tensor = {.dtype = dtype, .rank = output->rank};
    double *values = calloc(count, sizeof(*values)), *all = calloc(copies * count, sizeof(*all));

    pe_to_f64(values, pe_golden_data(golden, role), output->dtype, count);
    for (size_t i = 0; i < copies * count; i++) {
        const size_t row = i / (copies * columns), column = i % (copies * columns);
        const size_t pair = !wide                      ? column
                            : layout == PE_LAYOUT_HALF ? column % columns
                                                       : column / 2;
        all[i] = values[row * columns + pair];
    }
    memcpy(tensor.shape, output->shape, sizeof(tensor.shape));
    tensor.shape[tensor.rank - 1] *= copies;
    tensor.data = calloc(copies * count, sizeof(double));
    pe_from_f64(tensor.data, dtype, all, copies * count);
    free(values);
    free(all);
    return tensor;
}

static struct pe_golden_check *checked(const struct pe_golden *golden,
                                       const struct pe_golden_observed *observed, size_t count)
{
    struct pe_golden_check *check;

    ACCEPTED(pe_golden_check_new(&check, golden, observed, count, NULL, NULL, NULL, &err));
    ck_assert_ptr_null(pe_golden_check_result(check, count));
    return check;
}

static void right_check(const struct pe_golden *golden, enum pe_layout layout, enum pe_dtype dtype)
{
    struct pe_tensor tensors[2 * PE_GOLDEN_ROLES];
    struct pe_golden_observed observed[2 * PE_GOLDEN_ROLES];
    struct pe_golden_check *check;
    size_t count = 0;

    for (int role = PE_GOLDEN_INV_FREQ_F64; role < PE_GOLDEN_ROLES; role++)
        for (int wide = 0; wide < (role == PE_GOLDEN_COS || role == PE_GOLDEN_SIN ? 2 : 1);
             wide++) {
            tensors[count] = copied(golden, (enum pe_golden_role)role, dtype, wide, layout);
            observed[count] =
                (struct pe_golden_observed){(enum pe_golden_role)role, &tensors[count], wide};
            count++;
        }
    check = checked(golden, observed, count);
    for (size_t i = 0; i < count; i++) {
        const struct pe_golden_result *result = pe_golden_check_result(check, i);
        ck_assert_msg(result->outside == 0 && !result->mistake && result->used <= 1 &&
                          !result->scheme,
                      "%s, %s: %zu outside", pe_golden_role_name(observed[i].role),
                      pe_dtype_info(dtype)->name, result->outside);
        ck_assert(pe_golden_check_work(golden, observed[i].role, result->elements) > 0);
        free(tensors[i].data);
    }
    pe_golden_check_free(check);
}

TEST(golden_tensors_pass_their_own_check)
{
    static const enum pe_dtype dtypes[] = {PE_F64, PE_F32, PE_F16, PE_BF16};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        for (int layout = PE_LAYOUT_HALF; layout <= PE_LAYOUT_INTERLEAVED; layout++) {
            OWNED_SCHEME scheme = public_scheme("rope", schemes[i], false);
            struct pe_golden *golden = computed(scheme, (enum pe_layout)layout, 0.125);
            for (size_t at = 0; at < sizeof(dtypes) / sizeof(dtypes[0]); at++)
                right_check(golden, (enum pe_layout)layout, dtypes[at]);
            pe_golden_free(golden);
        }
}

/* ---- wrong outputs --------------------------------------------------------------------------- */

TEST(one_wrong_element_is_found_where_it_is)
{
    OWNED_SCHEME scheme = public_scheme("rope", schemes[4], false);
    struct pe_golden *golden = computed(scheme, PE_LAYOUT_INTERLEAVED, 0.125);

    for (int role = PE_GOLDEN_INV_FREQ_F64; role < PE_GOLDEN_ROLES; role++) {
        struct pe_tensor tensor =
            copied(golden, (enum pe_golden_role)role, PE_F64, false, PE_LAYOUT_HALF);
        const struct pe_golden_observed observed = {(enum pe_golden_role)role, &tensor, false};
        const struct pe_output *output = pe_golden_output(golden, observed.role);
        const size_t count = output->rows * output->row_elements, at = count / 2;
        double *values = tensor.data;
        const double real = values[at];
        struct pe_golden_check *check;
        const struct pe_golden_result *result;
        values[at] = real + 0.01;
        check = checked(golden, &observed, 1);
        result = pe_golden_check_result(check, 0);
        ck_assert_uint_eq(result->elements, count);
        ck_assert_uint_eq(result->outside, 1);
        ck_assert_uint_eq(result->first, at);
        ck_assert_double_eq(result->seen, real + 0.01);
        ck_assert(fabs(result->expected.real - real) < 1e-6 && result->expected.low <= real &&
                  result->expected.high >= real);
        ck_assert(fabs(result->max_abs - 0.01) < 1e-6);
        ck_assert_ptr_nonnull(result->mistake);
        pe_golden_check_free(check);
        free(tensor.data);
    }
    pe_golden_free(golden);
}

/* A check of one changed tensor has this mistake. */
static void mistake_check(const struct pe_golden *golden, enum pe_golden_role role,
                          const struct pe_tensor *tensor, const char *mistake, bool has_scheme)
{
    const struct pe_golden_observed observed = {role, tensor, false};
    struct pe_golden_check *check = checked(golden, &observed, 1);
    const struct pe_golden_result *result = pe_golden_check_result(check, 0);

    ck_assert_str_eq(result->mistake, mistake);
    ck_assert(result->outside > 0 && result->explanation);
    ck_assert_int_eq(result->scheme != NULL, has_scheme);
    pe_golden_check_free(check);
}

TEST(mistakes_have_names)
{
    OWNED_SCHEME scheme = public_scheme("rope", schemes[5], false);
    OWNED_SCHEME plain = public_scheme("rope", "dim=64", false);
    struct pe_golden *golden = computed(scheme, PE_LAYOUT_HALF, 0.125);
    struct pe_golden *other = computed(plain, PE_LAYOUT_HALF, 0.5);
    struct pe_tensor tensor = copied(golden, PE_GOLDEN_K, PE_F32, false, PE_LAYOUT_HALF);

    mistake_check(golden, PE_GOLDEN_K_ROTATED, &tensor, "not-rotated", false);
    free(tensor.data);
    tensor = copied(golden, PE_GOLDEN_COS, PE_F32, false, PE_LAYOUT_HALF);
    ((float *)tensor.data)[7] = NAN;
    mistake_check(golden, PE_GOLDEN_COS, &tensor, "not-finite", false);
    free(tensor.data);
    tensor = copied(other, PE_GOLDEN_ATTENTION_FACTOR, PE_F64, false, PE_LAYOUT_HALF);
    mistake_check(golden, PE_GOLDEN_ATTENTION_FACTOR, &tensor, "attention-factor-missing", false);
    *(double *)tensor.data = 1.5;
    mistake_check(golden, PE_GOLDEN_ATTENTION_FACTOR, &tensor, "attention-factor-wrong", false);
    free(tensor.data);
    tensor = copied(other, PE_GOLDEN_SOFTMAX_SCALE, PE_F64, false, PE_LAYOUT_HALF);
    mistake_check(golden, PE_GOLDEN_SOFTMAX_SCALE, &tensor, "softmax-scale-wrong", false);
    free(tensor.data);
    tensor = copied(other, PE_GOLDEN_INV_FREQ, PE_F32, false, PE_LAYOUT_HALF);
    mistake_check(golden, PE_GOLDEN_INV_FREQ, &tensor, "scaling-missing", true);
    free(tensor.data);
    pe_golden_free(other);
    other = computed(scheme, PE_LAYOUT_INTERLEAVED, NAN);
    ck_assert_ptr_null(pe_golden_output(other, PE_GOLDEN_SOFTMAX_SCALE));
    ck_assert_ptr_null(pe_golden_data(other, PE_GOLDEN_SOFTMAX_SCALE));
    tensor = copied(other, PE_GOLDEN_Q_ROTATED, PE_F32, false, PE_LAYOUT_HALF);
    mistake_check(golden, PE_GOLDEN_Q_ROTATED, &tensor, "layout-swapped", true);
    free(tensor.data);
    pe_golden_free(other);
    pe_golden_free(golden);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* The interval of an element of a copied tensor, from a check of a value that is outside of it. */
static struct pe_interval interval_at(const struct pe_golden *golden,
                                      const struct pe_golden_observed *observed, size_t at)
{
    const struct pe_tensor *tensor = observed->tensor;
    const size_t size = pe_dtype_info(tensor->dtype)->size;
    char *bytes = (char *)tensor->data + at * size, before[8];
    const double outside = 1000;
    struct pe_golden_check *check;
    struct pe_interval interval;

    memcpy(before, bytes, size);
    pe_from_f64(bytes, tensor->dtype, &outside, 1);
    check = checked(golden, observed, 1);
    ck_assert_uint_eq(pe_golden_check_result(check, 0)->first, at);
    interval = pe_golden_check_result(check, 0)->expected;
    pe_golden_check_free(check);
    memcpy(bytes, before, size);
    return interval;
}

/* The check of a tensor with one value in place of another. */
static struct pe_golden_result replaced(const struct pe_golden *golden,
                                        const struct pe_golden_observed *observed, size_t at,
                                        double value)
{
    double *place = (double *)observed->tensor->data + at;
    const double before = *place;
    struct pe_golden_check *check;
    struct pe_golden_result result;

    *place = value;
    check = checked(golden, observed, 1);
    result = *pe_golden_check_result(check, 0);
    pe_golden_check_free(check);
    *place = before;
    return result;
}

/* The ends of an interval are right, and the next numbers outside of them are wrong. */
static void ends_check(const struct pe_golden *golden, const struct pe_golden_observed *observed,
                       size_t at)
{
    const struct pe_interval ends = interval_at(golden, observed, at);
    struct pe_golden_result result;

    ck_assert(ends.low < ends.real && ends.real < ends.high);
    for (int is_high = 0; is_high < 2; is_high++) {
        const double end = is_high ? ends.high : ends.low;
        const double past = nextafter(end, is_high ? INFINITY : -INFINITY);
        result = replaced(golden, observed, at, end);
        ck_assert_uint_eq(result.outside, 0);
        ck_assert_double_eq(result.used, 1);
        ck_assert(result.max_abs >= fabs(end - ends.real));
        ck_assert_ptr_null(result.mistake);
        result = replaced(golden, observed, at, ends.real + 0.375 * (end - ends.real));
        ck_assert(fabs(result.used - 0.375) < 0x1p-20);
        result = replaced(golden, observed, at, past);
        ck_assert_uint_eq(result.outside, 1);
        ck_assert_uint_eq(result.first, at);
        ck_assert_double_eq(result.seen, past);
    }
}

TEST(ends_of_intervals_are_allowed)
{
    OWNED_SCHEME scheme = public_scheme("rope", schemes[5], false);
    struct pe_golden *golden = computed(scheme, PE_LAYOUT_HALF, 0.3);

    for (int role = PE_GOLDEN_INV_FREQ_F64; role < PE_GOLDEN_ROLES; role++) {
        struct pe_tensor tensor =
            copied(golden, (enum pe_golden_role)role, PE_F64, false, PE_LAYOUT_HALF);
        const struct pe_golden_observed observed = {(enum pe_golden_role)role, &tensor, false};
        const struct pe_output *output = pe_golden_output(golden, observed.role);
        const size_t count = output->rows * output->row_elements;
        ends_check(golden, &observed, count - 1);
        ends_check(golden, &observed, count - count / 3 - 1);
        free(tensor.data);
    }
    pe_golden_free(golden);
}

TEST(shares_are_those_of_the_dtype)
{
    static const struct {
        enum pe_dtype dtype;
        double half, least;
    } dtypes[] = {{PE_F64, 0x1p-53, 0},
                  {PE_F32, 0x1p-24, 0},
                  {PE_F16, 0x1p-11, 0x1p-25},
                  {PE_BF16, 0x1p-8, 0}};
    static const struct {
        enum pe_golden_role role;
        double share;
    } roles[] = {{PE_GOLDEN_INV_FREQ_F64, 0x1p-16},
                 {PE_GOLDEN_INV_FREQ, 0x1p-16},
                 {PE_GOLDEN_ATTENTION_FACTOR, 0x1p-20},
                 {PE_GOLDEN_SOFTMAX_SCALE, 0x1p-20}};
    OWNED_SCHEME scheme = public_scheme("rope", schemes[5], false);
    struct pe_golden *golden = computed(scheme, PE_LAYOUT_HALF, 0.3);

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
        for (size_t k = 0; k < sizeof(dtypes) / sizeof(dtypes[0]); k++) {
            struct pe_tensor tensor =
                copied(golden, roles[i].role, dtypes[k].dtype, false, PE_LAYOUT_HALF);
            const struct pe_golden_observed observed = {roles[i].role, &tensor, false};
            const struct pe_output *output = pe_golden_output(golden, roles[i].role);
            const size_t at = output->rows * output->row_elements - 1;
            const struct pe_interval ends = interval_at(golden, &observed, at);
            const double most =
                fabs(ends.real) * (roles[i].share + dtypes[k].half) + dtypes[k].least;
            ck_assert(fabs((ends.high - ends.real) / most - 1) < 1e-3);
            ck_assert(fabs((ends.real - ends.low) / most - 1) < 1e-3);
            free(tensor.data);
        }
    pe_golden_free(golden);
}

TEST(of_several_wrong_elements_the_first_is_reported_and_the_worst_measured)
{
    OWNED_SCHEME scheme = public_scheme("rope", schemes[4], false);
    struct pe_golden *golden = computed(scheme, PE_LAYOUT_HALF, 0.3);
    struct pe_tensor tensor = copied(golden, PE_GOLDEN_K_ROTATED, PE_F64, false, PE_LAYOUT_HALF);
    const struct pe_golden_observed observed = {PE_GOLDEN_K_ROTATED, &tensor, false};
    double *values = tensor.data;
    const double real = values[3 * 64 + 5];
    struct pe_golden_check *check;
    const struct pe_golden_result *result;

    values[3 * 64 + 5] += 0.25;
    values[3 * 64 + 9] -= 3;
    values[5 * 64 + 63] += 0.5;
    check = checked(golden, &observed, 1);
    result = pe_golden_check_result(check, 0);
    ck_assert_uint_eq(result->outside, 3);
    ck_assert_uint_eq(result->first, 3 * 64 + 5);
    ck_assert_double_eq(result->seen, real + 0.25);
    ck_assert(fabs(result->max_abs - 3) < 1e-5);
    ck_assert_str_eq(result->mistake, "unknown");
    pe_golden_check_free(check);
    values[0] = NAN;
    check = checked(golden, &observed, 1);
    result = pe_golden_check_result(check, 0);
    ck_assert_uint_eq(result->outside, 4);
    ck_assert(result->first == 0 && isnan(result->seen) && result->max_abs == INFINITY);
    pe_golden_check_free(check);
    free(tensor.data);
    pe_golden_free(golden);
}

/* The sum of the widths of intervals of some elements, at the last position. */
static double widths_sum(const struct pe_golden *golden, enum pe_golden_role role,
                         const enum pe_path *path)
{
    struct pe_tensor tensor = copied(golden, role, PE_F64, false, PE_LAYOUT_INTERLEAVED);
    const struct pe_golden_observed observed = {role, &tensor, false};
    const struct pe_output *output = pe_golden_output(golden, role);
    const size_t begin = (output->rows - 1) * output->row_elements;
    double *values = tensor.data, sum = 0;

    for (size_t at = begin + 1; at < begin + 16; at += 3) {
        const double before = values[at];
        struct pe_golden_check *check;
        const struct pe_golden_result *result;
        values[at] = 1000;
        ACCEPTED(pe_golden_check_new(&check, golden, &observed, 1, path, NULL, NULL, &err));
        result = pe_golden_check_result(check, 0);
        sum += result->expected.high - result->expected.low;
        pe_golden_check_free(check);
        values[at] = before;
    }
    free(tensor.data);
    return sum;
}

/* A path that is named is allowed beside float32 in every dtype; without one, f64 has float32
 * alone. */
TEST(named_paths_widen_intervals)
{
    static const enum pe_path paths[] = {PE_PATH_F32_ANGLE, PE_PATH_F16_Q, PE_PATH_BF16_CACHE};
    OWNED_SCHEME scheme = public_scheme("rope", schemes[1], false);
    struct pe_golden *golden = computed(scheme, PE_LAYOUT_INTERLEAVED, 0.3);

    for (int role = PE_GOLDEN_Q_ROTATED; role <= PE_GOLDEN_K_ROTATED; role++) {
        double widths[3];
        for (size_t i = 0; i < 3; i++)
            widths[i] = widths_sum(golden, (enum pe_golden_role)role, &paths[i]);
        ck_assert_double_eq(widths_sum(golden, (enum pe_golden_role)role, NULL), widths[0]);
        ck_assert_msg(widths[0] < widths[1] && widths[1] < widths[2], "%s: %g %g %g",
                      pe_golden_role_name((enum pe_golden_role)role), widths[0], widths[1],
                      widths[2]);
    }
    pe_golden_free(golden);
}

TEST(elements_that_do_not_rotate_are_exact)
{
    OWNED_SCHEME scheme = public_scheme("rope", schemes[1], false);
    struct pe_golden *golden = computed(scheme, PE_LAYOUT_HALF, 0.3);
    struct pe_tensor tensor = copied(golden, PE_GOLDEN_Q_ROTATED, PE_F64, false, PE_LAYOUT_HALF);
    const struct pe_golden_observed observed = {PE_GOLDEN_Q_ROTATED, &tensor, false};
    const double *values = tensor.data;

    for (size_t column = 32; column < 64; column += 31) {
        const size_t at = 4 * 64 + column;
        const struct pe_golden_result result =
            replaced(golden, &observed, at, nextafter(values[at], 9));
        ck_assert_uint_eq(result.outside, 1);
        ck_assert_uint_eq(result.first, at);
        ck_assert(result.expected.low == values[at] && result.expected.high == values[at] &&
                  result.expected.error == 0);
    }
    free(tensor.data);
    pe_golden_free(golden);
}

/* Cosines and sines explain each other where both are posted in one dtype and width. */
TEST(exchanged_cosines_and_sines_have_their_name)
{
    OWNED_SCHEME scheme = public_scheme("rope", schemes[4], false);

    for (int layout = PE_LAYOUT_HALF; layout <= PE_LAYOUT_INTERLEAVED; layout++)
        for (int wide = 0; wide < 2; wide++) {
            struct pe_golden *golden = computed(scheme, (enum pe_layout)layout, 0.3);
            struct pe_tensor cos =
                copied(golden, PE_GOLDEN_COS, PE_F32, wide, (enum pe_layout)layout);
            struct pe_tensor sin =
                copied(golden, PE_GOLDEN_SIN, PE_F32, wide, (enum pe_layout)layout);
            const struct pe_golden_observed observed[] = {{PE_GOLDEN_COS, &sin, wide},
                                                          {PE_GOLDEN_SIN, &cos, wide}};
            struct pe_golden_check *check = checked(golden, observed, 2);
            for (size_t i = 0; i < 2; i++)
                ck_assert_str_eq(pe_golden_check_result(check, i)->mistake, "cos-sin-swapped");
            pe_golden_check_free(check);
            free(cos.data);
            free(sin.data);
            pe_golden_free(golden);
        }
}

TEST(work_of_a_check_grows_with_elements_and_diagnosis)
{
    OWNED_SCHEME scheme = public_scheme("rope", schemes[1], false);
    struct pe_golden *golden = computed(scheme, PE_LAYOUT_HALF, 0.3);

    for (int role = PE_GOLDEN_INV_FREQ_F64; role < PE_GOLDEN_ROLES; role++) {
        const bool is_frequency = role == PE_GOLDEN_INV_FREQ_F64 || role == PE_GOLDEN_INV_FREQ;
        const bool is_scalar =
            role == PE_GOLDEN_ATTENTION_FACTOR || role == PE_GOLDEN_SOFTMAX_SCALE;
        const size_t rows = pe_golden_output(golden, (enum pe_golden_role)role)->rows;
        const double none = pe_golden_check_work(golden, (enum pe_golden_role)role, 0);
        ck_assert_double_eq(none, is_scalar ? 0 : pe_diagnosis_work(is_frequency ? 0 : rows, 16));
        ck_assert_double_eq(pe_golden_check_work(golden, (enum pe_golden_role)role, 777),
                            none + 77700);
    }
    pe_golden_free(golden);
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(golden_refuses)
{
    OWNED_SCHEME rope = public_scheme("rope", "dim=64", false);
    OWNED_SCHEME alibi = public_scheme("alibi", "heads=8", false);
    const double positions[] = {0, 1, 0.5, -1, 0x1p53, NAN};
    struct pe_golden_spec spec = {.size = sizeof(spec),
                                  .scheme = rope,
                                  .softmax_scale = NAN,
                                  .positions = positions,
                                  .positions_count = 2};
    struct pe_golden *golden;

    REFUSED(PE_UNSUPPORTED, pe_golden_takes(pe_encoding_find("alibi"), &err));
    REFUSED(PE_UNSUPPORTED, pe_golden_takes(pe_encoding_find("rope-2d"), &err));
    ACCEPTED(pe_golden_takes(pe_encoding_find("mrope"), &err));
    ck_assert_ptr_null(pe_golden_role_name(PE_GOLDEN_ROLES));
    ck_assert_ptr_null(pe_golden_role_name((enum pe_golden_role) - 1));
    spec.positions_count = 0;
    REFUSED(PE_INVALID, pe_golden_new(&golden, &spec, NULL, &err));
    ck_assert_ptr_null(golden);
    spec.positions_count = PE_GOLDEN_POSITIONS_MAX + 1;
    REFUSED(PE_INVALID, pe_golden_new(&golden, &spec, NULL, &err));
    spec.positions_count = 1;
    for (size_t i = 2; i < sizeof(positions) / sizeof(positions[0]); i++) {
        spec.positions = &positions[i];
        REFUSED(PE_INVALID, pe_golden_new(&golden, &spec, NULL, &err));
    }
    spec.positions = &(double){0x1p53 - 1}; /* the last one */
    ACCEPTED(pe_golden_new(&golden, &spec, NULL, &err));
    pe_golden_free(golden);
    spec.positions = positions;
    spec.layout = (enum pe_layout)7;
    REFUSED(PE_INVALID, pe_golden_new(&golden, &spec, NULL, &err));
    spec.layout = PE_LAYOUT_HALF;
    spec.scheme = alibi;
    REFUSED(PE_UNSUPPORTED, pe_golden_new(&golden, &spec, NULL, &err));
    spec.scheme = NULL;
    REFUSED(PE_INVALID, pe_golden_new(&golden, &spec, NULL, &err));
    spec.size = 0;
    REFUSED(PE_INVALID, pe_golden_new(&golden, &spec, NULL, &err));
    pe_golden_free(NULL);
}

TEST(check_refuses)
{
    OWNED_SCHEME rope = public_scheme("rope", "dim=64", false);
    struct pe_golden *golden = computed(rope, PE_LAYOUT_HALF, NAN);
    struct pe_tensor cos = copied(golden, PE_GOLDEN_COS, PE_F32, false, PE_LAYOUT_HALF);
    struct pe_tensor k = copied(golden, PE_GOLDEN_K_ROTATED, PE_F32, false, PE_LAYOUT_HALF);
    struct pe_golden_observed observed = {PE_GOLDEN_COS, &cos, false};
    struct pe_golden_check *check;
    const enum pe_path none = (enum pe_path)9;

#define CHECK(path) pe_golden_check_new(&check, golden, &observed, 1, path, NULL, NULL, &err)
    ACCEPTED(CHECK(NULL));
    pe_golden_check_free(check);
    REFUSED(PE_UNSUPPORTED, CHECK(&none));
    ck_assert_ptr_null(check);
    observed.is_wide = true;
    REFUSED(PE_INVALID, CHECK(NULL));
    observed = (struct pe_golden_observed){PE_GOLDEN_K_ROTATED, &k, true};
    REFUSED(PE_INVALID, CHECK(NULL));
    observed = (struct pe_golden_observed){PE_GOLDEN_SIN, &k, false};
    REFUSED(PE_INVALID, CHECK(NULL));
    observed = (struct pe_golden_observed){PE_GOLDEN_SOFTMAX_SCALE, &cos, false};
    REFUSED(PE_INVALID, CHECK(NULL));
    observed = (struct pe_golden_observed){PE_GOLDEN_Q, &cos, false};
    REFUSED(PE_INVALID, CHECK(NULL));
    observed = (struct pe_golden_observed){(enum pe_golden_role)99, &cos, false};
    REFUSED(PE_INVALID, CHECK(NULL));
    cos.dtype = PE_I32;
    observed = (struct pe_golden_observed){PE_GOLDEN_COS, &cos, false};
    REFUSED(PE_INVALID, CHECK(NULL));
#undef CHECK
    free(cos.data);
    free(k.data);
    pe_golden_free(golden);
    pe_golden_check_free(NULL);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static enum pe_status all_of_it(struct pe_scheme *scheme, struct pe_work *work,
                                struct pe_error *err)
{
    static const double positions[] = {0, 1, 300};
    const struct pe_golden_spec spec = {.size = sizeof(spec),
                                        .scheme = scheme,
                                        .softmax_scale = 1,
                                        .positions = positions,
                                        .positions_count = 3};
    float swapped[3 * 32];
    const struct pe_tensor cos = {PE_F32, 2, {3, 32}, swapped};
    const struct pe_golden_observed observed = {PE_GOLDEN_COS, &cos, false};
    struct pe_golden_check *check = NULL;
    struct pe_golden *golden;

    if (!pe_golden_new(&golden, &spec, work, err) && !pe_golden_compute(golden, work, err)) {
        memcpy(swapped, pe_golden_data(golden, PE_GOLDEN_SIN), sizeof(swapped));
        pe_golden_check_new(&check, golden, &observed, 1, NULL, NULL, work, err);
    }
    pe_golden_check_free(check);
    pe_golden_free(golden);
    return err->status;
}

TEST(refused_memory_ends_the_call)
{
    enum pe_status status = PE_OUT_OF_MEMORY;
    long refused = 0;

    for (long most = 0; status == PE_OUT_OF_MEMORY; most++) {
        OWNED_SCHEME scheme = public_scheme("rope", "dim=64", true);
        struct refusing refusing;
        struct pe_work *work = refusing_work(&refusing, most);
        struct pe_error err = {0};
        status = all_of_it(scheme, work, &err);
        ck_assert_msg(status == PE_OK || status == PE_OUT_OF_MEMORY, "%s", err.detail);
        refused += status == PE_OUT_OF_MEMORY;
        pe_work_free(work);
    }
    ck_assert_int_gt(refused, 10);
}
