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
