/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/random.h>

#include "api/memory/random.h"
#include "tests/api/harness.h"
#include "tests/check_main.h"

/* The service takes its secrets only from the system. This program's getrandom replaces the C
 * library's, for libsodium too. */

static enum { WHOLE, INTERRUPTED, REFUSED } system_mode;
static int system_calls;
static unsigned flags_seen;

/* Fills with 1, 2, 3, ... so that a byte that is not filled is detected. */
ssize_t getrandom(void *buffer, size_t size, unsigned flags)
{
    static unsigned char next;

    flags_seen |= flags;
    if (system_mode == REFUSED || (system_mode == INTERRUPTED && system_calls++ % 2 == 0)) {
        errno = system_mode == REFUSED ? ENOSYS : EINTR;
        return -1;
    }
    const size_t made = system_mode == WHOLE || size < 3 ? size : 3;
    for (size_t i = 0; i < made; i++) {
        next = next < 255 ? next + 1 : 1;
        ((unsigned char *)buffer)[i] = next;
    }
    return (ssize_t)made;
}

TEST(test_every_byte_is_filled_in)
{
    for (system_mode = WHOLE; system_mode < REFUSED; system_mode++)
        for (size_t size = 1; size < 40; size++) {
            unsigned char bytes[41] = {0};
            struct pe_error err = {0};
            ck_assert_int_eq(api_random(bytes, size, &err), PE_OK);
            ck_assert_ptr_null(memchr(bytes, 0, size));
            ck_assert_uint_eq(bytes[size], 0);
        }
    ck_assert_uint_eq(flags_seen, 0); /* it waits for a machine that has just been started */
}

TEST(test_no_service_without_random_bytes)
{
    const struct api_settings settings = settings_make();
    struct api *api;
    struct pe_error err = {0};

    system_mode = REFUSED;
    ck_assert_int_eq(api_new(&api, &settings, &err), PE_INTERNAL);
    ck_assert_ptr_null(api);
    ck_assert_ptr_nonnull(strstr(err.detail, "no random bytes"));
    ck_assert_ptr_nonnull(strstr(err.detail, strerror(ENOSYS)));

    system_mode = INTERRUPTED;
    err = (struct pe_error){0};
    ck_assert_int_eq(api_new(&api, &settings, &err), PE_OK);
    api_free(api);
}
