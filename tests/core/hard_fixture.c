/* SPDX-License-Identifier: MIT */
#include "tests/core/hard_fixture.h"

#include "tests/core/wide_fixture.h"

#define LLAMA3       "low_freq_factor=1 high_freq_factor=4 original_max_position_embeddings=8192"
#define LONGROPE_EXT "1.08,1.1,1.13,1.28,1.31,1.45,1.45,1.45,1.6,1.8,2.2,3.0,4.1,6.5,14.8,28.9"

const struct frequency_set frequency_sets[] = {
    {"sinusoidal", "dim=64", 10000, 1, 32, 1},
    {"sinusoidal", "dim=64 layout=concatenated spacing=endpoint", 10000, 1, 31, 1},
    {"sinusoidal", "dim=7 base=100 spacing=next-even", 100, 2, 8, 1},
    {"sinusoidal-2d", "dim=128 variant=detr height=1 width=1", 10000, 1, 32, 1},
    {"sinusoidal-2d", "dim=128 variant=mae height=1 width=1", 10000, 1, 32, 1},
    {"sinusoidal-nd", "dim=96 ndim=3", 10000, 1, 16, 1},
    {"transformer-xl", "dim=64", 10000, 1, 32, 1},
    {"timestep", "dim=64", 10000, 1, 31, 1},
    {"timestep", "dim=64 downscale_freq_shift=0 scale=1000", 10000, 1, 32, 1000},
    {"periodic", "dim=40", 2, 1, 1, 1},
    {"all-sin", "dim=33", 10000, 1, 32, 1},
    {"rope", "dim=64 base=10000", 10000, 1, 32, 1},
    {"rope", "dim=64 base=500000", 500000, 1, 32, 1},
    {"rope", "dim=64 base=1000000", 1000000, 1, 32, 1},
    {"rope", "dim=256 rotary_dim=64 base=10000000", 10000000, 1, 32, 1},
    /* Llama 3.1 and 3.2 */
    {"rope", "dim=128 base=500000 rope_type=llama3 factor=8 " LLAMA3, 0, 0, 0, 0},
    {"rope", "dim=64 base=500000 rope_type=llama3 factor=32 " LLAMA3, 0, 0, 0, 0},
    /* DeepSeek-V2 and V3, gpt-oss, Qwen 2.5 with a long context */
    {"rope",
     "dim=64 rope_type=yarn factor=40 original_max_position_embeddings=4096 mscale=1 "
     "mscale_all_dim=1",
     0, 0, 0, 0},
    {"rope",
     "dim=64 base=150000 rope_type=yarn factor=32 original_max_position_embeddings=4096 "
     "truncate=false",
     0, 0, 0, 0},
    {"rope", "dim=128 base=1000000 rope_type=yarn factor=4 original_max_position_embeddings=32768",
     0, 0, 0, 0},
    {"rope", "dim=64 rope_type=linear factor=4", 0, 0, 0, 0},
    {"rope", "dim=64 rope_type=dynamic factor=2 max_position_embeddings=2048 seq_len=8192", 0, 0, 0,
     0},
    {"rope", "dim=64 rope_type=ntk alpha=1000", 0, 0, 0, 0},
    {"rope",
     "dim=32 rope_type=longrope original_max_position_embeddings=4096 "
     "max_position_embeddings=131072 seq_len=131072 long_factor=" LONGROPE_EXT
     " short_factor=" LONGROPE_EXT,
     0, 0, 0, 0},
    {"rope", "dim=256 base=1000000 rope_type=proportional partial_rotary_factor=0.25", 0, 0, 0, 0},
    {"rope", "dim=8 rope_type=custom inv_freq=1,0.1,1e-9,12345.678", 0, 0, 0, 0},
};

const size_t frequency_sets_count = sizeof(frequency_sets) / sizeof(frequency_sets[0]);

void frequency_set_write(mpfr_ptr out, const struct frequency_set *set,
                         const struct pe_scheme *scheme, size_t pair)
{
    mpfr_t exponent;

    if (set->base == 0) {
        wide_to_mpfr(exponent,
                     pe_frequencies_real(HARD_BITS, pe_waves_of(scheme)->frequencies, pair));
        mpfr_set(out, exponent, MPFR_RNDN);
        mpfr_clear(exponent);
        return;
    }
    mpfr_init2(exponent, mpfr_get_prec(out));
    mpfr_set_d(exponent, -(double)pair * set->numerator, MPFR_RNDN);
    mpfr_div_d(exponent, exponent, set->denominator, MPFR_RNDN);
    mpfr_set_d(out, set->base, MPFR_RNDN);
    mpfr_pow(out, out, exponent, MPFR_RNDN);
    mpfr_mul_d(out, out, set->scale, MPFR_RNDN);
    mpfr_clear(exponent);
}

/* A digit is appended where the value was cut at the end of its digits, so that a number next to a
 * tie is not rounded as one. */
static void stick(mpfr_ptr value, int inexact)
{
    mpfr_prec_round(value, mpfr_get_prec(value) + 2, MPFR_RNDZ);
    if (inexact)
        mpfr_sgn(value) < 0 ? mpfr_nextbelow(value) : mpfr_nextabove(value);
}

void cos_sin_write(mpfr_ptr cos, mpfr_ptr sin, mpfr_srcptr w, double t)
{
    mpfr_t angle;

    mpfr_init2(angle, HARD_BITS + 64);
    mpfr_mul_d(angle, w, t, MPFR_RNDN);
    mpfr_set_prec(cos, HARD_BITS);
    mpfr_set_prec(sin, HARD_BITS);
    const int inexact = mpfr_sin_cos(sin, cos, angle, MPFR_RNDZ); /* of the sine in two bits */
    stick(cos, inexact >> 2);
    stick(sin, inexact & 3);
    mpfr_clear(angle);
}
