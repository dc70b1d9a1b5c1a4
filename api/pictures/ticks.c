/* SPDX-License-Identifier: MIT */
#include "api/pictures/ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/numbers/print.h"

#define LN_10     2.302585092994045684
#define LOG10_2   0.301029995663981195
#define ROOT_HALF 0.70710678118654752

/* value = m 2^e with m near 1; log m = 2 artanh((m - 1) / (m + 1)), whose terms fall by 34 each. */
double api_log10(double value)
{
    enum { TERMS = 12 };
    int exponent;
    double m = frexp(value, &exponent), t, square, sum = 0;

    if (m < ROOT_HALF) {
        m *= 2;
        exponent--;
    }
    t = (m - 1) / (m + 1);
    square = t * t;
    for (int i = TERMS; i >= 0; i--)
        sum = sum * square + 1.0 / (2 * i + 1);
    return (double)exponent * LOG10_2 + 2 * t * sum / LN_10;
}

void api_tick_print(char label[API_TICK_SIZE], double value)
{
    static const char minus[] = "\xe2\x88\x92";
    char digits[API_NUMBER_MAX];

    api_double_print(digits, value + 0.0);
    snprintf(label, API_TICK_SIZE, "%s%.30s", *digits == '-' ? minus : "",
             digits + (*digits == '-'));
}

/* Ten to the power, by exact doubles where that is possible. */
static double power_of_ten(int exponent)
{
    double power = 1;

    for (int i = 0; i < exponent; i++)
        power *= 10;
    return power;
}

/* count times mantissa times ten to the exponent, rounded once for all but the largest. */
static double multiple(double count, int exponent)
{
    return exponent < 0 ? count / power_of_ten(-exponent) : count * power_of_ten(exponent);
}

static void tick_add(struct api_ticks *ticks, double value)
{
    if (ticks->count == API_TICKS_MAX)
        return;
    ticks->list[ticks->count].value = value;
    api_tick_print(ticks->list[ticks->count++].label, value);
}

void api_ticks_linear(struct api_ticks *ticks, double least, double most, size_t wanted, bool whole)
{
    static const int steps[] = {1, 2, 5, 10};
    const double rough = (most - least) / (double)(wanted > 0 ? wanted : 1);
    int exponent, choice = 0;
    double step;

    ticks->count = 0;
    if (!(rough > 0) || !isfinite(rough)) {
        tick_add(ticks, least);
        return;
    }
    exponent = (int)floor(api_log10(rough));
    while (choice < 3 && multiple(steps[choice], exponent) < rough)
        choice++;
    if (whole && exponent < 0) {
        exponent = 0;
        choice = 0;
    }
    step = multiple(steps[choice], exponent);
    for (double i = ceil(least / step - 1e-9); i * step <= most + step * 1e-9; i++) {
        if (ticks->count == API_TICKS_MAX)
            return;
        tick_add(ticks, multiple(i * steps[choice], exponent));
    }
}

/* 1, 2 and 5 times powers of ten, with their digits. */
static void fractions_add(struct api_ticks *ticks, double least, double most)
{
    static const int factors[] = {1, 2, 5};

    for (int exponent = (int)floor(least); exponent <= most; exponent++)
        for (int i = 0; i < 3; i++) {
            const double value = multiple(factors[i], exponent), at = api_log10(value);
            if (at < least || at > most || ticks->count == API_TICKS_MAX)
                continue;
            ticks->list[ticks->count].value = at;
            api_tick_print(ticks->list[ticks->count++].label, value);
        }
}

void api_ticks_decades(struct api_ticks *ticks, double least, double most, size_t wanted)
{
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    const int first = (int)ceil(least), last = (int)floor(most);
    const int step = 1 + (last - first) / (int)(wanted > 0 ? wanted : 1);

    ticks->count = 0;
    if (last - first < 2)
        fractions_add(ticks, least, most);
    for (int at = first; last - first >= 2 && at <= last && ticks->count < API_TICKS_MAX;
         at += step) {
        struct api_tick *tick = &ticks->list[ticks->count++];
        char digits[16];
        tick->value = at;
        snprintf(tick->label, sizeof(tick->label), "10%s", at < 0 ? "⁻" : "");
        snprintf(digits, sizeof(digits), "%d", at < 0 ? -at : at);
        for (const char *digit = digits; *digit; digit++)
            strcat(tick->label, raised[*digit - '0']);
    }
}
