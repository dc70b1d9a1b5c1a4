/* SPDX-License-Identifier: MIT */
#include "api/pictures/drawing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/numbers/print.h"
#include "api/pictures/font.h"
#include "api/response/blocks.h"

/* ---- ticks ---------------------------------------------------------------------------------- */

#define LN_10     2.302585092994045684
#define LOG10_2   0.301029995663981195
#define ROOT_HALF 0.70710678118654752

/* value = m 2^e with m near 1, and log m = 2 artanh((m - 1) / (m + 1)), whose terms fall by a
 * factor of 34 each. */
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

/* 10^exponent, exact up to 10^22. */
static double power_of_ten(int exponent)
{
    double power = 1;

    for (int i = 0; i < exponent; i++)
        power *= 10;
    return power;
}

/* count * 10^exponent, in one rounding for |exponent| <= 22. */
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

void api_ticks_linear(struct api_ticks *ticks, double least, double most, size_t wanted,
                      bool integers)
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
    if (integers && exponent < 0) {
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

/* 1, 2 and 5 times powers of ten, labelled by their digits. */
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

/* ---- words ---------------------------------------------------------------------------------- */

const char *api_drawing_word(struct api_drawing *drawing, enum api_label label)
{
    return api_label(drawing->language, label);
}

void api_drawing_note(struct api_drawing *drawing, const char *note)
{
    if (note && drawing->notes_count < sizeof(drawing->notes) / sizeof(drawing->notes[0]))
        drawing->notes[drawing->notes_count++] = note;
}

void api_drawing_write(struct api_drawing *drawing, enum api_ink ink, enum api_anchor anchor,
                       double x, double y, const char *text)
{
    drawing->canvas->type->text(drawing->canvas, (struct api_writing){.ink = ink, .anchor = anchor},
                                (struct api_point){x, y}, text);
}

/* A line of text, which ends in an ellipsis if it is too wide. */
static void line_put(struct api_drawing *drawing, double y, bool title, const char *text)
{
    const int size = title ? API_TITLE_SIZE : API_TEXT_SIZE;
    const double most = (drawing->width - 2 * API_PAD) / size;
    const struct api_writing writing = {.ink = title ? API_TEXT : API_MUTED, .title = title};
    const bool fits = api_text_width(text, title) <= most;
    const char *shown = fits ? text
                             : api_arena_print(drawing->request->arena, "%.*s…",
                                               (int)api_text_fit(text, title, most - 1), text);

    drawing->canvas->type->text(drawing->canvas, writing, (struct api_point){API_PAD, y},
                                shown ? shown : "");
}

/* "65536 × 512 pooled · dim 512 · base 10000": notes first, since a long line is cut. */
static void notes_put(struct api_drawing *drawing)
{
    struct api_text line = {0};
    const char *name, *text;
    json_t *value;

    for (size_t i = 0; i < drawing->notes_count; i++)
        api_text_print(&line, "%s%s", line.size > 0 ? " · " : "", drawing->notes[i]);
    json_object_foreach(drawing->result->encoding, name, value)
    {
        if (strcmp(name, "name") == 0 || json_is_array(value))
            continue;
        api_text_print(&line, "%s%s ", line.size > 0 ? " · " : "", name);
        if (json_is_string(value))
            api_text_put(&line, json_string_value(value));
        else
            api_text_json(&line, value, false);
    }
    api_text_add(&line, "", 0); /* an encoding may have no parameters */
    text = api_text_take(&line, drawing->request->arena);
    drawing->canvas->failed |= !text;
    line_put(drawing, 52, false, text ? text : "");
}

static const char *title_of(struct api_drawing *drawing)
{
    const char *title = pe_param_text(&drawing->plot->params, "title");

    if (title)
        return title;
    title = api_arena_print(drawing->request->arena, "%s · %s", drawing->plot->name,
                            drawing->plot->view);
    return title ? title : "";
}

/* The file contains its URL and encoding too, so that it remains traceable. */
void api_drawing_begin(struct api_drawing *drawing)
{
    struct api_text json = {0};
    struct api_page page = {
        .width = drawing->width,
        .height = drawing->height,
        .theme = (enum api_theme)pe_param_number(&drawing->plot->params, "theme"),
        .language = drawing->language,
        .title = title_of(drawing),
        .url = drawing->plot->url,
    };

    if (drawing->result->encoding) {
        api_text_json(&json, drawing->result->encoding, false);
        page.encoding = api_text_take(&json, drawing->request->arena);
        drawing->canvas->failed |= !page.encoding;
    }
    drawing->canvas->type->begin(drawing->canvas, &page);
    line_put(drawing, 31, true, page.title);
    notes_put(drawing);
}

/* ---- axes ----------------------------------------------------------------------------------- */

double api_axis_at(const struct api_axis *axis, double value, double begin, double length)
{
    const double range = axis->last - axis->first;

    return begin + (range != 0 ? (value - axis->first) / range : 0.5) * length;
}

double api_axis_width(const struct api_axis *axis)
{
    double most = 0;

    for (size_t i = 0; i < axis->ticks.count; i++) {
        const double width = api_text_width(axis->ticks.list[i].label, false);
        most = width > most ? width : most;
    }
    return API_PAD + 12 * most + 8 + (axis->label ? 20 : 0);
}

void api_axis_x(struct api_drawing *drawing, const struct api_box *box, const struct api_axis *axis,
                bool open)
{
    const double bottom = box->y + box->height;

    if (open)
        api_line_draw(drawing->canvas, API_AXIS, (struct api_point){box->x, bottom},
                      (struct api_point){box->x + box->width, bottom});
    for (size_t i = 0; i < axis->ticks.count; i++) {
        const struct api_tick *tick = &axis->ticks.list[i];
        const double x = api_axis_at(axis, tick->value, box->x, box->width);
        api_line_draw(drawing->canvas, API_AXIS, (struct api_point){x, bottom},
                      (struct api_point){x, bottom + 4});
        api_drawing_write(drawing, API_MUTED, API_MIDDLE, x, bottom + 18, tick->label);
    }
    if (axis->label)
        api_drawing_write(drawing, API_MUTED, API_MIDDLE, box->x + box->width / 2, bottom + 37,
                          axis->label);
}

void api_axis_y(struct api_drawing *drawing, const struct api_box *box, const struct api_axis *axis,
                bool open)
{
    const struct api_writing upwards = {.ink = API_MUTED, .anchor = API_MIDDLE, .upwards = true};
    const struct api_point aside = {box->x - api_axis_width(axis) + API_PAD + 9,
                                    box->y + box->height / 2};

    for (size_t i = 0; i < axis->ticks.count; i++) {
        const struct api_tick *tick = &axis->ticks.list[i];
        const double y = api_axis_at(axis, tick->value, box->y, box->height);
        if (open)
            api_line_draw(drawing->canvas, API_GRID, (struct api_point){box->x, y},
                          (struct api_point){box->x + box->width, y});
        else
            api_line_draw(drawing->canvas, API_AXIS, (struct api_point){box->x, y},
                          (struct api_point){box->x - 4, y});
        api_drawing_write(drawing, API_MUTED, API_END, box->x - 8, y + 4, tick->label);
    }
    if (axis->label)
        drawing->canvas->type->text(drawing->canvas, upwards, aside, axis->label);
}

/* ---- numbers -------------------------------------------------------------------------------- */

double *api_drawing_memory(struct api_drawing *drawing, size_t count)
{
    double *numbers =
        (double *)(void *)api_arena_buffer(drawing->request->arena, (count + 1) * sizeof(*numbers));

    if (!numbers)
        pe_fail(drawing->err, PE_OUT_OF_MEMORY, "", "no memory for the picture");
    return numbers;
}

double *api_plot_numbers(struct api_drawing *drawing, size_t output, size_t row_begin,
                         size_t row_end)
{
    const struct pe_output *from = &drawing->result->outputs[output];
    const size_t count = (row_end - row_begin) * from->row_elements;
    struct api_arena *arena = drawing->request->arena;
    double *numbers = api_drawing_memory(drawing, count);
    unsigned char *bytes =
        numbers ? api_arena_buffer(arena, count * pe_dtype_info(from->dtype)->size + 64) : NULL;

    if (numbers && !bytes)
        pe_fail(drawing->err, PE_OUT_OF_MEMORY, "", "no memory for the picture");
    if (!bytes)
        return NULL;
    if (row_end > row_begin && from->row_elements > 0 &&
        !api_rows_get(drawing->result, output, row_begin, row_end, bytes)) {
        if (!pe_work_check(drawing->request->work, drawing->err))
            pe_fail(drawing->err, PE_OUT_OF_MEMORY, "", "the values could not be made");
        return NULL;
    }
    pe_to_f64(numbers, bytes, from->dtype, count);
    api_arena_buffer_drop(arena, bytes);
    return numbers;
}

/* ---- drawing -------------------------------------------------------------------------------- */

enum pe_status api_plot_draw(struct api_request *request, struct api_result *result,
                             struct api_canvas *canvas, struct pe_error *err)
{
    static enum pe_status (*const marks[])(struct api_drawing *) = {
        [API_HEATMAP] = api_heatmap_draw,   [API_CURVES] = api_curves_draw,
        [API_POINTS] = api_points_draw,     [API_CIRCLE] = api_circle_draw,
        [API_SPECTRUM] = api_spectrum_draw, [API_ROWS] = api_curves_draw,
    };
    const struct api_plot *plot = result->plot;
    struct api_drawing drawing = {
        .canvas = canvas,
        .request = request,
        .result = result,
        .plot = plot,
        .err = err,
        .language = (enum api_language)pe_param_number(&plot->params, "lang"),
        .width = pe_param_number(&plot->params, "plot_width"),
        .height = pe_param_number(&plot->params, "plot_height"),
    };

    if (marks[plot->mark](&drawing))
        return err->status;
    canvas->type->end(canvas);
    if (!canvas->failed || pe_work_check(request->work, err))
        return err->status;
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the picture");
}
