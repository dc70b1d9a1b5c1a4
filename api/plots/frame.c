/* SPDX-License-Identifier: MIT */
#include "api/plots/frame.h"

#include <stdio.h>
#include <string.h>

#include "api/drawing/svg.h"
#include "api/response/blocks.h"

/* ---- style ---------------------------------------------------------------------------------- */

enum theme { LIGHT, DARK, AUTO };

/* Paper, ink, words beside it, grid, axis; then curves, in an order in which neighbours differ for
 * eyes that tell few colours too. */
static const char *const colours[][5 + API_CURVES_MAX] = {
    [LIGHT] = {"#ffffff", "#1d2433", "#566073", "#e6e9f0", "#a3abba", "#0b67b2", "#d2570b",
               "#0d8a66", "#b5478f", "#8a6d0b", "#3aa5d9", "#6a4bb0", "#6b6f78"},
    [DARK] = {"#12161f", "#e9ecf3", "#9fa9bb", "#262d3a", "#596375", "#59aef2", "#ff9248",
              "#35cba0", "#ec8fce", "#dfb63f", "#8ed6ff", "#b398ee", "#b7bcc6"},
};

static void theme_put(struct api_text *svg, enum theme theme)
{
    const char *const *c = colours[theme];

    api_svg_put(svg,
                ".paper{fill:@}text{fill:@}.m{fill:@}.grid{stroke:@}.axis{stroke:@}"
                ".c0{stroke:@}.f0{fill:@}.halo{stroke:@}",
                c[0], c[1], c[2], c[3], c[4], c[5], c[5], c[0]);
    for (int i = 1; i < API_CURVES_MAX; i++)
        api_text_print(svg, ".c%d{stroke:%s}.f%d{fill:%s}", i, c[5 + i], i, c[5 + i]);
}

static void style_put(struct api_text *svg, enum theme theme)
{
    api_text_put(svg, "<style>text{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,"
                      "\"Noto Sans\",\"PingFang SC\",\"Microsoft YaHei\",\"Noto Sans CJK SC\","
                      "sans-serif;font-variant-numeric:tabular-nums}"
                      ".t{font-size:16px;font-weight:600}.e{text-anchor:end}.mid{text-anchor:"
                      "middle}.grid,.axis{stroke-width:1;fill:none}.curve{fill:none;"
                      "stroke-width:1.75;stroke-linejoin:round}.dash{stroke-dasharray:5 4}"
                      ".faded{opacity:.32}image{image-rendering:pixelated}");
    theme_put(svg, theme == DARK ? DARK : LIGHT);
    if (theme == AUTO) {
        api_text_put(svg, "@media(prefers-color-scheme:dark){");
        theme_put(svg, DARK);
        api_text_put(svg, "}");
    }
    api_text_put(svg, "</style>\n");
}

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

/* Text that ends in dots where it is wider than its line. */
static void line_put(struct api_drawing *drawing, double y, double size, const char *class,
                     const char *text)
{
    const double most = (drawing->width - 2 * API_PAD) / size;
    const bool whole = api_svg_width(text) <= most;
    const char *shown = whole ? text
                              : api_arena_print(drawing->request->arena, "%.*s…",
                                                (int)api_svg_fit(text, most - 1), text);

    api_svg_put(drawing->svg, "<text x=\"$\" y=\"$\" class=\"@\">@</text>\n", (double)API_PAD, y,
                class, shown ? shown : "");
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
    text = api_text_take(&line, drawing->request->arena);
    drawing->svg->failed |= !text;
    line_put(drawing, 52, 12, "m", text ? text : "");
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

/* Where the picture is from, for whoever finds the file alone. */
static void source_put(struct api_drawing *drawing)
{
    struct api_text json = {0};
    const char *encoding;

    if (drawing->plot->url)
        api_svg_put(drawing->svg, "<desc>@</desc>\n", drawing->plot->url);
    if (!drawing->result->encoding)
        return;
    api_text_json(&json, drawing->result->encoding, false);
    encoding = api_text_take(&json, drawing->request->arena);
    drawing->svg->failed |= !encoding;
    api_svg_put(drawing->svg, "<metadata>@</metadata>\n", encoding ? encoding : "");
}

void api_frame_begin(struct api_drawing *drawing)
{
    struct api_text *svg = drawing->svg;

    api_svg_put(svg,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"$\" height=\"$\" "
                "viewBox=\"0 0 $ $\" role=\"img\" xml:lang=\"@\">\n<title>@</title>\n",
                drawing->width, drawing->height, drawing->width, drawing->height,
                drawing->language == API_CHINESE ? "zh-CN" : "en", title_of(drawing));
    source_put(drawing);
    style_put(svg, (enum theme)pe_param_number(&drawing->plot->params, "theme"));
    api_text_put(svg, "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    line_put(drawing, 31, 16, "t", title_of(drawing));
    notes_put(drawing);
}

void api_frame_end(struct api_drawing *drawing)
{
    api_text_put(drawing->svg, "</svg>\n");
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
        const double width = api_svg_width(axis->ticks.list[i].label);
        most = width > most ? width : most;
    }
    return API_PAD + 12 * most + 8 + (axis->label ? 20 : 0);
}

void api_axis_x(struct api_drawing *drawing, const struct api_box *box, const struct api_axis *axis,
                bool lines)
{
    const double bottom = box->y + box->height;

    for (size_t i = 0; i < axis->ticks.count; i++) {
        const struct api_tick *tick = &axis->ticks.list[i];
        const double x = api_axis_at(axis, tick->value, box->x, box->width);
        if (lines)
            api_svg_put(drawing->svg, "<path class=\"grid\" d=\"M$ $V$\"/>\n", x, box->y, bottom);
        api_svg_put(drawing->svg,
                    "<path class=\"axis\" d=\"M$ $v4\"/><text class=\"m mid\" x=\"$\" "
                    "y=\"$\">@</text>\n",
                    x, bottom, x, bottom + 18, tick->label);
    }
    if (axis->label)
        api_svg_put(drawing->svg, "<text class=\"m mid\" x=\"$\" y=\"$\">@</text>\n",
                    box->x + box->width / 2, bottom + 37, axis->label);
}

void api_axis_y(struct api_drawing *drawing, const struct api_box *box, const struct api_axis *axis,
                bool lines)
{
    for (size_t i = 0; i < axis->ticks.count; i++) {
        const struct api_tick *tick = &axis->ticks.list[i];
        const double y = api_axis_at(axis, tick->value, box->y, box->height);
        if (lines)
            api_svg_put(drawing->svg, "<path class=\"grid\" d=\"M$ $H$\"/>\n", box->x, y,
                        box->x + box->width);
        api_svg_put(drawing->svg,
                    "<path class=\"axis\" d=\"M$ $h-4\"/><text class=\"m e\" x=\"$\" "
                    "y=\"$\">@</text>\n",
                    box->x, y, box->x - 8, y + 4, tick->label);
    }
    if (axis->label)
        api_svg_put(drawing->svg,
                    "<text class=\"m mid\" transform=\"translate($ $) rotate(-90)\">@</text>\n",
                    box->x - api_axis_room(axis) + API_PAD + 9, box->y + box->height / 2,
                    axis->label);
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
        api_fail(drawing->err, API_OUT_OF_MEMORY, "", "no memory for the picture");
        return NULL;
    }
    if (row_end > row_begin && from->row_elements > 0 &&
        !api_rows_get(drawing->result, output, row_begin, row_end, bytes)) {
        if (!pe_work_check(drawing->request->work, &drawing->err->core))
            api_fail(drawing->err, API_OUT_OF_MEMORY, "", "the values could not be made");
        return NULL;
    }
    pe_to_f64(numbers, bytes, from->dtype, count);
    api_arena_room_drop(arena, bytes);
    return numbers;
}
