/* SPDX-License-Identifier: MIT */
#ifndef BENCH_ANSWER_H
#define BENCH_ANSWER_H

#include "bench/wire.h"

struct answer {
    int status;
    double first_byte; /* when the first byte had come, in the seconds of answer_now */
    uint64_t bytes;    /* of the body */
};

double answer_now(void);

/* Reads an answer to its end, its body being thrown away; of another status than the one that is
 * wanted only the head. False where the connection failed or the framing is not understood. */
bool answer_read(struct wire *wire, int wanted, struct answer *answer);

#endif
