/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "tests/check_main.h"

/* Suggestions: what a typo costs, and in which order names are suggested. */

static const char *const names[] = {"length",           "positions", "rope_type",   "rotary_dim",
                                    "attention_factor", "beta_fast", "query_start", "sections",
                                    "max_distance",     "inv_freq"};

/* The distance of the only name that is offered for a word; -1: it is not suggested. */
static int distance(const char *word, const char *name)
{
    struct api_nearest nearest = {.word = word};

    api_nearest_offer(&nearest, name, strlen(name));
    return nearest.count ? nearest.distances[0] : -1;
}

/* Any letter left out, put in or changed, and any two neighbours swapped, is one edit; two of them
 * at both ends are two. */
TEST(edits)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *name = names[i];
        const size_t length = strlen(name);
        char word[64];
        ck_assert_int_eq(distance(name, name), 0);
        for (size_t at = 0; at < length; at++) {
            snprintf(word, sizeof(word), "%.*s%s", (int)at, name, name + at + 1);
            ck_assert_msg(distance(word, name) == 1, "%s of %s", word, name);
            snprintf(word, sizeof(word), "%.*s%c%s", (int)at, name, 'z', name + at);
            ck_assert_msg(distance(word, name) == 1, "%s of %s", word, name);
            snprintf(word, sizeof(word), "%s", name);
            word[at] = 'z';
            ck_assert_msg(distance(word, name) == 1, "%s of %s", word, name);
        }
        for (size_t at = 0; at + 1 < length; at++) {
            snprintf(word, sizeof(word), "%s", name);
            word[at] = name[at + 1];
            word[at + 1] = name[at];
            ck_assert_msg(distance(word, name) == (name[at] != name[at + 1]), "%s of %s", word,
                          name);
        }
        snprintf(word, sizeof(word), "%c%c%s", name[1], name[0], name + 2);
        word[length - 1] = 'z';
        ck_assert_msg(distance(word, name) == 2, "%s of %s", word, name);
    }
}

/* The nearest come first, those of one distance in the order of their offers, no name twice, and no
 * more than there is room for. */
TEST(order)
{
    static const char *const offers[] = {"lenzzh",  "lenght", "length",
                                         "lengths", "length", "weight"};
    struct api_nearest nearest = {.word = "length"};
    char text[200];

    for (size_t i = 0; i < COUNT_OF(offers); i++)
        api_nearest_offer(&nearest, offers[i], strlen(offers[i]));
    ck_assert_uint_eq(nearest.count, API_NEAREST_MAX);
    ck_assert_str_eq(nearest.names[0], "length");
    ck_assert_str_eq(nearest.names[1], "lenght");
    ck_assert_str_eq(nearest.names[2], "lengths");
    ck_assert_str_eq(api_nearest_print(&nearest, text, sizeof(text)),
                     "; did you mean 'length' or 'lenght' or 'lengths'?");
    nearest = (struct api_nearest){.word = "wholly"};
    for (size_t i = 0; i < COUNT_OF(offers); i++)
        api_nearest_offer(&nearest, offers[i], strlen(offers[i]));
    ck_assert_uint_eq(nearest.count, 0);
    ck_assert_str_eq(api_nearest_print(&nearest, text, sizeof(text)), "");
}
