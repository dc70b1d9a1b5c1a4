/* SPDX-License-Identifier: MIT */
#ifndef PORTS_WASM_SETJMP_H
#define PORTS_WASM_SETJMP_H

/* A module cannot jump out of calls. The one place that would, a JSON text whose memory is short,
 * ends the module: whoever called it gets an exception, and goes on with a new instance. */

typedef int jmp_buf[1];

#define setjmp(here)         ((void)(here), 0)
#define longjmp(here, value) __builtin_trap()

#endif
