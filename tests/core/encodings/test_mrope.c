/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"
#include "tests/core/table_fixture.h"

/* Which coordinate and which power each pair has, in the way that each source says it:
 *
 * chunked: huggingface/transformers 928b5565, models/qwen2_vl/modeling_qwen2_vl.py,
 * apply_multimodal_rotary_pos_emb: the i-th section of the columns is taken from coordinate i
 * mod 3. interleaved: the same at 68a7b7e2, models/qwen3_vl/modeling_qwen3_vl.py,
 * apply_interleaved_mrope: all columns are those of t; then [1 : 3h : 3] those of h and [2 : 3w :
 * 3] those of w. imrope, vision: ggml-org/llama.cpp 1f08e2d6, ggml/src/ggml-cpu/ops.cpp,
 * ggml_mrope_cache_init. ernie: transformers v5.23.0, models/ernie4_5_vl_moe/
 * modeling_ernie4_5_vl_moe.py, recomposition_frequencies: h and w in turns, t behind them. */

enum { PAIRS_MAX = 64, ROWS = 7 };

static struct {
    size_t pairs, axes, axis[PAIRS_MAX];
    double base, exponent[PAIRS_MAX]; /* of 1 / base, over `over` */
    double over;
    double positions[4][ROWS];
    bool is_sin;
} p;

static void chunks_set(const size_t *sections, size_t count, bool restart)
{
    size_t pair = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sections[i] && pair < p.pairs; k++, pair++) {
            p.axis[pair] = i;
            p.exponent[pair] = (double)(restart ? k : pair);
        }
}

static void slices_set(const size_t *sections)
{
    for (size_t pair = 0; pair < p.pairs; pair++) {
        p.axis[pair] = 0;
        p.exponent[pair] = (double)pair;
    }
    for (size_t axis = 1; axis < 3; axis++)
        for (size_t pair = axis; pair < 3 * sections[axis] && pair < p.pairs; pair += 3)
            p.axis[pair] = axis;
}

static void turns_set(const size_t *sections)
{
    for (size_t pair = 0; pair < p.pairs; pair++) {
        p.axis[pair] = pair >= 2 * sections[0] ? 0 : pair % 2 == 0 ? 1 : 2;
        p.exponent[pair] = (double)pair;
    }
}

static void imrope_set(const size_t *sections)
{
    for (size_t sector = 0; sector < p.pairs; sector++) {
        p.exponent[sector] = (double)sector;
        if (sector % 3 == 1 && sector < 3 * sections[1])
            p.axis[sector] = 1;
        else if (sector % 3 == 2 && sector < 3 * sections[2])
            p.axis[sector] = 2;
        else if (sector % 3 == 0 && sector < 3 * sections[0])
            p.axis[sector] = 0;
        else
            p.axis[sector] = 3;
    }
}

static void element(mpfr_ptr out, size_t row, size_t column)
{
    oracle_power(out, p.base, p.exponent[column], p.over);
    oracle_wave(out, p.positions[p.axis[column]][row], p.is_sin);
}

static void positions_print(char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "positions=");

    for (size_t axis = 0; axis < p.axes; axis++)
        for (size_t row = 0; row < ROWS; row++)
            used += (size_t)snprintf(out + used, size - used, "%s%.17g",
                                     row > 0    ? ","
                                     : axis > 0 ? ";"
                                                : "",
                                     p.positions[axis][row]);
}

static const struct {
    const char *type;
    size_t sections[4], count;
} cases[] = {
    {"chunked", {16, 24, 24}, 3},     {"chunked", {2, 3, 3, 1}, 4},
    {"chunked", {0, 5, 1}, 3},        {"chunked", {1, 1, 1}, 3},
    {"interleaved", {24, 20, 20}, 3}, {"interleaved", {11, 11, 10}, 3},
    {"interleaved", {4, 0, 2}, 3},    {"imrope", {24, 20, 20, 0}, 4},
    {"imrope", {6, 2, 3, 2}, 4},      {"imrope", {11, 11, 10}, 3},
    {"vision", {20, 20}, 2},          {"vision", {4, 4, 4, 4}, 4},
    {"vision", {3, 5, 2}, 3},         {"ernie", {22, 22, 20}, 3},
    {"ernie", {3, 3, 0}, 3},
};

static size_t case_set(size_t index, char *text, size_t size)
{
    const size_t *s = cases[index].sections, count = cases[index].count;
    const char *type = cases[index].type;
    const bool is_vision = strcmp(type, "vision") == 0;
    char sections[100] = "";

    p.pairs = s[0] + s[1] + s[2] + s[3];
    if (is_vision && count == 4)
        p.pairs /= 2; /* as in ggml: the sections of both halves */
    p.axes = strcmp(type, "imrope") == 0 ? 4 : count;
    p.base = index % 2 ? 1e6 : 10000;
    p.over = (double)p.pairs / (is_vision ? 2 : 1);
    if (is_vision || strcmp(type, "chunked") == 0)
        chunks_set(s, count, is_vision);
    else if (strcmp(type, "interleaved") == 0)
        slices_set(s);
    else if (strcmp(type, "ernie") == 0)
        turns_set(s);
    else
        imrope_set(s);
    for (size_t axis = 0; axis < 4; axis++)
        for (size_t row = 0; row < ROWS; row++)
            p.positions[axis][row] =
                (double)((row * 7919 + axis * 104729 + index) % 5003) * (row == 3   ? -0.37
                                                                         : row == 5 ? 1e6
                                                                                    : 1);
    for (size_t i = 0, used = 0; i < count; i++)
        used +=
            (size_t)snprintf(sections + used, sizeof(sections) - used, "%s%zu", i ? "," : "", s[i]);
    snprintf(text, size, "dim=%zu base=%.17g mrope_type=%s mrope_section=%s", 2 * p.pairs, p.base,
             type, sections);
    return p.pairs;
}

TEST(equals_mpfr)
{
    size_t checked = 0;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[200], view[1000];
        case_set(i, text, sizeof(text));
        for (int is_sin = 0; is_sin < 2; is_sin++) {
            size_t used;
            p.is_sin = is_sin;
            positions_print(view, sizeof(view));
            used = strlen(view);
            snprintf(view + used, sizeof(view) - used, " part=%s", is_sin ? "sin" : "cos");
            checked += expect_rounded("mrope", text, view, element);
        }
    }
    printf("mrope: %zu elements\n", checked);
}

/* part=complex and duplicate=true contain the same numbers. */
TEST(parts_agree)
{
    char text[200], list[800], view[900];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const size_t pairs = case_set(i, text, sizeof(text));
        positions_print(list, sizeof(list));
        struct filled parts[4];
        for (size_t j = 0; j < 4; j++) {
            static const char *const kinds[] = {"part=cos", "part=sin", "part=complex",
                                                "part=sin duplicate=true"};
            snprintf(view, sizeof(view), "%s %s", list, kinds[j]);
            parts[j] = filled_new("mrope", text, view, PE_F32, false);
        }
        for (size_t row = 0; row < ROWS; row++)
            for (size_t pair = 0; pair < pairs; pair++) {
                const double sin = filled_at(&parts[1], row, pair);
                ck_assert(filled_at(&parts[2], row, 2 * pair) == filled_at(&parts[0], row, pair));
                ck_assert(filled_at(&parts[2], row, 2 * pair + 1) == sin);
                ck_assert(filled_at(&parts[3], row, pair) == sin);
                ck_assert(filled_at(&parts[3], row, pair + pairs) == sin);
            }
        for (size_t j = 0; j < 4; j++)
            free(parts[j].data);
    }
}

/* axial: each section is rope of a third of the width, at its own coordinate. */
TEST(axial_sections_are_ropes)
{
    static const char *const lists[] = {"0,3,65537,-2.5", "1,1,9,100", "5,0,2,1e6"};
    OWNED_FILLED all = filled_new("mrope",
                                  "dim=32 rotary_dim=30 base=77 mrope_type=axial "
                                  "mrope_section=5,5,5",
                                  "positions=0,3,65537,-2.5;1,1,9,100;5,0,2,1e6", PE_F64, false);

    for (size_t axis = 0; axis < 3; axis++) {
        char view[60];
        snprintf(view, sizeof(view), "positions=%s", lists[axis]);
        OWNED_FILLED one = filled_new("rope", "dim=10 base=77", view, PE_F64, false);
        for (size_t i = 0; i < 4 * 5; i++)
            ck_assert(filled_at(&all, i / 5, 5 * axis + i % 5) == filled_at(&one, i / 5, i % 5));
    }
}

/* Text: all coordinates equal, or one list, is rope bit for bit; scaled too. */
TEST(text_is_rope)
{
    static const char *const scaled[] = {
        "", " rope_type=linear factor=3",
        " rope_type=yarn factor=4 original_max_position_embeddings=32768",
        " rope_type=llama3 factor=8 low_freq_factor=1 high_freq_factor=4 "
        "original_max_position_embeddings=8192"};
    static const char *const kinds[] = {"mrope_section=16,24,24",
                                        "mrope_section=24,20,20 mrope_interleaved=true",
                                        "mrope_section=24,20,20,0 mrope_type=imrope"};
    static const char list[] = "0,3,9,100,65537,-2.5";

    for (size_t i = 0; i < 4 * 3; i++)
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            char plain[300], multi[400], view[300], several[300];
            const size_t axes = i % 3 == 2 ? 4 : 3;
            snprintf(plain, sizeof(plain), "dim=128 base=1000000%s", scaled[i / 3]);
            snprintf(multi, sizeof(multi), "%s %s", plain, kinds[i % 3]);
            snprintf(view, sizeof(view), "positions=%s", list);
            snprintf(several, sizeof(several), "positions=%s;%s;%s%s%s", list, list, list,
                     axes == 4 ? ";" : "", axes == 4 ? list : "");
            OWNED_FILLED want = filled_new("rope", plain, view, dtype, false);
            OWNED_FILLED one = filled_new("mrope", multi, view, dtype, false);
            OWNED_FILLED all = filled_new("mrope", multi, several, dtype, false);
            const size_t size = want.rows * want.columns * pe_dtype_info(dtype)->size;
            ck_assert_mem_eq(one.data, want.data, size);
            ck_assert_mem_eq(all.data, want.data, size);
        }
}

/* Rotations use the rows of the table: batch rows, coordinates, dtypes. */
TEST(rotates_by_the_table)
{
    enum { BATCH = 2, PAIRS = 6 };
    OWNED_SCHEME scheme = scheme_new("mrope", "dim=12 mrope_section=3,2,1 mrope_type=interleaved");
    double positions[3 * BATCH * ROWS], x[BATCH * ROWS * 2 * PAIRS],
        original[BATCH * ROWS * 2 * PAIRS];
    struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme,
              .positions = {.values = positions, .count = ROWS, .batch = BATCH, .axes = 3});
    const struct pe_axes axes = {BATCH, 1, ROWS, 1, 2 * PAIRS};
    static const size_t axis[PAIRS] = {0, 1, 2, 0, 1, 0};

    for (size_t i = 0; i < 3 * BATCH * ROWS; i++)
        positions[i] = (double)(i * i % 97);
    for (size_t i = 0; i < BATCH * ROWS * 2 * PAIRS; i++)
        x[i] = original[i] = sin((double)i);
    struct pe_rotation *rotation = rotation_new(&spec, PE_F64, NULL);
    pe_rotate(rotation, x, &axes, 0, BATCH * ROWS, NULL, &(struct pe_error){0});
    for (size_t i = 0; i < BATCH * ROWS * PAIRS; i++) {
        const size_t token = i / PAIRS, pair = i % PAIRS, at = token * 2 * PAIRS + pair;
        const double position = positions[axis[pair] * BATCH * ROWS + token];
        const double angle = position * pow(10000, -(double)pair / PAIRS);
        const double a = original[at], b = original[at + PAIRS];
        ck_assert(fabs(x[at] - (a * cos(angle) - b * sin(angle))) < 1e-13);
        ck_assert(fabs(x[at + PAIRS] - (a * sin(angle) + b * cos(angle))) < 1e-13);
    }
    pe_rotation_free(rotation);
    spec.inverse = true;
    rotation = rotation_new(&spec, PE_F64, NULL);
    pe_rotate(rotation, x, &axes, 0, BATCH * ROWS, NULL, &(struct pe_error){0});
    for (size_t i = 0; i < BATCH * ROWS * 2 * PAIRS; i++)
        ck_assert(fabs(x[i] - original[i]) < 1e-15);
    pe_rotation_free(rotation);
}

/* More pairs rotate with one coordinate than are computed at once. */
TEST(wider_than_a_piece)
{
    struct filled wide =
        filled_new("mrope", "dim=32768 mrope_section=6000,5192,5192 mrope_interleaved=true",
                   "positions=5,9;2,4;7,1 part=sin", PE_F32, false);
    struct filled plain =
        filled_new("rope", "dim=32768", "positions=5,2,7,9,4,1 part=sin", PE_F32, false);

    for (size_t row = 0; row < 2; row++)
        for (size_t pair = 0; pair < 16384; pair++) {
            const size_t axis = pair < 3 * 5192 ? pair % 3 : 0;
            ck_assert(filled_at(&wide, row, pair) == filled_at(&plain, 3 * row + axis, pair));
        }
    free(wide.data);
    free(plain.data);
}

TEST(refusals)
{
    static const char section[] = "mrope_section", positions[] = "positions";
    static const char *const good = "dim=12 mrope_section=2,2,2";

    expect_refused("mrope", "dim=12", "length=1", PE_MISSING, section);
    expect_refused("mrope", "dim=12 mrope_section=2,2", "length=1", PE_SHAPE_MISMATCH, section);
    expect_refused("mrope", "dim=12 mrope_section=2,2,1,1,0", "length=1", PE_SHAPE_MISMATCH,
                   section);
    expect_refused("mrope", "dim=12 mrope_section=2,2,1", "length=1", PE_SHAPE_MISMATCH, section);
    expect_refused("mrope", "dim=12 mrope_section=2,2.5,1.5", "length=1", PE_INVALID, section);
    expect_refused("mrope", "dim=12 mrope_section=2,-2,6", "length=1", PE_OUT_OF_RANGE, section);
    expect_refused("mrope", "dim=12 mrope_section=2,2,1,1 mrope_interleaved=true", "length=1",
                   PE_SHAPE_MISMATCH, section);
    expect_refused("mrope", "dim=12 mrope_section=6 mrope_type=vision", "length=1",
                   PE_SHAPE_MISMATCH, section);
    expect_refused("mrope", "dim=12 mrope_section=2,3 mrope_type=vision", "length=1",
                   PE_SHAPE_MISMATCH, section);
    expect_refused("mrope", "dim=12 mrope_section=2,1,3 mrope_type=axial", "length=1", PE_INVALID,
                   section);
    expect_refused("mrope", "dim=12 mrope_section=3,3 mrope_type=vision rope_type=linear factor=2",
                   "length=1", PE_CONFLICT, "rope_type");
    expect_refused("mrope", "dim=12 mrope_section=2,2,2 mrope_type=imrope mrope_interleaved=false",
                   "length=1", PE_CONFLICT, "mrope_interleaved");
    expect_refused("mrope", "dim=12 mrope_section=2,2,2 factor=2", "length=1", PE_CONFLICT,
                   "factor");
    expect_refused("mrope", "dim=13 mrope_section=2,2,2", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("mrope", good, "positions=1,2;1,2", PE_SHAPE_MISMATCH, positions);
    expect_refused("mrope", good, "positions=1;1;1;1", PE_SHAPE_MISMATCH, positions);
    expect_refused("mrope", good, "positions=1,2;1;1,2", PE_SHAPE_MISMATCH, positions);
    expect_refused("mrope", good, "positions=1;2;x", PE_INVALID, positions);
    expect_refused("mrope", good, "positions=1;2;1e17", PE_OUT_OF_RANGE, positions);
    expect_refused("mrope", good, "positions=1;2;3 length=1", PE_CONFLICT, positions);
    expect_refused("rope", "dim=12", "positions=1;2;3", PE_SHAPE_MISMATCH, positions);
}
