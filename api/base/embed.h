/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_EMBED_H
#define API_BASE_EMBED_H

/* A file of this repository, put into the object by the assembler: no tool at build time, no copy
 * of its bytes in C. API_EMBED(name, "file") declares name, where its bytes begin, and name_end, a
 * zero byte behind them. */

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
