/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_COMPILER_H
#define API_BASE_COMPILER_H

/* Attributes and assembly that compilers and linkers spell differently. */

/* Marks a function in which unsigned arithmetic wraps on purpose, with the reason. `tests/run
 * undefined` reports wrapping everywhere else. */
#ifdef __clang__
#define API_WRAPS(why) __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define API_WRAPS(why)
#endif

/* API_EMBED(name, "file") puts a file of this repository into the object by the assembler, so that
 * no tool runs at build time. It declares name, the first byte, and name_end, a zero byte after
 * the last. */
#ifdef __wasm__
#define API_EMBED_BEGIN(name) ".section .rodata." #name ",\"\",@\n.type " #name ",@object\n"
#define API_EMBED_END(name)   ".size " #name ", .-" #name "\n.size " #name "_end, 1\n"
#else
#define API_EMBED_BEGIN(name) ".pushsection .rodata\n"
#define API_EMBED_END(name)   ".popsection\n"
#endif

#define API_EMBED(name, file)                                                                      \
    extern const char name[], name##_end[];                                                        \
    __asm__(API_EMBED_BEGIN(name) ".globl " #name "\n"                                             \
                                  ".hidden " #name "\n" #name ":\n"                                \
                                  ".incbin \"" file "\"\n"                                         \
                                  ".globl " #name "_end\n"                                         \
                                  ".hidden " #name "_end\n" #name "_end:\n"                        \
                                  ".zero 1\n" API_EMBED_END(name));

#endif
