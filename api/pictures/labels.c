/* SPDX-License-Identifier: MIT */
#include "api/pictures/labels.h"

static const char *const words[API_LABELS][API_LANGUAGES] = {
#define LABEL(id, english, chinese) {english, chinese},
#include "api/pictures/labels.def"
#undef LABEL
};

const char *api_label(enum api_language language, enum api_label label)
{
    return words[label][language];
}
