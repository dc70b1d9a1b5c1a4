/* SPDX-License-Identifier: MIT */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "tests/check_main.h"

/* The decoder compared with libsodium's, which is as strict (padded, no other characters, no bits
 * behind the end), except that version 1.0.18 takes bytes over 127 for digits if char is signed. */

enum { SIZE_MOST = 40, TEXT_MOST = sodium_base64_ENCODED_LEN(SIZE_MOST, 1) };

static unsigned random_below(unsigned bound)
{
    static unsigned long long state = 1;

    state = state * 6364136223846793005 + 1442695040888963407;
    return (unsigned)(state >> 33) % bound;
}

/* Buffers of exactly the size, so that sanitizers detect accesses beyond it. */
static void both_decode(const char *text, size_t length, size_t size, int *accepted)
{
    char *copy = malloc(length + 1);
    unsigned char *ours = malloc(size + 1), *theirs = malloc(size + 1);
    OWNED_MEMORY unsigned char *exact = realloc(ours, size ? size : 1);
    size_t made = 0;
    bool right = sodium_base642bin(theirs, size, text, length, NULL, &made, NULL,
                                   sodium_base64_VARIANT_ORIGINAL) == 0 &&
                 made == size;

    for (size_t i = 0; i < length; i++)
        right &= !(text[i] & 0x80);
    copy = realloc(copy, length ? length : 1);
    memcpy(copy, text, length);
    ck_assert_msg(api_base64_decode(copy, length, exact, size) == right, "%.*s for %zu bytes",
                  (int)length, text, size);
    if (right)
        ck_assert_mem_eq(exact, theirs, size);
    *accepted += right;
    free(copy);
    free(theirs);
}

TEST(test_as_libsodium_does)
{
    enum { CASES = 200000 };
    static const char likely[] = "AQgw/+=9z\n -_";
    unsigned char bytes[SIZE_MOST];
    char text[TEXT_MOST];
    int accepted = 0;

    for (int i = 0; i < CASES; i++) {
        const size_t size = random_below(SIZE_MOST + 1);
        size_t length, asked = size;
        for (size_t at = 0; at < size; at++)
            bytes[at] = (unsigned char)random_below(256);
        sodium_bin2base64(text, sizeof(text), bytes, size, sodium_base64_VARIANT_ORIGINAL);
        length = strlen(text);
        for (unsigned changes = random_below(3); length > 0 && changes > 0; changes--) {
            const size_t at = random_below(2) ? random_below((unsigned)length)
                                              : length - 1 - random_below(length < 4 ? 1 : 4);
            text[at] = (char)(random_below(3) ? likely[random_below(sizeof(likely) - 1)]
                                              : (char)random_below(256));
        }
        if (random_below(4) == 0)
            asked = size + random_below(5) < 2 ? 0 : size + random_below(5) - 2;
        if (length > 0 && random_below(8) == 0)
            length -= random_below(5) < length ? random_below(5) % length : 0;
        both_decode(text, length, asked < SIZE_MOST ? asked : SIZE_MOST, &accepted);
    }
    printf("base64: %d texts, %d of them right\n", CASES, accepted);
    ck_assert_int_gt(accepted, CASES / 4);
    ck_assert_int_lt(accepted, CASES * 3 / 4);
}

TEST(test_all_endings)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    char text[9] = "QUJD";
    int accepted = 0;

    for (size_t a = 0; a < 65; a++)
        for (size_t b = 0; b < 65; b++)
            for (size_t c = 0; c < 65; c++) {
                memcpy(text + 4, (char[4]){'x', digits[a], digits[b], digits[c]}, 4);
                for (size_t size = 3; size <= 6; size++)
                    both_decode(text, 8, size, &accepted);
            }
    /* Three bytes, two with four bits of zeros, one with two more. */
    ck_assert_int_eq(accepted, 64 * 64 * 64 + 64 * 16 + 4);
}

TEST(test_only_its_characters)
{
    for (int other = 0; other < 256; other++)
        for (size_t at = 0; at < 9; at++) {
            unsigned char text[10] = "AZaz09+/=";
            text[at] = (unsigned char)other;
            const bool right = other != 0 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                                                    "uvwxyz0123456789+/=",
                                                    other);
            ck_assert_int_eq(api_base64_only(text, text + 9), right);
        }
}
