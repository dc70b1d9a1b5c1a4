/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

/* What all fuzz targets share: the services they ask, the checks they make, and the oracle that
 * finds inputs that cost too much. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "api/formats/formats.h"

#define TARGET(name) void fuzz_##name(const uint8_t *data, size_t size);
#include "tests/fuzz/targets.def"
#undef TARGET

/* Runs a target on one input. Ends the process with a message where a check fails, or where an
 * input of less than 64 KiB takes more than a second of CPU or 256 MiB: --work-max and the budget
 * of the services here are so low that no honest request comes near. */
void fuzz_run(void (*target)(const uint8_t *data, size_t size), const uint8_t *data, size_t size);

/* Ends the process unless the condition holds: a finding. */
#define FUZZ_CHECK(condition) fuzz_check(condition, #condition, __FILE__, __LINE__)
void fuzz_check(bool holds, const char *condition, const char *file, int line);

/* Takes the first byte off an input; 0: there is none. */
uint8_t fuzz_byte(const uint8_t **data, size_t *size);
/* The bytes up to a newline, or all, as a string of its own for free(); both are taken off. Zero
 * bytes become '?', because no part of a head has one. */
char *fuzz_line(const uint8_t **data, size_t *size);
/* The next of a row of sizes from 1 to `most` that follow from *seed; seed 0: always `most`. */
size_t fuzz_piece(uint32_t *seed, size_t most);

/* Lives as long as the process. storing: with a cache, and a store that begins empty and is made
 * anew from time to time. */
struct api *fuzz_service(bool storing);
/* Limits as those of the services. */
extern const struct api_settings fuzz_settings;

/* A request as readers see it, in an arena of its own with work and a budget. */
struct fuzz_request {
    struct api_memory *memory;
    struct api_request request;
};
void fuzz_request_open(struct fuzz_request *made);
/* Checks that nothing stays charged. */
void fuzz_request_close(struct fuzz_request *made);

/* Has a reader read a body, and reads every byte of what it found. False: it was refused. */
bool fuzz_read(const struct api_reader *reader, struct api_request *request, const uint8_t *body,
               size_t size);

/* Checks a response, drains up to some megabytes of it, and frees it: status, and a hash of what
 * was drained. */
struct fuzz_answer {
    int status;
    uint64_t hash;
};
struct fuzz_answer fuzz_answer_take(struct api_response *response);

#endif
