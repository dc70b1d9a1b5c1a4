/* SPDX-License-Identifier: MIT */
/* The flags allow nothing more than sse2's: the compiler halves the vectors. */
static bool has_wide(void)
{
    return getenv("NO_WIDE") == NULL;
}
