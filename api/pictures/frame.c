/* SPDX-License-Identifier: MIT */
#include "api/pictures/frame.h"

#include <stdio.h>
#include <string.h>

#include "api/pictures/font.h"
#include "api/response/blocks.h"

/* ---- words ---------------------------------------------------------------------------------- */

const char *api_words(struct api_drawing *drawing, enum api_label label)
{
    return api_label(drawing->language, label);
}

void api_frame_note(struct api_drawing *drawing, const char *note)
{
    if (note && drawing->notes_count < sizeof(drawing->notes) / sizeof(drawing->notes[0]))
        drawing->notes[drawing->notes_count++] = note;
}

void api_frame_write(struct api_drawing *drawing, enum api_ink ink, enum api_anchor anchor,
                     double x, double y, const char *text)
{
    drawing->canvas->type->text(drawing->canvas, (struct api_writing){.ink = ink, .anchor = anchor},
                                (struct api_point){x, y}, text);
}

/* Text that ends in dots where it is wider than its line. */
static void line_put(struct api_drawing *drawing, double y, bool title, const char *text)
{
    const int size = title ? API_TITLE_SIZE : API_TEXT_SIZE;
    const double most = (drawing->width - 2 * API_PAD) / size;
    const struct api_writing writing = {.ink = title ? API_TEXT : API_MUTED, .title = title};
    const bool whole = api_text_width(text, title) <= most;
    const char *shown = whole ? text
                              : api_arena_print(drawing->request->arena, "%.*s…",
                                                (int)api_text_fit(text, title, most - 1), text);

    drawing->canvas->type->text(drawing->canvas, writing, (struct api_point){API_PAD, y},
                                shown ? shown : "");
}

/* "65536 × 512 pooled · dim 512 · base 10000": where the line is cut, parameters go first. */
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

/* Says where the picture is from too, for whoever finds the file alone. */
void api_frame_begin(struct api_drawing *drawing)
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

double api_axis_room(const struct api_axis *axis)
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
        api_frame_write(drawing, API_MUTED, API_MIDDLE, x, bottom + 18, tick->label);
    }
    if (axis->label)
        api_frame_write(drawing, API_MUTED, API_MIDDLE, box->x + box->width / 2, bottom + 37,
                        axis->label);
}

void api_axis_y(struct api_drawing *drawing, const struct api_box *box, const struct api_axis *axis,
                bool open)
{
    const struct api_writing upwards = {.ink = API_MUTED, .anchor = API_MIDDLE, .upwards = true};
    const struct api_point aside = {box->x - api_axis_room(axis) + API_PAD + 9,
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
        api_frame_write(drawing, API_MUTED, API_END, box->x - 8, y + 4, tick->label);
    }
    if (axis->label)
        drawing->canvas->type->text(drawing->canvas, upwards, aside, axis->label);
}

/* ---- numbers -------------------------------------------------------------------------------- */

double *api_plot_numbers(struct api_drawing *drawing, size_t output, size_t row_begin,
                         size_t row_end)
{
    const struct pe_output *from = &drawing->result->outputs[output];
    const size_t count = (row_end - row_begin) * from->row_elements;
    struct api_arena *arena = drawing->request->arena;
    unsigned char *bytes = api_arena_room(arena, count * pe_dtype_info(from->dtype)->size + 64);
    double *numbers =
        (double *)(void *)api_arena_room(arena, count * sizeof(*numbers) + sizeof(*numbers));

    if (!bytes || !numbers) {
        pe_fail(drawing->err, PE_OUT_OF_MEMORY, "", "no memory for the picture");
        return NULL;
    }
    if (row_end > row_begin && from->row_elements > 0 &&
        !api_rows_get(drawing->result, output, row_begin, row_end, bytes)) {
        if (!pe_work_check(drawing->request->work, drawing->err))
            pe_fail(drawing->err, PE_OUT_OF_MEMORY, "", "the values could not be made");
        return NULL;
    }
    pe_to_f64(numbers, bytes, from->dtype, count);
    api_arena_room_drop(arena, bytes);
    return numbers;
}
