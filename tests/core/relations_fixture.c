/* SPDX-License-Identifier: MIT */
#include "tests/core/relations_fixture.h"
#include "tests/check_main.h"

double random_between(double least, double most)
{
    return least + (most - least) * drand48();
}

size_t random_whole(size_t least, size_t most)
{
    return least + (size_t)(drand48() * (double)(most - least + 1));
}

double random_position(void)
{
    const double most = exp2(random_between(0, 40));

    return floor(random_between(-most, most));
}

void relations_begin(const char *relation)
{
    srand48(RELATIONS_SEED);
    printf("relation: %s, seed %d\n", relation, RELATIONS_SEED);
}

struct text random_dim(size_t *dim)
{
    struct text text;

    *dim = 2 * random_whole(1, RELATION_DIM_MAX / 2);
    snprintf(text.at, sizeof(text.at), "dim=%zu base=%.17g", *dim, exp(random_between(0.1, 16)));
    return text;
}

struct text random_rope(size_t *dim)
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

void random_token(double *out, size_t count, enum pe_dtype dtype)
{
    unsigned char bytes[8];

    for (size_t i = 0; i < count; i++) {
        out[i] = random_between(-1, 1);
        pe_from_f64(bytes, dtype, &out[i], 1);
        pe_to_f64(&out[i], bytes, dtype, 1);
    }
}

double product_of(const double *a, const double *b, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

void token_rotate(const struct pe_scheme *scheme, double *token, size_t dim, enum pe_dtype dtype,
                  enum pe_layout layout, double position, enum way way)
{
    const struct pe_axes axes = {1, 1, 1, 1, dim};
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .layout = layout, .output_layout = layout,
              .positions = {.values = &position, .count = 1, .batch = 1},
              .inverse = way == BACKWARDS, .is_delta = way == BY_DELTA);
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

double pairs_apart(const double *a, const double *b, size_t dim, enum pe_dtype dtype,
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
