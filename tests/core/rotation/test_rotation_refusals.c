/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

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
