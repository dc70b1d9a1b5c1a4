/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_ODD_H
#define CORE_KERNELS_ODD_H

/* Numbers made odd, so that they may be rounded twice: where something is cut off, the last bit
 * that is left becomes 1. Such a number is on the same side of every number of fewer bits as the
 * one that it was made of, so both have the same rounding to two bits less, or to fewer. */

#include "core/kernels/real.h"

/* Bits of a double that a float has no room for. */
#define CUT UINT64_C(0x1fffffff)

#define BITS_ODD(bits) (((bits) & ~CUT) | ((((bits)&CUT) + CUT) & (CUT + 1)))

/* Of the sum of x and a rest that is below an ulp of it: x, or the double beside it that is odd. */
PE_INLINE real sum_odd(real x, real rest)
{
    const word low = bits_of(rest), some = ((low & ~SIGN) + ~SIGN) >> 63; /* the rest is not 0 */
    const word beyond = (bits_of(x) ^ low) >> 63; /* the sum is nearer to 0 */

    return real_of((bits_of(x) - (beyond & some)) | some);
}

#endif
