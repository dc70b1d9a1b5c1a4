/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/scheme/rotary.h"
#include "core/scheme/scheme.h"
#include "core/tables/frequencies.h"
#include "core/views/view.h"
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

static size_t axes_tokens(const struct pe_axes *a)
{
    return a->batch * a->heads_outer * a->sequence;
}

static size_t axes_elements(const struct pe_axes *a)
{
    return axes_tokens(a) * a->heads_inner * a->head_dim;
}

/* Random numbers in (-1, 1) of a dtype. */
static void *tensor_new(const struct pe_axes *axes, enum pe_dtype dtype)
{
    const size_t count = axes_elements(axes);
    double *wide = malloc(count * sizeof(*wide) + 1);
    void *data = malloc(count * sizeof(*wide) + 1);

    for (size_t i = 0; i < count; i++)
        wide[i] = 2 * drand48() - 1;
    pe_from_f64(data, dtype, wide, count);
    free(wide);
    return data;
}

static void *copy_of(const void *data, size_t size)
{
    void *copy = malloc(size + 1);

    return memcpy(copy, data, size);
}

static void rotate_all(const struct pe_rotation_spec *spec, enum pe_dtype dtype, void *data,
                       const struct pe_axes *axes)
{
    struct pe_rotation *rotation = rotation_new(spec, dtype, NULL);
    struct pe_error err = {0};

    ck_assert_msg(!pe_rotation_check(rotation, axes, dtype, "q", &err), "%s", err.detail);
    pe_rotate(rotation, data, axes, 0, axes_tokens(axes), NULL, &(struct pe_error){0});
    pe_rotation_free(rotation);
}

/* ---- the definition, a pair at a time -------------------------------------------------------- */

static double element(const void *data, enum pe_dtype dtype, size_t i)
{
    double x;

    pe_to_f64(&x, (const char *)data + i * pe_dtype_info(dtype)->size, dtype, 1);
    return x;
}

/* Rounded to f32 after every operation for all but f64, and once more to the dtype. */
static void expect_pair(const void *in, const void *out, enum pe_dtype dtype, size_t first,
                        size_t second, double cos, double sin)
{
    const double x = element(in, dtype, first), y = element(in, dtype, second);
    const size_t size = pe_dtype_info(dtype)->size;
    char want[2][sizeof(double)];

    if (dtype == PE_F64) {
        const double rotated[] = {x * cos - y * sin, x * sin + y * cos};
        memcpy(want[0], &rotated[0], size);
        memcpy(want[1], &rotated[1], size);
    } else {
        const float xc = (float)x * (float)cos, ys = (float)y * (float)sin;
        const float xs = (float)x * (float)sin, yc = (float)y * (float)cos;
        const double rotated[] = {(double)(xc - ys), (double)(xs + yc)};
        pe_from_f64(want[0], dtype, &rotated[0], 1);
        pe_from_f64(want[1], dtype, &rotated[1], 1);
    }
    ck_assert_mem_eq((const char *)out + first * size, want[0], size);
    ck_assert_mem_eq((const char *)out + second * size, want[1], size);
}

static void expect_row(const struct pe_scheme *scheme, enum pe_layout layout, const void *in,
                       const void *out, enum pe_dtype dtype, const struct pe_axes *axes,
                       size_t offset, double position)
{
    const enum pe_dtype real = dtype == PE_F64 ? PE_F64 : PE_F32;
    const struct pe_position one = {{position}};
    const size_t pairs = pe_scheme_pairs(scheme), size = pe_dtype_info(dtype)->size;
    char cos[256 * sizeof(double)], sin[256 * sizeof(double)];

    ck_assert_uint_le(pairs, 256);
    for (size_t i = 0; i < pairs; i++) {
        const size_t at = i * pe_dtype_info(real)->size;
        pe_frequencies_pair(pe_waves_of(scheme)->frequencies, i, &one, PE_AMPLITUDE_FACTOR, real,
                            cos + at, sin + at);
        const bool is_half = layout == PE_LAYOUT_HALF;
        expect_pair(in, out, dtype, offset + (is_half ? i : 2 * i),
                    offset + (is_half ? i + pairs : 2 * i + 1), element(cos, real, i),
                    element(sin, real, i));
    }
    ck_assert_mem_eq((const char *)out + (offset + 2 * pairs) * size,
                     (const char *)in + (offset + 2 * pairs) * size,
                     (axes->head_dim - 2 * pairs) * size);
}

/* bhsd, bshd, several rows of positions, partial, pairs that fill no vector; every dtype and
 * layout.
 */
static const struct {
    const char *params;
    struct pe_axes axes;
    size_t batch; /* rows of positions */
} shapes[] = {
    {"dim=128", {2, 3, 5, 1, 128}, 1},
    {"dim=64", {2, 1, 5, 3, 64}, 2},
    {"dim=80 rotary_dim=32", {3, 2, 4, 2, 80}, 3},
    {"dim=6", {1, 1, 7, 2, 6}, 1},
    {"dim=256", {1, 1, 2, 1, 256}, 1},
    {"dim=64 rope_type=yarn factor=4 max_position_embeddings=32", {1, 2, 3, 1, 64}, 1},
    {"dim=16", {2, 0, 3, 1, 16}, 1},
    {"dim=16", {2, 1, 3, 0, 16}, 1},
};

TEST_LOOP(COUNT_OF(shapes), definition)
{
    const struct pe_axes *axes = &shapes[_i].axes;
    OWNED_SCHEME scheme = scheme_new("rope", shapes[_i].params);
    const size_t positions_count = axes->sequence * shapes[_i].batch;
    double positions[16];

    ck_assert_uint_le(positions_count, 16);
    for (size_t i = 0; i < positions_count; i++)
        positions[i] = floor(drand48() * 10000) - 100;
    for (int kind = 0; kind < 8; kind++) {
        const enum pe_dtype dtype = kind / 2;
        const enum pe_layout layout = kind % 2;
        const struct pe_rotation_spec spec = SIZED(
            pe_rotation_spec, .scheme = scheme, .layout = layout, .output_layout = layout,
            .positions = {.values = positions, .count = axes->sequence, .batch = shapes[_i].batch});
        OWNED_MEMORY void *data = tensor_new(axes, dtype);
        OWNED_MEMORY void *original =
            copy_of(data, axes_elements(axes) * pe_dtype_info(dtype)->size);

        rotate_all(&spec, dtype, data, axes);
        for (size_t row = 0; row < axes_tokens(axes) * axes->heads_inner; row++) {
            const size_t token = row / axes->heads_inner;
            const size_t batch = token / axes->sequence / axes->heads_outer;
            const size_t at =
                (shapes[_i].batch > 1 ? batch * axes->sequence : 0) + token % axes->sequence;
            expect_row(scheme, layout, original, data, dtype, axes, row * axes->head_dim,
                       positions[at]);
        }
    }
}

/* f64 against cosl and sinl of the formula, by nothing of the library's. */
TEST(formula)
{
    const struct pe_axes axes = {1, 1, 50, 1, 32};
    OWNED_SCHEME scheme = scheme_new("rope", "dim=32 base=500");
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .layout = PE_LAYOUT_HALF,
              .positions = {.start = -3, .step = 0.5, .count = 50});
    OWNED_MEMORY double *data = tensor_new(&axes, PE_F64);
    OWNED_MEMORY double *in = copy_of(data, axes_elements(&axes) * sizeof(*data));

    rotate_all(&spec, PE_F64, data, &axes);
    for (int t = 0; t < 50; t++)
        for (int i = 0; i < 16; i++) {
            const long double angle = (-3 + t * 0.5L) * powl(500, -2.0L * i / 32);
            const long double x = in[t * 32 + i], y = in[t * 32 + i + 16];
            ck_assert_double_eq_tol(data[t * 32 + i], (double)(x * cosl(angle) - y * sinl(angle)),
                                    1e-15);
            ck_assert_double_eq_tol(data[t * 32 + i + 16],
                                    (double)(x * sinl(angle) + y * cosl(angle)), 1e-15);
        }
}

/* ---- relations ------------------------------------------------------------------------------- */

static double norm(const float *x, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * x[i];
    return sqrt(sum);
}

TEST(inverse_and_delta)
{
    const struct pe_axes axes = {1, 1, 9, 1, 64};
    const size_t size = axes_elements(&axes) * sizeof(float);
    OWNED_SCHEME scheme =
        scheme_new("rope", "dim=64 rope_type=yarn factor=8 max_position_embeddings=4096");
    const double factor =
        pe_frequencies_amplitude(pe_waves_of(scheme)->frequencies, PE_AMPLITUDE_FACTOR);
    struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {1000, 1, NULL, 9, 1});
    float *data = tensor_new(&axes, PE_F32), *in = copy_of(data, size), *moved;

    ck_assert_double_gt(factor, 1.1);
    rotate_all(&spec, PE_F32, data, &axes);
    ck_assert_double_eq_tol(norm(data, 576) / norm(in, 576), factor, 1e-6);

    /* Moved by 17 without A again, it is what a rotation to the new position gives. */
    moved = copy_of(data, size);
    spec.positions = (struct pe_positions){.start = 17, .count = 9};
    spec.is_delta = true;
    rotate_all(&spec, PE_F32, moved, &axes);
    ck_assert_double_eq_tol(norm(moved, 576), norm(data, 576), 1e-5);
    spec = SIZED(pe_rotation_spec, .scheme = scheme, .positions = {1017, 1, NULL, 9, 1});
    float *direct = copy_of(in, size);
    rotate_all(&spec, PE_F32, direct, &axes);
    for (size_t i = 0; i < 576; i++)
        ck_assert_float_eq_tol(moved[i], direct[i], 1e-6);

    spec = SIZED(pe_rotation_spec, .scheme = scheme, .positions = {1000, 1, NULL, 9, 1},
                 .inverse = true);
    rotate_all(&spec, PE_F32, data, &axes);
    for (size_t i = 0; i < 576; i++)
        ck_assert_float_eq_tol(data[i], in[i], 1e-6);

    spec.inverse = false;
    spec.without_attention_factor = true;
    rotate_all(&spec, PE_F32, data, &axes);
    ck_assert_double_eq_tol(norm(data, 576), norm(in, 576), 1e-5);
    free(data), free(in), free(moved), free(direct);
}

TEST(position_zero_is_nothing)
{
    const struct pe_axes axes = {1, 1, 3, 2, 64};
    OWNED_SCHEME scheme = scheme_new("rope", "dim=64");

    for (int kind = 0; kind < 8; kind++) {
        const size_t size = axes_elements(&axes) * pe_dtype_info(kind / 2)->size;
        const struct pe_rotation_spec spec =
            SIZED(pe_rotation_spec, .scheme = scheme, .layout = kind % 2, .output_layout = kind % 2,
                  .positions = {0, 0, NULL, 3, 1});
        void *data = tensor_new(&axes, kind / 2), *in = copy_of(data, size);

        rotate_all(&spec, kind / 2, data, &axes);
        ck_assert_mem_eq(data, in, size);
        free(data);
        free(in);
    }
}

TEST(output_layout)
{
    const struct pe_axes axes = {2, 1, 3, 2, 96};
    OWNED_SCHEME scheme = scheme_new("rope", "dim=96 rotary_dim=64");

    for (int kind = 0; kind < 8; kind++) {
        const enum pe_dtype dtype = kind / 2;
        const size_t size = axes_elements(&axes) * pe_dtype_info(dtype)->size;
        struct pe_rotation_spec spec =
            SIZED(pe_rotation_spec, .scheme = scheme, .layout = kind % 2, .output_layout = kind % 2,
                  .positions = {7, 3, NULL, 3, 1});
        void *want = tensor_new(&axes, dtype), *got = copy_of(want, size);

        rotate_all(&spec, dtype, want, &axes);
        pe_layout_convert(want, dtype, 12, 96, 64, kind % 2, 1 - kind % 2, &(struct pe_error){0});
        spec.output_layout = 1 - kind % 2;
        rotate_all(&spec, dtype, got, &axes);
        ck_assert_mem_eq(got, want, size);
        free(want);
        free(got);
    }
}

/* Threads and cuts change no byte. */
TEST(cuts_and_pool)
{
    const struct pe_axes axes = {3, 2, 301, 2, 64};
    const size_t size = axes_elements(&axes) * sizeof(float), tokens = axes_tokens(&axes);
    OWNED_SCHEME scheme = scheme_new("rope", "dim=64");
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {5, 1, NULL, 301, 1});
    struct pe_error err = {0};
    struct pe_pool *pool;
    void *want = tensor_new(&axes, PE_F32), *got = copy_of(want, size);

    ck_assert(!pe_pool_new(&pool, 3, false, &err));
    struct pe_rotation *rotation = rotation_new(&spec, PE_F32, pool);
    rotate_all(&spec, PE_F32, want, &axes);
    for (size_t begin = 0, cut = 1; begin < tokens; begin += cut, cut = cut * 3 % 101 + 1) {
        const size_t end = begin + cut < tokens ? begin + cut : tokens;
        pe_rotate(rotation, got, &axes, begin, end, NULL, &(struct pe_error){0});
    }
    ck_assert_mem_eq(got, want, size);
    pe_rotation_free(rotation);
    pe_pool_free(pool);
    free(want);
    free(got);
}

TEST(nan_stays_in_its_pair)
{
    const struct pe_axes axes = {1, 1, 2, 2, 64};
    OWNED_SCHEME scheme = scheme_new("rope", "dim=64");

    for (int kind = 0; kind < 8; kind++) {
        const enum pe_dtype dtype = kind / 2;
        const size_t size = pe_dtype_info(dtype)->size, at = 64 + 5;
        const bool is_half = kind % 2 == PE_LAYOUT_HALF;
        const size_t other = is_half ? at + 32 : 64 + 4;
        const struct pe_rotation_spec spec =
            SIZED(pe_rotation_spec, .scheme = scheme, .layout = kind % 2, .output_layout = kind % 2,
                  .positions = {1, 1, NULL, 2, 1});
        char *want = tensor_new(&axes, dtype), *got = copy_of(want, 256 * size);

        pe_from_f64(got + at * size, dtype, (double[]){kind & 4 ? NAN : INFINITY}, 1);
        rotate_all(&spec, dtype, want, &axes);
        rotate_all(&spec, dtype, got, &axes);
        for (size_t i = 0; i < 256; i++)
            if (i != at && i != other)
                ck_assert_mem_eq(got + i * size, want + i * size, size);
            else
                ck_assert(!isfinite(element(got, dtype, i)));
        free(want);
        free(got);
    }
}

TEST(nothing_to_rotate)
{
    OWNED_SCHEME scheme = scheme_new("rope", "dim=64");
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {0, 1, NULL, 0, 1});
    const struct pe_axes axes = {2, 3, 0, 1, 64};
    char data[1] = {42};

    rotate_all(&spec, PE_F32, data, &axes);
    ck_assert_int_eq(data[0], 42);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Under AddressSanitizer too, memory that cannot be had is NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void expect_refused(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                           enum pe_status status, const char *where)
{
    struct pe_rotation *rotation;
    struct pe_error err = {0};

    ck_assert_int_eq(pe_rotation_new(&rotation, spec, dtype, NULL, NULL, &err), status);
    ck_assert_ptr_null(rotation);
    ck_assert_str_eq(err.where, where);
    ck_assert_uint_gt(strlen(err.detail), 20);
    pe_rotation_free(rotation);
}

TEST(refuses_specs)
{
    struct pe_scheme *rope = scheme_new("rope", "dim=64"), *alibi = scheme_new("alibi", "heads=8");
    const struct pe_rotation_spec good =
        SIZED(pe_rotation_spec, .scheme = rope, .positions = {0, 1, NULL, 4, 1});
    struct pe_rotation_spec spec = good;

    spec.scheme = alibi;
    expect_refused(&spec, PE_F32, PE_UNSUPPORTED, "parameter:encoding");
    expect_refused(&good, PE_I64, PE_UNSUPPORTED, "parameter:dtype");
    spec = good;
    spec.positions.start = 0x1p53;
    expect_refused(&spec, PE_F32, PE_OUT_OF_RANGE, "parameter:positions");
    spec.positions.start = NAN;
    expect_refused(&spec, PE_F32, PE_OUT_OF_RANGE, "parameter:positions");
    spec.positions = (struct pe_positions){.start = 0x1p53 - 3, .step = 1, .count = 4};
    expect_refused(&spec, PE_F32, PE_OUT_OF_RANGE, "parameter:positions");
    /* The last position is one, the first is none; then the other way round. */
    spec.positions = (struct pe_positions){.start = 0x1p53, .step = -1, .count = 4};
    expect_refused(&spec, PE_F32, PE_OUT_OF_RANGE, "parameter:positions");
    spec.positions = (struct pe_positions){.start = -0x1p53, .step = 0x1p51, .count = 5};
    expect_refused(&spec, PE_F32, PE_OUT_OF_RANGE, "parameter:positions");
    spec.positions = (struct pe_positions){.start = 3 - 0x1p53, .step = -1, .count = 4};
    expect_refused(&spec, PE_F32, PE_OUT_OF_RANGE, "parameter:positions");
    spec.positions = (struct pe_positions){.step = INFINITY, .count = 1}; /* 0 times infinity */
    expect_refused(&spec, PE_F32, PE_OUT_OF_RANGE, "parameter:positions");
    spec.positions = (struct pe_positions){.values = (double[]){0, 1, -INFINITY, 3}, .count = 4};
    spec.is_delta = true;
    expect_refused(&spec, PE_F32, PE_OUT_OF_RANGE, "parameter:delta");
    spec = good;
    spec.positions.batch = 2;
    expect_refused(&spec, PE_F32, PE_INVALID, "parameter:positions");
    spec.positions = (struct pe_positions){.count = SIZE_MAX / 64};
    expect_refused(&spec, PE_F32, PE_TOO_LARGE, "parameter:positions");
    spec.positions.count = SIZE_MAX / 1024; /* fits a size, and no memory */
    expect_refused(&spec, PE_F32, PE_OUT_OF_MEMORY, "");
    pe_scheme_free(rope);
    pe_scheme_free(alibi);
}

/* One coordinate that its axis's offset moves past the last position is refused at each place of a
 * list: of any axis, batch row and token. */
TEST(refuses_any_coordinate_beyond_its_offset)
{
    enum { AXES = 2, ROWS = 3, COUNT = 2, ALL = AXES * ROWS * COUNT };
    OWNED_SCHEME scheme = scheme_new("rope-2d", "dim=8 variant=llama4");
    size_t refused = 0;

    ck_assert(pe_rotary_of(scheme)->offsets[0] > 0);
    for (size_t place = 0; place < ALL; place++) {
        double values[ALL] = {0};
        const struct pe_positions positions = {
            .values = values, .count = COUNT, .batch = ROWS, .axes = AXES};
        struct pe_error err = {0};
        ck_assert(!pe_rotary_positions_check(scheme, &positions, "", &err));
        values[place] = 0x1p53 + 2;
        refused += pe_rotary_positions_check(scheme, &positions, "", &err) == PE_OUT_OF_RANGE;
    }
    ck_assert_uint_eq(refused, ALL);
}

/* The first and the last position that there is, listed or counted. */
TEST(takes_the_ends)
{
    static double ends[] = {0x1p53 - 1, 1 - 0x1p53};
    static const struct pe_positions good[] = {
        {.start = 0x1p53 - 4, .step = 1, .count = 4},
        {.start = 4 - 0x1p53, .step = -1, .count = 4},
        {.start = 1 - 0x1p53, .step = 0x1p54 - 2, .count = 2},
        {.values = ends, .count = 2, .batch = 1},
    };
    OWNED_SCHEME rope = scheme_new("rope", "dim=64");

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        const struct pe_rotation_spec spec =
            SIZED(pe_rotation_spec, .scheme = rope, .positions = good[i]);
        pe_rotation_free(rotation_new(&spec, PE_F32, NULL));
    }
    ends[1] = -0x1p53;
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = rope, .positions = good[3]);
    expect_refused(&spec, PE_F32, PE_OUT_OF_RANGE, "parameter:positions");
}

static const struct {
    struct pe_axes axes;
    enum pe_dtype dtype;
    enum pe_status status;
    const char *says;
} checks[] = {
    {{2, 1, 4, 1, 64}, PE_F32, PE_OK, ""},
    {{2, 7, 4, 3, 96}, PE_F32, PE_OK, ""},
    {{2, 1, 4, 1, 64}, PE_F16, PE_CONFLICT, "q is f16, the rotation was made for f32"},
    {{2, 1, 5, 1, 64}, PE_F32, PE_SHAPE_MISMATCH, "5 tokens in a sequence, but there are 4"},
    {{3, 1, 4, 1, 64}, PE_F32, PE_SHAPE_MISMATCH, "3 batch rows, the positions have 2"},
    {{2, 1, 4, 1, 32}, PE_F32, PE_SHAPE_MISMATCH, "heads 32 wide, of which 64 should rotate"},
};

TEST_LOOP(COUNT_OF(checks), refuses_tensors)
{
    const double positions[8] = {0};
    OWNED_SCHEME scheme = scheme_new("rope", "dim=64");
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {0, 0, (double *)positions, 4, 2});
    struct pe_rotation *rotation = rotation_new(&spec, PE_F32, NULL);
    struct pe_error err = {0};

    ck_assert_int_eq(pe_rotation_check(rotation, &checks[_i].axes, checks[_i].dtype, "q", &err),
                     checks[_i].status);
    ck_assert_str_eq(err.where, checks[_i].status ? "tensor:q" : "");
    ck_assert_msg(strstr(err.detail, checks[_i].says) != NULL, "%s", err.detail);
    pe_rotation_free(rotation);
}
