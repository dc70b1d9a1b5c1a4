/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_LABELS_H
#define API_PICTURES_LABELS_H

/* The words of labels.def. */

enum api_label {
#define LABEL(id, english, chinese) API_LABEL_##id,
#include "api/pictures/labels.def"
#undef LABEL
    API_LABELS
};

/* Languages in the order of the parameter lang. */
enum api_language { API_ENGLISH, API_CHINESE, API_LANGUAGES };

const char *api_label(enum api_language language, enum api_label label);

#endif
