/* SPDX-License-Identifier: MIT */
#include "api/formats/reader.h"

const struct api_reader *const api_readers[] = {
#define READER(name) &api_reader_##name,
#include "api/formats/readers.def"
#undef READER
    NULL,
};
