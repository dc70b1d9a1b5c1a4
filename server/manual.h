/* SPDX-License-Identifier: MIT */
#ifndef SERVER_MANUAL_H
#define SERVER_MANUAL_H

#include <stdio.h>

/* The manual page posencd(8), in roff, with every flag of config.def and of the service. */
void srv_manual_print(FILE *out);

#endif
