/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_STORE_FIXTURE_H
#define TESTS_API_STORE_FIXTURE_H

/* A folder of stored tables, and services over it. */

#include <sys/stat.h>
#include <unistd.h>

#include "tests/api/harness.h"

extern char folder[64];

void folder_make(void);
void folder_remove(void);
char *file_path(const char *rest);
void file_put(const char *rest, const char *text);
extern int reported; /* sentences about a table in the log */

struct api *stored_make(void); /* the writer of the folder */
struct api *reader_make(void); /* a reader */

/* A safetensors file of one f32 tensor [rows, 2] with elements from `first` on. */
size_t file_make(char *out, size_t rows, float first);
int put(struct api *api, const char *name, size_t rows, float first, const char *headers);
int status_of(struct api *api, const char *method, const char *target, const char *headers);

#endif
