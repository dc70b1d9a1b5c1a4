/* SPDX-License-Identifier: MIT */
#include "api/base/names.h"

#include <stdio.h>
#include <string.h>

bool api_names_have(const char *list, const char *separator, const char *name, size_t size)
{
    for (const char *at = list; at && *at; at += strspn(at, separator)) {
        const size_t length = strcspn(at, separator);
        if (length == size && memcmp(at, name, size) == 0)
            return true;
        at += length;
    }
    return false;
}

char api_letter_fold(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return (char)(letter - 'A' + 'a');
    return letter == '-' ? '_' : letter;
}

bool api_names_alike(const char *a, const char *b)
{
    while (*a && api_letter_fold(*a) == api_letter_fold(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

/* ---- suggestions ---------------------------------------------------------------------------- */

enum { NAME_MAX_LENGTH = 48, FAR = 1000 };

static int least(int a, int b, int c)
{
    const int ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* The edit distance, in insertions, deletions, substitutions and swaps of neighbours. */
static int distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int rows[3][NAME_MAX_LENGTH + 1];

    if (a_length > NAME_MAX_LENGTH || b_length > NAME_MAX_LENGTH)
        return FAR;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                above2[j - 2] + 1 < row[j])
                row[j] = above2[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

/* The edit distance of a word with typos; more for the beginning of a longer name; else FAR. */
static int unlikeness(const char *word, const char *name, size_t length)
{
    const size_t word_length = strlen(word);
    const int edits = distance(word, word_length, name, length);
    const int most = 1 + (int)(word_length < length ? word_length : length) / 3;

    if (edits <= most)
        return edits;
    if (word_length >= 3 && length > word_length && strncmp(word, name, word_length) == 0)
        return most + 1;
    return FAR;
}

void api_nearest_offer(struct api_nearest *nearest, const char *name, size_t length)
{
    const int far = unlikeness(nearest->word, name, length);
    size_t place = nearest->count;

    if (far == FAR)
        return;
    for (size_t i = 0; i < nearest->count; i++)
        if (nearest->lengths[i] == length && memcmp(nearest->names[i], name, length) == 0)
            return;
    while (place > 0 && nearest->distances[place - 1] > far)
        place--;
    if (place == API_NEAREST_MAX)
        return;
    if (nearest->count < API_NEAREST_MAX)
        nearest->count++;
    for (size_t i = nearest->count - 1; i > place; i--) {
        nearest->names[i] = nearest->names[i - 1];
        nearest->lengths[i] = nearest->lengths[i - 1];
        nearest->distances[i] = nearest->distances[i - 1];
    }
    nearest->names[place] = name;
    nearest->lengths[place] = length;
    nearest->distances[place] = far;
}

const char *api_nearest_print(const struct api_nearest *nearest, char *out, size_t size)
{
    size_t used = 0;

    *out = '\0';
    for (size_t i = 0; i < nearest->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s'%.*s'",
                                 i > 0 ? " or " : "; did you mean ", (int)nearest->lengths[i],
                                 nearest->names[i]);
    if (used > 0 && used < size)
        snprintf(out + used, size - used, "?");
    return out;
}
