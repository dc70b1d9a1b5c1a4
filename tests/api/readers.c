/* SPDX-License-Identifier: MIT */
#include "tests/api/readers.h"

unsigned long cases;

void answer_check(const struct answer *answer, const struct row *row, const char *label)
{
    char place[200] = "";
    static const char *const kinds[] = {"parameter", "tensor", "pointer", "header"};

    ck_assert_msg(answer->status == row->status, "%s: %d, expected %d: %.300s", label,
                  answer->status, row->status, (const char *)answer->body);
    if (row->code)
        ck_assert_msg(strcmp(member_text(answer, "code"), row->code) == 0, "%s: %.300s", label,
                      (const char *)answer->body);
    for (size_t i = 0; i < 4; i++) {
        char path[40];
        snprintf(path, sizeof(path), "errors.0.%s", kinds[i]);
        if (*member_text(answer, path))
            snprintf(place, sizeof(place), "%s:%s", kinds[i], member_text(answer, path));
    }
    if (row->place)
        ck_assert_msg(strcmp(place, row->place) == 0, "%s: at %s, expected %s: %.300s", label,
                      place, row->place, (const char *)answer->body);
    cases++;
}
