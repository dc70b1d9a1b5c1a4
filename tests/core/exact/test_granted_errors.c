/* SPDX-License-Identifier: MIT */

/* The error bound of each precision level, compared with the actual error.
 *
 * The linker passes calls of pe_exact_round, pe_wide_round and pe_wide_write through this program
 * (--wrap in the Makefile). While `climbing` is set every interval is reported as undecided, so
 * that an element goes through all its levels; the last one, of 1280 bits (or an exact quotient or
 * root), replaces the real number for those before it. The part of a level is its error divided by
 * its bound.
 *
 * A seed draws one element of a case. `worst_cases` has the seed with the largest part of each
 * level that a search found, and that part. Changing a bound changes the part, and a bound below
 * the error moves it above 1: both fail. After a change of the arithmetic, POSENC_SEARCH=10000
 * build/tests/core/exact/test_granted_errors searches so many seeds, a hundredth of them for sums
 * of many terms, and prints the table. */
#include <mpfr.h>

#include "core/exact/correct_rounding.h"
#include "core/scheme/scheme.h"
#include "core/tables/cosine_sums.h"
#include "tests/check_main.h"
#include "tests/core/learned_fixture.h"
#include "tests/core/scheme_fixture.h"
#include "tests/core/wide_fixture.h"

enum {
    STEPS_MAX = 6,
    BITS = PE_WIDE_BITS + 64,
    SAMPLE = 20, /* further seeds that are drawn */
    LAST_SEARCH = 1000000,
};

/* How much the part of a recorded case may change; a wrong bound is off by a factor of 2. */
#define SLACK 1.25

/* ---- the steps of one element ---------------------------------------------------------------- */

struct step {
    mpfr_t value;
    double error;
};

static struct {
    bool climbing, prepared;
    bool once;      /* only the first element climbs */
    bool may_end;   /* a double-double without an error is the last step of its element */
    size_t decided; /* so many calls of pe_exact_round are not recorded, but report a decision */
    size_t held;    /* so many last levels belong to the next element */
    struct step steps[STEPS_MAX + 1];
    size_t count;
    double parts[STEPS_MAX]; /* the largest of the elements since parts_reset */
} chain;

static void parts_reset(void)
{
    if (!chain.prepared)
        for (size_t i = 0; i <= STEPS_MAX; i++)
            mpfr_init2(chain.steps[i].value, BITS);
    chain.prepared = true;
    memset(chain.parts, 0, sizeof(chain.parts));
}

static struct step *step_add(double error)
{
    ck_assert_uint_lt(chain.count, STEPS_MAX + 1);
    chain.steps[chain.count].error = error;
    return &chain.steps[chain.count++];
}

/* The last interval has the digits of the real number itself, so that it measures nothing. */
static void chain_end(struct pe_wide real, bool has_own)
{
    const size_t count = chain.count - (has_own && chain.count > 0);
    mpfr_t want, apart;

    wide_to_mpfr(want, real);
    mpfr_init2(apart, BITS);
    for (size_t i = chain.held; i < count; i++) {
        mpfr_sub(apart, chain.steps[i].value, want, MPFR_RNDN);
        const double error = fabs(mpfr_get_d(apart, MPFR_RNDA));
        const double part = error == 0 ? 0 : error / chain.steps[i].error;
        chain.parts[i] = fmax(chain.parts[i], part);
    }
    mpfr_clears(want, apart, (mpfr_ptr)NULL);
    chain.count = chain.held;
    chain.held = 0;
}

bool __real_pe_exact_round(struct pe_exact value, double error, enum pe_dtype dtype, void *out);
bool __wrap_pe_exact_round(struct pe_exact value, double error, enum pe_dtype dtype, void *out);
bool __real_pe_wide_round(struct pe_wide x, struct pe_wide error, enum pe_dtype dtype, void *out);
bool __wrap_pe_wide_round(struct pe_wide x, struct pe_wide error, enum pe_dtype dtype, void *out);
void __real_pe_wide_write(struct pe_wide x, enum pe_dtype dtype, void *out);
void __wrap_pe_wide_write(struct pe_wide x, enum pe_dtype dtype, void *out);

bool __wrap_pe_exact_round(struct pe_exact value, double error, enum pe_dtype dtype, void *out)
{
    if (chain.climbing && error == 0 && chain.may_end)
        chain_end(pe_wide_add_double(pe_wide_of(PE_PRECISION_FIRST, value.hi), value.lo), false);
    if (!chain.climbing || error == 0)
        return __real_pe_exact_round(value, error, dtype, out);
    if (chain.decided > 0) {
        chain.decided--;
        return true;
    }
    struct step *step = step_add(error);
    mpfr_set_d(step->value, value.hi, MPFR_RNDN);
    mpfr_add_d(step->value, step->value, value.lo, MPFR_RNDN);
    return false;
}

static bool has_last_bits;

bool __wrap_pe_wide_round(struct pe_wide x, struct pe_wide error, enum pe_dtype dtype, void *out)
{
    if (!chain.climbing)
        return __real_pe_wide_round(x, error, dtype, out);
    struct step *step = step_add(pe_wide_double(error));
    mpfr_t value;
    wide_to_mpfr(value, x);
    mpfr_set(step->value, value, MPFR_RNDN);
    mpfr_clear(value);
    has_last_bits = pe_wide_precision(&x) >= PE_PRECISION_LAST;
    return false;
}

void __wrap_pe_wide_write(struct pe_wide x, enum pe_dtype dtype, void *out)
{
    if (chain.climbing) {
        chain_end(x, has_last_bits);
        chain.climbing = !chain.once;
    }
    has_last_bits = false;
    __real_pe_wide_write(x, dtype, out);
}

/* ---- draws ----------------------------------------------------------------------------------- */

static uint64_t state;

static uint64_t bits_draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double uniform(void)
{
    return (double)(bits_draw() >> 11) * 0x1p-53;
}

/* A number of a binade of [2^least, 2^most). One draw a statement: the compiler chooses the order
 * within one. */
static double draw(int least, int most)
{
    const double digits = 0.5 + uniform() / 2;

    return ldexp(digits, least + (int)(uniform() * (most - least)) + 1);
}

static size_t below(size_t count)
{
    return (size_t)(bits_draw() % count);
}

/* ---- cases: tables --------------------------------------------------------------------------- */

/* The error of additions grows with the number of terms. */
enum { FEW = 8, MANY = 256 };

static struct pe_scheme *pairs_draw(size_t pairs, const char *more)
{
    char text[300];

    snprintf(text, sizeof(text), "dim=%zu base=%.17g %s", 2 * pairs, draw(2, 24), more);
    return scheme_new("rope", text);
}

static struct pe_scheme *waves_draw(const char *more)
{
    return pairs_draw(1 + below(FEW), more);
}

static const struct pe_frequencies *frequencies_of(const struct pe_scheme *scheme)
{
    return pe_waves_of(scheme)->frequencies;
}

/* cos or sin of one pair, where the angle is below 1/2 (near) or anything above (far). */
static void pair_climb(const char *more, bool far, enum pe_amplitude amplitude)
{
    OWNED_SCHEME scheme = waves_draw(more);
    const struct pe_frequencies *f = frequencies_of(scheme);
    const size_t pair = below(pe_frequencies_count(f));
    const double angle = far ? draw(0, 20) : draw(-30, -2);
    const double t = angle / pe_frequencies_near(f, pair);
    const struct pe_position position = {{fmin(t, 0x1p52), 0, 0}};
    double cos, sin;
    const bool is_sin = below(2);

    chain.climbing = true;
    pe_frequencies_pair(f, pair, &position, amplitude, PE_F32, is_sin ? NULL : &cos,
                        is_sin ? &sin : NULL);
    chain.climbing = false;
}

static void near_angle(void)
{
    pair_climb("", false, PE_AMPLITUDE_ONE);
}

static void far_angle(void)
{
    pair_climb("", true, PE_AMPLITUDE_ONE);
}

static void scaled_angle(void)
{
    char more[200];

    snprintf(more, sizeof(more), "rope_type=yarn factor=%.17g original_max_position_embeddings=64",
             draw(1, 6));
    pair_climb(more, true, below(2) ? PE_AMPLITUDE_FACTOR : PE_AMPLITUDE_INVERSE);
}

/* In doubles first, as for every angle of arithmetic=hf. Where the cosine is decided the sine is
 * tried, and then the levels of the cosine come before those of the sine. */
static void float32_climb(bool is_sin)
{
    OWNED_SCHEME scheme = waves_draw("arithmetic=hf");
    const struct pe_frequencies *f = frequencies_of(scheme);
    const struct pe_position position = {{floor(draw(0, 20)), 0, 0}};
    double cos, sin;

    chain.climbing = true;
    chain.decided = chain.held = is_sin;
    pe_frequencies_pair(f, below(pe_frequencies_count(f)), &position, PE_AMPLITUDE_ONE, PE_F32,
                        &cos, &sin);
    chain.climbing = false;
}

static void float32_cosine(void)
{
    float32_climb(false);
}

static void float32_sine(void)
{
    float32_climb(true);
}

static void float32_power(void)
{
    const float base = (float)draw(0, 30), exponent = (float)(2 * uniform() - 1);

    chain.climbing = true;
    pe_float32_power(base, exponent);
    chain.climbing = false;
}

static void frequency_climb(bool is_wavelength)
{
    const size_t dim = 4 + 2 * below(FEW);
    const double period = draw(2, 24), factor = draw(-20, 20), shift = uniform();
    char text[200];
    double value;

    snprintf(text, sizeof(text), "dim=%zu max_period=%.17g scale=%.17g downscale_freq_shift=%.17g",
             dim, period, factor, shift);
    OWNED_SCHEME scheme = scheme_new("timestep", text);
    const struct pe_frequencies *f = frequencies_of(scheme);
    chain.climbing = true;
    pe_frequencies_write(f, below(pe_frequencies_count(f)), PE_F32, is_wavelength ? NULL : &value,
                         is_wavelength ? &value : NULL);
    chain.climbing = false;
}

static void frequency(void)
{
    frequency_climb(false);
}

static void wavelength(void)
{
    frequency_climb(true);
}

/* ---- cases: sums of cosines ------------------------------------------------------------------ */

static void cosines_climb(size_t pairs, bool in_bulk, enum pe_dtype dtype)
{
    OWNED_SCHEME scheme =
        pairs_draw(pairs, "rope_type=yarn factor=7 original_max_position_embeddings=64");
    const struct pe_cosines cosines = pe_cosines_of(frequencies_of(scheme), below(2));
    const struct pe_position offset = {{floor(draw(0, 20)), 0, 0}};
    const struct pe_positions offsets = {.values = offset.part, .count = 1};
    double out;

    chain.climbing = true;
    if (in_bulk)
        pe_cosines_fill(&cosines, &offsets, 0, 1, dtype, &out, NULL, &(struct pe_error){0});
    else
        pe_cosines_write(&cosines, &offset, dtype, &out, NULL, &(struct pe_error){0});
    chain.climbing = false;
}

static void cosines(void)
{
    cosines_climb(1 + below(FEW), false, PE_F32);
}

static void cosines_in_bulk(void)
{
    cosines_climb(1 + below(FEW), true, PE_F32);
}

static void cosines_in_bulk_f64(void)
{
    cosines_climb(1 + below(FEW), true, PE_F64);
}

static void many_cosines(void)
{
    cosines_climb(MANY, false, PE_F32);
}

static void many_cosines_in_bulk(void)
{
    cosines_climb(MANY, true, PE_F64);
}

static void distance(void)
{
    OWNED_SCHEME scheme = waves_draw("");
    const struct pe_position half = {{draw(-8, 20), 0, 0}};
    float out;

    chain.climbing = true;
    pe_cosines_distance(frequencies_of(scheme), &half, PE_F32, &out, NULL, &(struct pe_error){0});
    chain.climbing = false;
}

/* ---- cases: views of one element ------------------------------------------------------------- */

static void view_climb(const char *encoding, const char *text, const char *view,
                       const char *view_text, const struct pe_tensor *weights, enum pe_dtype dtype)
{
    OWNED_OPENED opened =
        request_open(&(const struct request){encoding, text, view, view_text, dtype, weights});
    const struct pe_output *output = pe_view_output(opened.view, 0);
    OWNED_MEMORY char *data = malloc(output->rows * output->row_elements * 8 + 1);

    chain.climbing = true;
    rows_fill(opened.view, 0, output->rows - 1, output->rows, data);
    chain.climbing = false;
}

static void bias_climb(const char *encoding, const char *text, int far, enum pe_dtype dtype)
{
    char place[100];

    snprintf(place, sizeof(place), "query_length=1 key_length=1 query_start=%.17g",
             3 + floor(draw(0, far)));
    view_climb(encoding, text, "bias", place, NULL, dtype);
}

static void kerple(const char *encoding, int p_least, int p_most)
{
    const double p = draw(p_least, p_most), a = draw(-8, 8);
    char text[200];

    snprintf(text, sizeof(text), "heads=1 p=%.17g a=%.17g", p, a);
    bias_climb(encoding, text, 50, PE_F32);
}

static void kerple_power(void)
{
    kerple("kerple-power", -6, 1);
}

static void kerple_log(void)
{
    kerple("kerple-log", -8, 8);
}

static void alibi(void)
{
    char text[100];

    snprintf(text, sizeof(text), "heads=1 alibi_bias_max=%.17g", draw(-2, 4));
    bias_climb("alibi", text, 50, PE_F64);
}

static void sandwich_climb(size_t pairs, enum pe_dtype dtype)
{
    const double base = draw(2, 24), scale = draw(-8, 8);
    char text[200];

    snprintf(text, sizeof(text), "heads=1 dim=%zu base=%.17g scales=%.17g", 2 * pairs, base, scale);
    bias_climb("sandwich", text, 20, dtype);
}

static void sandwich(void)
{
    sandwich_climb(1 + below(FEW), PE_F32);
}

static void sandwich_f64(void)
{
    sandwich_climb(1 + below(FEW), PE_F64);
}

static void many_sandwich(void)
{
    sandwich_climb(MANY, PE_F64);
}

static void xpos_scale(void)
{
    const size_t dim = 4 + 2 * below(4);
    const double base = draw(5, 12), start = floor(draw(4, 8));
    char text[200], place[100];

    snprintf(text, sizeof(text), "dim=%zu scale_base=%.17g t_center=0", dim, base);
    snprintf(place, sizeof(place), "length=1 start=%.17g side=%s", start,
             below(2) ? "query" : "key");
    view_climb("xpos", text, "scale", place, NULL, PE_F64);
}

enum { WIDTH = 5, ROWS = 3 };

static struct pe_tensor table_draw(double data[ROWS * WIDTH])
{
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++)
        data[i] = draw(-3, 3);
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++)
        data[i] = copysign(data[i], uniform() - 0.5);
    return matrix(PE_F64, ROWS, WIDTH, data);
}

static void learned_norm(void)
{
    double data[ROWS * WIDTH];
    const struct pe_tensor table = table_draw(data);
    char text[100];

    snprintf(text, sizeof(text), "table=t l2norm=true scale=%.17g", draw(-3, 3));
    view_climb("learned", text, "table", "length=3", &table, PE_F64);
}

/* The last row is made of all three. */
static void hierarchical(void)
{
    double data[ROWS * WIDTH];
    const struct pe_tensor table = table_draw(data);
    char text[100];

    snprintf(text, sizeof(text), "table=t alpha=%.17g", 0.05 + 0.4 * uniform());
    view_climb("hierarchical", text, "table", "length=8", &table, PE_F64);
}

/* ---- cases: Fourier features ----------------------------------------------------------------- */

/* A row of one pair, whose cosine comes before its sine, and these before the coordinates. The
 * elements before the one that climbs report a decision. */
static void fourier_climb(size_t element, const char *text, const char *point)
{
    chain.once = true;
    chain.decided = element;
    view_climb("fourier", text, "table", point, NULL, PE_F32);
    chain.once = false;
    chain.decided = 0;
}

/* Half of the scales are 1, which leaves products exact. */
static double scale_draw(void)
{
    const double scale = draw(-8, 8);

    return below(2) ? 1 : scale;
}

static void fourier_wave(const char *unit, const char *coordinates, int least, int most)
{
    const double frequency = draw(-4, 16), scale = scale_draw(), u = draw(least, most);
    char text[300], point[64];

    snprintf(text, sizeof(text), "frequencies=%.17g scale=%.17g unit=%s %s", frequency, scale, unit,
             coordinates);
    snprintf(point, sizeof(point), "coordinates=%.17g", u);
    fourier_climb(below(2), text, point);
}

/* Coordinates of a grid are quotients. */
static const char *grid_draw(char *text, size_t size)
{
    static const char *const kinds[] = {"centres", "ends"};
    const size_t cells = 3 + below(1000), kind = below(3);

    snprintf(text, size, kind < COUNT_OF(kinds) ? "axes_coordinates=%s axes_size=%zu" : "",
             kinds[kind % COUNT_OF(kinds)], cells);
    return text;
}

static void fourier_turns(void)
{
    char grid[64];

    grid_draw(grid, sizeof(grid));
    fourier_wave(below(2) ? "turn" : "half-turn", grid, -8, 16);
}

static void fourier_radians(void)
{
    char grid[64];

    grid_draw(grid, sizeof(grid));
    fourier_wave("radian", grid, -8, 16);
}

static void fourier_logarithm(void)
{
    fourier_wave(below(2) ? "turn" : "radian", "axes_coordinates=logarithm", -30, 30);
}

/* A sum of three products. */
static void fourier_matrix(void)
{
    double b[3], u[3];
    char text[300], point[100];
    const double scale = scale_draw();

    for (size_t i = 0; i < 3; i++) {
        b[i] = draw(-4, 8);
        u[i] = draw(-8, 8);
    }
    snprintf(text, sizeof(text), "matrix=%.17g;%.17g;%.17g scale=%.17g unit=%s", b[0], b[1], b[2],
             scale, below(2) ? "turn" : "radian");
    snprintf(point, sizeof(point), "coordinates=%.17g,%.17g,%.17g", u[0], u[1], u[2]);
    fourier_climb(below(2), text, point);
}

static void fourier_coordinate(void)
{
    char text[300] = "frequencies=1.1 include_input=last ", point[64];
    const size_t used = strlen(text);

    if (below(2))
        strcat(text, "axes_coordinates=logarithm");
    else
        grid_draw(text + used, sizeof(text) - used);
    snprintf(point, sizeof(point), "coordinates=%.17g", draw(-30, 30));
    fourier_climb(2, text, point);
}

/* ---- cases: learned grids -------------------------------------------------------------------- */

enum { SIDE = 4, SIDE_MAX = 9 };

static void learned_grid(void)
{
    double data[SIDE * SIDE * WIDTH];
    const struct pe_tensor table = matrix(PE_F64, SIDE * SIDE, WIDTH, data);
    const char *mode = below(2) ? "bicubic" : "bilinear", *antialias = below(2) ? "true" : "false";
    const size_t down = 1 + below(SIDE_MAX), across = 1 + below(SIDE_MAX);
    char text[200], place[64];

    for (size_t i = 0; i < COUNT_OF(data); i++) {
        data[i] = draw(-3, 3);
        data[i] = copysign(data[i], uniform() - 0.5);
    }
    snprintf(text, sizeof(text),
             "table=t grid=%d,%d to=%zu,%zu mode=%s align_corners=%s antialias=%s", SIDE, SIDE,
             down, across, mode, below(2) ? "true" : "false", antialias);
    snprintf(place, sizeof(place), "length=%zu", 1 + below(down * across));
    chain.may_end = true;
    view_climb("learned", text, "table", place, &table, PE_F32);
    chain.may_end = false;
}

/* ---- recorded cases -------------------------------------------------------------------------- */

static const struct grant {
    const char *name;
    void (*draw)(void);
} cases[] = {
#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    CASE(near_angle),
    CASE(far_angle),
    CASE(scaled_angle),
    CASE(float32_cosine),
    CASE(float32_sine),
    CASE(distance),
    CASE(float32_power),
    CASE(frequency),
    CASE(wavelength),
    CASE(cosines),
    CASE(cosines_in_bulk),
    CASE(cosines_in_bulk_f64),
    CASE(kerple_power),
    CASE(kerple_log),
    CASE(alibi),
    CASE(sandwich),
    CASE(sandwich_f64),
    CASE(many_cosines),
    CASE(many_cosines_in_bulk),
    CASE(many_sandwich),
    CASE(xpos_scale),
    CASE(learned_norm),
    CASE(hierarchical),
    CASE(fourier_turns),
    CASE(fourier_radians),
    CASE(fourier_logarithm),
    CASE(fourier_matrix),
    CASE(fourier_coordinate),
    CASE(learned_grid),
#undef CASE
};

static const struct worst {
    const char *name;
    size_t step;
    uint64_t seed;
    double part;
} worst_cases[] = {
#define WORST(name, step, seed, part) {#name, step, seed, part},
#include "tests/core/worst_cases.def"
#undef WORST
};

static void seed_measure(const struct grant *grant, uint64_t seed)
{
    parts_reset();
    state = seed;
    grant->draw();
    ck_assert_msg(chain.count == 0, "%s, seed %lu: a chain without an end", grant->name,
                  (unsigned long)seed);
}

static void search(const struct grant *grant, uint64_t seeds)
{
    uint64_t at[STEPS_MAX] = {0};
    double parts[STEPS_MAX] = {0};

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        seed_measure(grant, seed);
        for (size_t i = 0; i < STEPS_MAX; i++)
            if (chain.parts[i] > parts[i]) {
                parts[i] = chain.parts[i];
                at[i] = seed;
            }
    }
    for (size_t i = 0; i < STEPS_MAX; i++)
        if (parts[i] > 0)
            printf("WORST(%s, %zu, %lu, %.4g)\n", grant->name, i, (unsigned long)at[i], parts[i]);
}

static void recorded_check(const struct worst *worst, const struct grant *grant)
{
    seed_measure(grant, worst->seed);
    const double part = chain.parts[worst->step];
    ck_assert_msg(part < 1 && part < worst->part * SLACK && part > worst->part / SLACK,
                  "%s, step %zu, seed %lu: the error is %.4g of the bound, was %.4g", worst->name,
                  worst->step, (unsigned long)worst->seed, part, worst->part);
}

TEST_LOOP(COUNT_OF(cases), grants)
{
    const struct grant *grant = &cases[_i];
    const char *seeds = getenv("POSENC_SEARCH");
    size_t recorded = 0;

    if (seeds) {
        search(grant, strtoul(seeds, NULL, 10) / (strncmp(grant->name, "many", 4) == 0 ? 100 : 1));
        return;
    }
    for (size_t i = 0; i < COUNT_OF(worst_cases); i++)
        if (strcmp(worst_cases[i].name, grant->name) == 0) {
            recorded_check(&worst_cases[i], grant);
            recorded++;
        }
    ck_assert_uint_gt(recorded, 0);
    for (uint64_t seed = LAST_SEARCH + 1; seed <= LAST_SEARCH + SAMPLE; seed += NUMBERS_STEP) {
        seed_measure(grant, seed);
        for (size_t i = 0; i < STEPS_MAX; i++)
            ck_assert_msg(chain.parts[i] < 1, "%s, step %zu, seed %lu: %g of the bound",
                          grant->name, i, (unsigned long)seed, chain.parts[i]);
    }
}
