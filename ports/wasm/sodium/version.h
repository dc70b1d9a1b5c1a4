/* SPDX-License-Identifier: MIT */
#ifndef sodium_version_H
#define sodium_version_H

/* Made by libsodium's configure, and asked by nobody here. */

#include "sodium/export.h"

#endif
