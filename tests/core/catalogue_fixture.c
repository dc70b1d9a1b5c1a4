/* SPDX-License-Identifier: MIT */
#include "tests/core/catalogue_fixture.h"

enum { TEXT_MAX = 200, ROWS = 200, WIDTH = 6 };

static const char *const places[] = {
    "length=70",
    "length=150 start=5",
    "length=70 start=-3.5 step=0.75",
    "length=9 start=-9007199254740991 step=70000000000001",
    "positions=5,0,7..9,3",
    "length=33 part=complex",
    "length=33 start=0.5 part=sin duplicate=true",
    "length=33 side=k",
    "query_length=7 key_length=9",
    "query_length=7 key_length=40 query_start=-5",
    "query_length=7 key_length=40 query_start=9007199254740000 causal=true",
    "max_offset=90 min_offset=-7",
    "width=5 height=7",
    "width=5 height=7 part=complex",
    "positions=1,2,0.5;5,-3,9",
    "positions=1,2;5,-3;4,4",
    "shape=5,3,2",
    "coordinates=0,0,0,1,0.5,2,-1,0,9",
};

static bool encoding_takes(const struct pe_encoding *encoding, const char *name)
{
    const struct pe_encoding_info *info = pe_encoding_info(encoding);

    for (size_t i = 0; i < info->params_count; i++)
        if (strcmp(info->params[i].name, name) == 0)
            return true;
    return false;
}

bool request_takes(const struct request *request, const char *name)
{
    const struct pe_encoding *encoding = pe_encoding_find(request->encoding);
    const struct pe_view_info *info = pe_view_info(pe_encoding_view(encoding, request->view));

    for (size_t i = 0; i < info->params_count; i++)
        if (strcmp(info->params[i].name, name) == 0)
            return true;
    return false;
}

/* An example's pairs: those of the encoding, or those of the view. `times` widens what they say of
 * dim. */
static void pairs_take(char *out, const char *example, const struct pe_encoding *encoding,
                       bool of_encoding, size_t times)
{
    char copy[TEXT_MAX], name[64], *rest = copy;
    size_t used = strlen(out);

    snprintf(copy, sizeof(copy), "%s", example ? example : "");
    for (char *pair; (pair = strsep(&rest, "&"));) {
        if (sscanf(pair, "%63[^=]", name) != 1 || encoding_takes(encoding, name) != of_encoding)
            continue;
        if (strcmp(name, "dim") == 0)
            used += (size_t)snprintf(out + used, TEXT_MAX - used, " dim=%zu",
                                     (size_t)atoi(pair + 4) * times);
        else
            used += (size_t)snprintf(out + used, TEXT_MAX - used, " %s", pair);
    }
}

static bool takes_all(const struct request *request, const char *text)
{
    char name[64];

    for (int used; sscanf(text, " %63[^=]=%*s%n", name, &used) == 1; text += used)
        if (!request_takes(request, name))
            return false;
    return true;
}

/* Is it granted? */
static bool opens(const struct request *request)
{
    struct pe_error err = {0};
    struct opened opened;
    const bool yes = !request_try(request, &opened, &err);

    opened_free(&opened);
    return yes;
}

/* One view at its example and elsewhere. */
static size_t view_walk(struct request *request, void (*check)(const struct request *))
{
    const struct pe_encoding *encoding = pe_encoding_find(request->encoding);
    const struct pe_view_info *info = pe_view_info(pe_encoding_view(encoding, request->view));
    size_t checked = 0;

    for (size_t times = 1; times <= 3; times += 2) {
        char text[TEXT_MAX] = "", own[TEXT_MAX] = "";
        pairs_take(text, pe_encoding_info(encoding)->example, encoding, true, times);
        pairs_take(text, info->example, encoding, true, times);
        pairs_take(own, info->example, encoding, false, 1);
        request->text = text;
        request->view_text = own;
        ck_assert_msg(times > 1 || opens(request), "%s %s: its example is refused",
                      request->encoding, request->view);
        for (size_t i = 0; i <= sizeof(places) / sizeof(places[0]); i++) {
            request->view_text = i == 0 ? own : places[i - 1];
            if (takes_all(request, request->view_text) && opens(request)) {
                check(request);
                checked++;
            }
        }
    }
    return checked;
}

size_t catalogue_walk(void (*check)(const struct request *request))
{
    static double values[ROWS * WIDTH];
    const struct pe_tensor table = {
        .dtype = PE_F64, .rank = 2, .shape = {ROWS, WIDTH}, .data = values};
    const struct pe_encoding *encoding;
    const struct pe_view_type *type;
    size_t checked = 0;

    for (size_t i = 0; i < ROWS * WIDTH; i++)
        values[i] = ldexp((double)(i * 7919 % 1009) - 500, -9) / 3;
    for (size_t e = 0; (encoding = pe_encoding_at(e)); e++)
        for (size_t v = 0; (type = pe_encoding_view_at(encoding, v)); v++) {
            const bool learned = pe_encoding_has(encoding, PE_KIND_LEARNED);
            struct request request = {.encoding = pe_encoding_info(encoding)->name,
                                      .view = pe_view_info(type)->name,
                                      .learned = learned ? &table : NULL};
            checked += view_walk(&request, check);
        }
    return checked;
}

char *output_whole(const struct pe_view *view, size_t index, size_t *row)
{
    const struct pe_output *output = pe_view_output(view, index);
    char *data;

    *row = output->row_elements * pe_dtype_info(output->dtype)->size;
    data = malloc(output->rows * *row + 1);
    data[output->rows * *row] = 0x5a;
    rows_fill(view, index, 0, output->rows, data);
    ck_assert_int_eq(data[output->rows * *row], 0x5a);
    return data;
}
