/* SPDX-License-Identifier: MIT */
#ifndef SERVER_FILES_H
#define SERVER_FILES_H

#include "api/api.h"

/* The page for people, embedded; NULL: this build has none. */
const struct api_file *srv_files(void);

#endif
