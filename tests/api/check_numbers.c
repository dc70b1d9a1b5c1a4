/* SPDX-License-Identifier: MIT */

/* Prints all 2^32 f32 as JSON and reads them back, by the functions of answers and bodies: the bits
 * are the same, no decimal of fewer digits reads back, and none of as many digits is nearer. Prints
 * one line; the exit code is the result.
 *
 * The decimals that read back as a value are an interval, so if one of one digit less is in it, one
 * of the two neighbours of the printed decimal is. */

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "api/numbers/decimal.h"
#include "api/numbers/shortest.h"
#include "tests/api/numbers.h"

enum { BATCH = 1 << 14, THREADS_MAX = 64 };
#define NUMBERS (UINT64_C(1) << 32)

static _Atomic uint64_t next, wrong;
static long double powers[128]; /* 10^(i - 64) */

static void report(uint32_t bits, const char *what)
{
    if (atomic_fetch_add(&wrong, 1) < 20)
        printf("%08x %s\n", bits, what);
}

static uint32_t read_back(uint64_t digits, int exponent)
{
    const struct api_decimal decimal = {.digits = digits, .exponent = exponent};
    const struct api_binary to = api_binary_of(PE_F32);
    uint64_t bits;

    if (digits > 0 && api_decimal_quick(digits, exponent, to, &bits))
        return (uint32_t)bits;
    return api_decimal_round(&decimal, to, &bits) ? (uint32_t)bits : UINT32_MAX;
}

/* Of a finite positive number. */
static void shortest_check(uint32_t bits)
{
    struct api_shortest shortest = api_shortest_f32(bits);

    while (shortest.digits % 10 == 0) {
        shortest.digits /= 10;
        shortest.exponent++;
    }
    const uint64_t digits = shortest.digits, tens = digits / 10;
    const int exponent = shortest.exponent;
    if (digits >= 10 &&
        (read_back(tens, exponent + 1) == bits || read_back(tens + 1, exponent + 1) == bits))
        report(bits, "has fewer digits");
    /* The distance in units of the last digit; the sum of all errors is below
     * 1e-9 of one. */
    const long double place =
        (long double)f32_of(bits) * powers[64 - exponent] - (long double)digits;
    if ((place > 0.500001L && read_back(digits + 1, exponent) == bits) ||
        (place < -0.500001L && read_back(digits - 1, exponent) == bits))
        report(bits, "has a nearer one");
}

static void batch_check(uint32_t first)
{
    static _Thread_local char text[BATCH * 24];
    static _Thread_local uint32_t numbers[BATCH], back[BATCH];
    struct api_json_run run = {
        .at = (unsigned char *)text, .out = (unsigned char *)back, .capacity = BATCH};
    char *end;

    for (uint32_t i = 0; i < BATCH; i++)
        numbers[i] = first + i;
    end = api_numbers_print(text, PE_F32, numbers, BATCH, false);
    *end = ']';
    run.end = (unsigned char *)end + 1;
    if (api_json_run_read(&run, PE_F32) || run.count != BATCH || run.at != (unsigned char *)end) {
        report(first + (uint32_t)run.count, "cannot be read");
        return;
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        const uint32_t magnitude = numbers[i] & 0x7fffffff;
        if (magnitude > 0x7f800000 ? !isnan(f32_of(back[i])) : back[i] != numbers[i])
            report(numbers[i], "is not read back");
        if (numbers[i] > 0 && numbers[i] < 0x7f800000)
            shortest_check(numbers[i]);
    }
}

static void *part_run(void *unused)
{
    uint64_t first;

    while ((first = atomic_fetch_add(&next, BATCH)) < NUMBERS)
        batch_check((uint32_t)first);
    return unused;
}

int main(void)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int count = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (int)cpus;
    pthread_t threads[THREADS_MAX];

    for (int i = 0; i < 128; i++)
        powers[i] = powl(10, i - 64);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, part_run, NULL) != 0) {
            perror("pthread_create");
            return 2;
        }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    if (wrong > 0) {
        printf("%llu of 2^32 f32 went wrong\n", (unsigned long long)wrong);
        return 1;
    }
    printf("ok numbers: all 2^32 f32 are read back, shortest and nearest\n");
    return 0;
}
