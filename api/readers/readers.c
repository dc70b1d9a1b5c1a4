/* SPDX-License-Identifier: MIT */
#include "api/readers/reader.h"

const struct api_reader *const api_readers[] = {
#define READER(name) &api_reader_##name,
#include "api/readers/readers.def"
#undef READER
    NULL,
};
