/* SPDX-License-Identifier: MIT */
#include "api/drawing/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void api_svg_escape(struct api_text *text, const char *foreign)
{
    static const struct {
        char sign;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

    while (*foreign) {
        const size_t plain = strcspn(foreign, "&<>\"'");
        api_text_add(text, foreign, plain);
        foreign += plain;
        for (size_t i = 0; *foreign && i < sizeof(entities) / sizeof(entities[0]); i++)
            if (*foreign == entities[i].sign)
                api_text_put(text, entities[i].entity);
        foreign += *foreign != '\0';
    }
}

/* Hundredths, without zeros behind the last digit. */
static void coordinate_put(struct api_text *text, double value)
{
    const long long hundredths = (long long)floor(value * 100 + 0.5);
    const long long size = llabs(hundredths);

    api_text_print(text, "%s%lld", hundredths < 0 ? "-" : "", size / 100);
    if (size % 100 > 0)
        api_text_print(text, size % 10 > 0 ? ".%02lld" : ".%lld",
                       size % 10 > 0 ? size % 100 : size % 100 / 10);
}

void api_svg_put(struct api_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    while (*format) {
        const size_t plain = strcspn(format, "$@");
        api_text_add(text, format, plain);
        format += plain;
        if (*format == '$')
            coordinate_put(text, va_arg(args, double));
        else if (*format == '@')
            api_svg_escape(text, va_arg(args, const char *));
        format += *format != '\0';
    }
    va_end(args);
}

/* Of the character that begins here, and *size of its bytes. Those of East Asia, from U+2E80 on,
 * are as wide as high. */
static double character_width(const char *at, size_t *size)
{
    const unsigned char first = (unsigned char)*at;

    *size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    *size = strnlen(at, *size);
    if (first >= 0xe3 || (first == 0xe2 && (unsigned char)at[1] >= 0xba))
        return 1;
    return strchr("iljt.,:;|!' ()[]I", first) && first ? 0.32 : 0.58;
}

size_t api_svg_fit(const char *text, double most)
{
    const char *at = text;
    double width = 0;

    while (*at) {
        size_t size;
        width += character_width(at, &size);
        if (width > most)
            break;
        at += size;
    }
    return (size_t)(at - text);
}

double api_svg_width(const char *text)
{
    double width = 0;

    while (*text) {
        size_t size;
        width += character_width(text, &size);
        text += size;
    }
    return width;
}
