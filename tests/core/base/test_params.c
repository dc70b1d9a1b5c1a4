/* SPDX-License-Identifier: MIT */

/* Every parameter of every encoding and view accepts its valid values and refuses others by name.
 * The cases are generated from the descriptions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/views/view.h"
#include "tests/check_main.h"

static unsigned long cases;

static enum pe_status set_one(const struct pe_param *param, const char *text, struct pe_error *err)
{
    struct pe_params params;

    *err = (struct pe_error){0};
    pe_params_init(&params, param, 1);
    pe_params_set_text(&params, 0, text, err);
    pe_params_free(&params);
    cases++;
    return err->status;
}

static void expect_refused(const struct pe_param *param, const char *text)
{
    struct pe_error err;
    char where[96];

    snprintf(where, sizeof(where), "parameter:%s", param->name);
    ck_assert_msg(set_one(param, text, &err) != PE_OK, "%s=%s was taken", param->name, text);
    ck_assert_str_eq(err.where, where);
    ck_assert_msg(strstr(err.detail, param->name) != NULL, "'%s' does not name %s", err.detail,
                  param->name);
}

static void expect_taken(const struct pe_param *param, const char *text)
{
    struct pe_error err;

    ck_assert_msg(set_one(param, text, &err) == PE_OK, "%s=%s: %s", param->name, text, err.detail);
}

static void check_number(const struct pe_param *param)
{
    static const char *const never[] = {"",    "x",        "1x",   "nan",   "NaN",
                                        "inf", "-inf",     "0x1",  "1e999", "--1",
                                        " 1",  "Infinity", "1,2,", ".",     "1..2"};
    const bool bounded = param->min != 0 || param->max != 0;
    char text[64];

    for (size_t i = 0; i < COUNT_OF(never); i++)
        expect_refused(param, never[i]);
    if (param->type == PE_INTEGER)
        expect_refused(param, "2.5");
    if (!bounded)
        return;
    snprintf(text, sizeof(text), "%.17g", param->max);
    expect_taken(param, text);
    snprintf(text, sizeof(text), "%.17g", param->max < 1e15 ? param->max + 1 : param->max * 2);
    expect_refused(param, text);
    snprintf(text, sizeof(text), "%.17g", param->min);
    param->above_min ? expect_refused(param, text) : expect_taken(param, text);
    snprintf(text, sizeof(text), "%.17g",
             fabs(param->min) < 1e15 ? param->min - 1 : param->min * 2);
    expect_refused(param, text);
}

static void check_list(const struct pe_param *param)
{
    const double low = param->min + 0.5; /* above a bound that is excluded */
    char text[64];

    snprintf(text, sizeof(text), "%.17g,%.17g", low, low + 1);
    expect_taken(param, text);
    if (param->min > 0 || param->above_min) {
        expect_refused(param, "1,0");
        expect_refused(param, "-3");
    } else {
        expect_taken(param, "0,1,2.5");
        param->min < 0 || param->max == 0 ? expect_taken(param, "-3") : expect_refused(param, "-3");
    }
    expect_refused(param, "1,,2");
    expect_refused(param, "1,");
    param->nested ? expect_taken(param, "1;2") : expect_refused(param, "1;2");
    expect_refused(param, "1;2,3");
    expect_refused(param, "1;x");
    expect_refused(param, "nan");
    if (param->type != PE_RANGES) {
        expect_refused(param, "1..3");
        return;
    }
    expect_taken(param, param->min < 0 ? "0,5,7..9,-3..-1" : "0,5,7..9");
    expect_refused(param, "9..7");
    expect_refused(param, "1.5..3");
    expect_refused(param, "0..");
    expect_refused(param, "0..99999999999");
}

static void check_choice(const struct pe_param *param)
{
    char name[64];
    size_t count = 0;

    for (const char *at = param->choices; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        pe_choice_name(param, count++, name, sizeof(name));
        expect_taken(param, name);
    }
    expect_refused(param, "");
    expect_refused(param, "no-such-choice");
    expect_refused(param, "1");
}

static void check_param(const struct pe_param *param)
{
    ck_assert_ptr_nonnull(param->doc);
    if (param->fallback)
        expect_taken(param, param->fallback);
    switch (param->type) {
    case PE_NUMBER:
    case PE_INTEGER:
        check_number(param);
        break;
    case PE_BOOLEAN:
        expect_taken(param, "true");
        expect_taken(param, "False");
        expect_taken(param, "1");
        expect_refused(param, "2");
        expect_refused(param, "yes");
        break;
    case PE_CHOICE:
        check_choice(param);
        break;
    case PE_NUMBERS:
    case PE_RANGES:
        check_list(param);
        break;
    case PE_TEXT:
        ck_assert_str_eq(param->name, "table"); /* the name that api/ looks up */
        break;
    }
}

TEST(every_parameter)
{
    for (size_t n = 0; pe_encoding_at(n); n++) {
        const struct pe_encoding *e = pe_encoding_at(n);
        for (size_t i = 0; i < pe_encoding_info(e)->params_count; i++)
            check_param(&pe_encoding_info(e)->params[i]);
        for (size_t v = 0; pe_encoding_view_at(e, v); v++) {
            const struct pe_view_info *view = pe_view_info(pe_encoding_view_at(e, v));
            for (size_t i = 0; i < view->params_count; i++)
                check_param(&view->params[i]);
        }
    }
    printf("parameters: %lu values tried\n", cases);
    ck_assert_uint_gt(cases, 200);
}

TEST(names_are_unique)
{
    for (size_t n = 0; pe_encoding_at(n); n++) {
        const struct pe_encoding *e = pe_encoding_at(n);
        struct pe_params own;
        pe_params_init(&own, pe_encoding_info(e)->params, pe_encoding_info(e)->params_count);
        for (size_t v = 0; pe_encoding_view_at(e, v); v++) {
            const struct pe_view_info *view = pe_view_info(pe_encoding_view_at(e, v));
            for (size_t i = 0; i < view->params_count; i++)
                ck_assert_msg(pe_params_find(&own, view->params[i].name) < 0,
                              "%s: %s is a parameter of the encoding and of its view",
                              pe_encoding_info(e)->name, view->params[i].name);
        }
    }
}

/* Parameters that need, or exclude, each other. */
static const struct {
    const char *encoding, *text, *where;
    enum pe_status status;
} combinations[] = {
    {"rope", "", "parameter:dim", PE_MISSING},
    {"rope", "dim=127", "parameter:dim", PE_OUT_OF_RANGE},
    {"rope", "dim=128 rotary_dim=130", "parameter:rotary_dim", PE_OUT_OF_RANGE},
    {"rope", "dim=128 rotary_dim=63", "parameter:rotary_dim", PE_OUT_OF_RANGE},
    {"rope", "dim=128 rotary_dim=64 partial_rotary_factor=0.25", "parameter:partial_rotary_factor",
     PE_CONFLICT},
    {"rope", "dim=128 factor=8", "parameter:factor", PE_CONFLICT},
    {"rope", "dim=128 rope_type=linear", "parameter:factor", PE_MISSING},
    {"rope", "dim=128 rope_type=llama3 factor=8", "parameter:low_freq_factor", PE_MISSING},
    {"rope",
     "dim=128 rope_type=llama3 factor=8 low_freq_factor=4 high_freq_factor=3 "
     "original_max_position_embeddings=8192",
     "parameter:high_freq_factor", PE_CONFLICT},
    {"rope", "dim=128 rope_type=yarn", "parameter:original_max_position_embeddings", PE_MISSING},
    {"rope", "dim=128 rope_type=yarn original_max_position_embeddings=4096", "parameter:factor",
     PE_MISSING},
    {"rope", "dim=128 dim=64", "parameter:dim", PE_CONFLICT},
    {"rope", "dim=128 rope_theta=10000 base=500000", "parameter:base", PE_CONFLICT},
    {"rope", "dim=128 bse=1", "", PE_UNKNOWN_PARAMETER},
    {"rope", "dim", "", PE_MALFORMED},
    {"rope", "dim=128 base=1", "parameter:base", PE_OUT_OF_RANGE},
    {"alibi", "heads=4 slopes=1,2", "parameter:slopes", PE_SHAPE_MISMATCH},
    {"alibi", "heads=2 slopes=1,2 alibi_bias_max=4", "parameter:alibi_bias_max", PE_CONFLICT},
    {"alibi", "heads=2147483648", "parameter:heads", PE_OUT_OF_RANGE},
    {"no-such", "", "parameter:encoding", PE_NOT_FOUND},
};

TEST_LOOP(COUNT_OF(combinations), combined)
{
    struct pe_params params;
    struct pe_scheme *scheme = NULL;
    struct pe_error err = {0};

    if (!pe_params_parse(&params, combinations[_i].encoding, combinations[_i].text, &err)) {
        pe_scheme_new(&scheme, pe_encoding_find(combinations[_i].encoding), &params, NULL, &err);
        pe_params_free(&params);
    }
    ck_assert_msg(err.status == combinations[_i].status, "%s %s: %s (%s)",
                  combinations[_i].encoding, combinations[_i].text, pe_status_code(err.status),
                  err.detail);
    ck_assert_str_eq(err.where, combinations[_i].where);
    ck_assert_ptr_null(scheme);
}

TEST(numbers_as_text)
{
    static const struct {
        const char *text, *rest;
        double number;
    } good[] = {{"1", "", 1},        {"-2.5", "", -2.5}, {"7..9", "..9", 7}, {"1e3", "", 1e3},
                {"1e", "e", 1},      {".5", "", 0.5},    {"5.", "", 5},      {"+4", "", 4},
                {"6.4e1,", ",", 64}, {"0.1", "", 0.1},   {"-0", "", -0.0}};

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        const char *at = good[i].text;
        double number;
        ck_assert_msg(pe_text_number(&at, &number), "%s", good[i].text);
        ck_assert(number == good[i].number && signbit(number) == signbit(good[i].number));
        ck_assert_str_eq(at, good[i].rest);
    }
}

TEST(ranges)
{
    struct pe_view *view;
    struct pe_scheme *scheme;
    struct pe_params params;
    struct pe_error err = {0};
    const struct pe_view_type *type;
    const double want[] = {0, 5, 7, 8, 9, -3, -2, -1};

    ck_assert(!pe_params_parse(&params, "sinusoidal", "dim=4", &err));
    ck_assert(!pe_scheme_new(&scheme, pe_encoding_find("sinusoidal"), &params, NULL, &err));
    pe_params_free(&params);
    type = pe_encoding_view(pe_encoding_find("sinusoidal"), "table");
    pe_params_init(&params, type->info.params, type->info.params_count);
    ck_assert(!pe_params_set_text(&params, (size_t)pe_params_find(&params, "positions"),
                                  "0,5,7..9,-3..-1", &err));
    ck_assert(!pe_params_finish(&params, &err));
    ck_assert_msg(!pe_view_new(&view, scheme, pe_encoding_view(pe_scheme_encoding(scheme), "table"),
                               &params, PE_F32, NULL, &err),
                  "%s", err.detail);
    ck_assert_uint_eq(pe_view_positions(view)->count, 8);
    for (size_t i = 0; i < 8; i++)
        ck_assert_double_eq(pe_view_positions(view)->values[i], want[i]);
    pe_view_free(view);
    pe_params_free(&params);
    pe_scheme_free(scheme);
}

/* A borrowed list is not copied, not by the view either, until another one is appended. */
TEST(borrowed_lists)
{
    static const double lent[] = {5, 7, 9};
    struct pe_params params = {0}, other = {0};
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_view *view;
    const struct pe_view_type *type = pe_encoding_view(pe_encoding_find("sinusoidal"), "table");

    ck_assert(!pe_params_parse(&params, "sinusoidal", "dim=4", &err));
    ck_assert(!pe_scheme_new(&scheme, pe_encoding_find("sinusoidal"), &params, NULL, &err));
    pe_params_free(&params);
    pe_params_init(&params, type->info.params, type->info.params_count);
    pe_params_init(&other, type->info.params, type->info.params_count);
    const size_t index = (size_t)pe_params_find(&params, "positions");
    ck_assert(!pe_params_lend_list(&other, index, lent, 0, 3, &err));
    ck_assert(!pe_params_set_value(&params, index, &type->info.params[index], &other.values[index],
                                   &err));
    ck_assert(!pe_params_finish(&params, &err));
    ck_assert(!pe_view_new(&view, scheme, type, &params, PE_F32, NULL, &err));
    ck_assert_ptr_eq(pe_view_positions(view)->values, lent);
    pe_view_free(view);
    ck_assert(!pe_params_lend_list(&params, index, lent, 0, 1, &err));
    ck_assert_ptr_ne(params.values[index].list, lent);
    ck_assert_uint_eq(params.values[index].list_count, 4);
    ck_assert_double_eq(params.values[index].list[2], 9);
    ck_assert_double_eq(params.values[index].list[3], 5);
    ck_assert_int_eq(pe_params_lend_list(&params, index, lent, 1, 3, &err), PE_INVALID);
    pe_params_free(&params);
    pe_params_free(&other);
    pe_scheme_free(scheme);
}

/* The memory of a list is charged before it is allocated, for any text: ranges are counted first,
 * rows of several lengths are refused before they are written, and refused lists leave nothing
 * behind. */
TEST(lists_are_counted_first)
{
    static const struct {
        const char *text;
        size_t count;          /* pe_ranges_count */
        size_t charged;        /* bytes, of a limit of 8000; SIZE_MAX: refused for memory */
        enum pe_status status; /* otherwise */
    } texts[] = {{"0..16777214", 16777215, 0, PE_OK},
                 {"0..16777214;0", 16777216, 0, PE_SHAPE_MISMATCH},
                 {"0;0..16777214", 16777216, 0, PE_SHAPE_MISMATCH},
                 {"0..8388607;0..8388607", 16777216, 32, PE_OK},
                 {"0..16777214;0..16777214", PE_PARAM_LIST_MAX + 1, 0, PE_TOO_LARGE},
                 {"0,0..16777213", 16777215, 32, PE_OK},
                 {"[0..16777213]", 16777214, 0, PE_OK},
                 {"0..16777214,x", 16777216, 0, PE_INVALID},
                 {"0..9,x", 11, 0, PE_INVALID},
                 {"0,9..0", 2, 0, PE_INVALID},
                 {"0..9;x", 11, 0, PE_SHAPE_MISMATCH},
                 {"5;x", 2, 0, PE_INVALID},
                 {"0,0..9 9", 2, 0, PE_INVALID},
                 {"0,0..9)", 11, 0, PE_INVALID},
                 {"0,1 ..3", 2, 0, PE_INVALID},
                 {"", 0, 0, PE_OK},
                 {"[]", 0, 0, PE_OK},
                 {"7", 1, 8, PE_OK},
                 {"[0, 1..3, -2]", 5, 40, PE_OK},
                 {" [ 0 , 1..3 ,-2 ]", 5, 40, PE_OK},
                 {"0 ,1", 2, 16, PE_OK},
                 {"(0..2);(4..6)", 6, 48, PE_OK},
                 {"0..499;500..999", 1000, SIZE_MAX, PE_OK}};
    const struct pe_param positions = {.name = "positions", .type = PE_RANGES, .nested = true};
    const struct pe_work_limits limits = {.size = sizeof(limits), .memory_max = 8000};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct pe_error err = {0};
        struct pe_params params;
        struct pe_work *work;
        ck_assert(!pe_work_new(&work, &limits, &err));
        pe_params_init(&params, &positions, 1);
        params.work = work;
        pe_params_set_text(&params, 0, texts[i].text, &err);
        const bool is_short = texts[i].charged == SIZE_MAX;
        ck_assert_msg(err.status == (is_short ? PE_OUT_OF_MEMORY : texts[i].status), "%s: %s",
                      texts[i].text, err.detail);
        ck_assert_msg(pe_ranges_count(texts[i].text) == texts[i].count, "%s", texts[i].text);
        ck_assert_uint_eq(pe_work_memory(work), is_short ? 0 : texts[i].charged);
        ck_assert(params.values[0].given == !err.status);
        pe_params_free(&params);
        ck_assert_uint_eq(pe_work_memory(work), 0);
        pe_work_free(work);
    }
}

/* A range has the elements of the same list, alone, joined and written out. */
TEST(ranges_are_lists)
{
    const struct pe_param positions = {.name = "positions", .type = PE_RANGES};
    struct pe_params range, list;
    struct pe_error err = {0};
    double elements[7];

    pe_params_init(&range, &positions, 1);
    pe_params_init(&list, &positions, 1);
    ck_assert(!pe_params_set_text(&range, 0, "-3..1", &err) && range.values[0].range);
    ck_assert(!pe_params_set_text(&list, 0, "-3,-2,-1,0,1", &err) && !list.values[0].range);
    for (int joined = 0; joined < 2; joined++) {
        ck_assert_uint_eq(range.values[0].list_count, list.values[0].list_count);
        ck_assert(!pe_value_expand(&range.values[0], elements, NULL, &err));
        for (size_t i = 0; i < list.values[0].list_count; i++) {
            ck_assert_double_eq(pe_value_at(&range.values[0], i), list.values[0].list[i]);
            ck_assert_double_eq(elements[i], list.values[0].list[i]);
        }
        ck_assert_double_eq(pe_value_at(&range.values[0], range.values[0].list_count), 0);
        ck_assert(!pe_params_set_text(&range, 0, "8..9", &err) && !range.values[0].range);
        ck_assert(!pe_params_set_text(&list, 0, "8,9", &err));
    }
    pe_params_free(&range);
    pe_params_free(&list);
}

/* A list of several blocks is copied whole and in order; a block is 2^18 elements. */
TEST(long_lists_are_expanded)
{
    enum { COUNT = (2 << 18) + 3 };
    static double list[COUNT], elements[COUNT];
    const struct pe_value value = {.list = list, .list_count = COUNT};
    struct pe_error err = {0};

    for (size_t i = 0; i < COUNT; i++)
        list[i] = (double)i / 3;
    ck_assert(!pe_value_expand(&value, elements, NULL, &err));
    ck_assert_mem_eq(elements, list, sizeof(list));
}

/* Long ranges are stored as ranges, with the elements of the list of their parts. */
TEST(segments_are_lists)
{
    enum { MOST = 20000 };
    static const char *const texts[][3] = {
        {"0..9999,10002..12000", "0..9999", "10002..12000"},
        {"(5..6000,6001..9000,3,7..8000)", "5..9000", "3,7..8000"},
        {"[-5000..0]", "-5000..-1", "0"},
        {"0..4999;7..5006", "0..4999", "7..5006"}};
    const struct pe_param positions = {.name = "positions", .type = PE_RANGES, .nested = true};
    static double whole[MOST], parts[MOST];

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct pe_params one, other, copy;
        struct pe_error err = {0};
        pe_params_init(&one, &positions, 1);
        pe_params_init(&other, &positions, 1);
        pe_params_init(&copy, &positions, 1);
        const struct pe_value *value = &one.values[0], *joined = &other.values[0];
        ck_assert(!pe_params_set_text(&one, 0, texts[i][0], &err) && value->range);
        ck_assert(!pe_params_set_text(&other, 0, texts[i][1], &err));
        ck_assert(!pe_params_set_text(&other, 0, texts[i][2], &err));
        ck_assert(!pe_params_set_value(&copy, 0, &positions, value, &err));
        ck_assert_uint_eq(value->rows, strchr(texts[i][0], ';') ? 2 : 0);
        ck_assert_uint_eq(value->rows, copy.values[0].rows);
        ck_assert_uint_eq(value->list_count, joined->list_count);
        ck_assert_uint_eq(value->list_count, copy.values[0].list_count);
        ck_assert(!pe_value_expand(value, whole, NULL, &err));
        ck_assert(!pe_value_expand(joined, parts, NULL, &err));
        for (size_t at = 0; at < value->list_count; at++) {
            ck_assert_double_eq(whole[at], parts[at]);
            ck_assert_double_eq(pe_value_at(value, at), parts[at]);
            ck_assert_double_eq(pe_value_at(&copy.values[0], at), parts[at]);
        }
        pe_params_free(&one);
        pe_params_free(&other);
        pe_params_free(&copy);
    }
}

/* Lists of the largest length, and of one more: in one part, in several, and one by one. */
TEST(long_lists)
{
    static const struct {
        const char *text, *more; /* more: the parameter is given twice */
        size_t count;            /* 0: refused */
    } lists[] = {{"0..16777215", NULL, 16777216},   {"0..16777216", NULL, 0},
                 {"0..16777214,1", NULL, 16777216}, {"0..16777214,1,2", NULL, 0},
                 {"7,0..16777214", NULL, 16777216}, {"7,8,0..16777214", NULL, 0},
                 {"0..9,0..16777206", NULL, 0},     {"0..16777214", "1", 16777216},
                 {"0..16777214", "1,2", 0}};
    const struct pe_param positions = {.name = "positions", .type = PE_RANGES};

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct pe_params params;
        struct pe_error err = {0};
        pe_params_init(&params, &positions, 1);
        pe_params_set_text(&params, 0, lists[i].text, &err);
        if (!err.status && lists[i].more)
            pe_params_set_text(&params, 0, lists[i].more, &err);
        ck_assert_msg(err.status == (lists[i].count ? PE_OK : PE_TOO_LARGE), "%s: %s",
                      lists[i].text, err.detail);
        if (lists[i].count)
            ck_assert_uint_eq(params.values[0].list_count, lists[i].count);
        pe_params_free(&params);
    }
}

/* Pairs are separated by each of these characters, and by any number of them. */
TEST(separators_of_pairs)
{
    static const struct pe_param list[] = {{.name = "a", .type = PE_TEXT},
                                           {.name = "b", .type = PE_TEXT}};
    static const char separators[] = " \t\r\n&";

    for (size_t i = 0; i + 1 < sizeof(separators); i++)
        for (size_t k = 0; k + 1 < sizeof(separators); k++) {
            struct pe_params params;
            struct pe_error err = {0};
            char text[20];
            snprintf(text, sizeof(text), "%ca=1%c%cb=2%c", separators[i], separators[i],
                     separators[k], separators[k]);
            pe_params_init(&params, list, COUNT_OF(list));
            ck_assert_msg(!pe_params_set_pairs(&params, text, &err), "%s", err.detail);
            ck_assert_str_eq(pe_param_text(&params, "a"), "1");
            ck_assert_str_eq(pe_param_text(&params, "b"), "2");
            pe_params_free(&params);
            cases++;
        }
}
