/* SPDX-License-Identifier: MIT */
#ifndef POSENC_COMMON_H
#define POSENC_COMMON_H

/* Macros and versions that every other header of posenc uses. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks the functions that the shared library exports. */
#define PE_API __attribute__((visibility("default")))

#ifdef __cplusplus
/* -Wshadow is off for the declarations: a struct and a function may share a name, as stat does. */
#define PE_DECLARATIONS_BEGIN                                                                      \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"") extern "C"       \
    {
#define PE_DECLARATIONS_END                                                                        \
    }                                                                                              \
    _Pragma("GCC diagnostic pop")
#else
#define PE_DECLARATIONS_BEGIN
#define PE_DECLARATIONS_END
#endif

#define PE_VERSION "0.1.0"

PE_DECLARATIONS_BEGIN

/* The version of the library at run time: "0.1.0", a constant. Any thread. */
PE_API const char *pe_version(void);

/* The instruction set in use, a constant: the best that the processor has or, if lower, the one
 * that the environment variable POSENC_ISA names. Results are the same bytes with each. Any thread.
 */
PE_API const char *pe_isa_name(void);

/* The names of all instruction sets that the library was built for, best first, the last being
 * "scalar"; NULL past the end. Constants. Any thread. */
PE_API const char *pe_isa_at(size_t index);

/* The number of values since the process began that were returned without a proof that they are
 * correctly rounded: 0 unless a real number lies within 2^-1200 of a tie. Any thread. */
PE_API unsigned long pe_exact_undecided(void);

PE_DECLARATIONS_END

#endif
