/* SPDX-License-Identifier: MIT */
/* The stack that the library needs to make tables, since threads of a host may have small stacks.
 * The stack is painted before, so that the deepest written byte is found. */

#include <pthread.h>
#include <sys/mman.h>

#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { DEPTH_MAX = 512 << 10 }; /* frames are wider */
#else
enum { DEPTH_MAX = 32 << 10 }; /* half for tables, the other half for the C library */
#endif

enum { STACK_SIZE = 2 << 20, PAINT = 0x5A };

static void *fill(void *argument)
{
    const struct viewed *viewed = argument;
    struct pe_error err = {0};

    if (viewed)
        pe_view_fill(viewed->opened.view, 0, 0, viewed->output->rows, viewed->data, NULL, &err);
    return NULL;
}

/* The bytes of stack used by a thread that fills rows of a view, or does nothing. */
static size_t depth_of(struct viewed *viewed)
{
    unsigned char *stack =
        mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    size_t free_bytes = 0;

    ck_assert_ptr_ne(stack, MAP_FAILED);
    memset(stack, PAINT, STACK_SIZE);
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, stack, STACK_SIZE), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, fill, viewed), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (free_bytes < STACK_SIZE && stack[free_bytes] == PAINT)
        free_bytes++;
    munmap(stack, STACK_SIZE);
    return STACK_SIZE - free_bytes;
}

static void check_depth(const char *encoding, const char *text, const char *view)
{
    OWNED_VIEWED viewed = viewed_new(encoding, text, "table", view, NULL, PE_F32);
    const size_t without = depth_of(NULL), with = depth_of(&viewed);

    printf("%s %s: %zu bytes of stack\n", encoding, view, with - without);
    ck_assert_uint_gt(with, without + 4096); /* something was measured */
    ck_assert_uint_lt(with, without + DEPTH_MAX);
}

TEST(tables)
{
    check_depth("rope", "dim=128", "length=2000");
    check_depth("sinusoidal", "dim=512", "length=2000 start=0.5");
    check_depth("mrope", "dim=128 mrope_section=24,20,20 mrope_interleaved=true",
                "positions=0..499;3..502;7..506");
}
