/* SPDX-License-Identifier: MIT */

/* Mathematical relations, over random parameters. The seed is printed, and is the same in every
 * run. */

#include <float.h>

#include "core/scheme/scheme.h"
#include "core/tables/frequencies.h"
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

enum { RELATIONS_SEED = 20261, RELATION_CASES = 200, RELATION_DIM_MAX = 64 };

static double random_between(double least, double most)
{
    return least + (most - least) * drand48();
}

static size_t random_whole(size_t least, size_t most)
{
    return least + (size_t)(drand48() * (double)(most - least + 1));
}

/* A whole position, small or large, of either sign. */
static double random_position(void)
{
    const double most = exp2(random_between(0, 40));

    return floor(random_between(-most, most));
}

static void relations_begin(const char *relation)
{
    srand48(RELATIONS_SEED);
    printf("relation: %s, seed %d\n", relation, RELATIONS_SEED);
}

struct text {
    char at[400];
};

/* dim and base alone, the width an even number. */
static struct text random_dim(size_t *dim)
{
    struct text text;

    *dim = 2 * random_whole(1, RELATION_DIM_MAX / 2);
    snprintf(text.at, sizeof(text.at), "dim=%zu base=%.17g", *dim, exp(random_between(0.1, 16)));
    return text;
}

/* rope of any type; *dim is at least 4. */
static struct text random_rope(size_t *dim)
{
    const double f = random_between(1, 32);
    struct text text;
    size_t used;

    do
        text = random_dim(dim);
    while (*dim < 4);
    used = strlen(text.at);
    switch (random_whole(0, 5)) {
    case 0:
        break;
    case 1:
        snprintf(text.at + used, sizeof(text.at) - used, " rope_type=linear factor=%.17g", f);
        break;
    case 2:
        snprintf(text.at + used, sizeof(text.at) - used,
                 " rope_type=dynamic factor=%.17g max_position_embeddings=1024 seq_len=%zu", f,
                 random_whole(1, 8192));
        break;
    case 3:
        snprintf(text.at + used, sizeof(text.at) - used, " rope_type=ntk factor=%.17g", f);
        break;
    case 4:
        snprintf(text.at + used, sizeof(text.at) - used,
                 " rope_type=yarn factor=%.17g original_max_position_embeddings=4096%s", f,
                 random_whole(0, 1) ? " attention_factor=1" : "");
        break;
    default:
        snprintf(text.at + used, sizeof(text.at) - used,
                 " rope_type=llama3 factor=%.17g low_freq_factor=1 high_freq_factor=4 "
                 "original_max_position_embeddings=8192",
                 f);
        break;
    }
    return text;
}

/* `count` elements between -1 and 1, rounded to the dtype. */
static void random_token(double *out, size_t count, enum pe_dtype dtype)
{
    unsigned char bytes[8];

    for (size_t i = 0; i < count; i++) {
        out[i] = random_between(-1, 1);
        pe_from_f64(bytes, dtype, &out[i], 1);
        pe_to_f64(&out[i], bytes, dtype, 1);
    }
}

static double product_of(const double *a, const double *b, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

enum direction { FORWARDS, BACKWARDS, BY_DELTA };

/* Rotates one token at a position in place. */
static void token_rotate(const struct pe_scheme *scheme, double *token, size_t dim,
                         enum pe_dtype dtype, enum pe_layout layout, double position,
                         enum direction direction)
{
    const struct pe_axes axes = {1, 1, 1, 1, dim};
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .layout = layout, .output_layout = layout,
              .positions = {.values = &position, .count = 1, .batch = 1},
              .inverse = direction == BACKWARDS, .is_delta = direction == BY_DELTA);
    struct pe_rotation *rotation = rotation_new(&spec, dtype, NULL);
    double bytes[RELATION_DIM_MAX];

    ck_assert_uint_le(dim, RELATION_DIM_MAX);
    pe_from_f64(bytes, dtype, token, dim);
    pe_rotate(rotation, bytes, &axes, 0, 1, NULL, &(struct pe_error){0});
    pe_to_f64(token, bytes, dtype, dim);
    pe_rotation_free(rotation);
}

/* An ulp of a positive number in a dtype. */
static double ulp_of(double value, enum pe_dtype dtype)
{
    static const int bits[] = {[PE_F64] = 53, [PE_F32] = 24, [PE_F16] = 11, [PE_BF16] = 8};
    static const int least[] = {
        [PE_F64] = -1074, [PE_F32] = -149, [PE_F16] = -24, [PE_BF16] = -133};
    int exponent;

    frexp(value, &exponent);
    exponent -= bits[dtype];
    return ldexp(1, exponent > least[dtype] ? exponent : least[dtype]);
}

/* The largest difference of two tokens, in ulps of the norm of each pair. */
static double pairs_apart(const double *a, const double *b, size_t dim, enum pe_dtype dtype,
                          enum pe_layout layout)
{
    const size_t pairs = dim / 2;
    double worst = 0;

    for (size_t i = 0; i < pairs; i++) {
        const size_t x = layout == PE_LAYOUT_HALF ? i : 2 * i;
        const size_t y = layout == PE_LAYOUT_HALF ? i + pairs : 2 * i + 1;
        const double ulp = ulp_of(hypot(a[x], a[y]), dtype);
        worst = fmax(worst, fmax(fabs(a[x] - b[x]), fabs(a[y] - b[y])) / ulp);
    }
    return worst;
}

/* ---- rows of sines and cosines --------------------------------------------------------------- */

static struct text random_sinusoids(size_t *dim)
{
    struct text base = random_dim(dim), text;

    snprintf(text.at, sizeof(text.at), "%.200s layout=%s spacing=%s", base.at,
             random_whole(0, 1) ? "interleaved" : "concatenated",
             random_whole(0, 1) ? "paper" : "endpoint");
    return text;
}

/* Column of a pair's sine or cosine. */
static size_t column_of(const char *text, size_t dim, size_t pair, bool is_cos)
{
    return strstr(text, "concatenated") ? pair + (is_cos ? dim / 2 : 0) : 2 * pair + is_cos;
}

/* PE(t + delta) = T PE(t), where T depends on delta alone, with rows of the table */
TEST(a_shift_is_linear)
{
    double worst = 0;
    size_t dim, checked = 0;

    relations_begin("PE(t + delta) = T PE(t)");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        const struct text text = random_sinusoids(&dim);
        const double t = random_position(), delta = random_position();
        char view[120], shift[120];
        snprintf(view, sizeof(view), "positions=%.0f,%.0f", t, t + delta);
        snprintf(shift, sizeof(shift), "position=%.0f delta=%.0f", t, delta);
        struct filled table = filled_new("sinusoidal", text.at, view, PE_F64, false);
        struct analysed a = analysed_new("sinusoidal", text.at, "shift", shift, PE_F64);
        for (size_t k = 0; k < dim; k++, checked++) {
            const size_t pair = k / 2;
            const double *block = a.outputs[0] + 2 * k;
            const double sine = filled_at(&table, 0, column_of(text.at, dim, pair, false));
            const double cosine = filled_at(&table, 0, column_of(text.at, dim, pair, true));
            const double behind = filled_at(&table, 1, column_of(text.at, dim, pair, k % 2));
            worst = fmax(worst, fabs(block[0] * sine + block[1] * cosine - behind));
            ck_assert_double_eq(a.outputs[1][k], behind);
            ck_assert_double_le(fabs(a.outputs[3][k]), 0x1p-50);
        }
        analysed_free(&a);
        free(table.data);
    }
    printf("%zu elements, worst %.3g\n", checked, worst);
    ck_assert_double_lt(worst, 0x1p-50);
    ck_assert_uint_gt(checked, 20 * RELATION_CASES);
}

/* PE_t . PE_(t + delta) = sum of cos(w_k delta), the same for -delta */
TEST(products_are_sums_of_cosines)
{
    double worst = 0;
    size_t dim, checked = 0;

    relations_begin("PE_t . PE_(t + delta) = sum cos(w delta)");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        const struct text text = random_sinusoids(&dim);
        const double t = random_position(), delta = random_position();
        char view[160], decay[120];
        snprintf(view, sizeof(view), "positions=%.0f,%.0f,%.0f", t, t + delta, t - delta);
        struct filled table = filled_new("sinusoidal", text.at, view, PE_F64, false);
        double sums[2], products[2] = {0};
        for (int side = 0; side < 2; side++) {
            const double offset = side ? -delta : delta;
            snprintf(decay, sizeof(decay), "min_offset=%.0f max_offset=%.0f", offset, offset);
            struct analysed a = analysed_new("sinusoidal", text.at, "decay", decay, PE_F64);
            sums[side] = a.outputs[0][0];
            for (size_t k = 0; k < dim; k++)
                products[side] += filled_at(&table, 0, k) * filled_at(&table, 1 + side, k);
            worst = fmax(worst, fabs(sums[side] - products[side]));
            analysed_free(&a);
        }
        ck_assert_double_eq(sums[0], sums[1]);
        free(table.data);
        checked++;
    }
    printf("%zu cases, worst %.3g\n", checked, worst);
    ck_assert_double_lt(worst, 0x1p-44);
    ck_assert_uint_eq(checked, RELATION_CASES);
}

/* sums of cosines oscillate, and decay only on average */
TEST(decay_is_on_average_only)
{
    enum { LENGTH = 512, SCHEMES = 40 };
    size_t rises = 0, falls = 0;

    relations_begin("it decays only on average and oscillates");
    for (size_t i = 0; i < SCHEMES; i++) {
        char text[120];
        double early = 0, late = 0;
        snprintf(text, sizeof(text), "dim=%zu base=%.17g", 2 * random_whole(16, 32),
                 exp(random_between(8, 13)));
        struct analysed a = analysed_new("sinusoidal", text, "decay", "max_offset=511", PE_F64);
        for (size_t k = 0; k + 1 < LENGTH; k++) {
            *(a.outputs[0][k + 1] > a.outputs[0][k] ? &rises : &falls) += 1;
            *(k < LENGTH / 4 ? &early : &late) += a.outputs[0][k];
            ck_assert_double_le(a.outputs[1][k + 1], a.outputs[1][k]); /* the envelope does fall */
        }
        ck_assert_double_gt(early / (LENGTH / 4), late / (LENGTH - 1 - LENGTH / 4));
        analysed_free(&a);
    }
    printf("%zu steps up, %zu down\n", rises, falls);
    ck_assert_uint_gt(rises, falls / 4);
    ck_assert_uint_gt(falls, rises);
    ck_assert_uint_eq(rises + falls, SCHEMES * (LENGTH - 1));
}

/* ---- biases and buckets ---------------------------------------------------------------------- */

static struct text random_bias(size_t kind, const char **name)
{
    static const char *const names[] = {"alibi", "kerple-log", "kerple-power", "sandwich", "t5"};
    struct text text;

    *name = names[kind];
    switch (kind) {
    case 0:
        snprintf(text.at, sizeof(text.at), "heads=%zu alibi_bias_max=%.17g", random_whole(1, 12),
                 random_between(1, 16));
        break;
    case 3:
        snprintf(text.at, sizeof(text.at), "heads=%zu dim=%zu base=%.17g", random_whole(1, 3),
                 2 * random_whole(1, 16), exp(random_between(0.1, 16)));
        break;
    case 4:
        snprintf(text.at, sizeof(text.at), "num_buckets=%zu max_distance=%zu bidirectional=%zu",
                 4 * random_whole(1, 16), random_whole(64, 500), random_whole(0, 1));
        break;
    default:
        snprintf(text.at, sizeof(text.at), "heads=%zu p=%.17g a=%.17g", random_whole(1, 4),
                 random_between(0.1, 2), random_between(0.1, 3));
        break;
    }
    return text;
}

/* skewed relative = naive gather: a bias or bucket of a query and a key is that of their distance
 */
TEST(skewed_is_gathered)
{
    size_t checked = 0;

    relations_begin("skewed relative = naive gather");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        const size_t queries = random_whole(1, 24), keys = random_whole(1, 40);
        const double start = (double)random_whole(0, 60) - 20;
        const enum pe_dtype dtype = (enum pe_dtype)(i / 5 % 4);
        const char *name;
        const struct text text = random_bias(i % 5, &name);
        char view[160], decay[120];
        snprintf(view, sizeof(view), "query_length=%zu key_length=%zu query_start=%.0f", queries,
                 keys, start);
        snprintf(decay, sizeof(decay), "min_offset=%.0f max_offset=%.0f",
                 -start - (double)queries + 1, (double)keys - 1 - start);
        OWNED_VIEWED bias = viewed_new(name, text.at, "bias", view, NULL, dtype);
        struct analysed a = analysed_new(name, text.at, "decay", decay, dtype);
        const size_t offsets = queries + keys - 1, size = pe_dtype_info(bias.output->dtype)->size;
        for (size_t k = 0; k < bias.count; k++, checked++) {
            const size_t key = k % keys, query = k / keys % queries, head = k / keys / queries;
            double got;
            pe_to_f64(&got, (char *)bias.data + k * size, bias.output->dtype, 1);
            ck_assert_double_eq(got, a.outputs[0][head * offsets + key + (queries - 1 - query)]);
        }
        analysed_free(&a);
    }
    printf("%zu elements\n", checked);
    ck_assert_uint_gt(checked, 100 * RELATION_CASES);
}

/* With a number for each head, each head equals a bias of one head with that number. */
TEST(heads_are_alone)
{
    static const char *const texts[][2] = {
        {"alibi", "slopes"},         {"kerple-log", "a=0.5 p"},   {"kerple-log", "p=0.5 a"},
        {"kerple-power", "a=0.5 p"}, {"kerple-power", "p=0.5 a"}, {"sandwich", "dim=20 scales"}};
    static const char *const numbers[] = {"1", "1.5", "2"};
    const char *view = "query_length=7 key_length=9 causal=true";

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char text[60];
        snprintf(text, sizeof(text), "heads=3 %s=1,1.5,2", texts[i][1]);
        OWNED_VIEWED all = viewed_new(texts[i][0], text, "bias", view, NULL, PE_F32);
        ck_assert(all.output->shape[0] == 3 && all.count == 3 * 7 * 9);
        for (size_t head = 0; head < 3; head++) {
            snprintf(text, sizeof(text), "heads=1 %s=%s", texts[i][1], numbers[head]);
            OWNED_VIEWED one = viewed_new(texts[i][0], text, "bias", view, NULL, PE_F32);
            ck_assert_mem_eq(one.data, (float *)all.data + head * 63, 63 * sizeof(float));
        }
    }
}

/* ---- rotations ------------------------------------------------------------------------------- */

/* The comments are the relations. */

static double factor_of(const struct pe_scheme *scheme)
{
    return pe_frequencies_amplitude(pe_waves_of(scheme)->frequencies, PE_AMPLITUDE_FACTOR);
}

/* position 0 does not rotate */
TEST(position_0)
{
    size_t dim, checked = 0;

    relations_begin("position 0 rotates by nothing");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const enum pe_dtype dtype = (enum pe_dtype)random_whole(PE_F64, PE_BF16);
        double before[RELATION_DIM_MAX], token[RELATION_DIM_MAX];
        if (factor_of(scheme) == 1) {
            random_token(before, dim, dtype);
            memcpy(token, before, sizeof(token));
            token_rotate(scheme, token, dim, dtype, i % 2, 0, FORWARDS);
            for (size_t k = 0; k < dim; k++)
                ck_assert_double_eq(token[k], before[k]);
            checked++;
        }
    }
    printf("%zu schemes with A = 1\n", checked);
    ck_assert_uint_gt(checked, RELATION_CASES / 2);
}

/* Compares two tables in a dtype, bit for bit. */
static void expect_same_tables(const char *a, const char *a_text, const char *b, const char *b_text,
                               const char *view_text, enum pe_dtype dtype)
{
    OWNED_FILLED one = filled_new(a, a_text, view_text, dtype, false);
    OWNED_FILLED other = filled_new(b, b_text, view_text, dtype, false);

    ck_assert_uint_eq(one.columns, other.columns);
    ck_assert_msg(
        memcmp(one.data, other.data, one.rows * one.columns * pe_dtype_info(dtype)->size) == 0,
        "%s %s is not %s %s (%s)", a, a_text, b, b_text, view_text);
}

static struct text random_rows(void)
{
    struct text text;

    snprintf(text.at, sizeof(text.at), "length=%zu start=%.0f part=%s", random_whole(1, 40),
             random_position(), random_whole(0, 1) ? "cos" : "sin");
    return text;
}

/* text-only mrope = rope, bit for bit */
TEST(mrope_of_text)
{
    static const char *const types[] = {"mrope_type=chunked", "mrope_type=interleaved",
                                        "mrope_type=imrope"};
    size_t dim;

    relations_begin("text-only mrope = rope, bit for bit");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        struct text rope, mrope, rows = random_rows();
        size_t t, h;
        do
            rope = random_rope(&dim);
        while (dim < 12);
        /* Interleaved sections: h and w are equal, and at most a third of the pairs. */
        h = random_whole(1, dim / 6);
        t = dim / 2 - 2 * h;
        snprintf(mrope.at, sizeof(mrope.at), "%.300s mrope_section=%zu,%zu,%zu %s", rope.at, t, h,
                 h, types[i % 3]);
        expect_same_tables("rope", rope.at, "mrope", mrope.at, rows.at, (enum pe_dtype)(i % 4));
    }
}

/* factor 1 of every scaling = default; dynamic only within its context, beyond which it scales by
 * the length for any factor */
TEST(factor_1)
{
    static const char *const types[] = {
        "linear factor=1",
        "dynamic factor=1 max_position_embeddings=64",
        "ntk factor=1",
        "ntk alpha=1",
        "yarn factor=1 max_position_embeddings=64",
        "llama3 factor=1 low_freq_factor=1 high_freq_factor=4 original_max_position_embeddings=64",
        "proportional factor=1",
        "longrope factor=1 max_position_embeddings=64 seq_len=99"};
    size_t dim, checked = 0;

    relations_begin("factor 1 of every scaling = default");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        struct text text, scaled, rows = random_rows();
        size_t used;
        do
            text = random_dim(&dim);
        while (dim < 4);
        used = (size_t)snprintf(scaled.at, sizeof(scaled.at), "%s rope_type=%s", text.at,
                                types[i % 8]);
        if (i % 8 == 7) /* lists of ones, for any length */
            for (size_t list = 0; list < 2; list++)
                for (size_t k = 0; k < dim / 2; k++)
                    used += (size_t)snprintf(scaled.at + used, sizeof(scaled.at) - used, "%s1",
                                             k > 0      ? ","
                                             : list > 0 ? " long_factor="
                                                        : " short_factor=");
        expect_same_tables("rope", text.at, "rope", scaled.at, rows.at, (enum pe_dtype)(i / 8 % 4));
        checked++;
    }
    ck_assert_uint_eq(checked, RELATION_CASES);
}

/* rope(q,m).rope(k,n) = A rope(q,m-n).k */
TEST(only_the_difference_counts)
{
    size_t dim;
    double worst = 0;

    relations_begin("rope(q,m).rope(k,n) = rope(q,m-n).k");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const double m = random_position(), n = random_position(), a = factor_of(scheme);
        double q[RELATION_DIM_MAX], k[RELATION_DIM_MAX], turned[RELATION_DIM_MAX], size;
        random_token(q, dim, PE_F64);
        random_token(k, dim, PE_F64);
        memcpy(turned, q, sizeof(turned));
        token_rotate(scheme, turned, dim, PE_F64, i % 2, m - n, FORWARDS);
        const double right = a * product_of(turned, k, dim);
        size = a * a * sqrt(product_of(q, q, dim) * product_of(k, k, dim));
        token_rotate(scheme, q, dim, PE_F64, i % 2, m, FORWARDS);
        token_rotate(scheme, k, dim, PE_F64, i % 2, n, FORWARDS);
        worst = fmax(worst, fabs(product_of(q, k, dim) - right) / size);
    }
    printf("%d cases, worst %.3g of the norms\n", RELATION_CASES, worst);
    ck_assert_double_lt(worst, 0x1p-49);
}

/* norms are preserved (A = 1) */
TEST(norms_are_preserved)
{
    size_t dim;
    double worst = 0;

    relations_begin("norms kept (A = 1)");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        double token[RELATION_DIM_MAX], norm;
        random_token(token, dim, PE_F64);
        norm = sqrt(product_of(token, token, dim));
        /* A rotation by a distance omits A in every scheme. */
        token_rotate(scheme, token, dim, PE_F64, i % 2, random_position(), BY_DELTA);
        worst = fmax(worst, fabs(sqrt(product_of(token, token, dim)) / norm - 1));
    }
    printf("%d cases, worst %.3g\n", RELATION_CASES, worst);
    ck_assert_double_lt(worst, 0x1p-50);
}

/* inverse after rotate, within 2 ulp of the pair's norm */
TEST(inverse_undoes)
{
    double worst[PE_BF16 + 1] = {0};
    size_t dim;

    relations_begin("inverse after rotate within 2 ulp of the pair's norm");
    for (size_t i = 0; i < 4 * RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const enum pe_dtype dtype = (enum pe_dtype)(i % 4);
        const enum pe_layout layout = i / 4 % 2;
        const double t = random_position();
        double before[RELATION_DIM_MAX], token[RELATION_DIM_MAX];
        random_token(before, dim, dtype);
        memcpy(token, before, sizeof(token));
        token_rotate(scheme, token, dim, dtype, layout, t, FORWARDS);
        token_rotate(scheme, token, dim, dtype, layout, t, BACKWARDS);
        worst[dtype] = fmax(worst[dtype], pairs_apart(before, token, dim, dtype, layout));
    }
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        printf("%s: %d cases, worst %.3g ulp\n", pe_dtype_info(dtype)->name, RELATION_CASES,
               worst[dtype]);
        ck_assert_double_le(worst[dtype], 2);
    }
}

/* rotate by a then b = rotate by a + b, within one ulp more, since both sides are rounded */
TEST(rotations_add)
{
    double worst[PE_BF16 + 1] = {0};
    size_t dim;

    relations_begin("rotate by a then b = rotate by a + b");
    for (size_t i = 0; i < 4 * RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const enum pe_dtype dtype = (enum pe_dtype)(i % 4);
        const enum pe_layout layout = i / 4 % 2;
        const double a = random_position(), b = random_position();
        double once[RELATION_DIM_MAX], twice[RELATION_DIM_MAX];
        random_token(once, dim, dtype);
        memcpy(twice, once, sizeof(once));
        token_rotate(scheme, twice, dim, dtype, layout, a, BY_DELTA);
        token_rotate(scheme, twice, dim, dtype, layout, b, BY_DELTA);
        token_rotate(scheme, once, dim, dtype, layout, a + b, BY_DELTA);
        worst[dtype] = fmax(worst[dtype], pairs_apart(once, twice, dim, dtype, layout));
    }
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        printf("%s: %d cases, worst %.3g ulp\n", pe_dtype_info(dtype)->name, RELATION_CASES,
               worst[dtype]);
        ck_assert_double_le(worst[dtype], 3);
    }
}

/* layout there-and-back = identity; rotations in both layouts are equal bit for bit */
TEST(layouts_there_and_back)
{
    size_t dim, checked = 0;

    relations_begin("layout there-and-back = identity");
    for (size_t i = 0; i < RELATION_CASES; i++, checked++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const double t = random_position();
        double before[RELATION_DIM_MAX], half[RELATION_DIM_MAX], token[RELATION_DIM_MAX];
        random_token(before, dim, PE_F64);
        memcpy(half, before, sizeof(before));
        memcpy(token, before, sizeof(before));
        pe_layout_convert(token, PE_F64, 1, dim, dim, PE_LAYOUT_HALF, PE_LAYOUT_INTERLEAVED,
                          &(struct pe_error){0});
        ck_assert(dim == 2 || memcmp(token, before, dim * sizeof(double)) != 0);
        token_rotate(scheme, token, dim, PE_F64, PE_LAYOUT_INTERLEAVED, t, FORWARDS);
        pe_layout_convert(token, PE_F64, 1, dim, dim, PE_LAYOUT_INTERLEAVED, PE_LAYOUT_HALF,
                          &(struct pe_error){0});
        token_rotate(scheme, half, dim, PE_F64, PE_LAYOUT_HALF, t, FORWARDS);
        ck_assert_mem_eq(token, half, dim * sizeof(double));
        pe_layout_convert(half, PE_F64, 1, dim, dim, i % 2, 1 - i % 2, &(struct pe_error){0});
        pe_layout_convert(half, PE_F64, 1, dim, dim, 1 - i % 2, i % 2, &(struct pe_error){0});
        ck_assert_mem_eq(token, half, dim * sizeof(double));
    }
    ck_assert_uint_eq(checked, RELATION_CASES);
}
