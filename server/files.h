/* SPDX-License-Identifier: MIT */
#ifndef SERVER_FILES_H
#define SERVER_FILES_H

#include "api/api.h"

/* The page for people and /docs, embedded. */
const struct api_file *srv_files(void);

#endif
