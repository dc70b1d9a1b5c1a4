/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command/command.h"

/* ---- the terminal ---------------------------------------------------------------------------- */

enum { COLUMNS = 80, COLUMNS_MIN = 40, COLUMNS_MAX = 120, INDENT = 2 };

enum colour { PLAIN, BOLD, DIM, GREEN, RED, AMBER };

static const char *const codes[] = {"", "1", "2", "1;32", "1;31", "1;33"};

/* The terminal's width; if it does not report one, the variable COLUMNS. */
static int columns(void)
{
    const char *variable = getenv("COLUMNS");
    struct winsize size = {.ws_col = 0};
    int found = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;

    if (found == 0 && variable)
        found = atoi(variable);
    if (found == 0)
        found = COLUMNS;
    return found < COLUMNS_MIN ? COLUMNS_MIN : found > COLUMNS_MAX ? COLUMNS_MAX : found;
}

/* https://no-color.org */
static bool has_colour(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return !(no && *no) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

static void colour_set(enum colour colour)
{
    if (has_colour())
        printf("\033[%sm", codes[colour]);
}

static void coloured(enum colour colour, const char *text)
{
    if (colour != PLAIN)
        colour_set(colour);
    fputs(text, stdout);
    if (colour != PLAIN)
        colour_set(PLAIN);
}

/* The columns of a UTF-8 text without wide letters. */
static int width_of(const char *text, size_t size)
{
    int width = 0;

    for (size_t i = 0; i < size; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Prints words in lines of the terminal's width, from column `at` on; further lines begin at
 * `indent`. Ends the line. */
static void wrapped(int at, int indent, enum colour colour, const char *text)
{
    const int most = columns();

    if (colour != PLAIN)
        colour_set(colour);
    for (bool first = true; *text; first = false) {
        const size_t size = strcspn(text, " ");
        const int width = width_of(text, size);
        if (!first && at + 1 + width > most) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            putchar(' ');
            at++;
        }
        fwrite(text, 1, size, stdout);
        at += width;
        text += size + (text[size] == ' ');
    }
    if (colour != PLAIN)
        colour_set(PLAIN);
    putchar('\n');
}

/* "label  text", the text wrapped after a column of labels. */
static void labelled(const char *label, int labels, const char *text)
{
    const int indent = INDENT + labels + 2;

    printf("%*s", INDENT, "");
    coloured(DIM, label);
    printf("%*s", labels + 2 - width_of(label, strlen(label)), "");
    wrapped(indent, indent, PLAIN, text);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void value_put(struct cmd_text *text, const json_t *value)
{
    char dumped[256];
    size_t size;

    if (json_is_string(value)) {
        cmd_text_put(text, json_string_value(value));
        return;
    }
    if (json_is_array(value) && json_array_size(value) > 8) {
        char count[40];
        snprintf(count, sizeof(count), "(%zu values)", json_array_size(value));
        cmd_text_put(text, count);
        return;
    }
    /* jansson's own memory is the service's, and free() does not take it. */
    size = json_dumpb(value, dumped, sizeof(dumped),
                      JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    if (size <= sizeof(dumped))
        cmd_text_add(text, dumped, size);
    else
        cmd_text_put(text, "(long)");
}

/* "rope dim=128 base=500000": an encoding as the command accepts it, without neutral defaults. */
static void encoding_put(struct cmd_text *text, const json_t *encoding)
{
    json_t *value;
    const char *key;

    cmd_text_put(text, cmd_member(encoding, "name"));
    json_object_foreach((json_t *)encoding, key, value)
    {
        const char *string = json_string_value(value);
        if (strcmp(key, "name") == 0 ||
            (strcmp(key, "arithmetic") == 0 && string && strcmp(string, "exact") == 0) ||
            (strcmp(key, "rope_type") == 0 && string && strcmp(string, "default") == 0))
            continue;
        cmd_text_put(text, " ");
        cmd_text_put(text, key);
        cmd_text_put(text, "=");
        value_put(text, value);
    }
}

static void number_put(struct cmd_text *text, const char *before, const json_t *number,
                       const char *behind)
{
    char printed[64];

    if (json_is_integer(number))
        snprintf(printed, sizeof(printed), "%s%" JSON_INTEGER_FORMAT "%s", before,
                 json_integer_value(number), behind);
    else if (json_is_string(number)) /* Infinity, NaN */
        snprintf(printed, sizeof(printed), "%s%s%s", before, json_string_value(number), behind);
    else
        snprintf(printed, sizeof(printed), "%s%.6g%s", before, json_number_value(number), behind);
    cmd_text_put(text, printed);
}

/* Prints a labelled text, and frees it. */
static void member_print(const char *label, int labels, struct cmd_text *text)
{
    cmd_text_add(text, "", 1);
    labelled(label, labels, text->bytes);
    cmd_text_free(text);
}

static void warnings_print(const json_t *answer, int labels)
{
    const json_t *warning;
    size_t index;

    json_array_foreach(json_object_get(answer, "warnings"), index, warning)
    {
        const json_t *detail = json_object_get(warning, "detail");
        struct cmd_text text = {0};
        cmd_text_put(&text, json_string_value(detail ? detail : warning));
        member_print("warning", labels, &text);
    }
}

static void encoding_print(const json_t *answer)
{
    struct cmd_text text = {0};

    encoding_put(&text, json_object_get(answer, "encoding"));
    cmd_text_add(&text, "", 1);
    wrapped(0, INDENT, PLAIN, text.bytes);
    cmd_text_free(&text);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

enum verdict {
#define SIGN(name, sign, head_sign, colour, doc) name,
#include "command/signs.def"
#undef SIGN
};

static const struct {
    const char *sign, *head_sign;
    enum colour colour;
} signs[] = {
#define SIGN(name, sign, head_sign, colour, doc) {sign, head_sign, colour},
#include "command/signs.def"
#undef SIGN
};

static void verdict_print(enum verdict verdict, const char *text)
{
    char sign[8];

    snprintf(sign, sizeof(sign), "%s ", signs[verdict].sign);
    coloured(signs[verdict].colour, sign);
    wrapped(INDENT, INDENT, signs[verdict].colour, text);
}

static const json_t *candidate_of(const json_t *answer)
{
    return json_array_get(json_object_get(answer, "candidates"), 0);
}

/* Of everything, or of one head. */
static enum verdict diagnosed(const char *verdict)
{
    return strcmp(verdict, "match") == 0                                          ? RIGHT
           : strcmp(verdict, "known-bug") == 0 || strcmp(verdict, "refused") == 0 ? WRONG
                                                                                  : UNDECIDED;
}

/* ---- a diagnosis ----------------------------------------------------------------------------- */

/* Prints a sign for each head, with a line for each layer if there are layers. */
static void heads_print(const json_t *answer, int labels)
{
    const json_t *heads = json_object_get(answer, "per_head"), *verdict;
    const json_t *shape = json_object_get(heads, "shape");
    const size_t axes = json_array_size(shape);
    const json_t *verdicts = json_object_get(heads, "verdict");
    const size_t row = axes ? (size_t)json_integer_value(json_array_get(shape, axes - 1))
                            : json_array_size(verdicts);
    size_t index;

    if (!json_is_array(verdicts) || row == 0)
        return;
    json_array_foreach(verdicts, index, verdict)
    {
        const char *text = json_string_value(verdict);
        const enum verdict is = diagnosed(text ? text : "");
        if (index % row == 0)
            printf("%s%*s", index > 0 ? "\n" : "", INDENT + labels + 2,
                   index > 0 ? "" : "heads    ");
        coloured(signs[is].colour, signs[is].head_sign);
    }
    putchar('\n');
}

static void first_bad_put(struct cmd_text *text, const json_t *bad)
{
    number_put(text, "row ", json_object_get(bad, "row"), "");
    number_put(text, ", position ", json_object_get(bad, "position"), "");
    number_put(text, ", pair ", json_object_get(bad, "pair"), ": ");
    cmd_text_put(text, cmd_member(bad, "part"));
    number_put(text, " is ", json_object_get(bad, "seen"), ", ");
    number_put(text, "predicted ", json_object_get(bad, "predicted"), "");
}

/* Of a probe: why its function is no rotation, or which other elements it pairs. */
static const json_t *probe_mistake_of(const json_t *answer)
{
    const json_t *probe = json_object_get(answer, "probe");
    const json_t *fault = json_object_get(probe, "fault");
    const json_t *pairing = json_object_get(probe, "pairing");

    return json_is_object(fault) ? fault : json_is_object(pairing) ? pairing : NULL;
}

/* The verdict or the mistake, its explanation and its fix. */
static void finding_print(const json_t *answer, int labels)
{
    const json_t *best = candidate_of(answer), *probed = probe_mistake_of(answer);
    const json_t *found = probed ? probed : best;
    const char *mistake = cmd_member(found, probed ? "code" : "bug");
    struct cmd_text text = {0};

    cmd_text_put(&text, *mistake ? mistake : cmd_member(answer, "verdict"));
    cmd_text_put(&text, ": ");
    cmd_text_put(&text, found ? cmd_member(found, "explanation") : "no scheme explains it");
    cmd_text_add(&text, "", 1);
    verdict_print(diagnosed(cmd_member(answer, "verdict")), text.bytes);
    cmd_text_free(&text);
    if (*cmd_member(found, "fix")) {
        cmd_text_put(&text, cmd_member(found, "fix"));
        member_print("fix", labels, &text);
    }
    if (json_object_get(answer, "probe")) {
        cmd_text_put(&text, cmd_member(json_object_get(answer, "probe"), "summary"));
        member_print("probe", labels, &text);
    }
}

static void diagnosis_print(json_t *answer)
{
    enum { LABELS = 9 };
    const json_t *best = candidate_of(answer), *bad = json_object_get(answer, "first_bad");
    struct cmd_text text = {0};

    finding_print(answer, LABELS);
    if (best) {
        encoding_put(&text, json_object_get(best, "encoding"));
        if (*cmd_member(best, "layout")) {
            cmd_text_put(&text, " layout=");
            cmd_text_put(&text, cmd_member(best, "layout"));
        }
        member_print("scheme", LABELS, &text);
    }
    if (json_integer_value(json_object_get(answer, "rows")) > 0) {
        number_put(&text, "", json_object_get(answer, "rows_compared"), " of ");
        number_put(&text, "", json_object_get(answer, "rows"), " compared, ");
        number_put(&text, "", json_object_get(answer, "bad_rows"), " not explained");
        member_print("rows", LABELS, &text);
    }
    if (json_is_object(bad)) {
        first_bad_put(&text, bad);
        member_print("first bad", LABELS, &text);
    }
    if (best) {
        number_put(&text, "largest ", json_object_get(best, "max_abs"), ", ");
        number_put(&text, "rms ", json_object_get(best, "rms"), "");
        member_print("error", LABELS, &text);
    }
    heads_print(answer, LABELS);
    warnings_print(answer, LABELS);
}

/* ---- a comparison ---------------------------------------------------------------------------- */

static void operand_put(struct cmd_text *text, const json_t *operand)
{
    const char *tensor = cmd_member(operand, "tensor");

    if (*tensor)
        cmd_text_put(text, tensor);
    else
        encoding_put(text, operand);
}

static void comparison_print(json_t *answer)
{
    enum { LABELS = 9 };
    const json_t *first = json_object_get(answer, "first_divergence");
    const json_t *tolerance = json_object_get(answer, "tolerance");
    const json_int_t unequal = json_integer_value(json_object_get(answer, "unequal"));
    struct cmd_text text = {0};

    if (unequal == 0) {
        number_put(&text, "equal: all ", json_object_get(answer, "elements"), " elements");
    } else {
        number_put(&text, "different: ", json_object_get(answer, "unequal"), "");
        number_put(&text, " of ", json_object_get(answer, "elements"), " elements");
    }
    cmd_text_add(&text, "", 1);
    verdict_print(unequal == 0 ? RIGHT : WRONG, text.bytes);
    cmd_text_free(&text);
    operand_put(&text, json_object_get(answer, "a"));
    member_print("a", LABELS, &text);
    operand_put(&text, json_object_get(answer, "b"));
    member_print("b", LABELS, &text);
    if (unequal > 0) {
        number_put(&text, "", json_object_get(answer, "max_abs"), ", ");
        number_put(&text, "", json_object_get(answer, "max_ulp"), " ulp; rms ");
        number_put(&text, "", json_object_get(answer, "rms"), "");
        member_print("largest", LABELS, &text);
    }
    if (json_is_object(first)) {
        number_put(&text, "position ", json_object_get(first, "position"), ", ");
        cmd_text_put(&text, cmd_member(first, "table"));
        number_put(&text, " column ", json_object_get(first, "column"), ": ");
        number_put(&text, "", json_object_get(first, "a"), " and ");
        number_put(&text, "", json_object_get(first, "b"), "");
        member_print("first", LABELS, &text);
    }
    if (json_is_object(tolerance)) {
        number_put(&text, "", json_object_get(tolerance, "outside"), " outside of ");
        cmd_text_put(&text, cmd_member(tolerance, "of"));
        member_print("tolerance", LABELS, &text);
    }
    warnings_print(answer, LABELS);
}

/* ---- a config -------------------------------------------------------------------------------- */

struct widths {
    int names, values;
};

/* "name  value  from key"; the key is on a line of its own if it does not fit. */
static void parameter_print(const char *name, const char *value, const char *from,
                            struct widths widths)
{
    const int at = INDENT + widths.names + 2;
    const int width = width_of(value, strlen(value));
    const int used = at + (width > widths.values ? width : widths.values);

    printf("%*s", INDENT, "");
    coloured(DIM, name);
    printf("%*s%s", widths.names + 2 - (int)strlen(name), "", value);
    const bool fits = used + 7 + width_of(from, strlen(from)) <= columns();
    if (fits)
        printf("%*s", used - at - width + 2, "");
    else
        printf("\n%*s", at, "");
    coloured(DIM, "from ");
    wrapped(fits ? used + 7 : at + 5, at, DIM, from);
}

/* Prints the parameters that are not defaults, each with the config key of its value. */
static void parameters_print(const json_t *encoding, const json_t *provenance)
{
    struct widths widths = {0};
    json_t *value;
    const char *key;

    for (int pass = 0; pass < 2; pass++)
        json_object_foreach((json_t *)encoding, key, value)
        {
            struct cmd_text text = {0};
            const char *from = cmd_member(provenance, key);
            if (strcmp(key, "name") == 0 || strcmp(from, "default") == 0)
                continue;
            value_put(&text, value);
            cmd_text_add(&text, "", 1);
            const int name = (int)strlen(key), width = width_of(text.bytes, text.size - 1);
            if (pass == 1)
                parameter_print(key, text.bytes, from, widths);
            widths.names = name > widths.names ? name : widths.names;
            widths.values = width > widths.values && width < 24 ? width : widths.values;
            cmd_text_free(&text);
        }
}

/* "0..4 6..10": numbers in runs. */
static void runs_put(struct cmd_text *text, const json_t *numbers)
{
    const size_t count = json_array_size(numbers);
    char run[64];

    for (size_t i = 0, from = 0; i < count; i++) {
        const json_int_t at = json_integer_value(json_array_get(numbers, i));
        const json_int_t next = json_integer_value(json_array_get(numbers, i + 1));
        const json_int_t begin = json_integer_value(json_array_get(numbers, from));
        if (i + 1 < count && next == at + 1)
            continue;
        snprintf(run, sizeof(run), begin < at ? "%s%" PRIdMAX "..%" PRIdMAX : "%s%" PRIdMAX,
                 from > 0 ? " " : "", (intmax_t)begin, (intmax_t)at);
        cmd_text_put(text, run);
        from = i + 1;
    }
}

static void attention_put(struct cmd_text *text, json_t *attention)
{
    json_t *value;
    const char *key;
    bool first = true;

    json_object_foreach(attention, key, value)
    {
        if (strcmp(key, "provenance") == 0)
            continue;
        cmd_text_put(text, first ? "" : " ");
        cmd_text_put(text, key);
        cmd_text_put(text, "=");
        value_put(text, json_is_object(value) && json_object_get(value, "kind")
                            ? json_object_get(value, "kind")
                            : value);
        first = false;
    }
}

/* Prints a kind of layer, another rotary, or a tower: its name, its encoding unless that equals
 * `known`, its attention. */
static void part_print(const char *label, json_t *part, const json_t *known)
{
    const json_t *encoding = json_object_get(part, "encoding");
    json_t *attention = json_object_get(part, "attention");
    struct cmd_text text = {0};

    cmd_text_put(&text, label);
    if (json_object_get(part, "where")) {
        cmd_text_put(&text, json_object_get(part, "layer_type") ? " of " : "");
        cmd_text_put(&text, cmd_member(part, "layer_type"));
        cmd_text_put(&text, strcmp(cmd_member(part, "rotated"), "last") == 0
                                ? ": the last elements of a head"
                                : "");
    }
    if (json_array_size(json_object_get(part, "layers")) > 0) {
        cmd_text_put(&text, *label ? " layers " : "layers ");
        runs_put(&text, json_object_get(part, "layers"));
    }
    cmd_text_add(&text, "", 1);
    printf("%*s", INDENT, "");
    wrapped(INDENT, 2 * INDENT, BOLD, text.bytes);
    cmd_text_free(&text);
    if (json_is_object(encoding) && json_equal(encoding, known))
        cmd_text_put(&text, "as above");
    else if (json_is_object(encoding))
        encoding_put(&text, encoding);
    else if (json_object_get(part, "attention") && json_is_null(attention))
        cmd_text_put(&text, "no attention");
    else
        cmd_text_put(&text,
                     *cmd_member(part, "reason") ? cmd_member(part, "reason") : "no positions");
    cmd_text_add(&text, "", 1);
    printf("%*s", 2 * INDENT, "");
    wrapped(2 * INDENT, 3 * INDENT, PLAIN, text.bytes);
    cmd_text_free(&text);
    if (json_object_size(attention) == 0)
        return;
    cmd_text_put(&text, "attention ");
    attention_put(&text, attention);
    cmd_text_add(&text, "", 1);
    printf("%*s", 2 * INDENT, "");
    wrapped(2 * INDENT, 3 * INDENT, DIM, text.bytes);
    cmd_text_free(&text);
}

static void readers_print(json_t *readers)
{
    json_t *engines, *reading;
    const char *key, *engine;

    json_object_foreach(readers, key, engines) json_object_foreach(engines, engine, reading)
    {
        struct cmd_text text = {0};
        cmd_text_put(&text, engine);
        cmd_text_put(&text, " reads ");
        cmd_text_put(&text, cmd_member(reading, "reads"));
        cmd_text_put(&text, " (");
        cmd_text_put(&text, cmd_member(reading, "source"));
        cmd_text_put(&text, ")");
        member_print(key, (int)strlen(key), &text);
    }
}

static void config_print(json_t *answer)
{
    const json_t *encoding = json_object_get(answer, "encoding");
    const size_t warnings = json_array_size(json_object_get(answer, "warnings"));
    const json_t *unused = json_object_get(answer, "unused"), *key;
    struct cmd_text text = {0};
    json_t *part;
    size_t index;

    if (json_is_object(encoding))
        encoding_put(&text, encoding);
    else
        cmd_text_put(&text, "no positional encoding");
    cmd_text_add(&text, "", 1);
    verdict_print(warnings > 0 ? WARNED : RIGHT, text.bytes);
    cmd_text_free(&text);
    parameters_print(encoding, json_object_get(answer, "provenance"));
    json_array_foreach(json_object_get(answer, "layers"), index, part)
        part_print(cmd_member(part, "layer_type"), part, encoding);
    json_array_foreach(json_object_get(answer, "others"), index, part)
        part_print(cmd_member(part, "where"), part, NULL);
    json_array_foreach(json_object_get(answer, "towers"), index, part)
        part_print(cmd_member(part, "part"), part, NULL);
    readers_print(json_object_get(answer, "readers"));
    json_array_foreach(unused, index, key)
    {
        cmd_text_put(&text, index > 0 ? ", " : "");
        cmd_text_put(&text, json_string_value(key));
    }
    if (json_array_size(unused) > 0)
        member_print("not read", 8, &text);
    warnings_print(answer, 8);
}

/* ---- engines --------------------------------------------------------------------------------- */

/* Adds "105 same, 23 differs, ..." of the counts that are not 0. */
static void counts_put(struct cmd_text *text, json_t *counts)
{
    const char *verdict, *comma = "";
    json_t *count;

    json_object_foreach(counts, verdict, count)
    {
        char item[64];
        if (json_integer_value(count) == 0)
            continue;
        snprintf(item, sizeof(item), "%s%" JSON_INTEGER_FORMAT " %s", comma,
                 json_integer_value(count), verdict);
        cmd_text_put(text, item);
        comma = ", ";
    }
}

static void engine_print(const json_t *engine)
{
    json_t *cells = json_object_get(engine, "cells"), *counts;
    const json_t *versions = json_object_get(engine, "versions"), *version;
    const char *form;
    size_t index;

    printf("%s %s\n", cmd_member(engine, "name"), cmd_member(engine, "version"));
    if (json_array_size(versions) > 1) {
        struct cmd_text text = {0};
        json_array_foreach(versions, index, version)
        {
            cmd_text_put(&text, index > 0 ? ", " : "measured versions: ");
            cmd_text_put(&text, json_string_value(version));
        }
        member_print("", 0, &text);
    }
    json_object_foreach(cells, form, counts)
    {
        struct cmd_text text = {0};
        cmd_text_put(&text, "form of transformers ");
        cmd_text_put(&text, form);
        cmd_text_put(&text, ": ");
        counts_put(&text, counts);
        member_print("", 0, &text);
    }
}

/* Adds "rope_scaling.truncate, base 10000: scaling, 9 of 32 pairs, .9 rad at 4095". */
static void difference_put(struct cmd_text *text, const json_t *cell)
{
    const json_t *keys = json_object_get(cell, "keys"), *key;
    const char *code = cmd_member(cell, "code"), *reads = cmd_member(cell, "reads");
    char numbers[160];
    size_t index;

    json_array_foreach(keys, index, key)
    {
        cmd_text_put(text, index > 0 ? ", " : " (");
        cmd_text_put(text, json_string_value(key));
    }
    cmd_text_put(text, json_array_size(keys) > 0 ? ")" : "");
    cmd_text_put(text, *code ? ": " : "");
    cmd_text_put(text, code);
    cmd_text_put(text, *reads ? ", " : "");
    cmd_text_put(text, reads);
    if (!json_object_get(cell, "pairs"))
        return;
    snprintf(numbers, sizeof(numbers),
             ", %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
             " pairs, %.3g rad at %" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(cell, "pairs")),
             json_integer_value(json_object_get(cell, "of")),
             json_number_value(json_object_get(cell, "radians")),
             json_integer_value(json_object_get(cell, "at")));
    cmd_text_put(text, numbers);
}

static void cell_print(const json_t *cell)
{
    struct cmd_text text = {0};
    char form[32];

    snprintf(form, sizeof(form),
             ", form of %d: ", (int)json_integer_value(json_object_get(cell, "form")));
    cmd_text_put(&text, cmd_member(cell, "engine"));
    cmd_text_put(&text, form);
    cmd_text_put(&text, cmd_member(cell, "verdict"));
    difference_put(&text, cell);
    cmd_text_put(&text, *cmd_member(cell, "message") ? ": " : "");
    cmd_text_put(&text, cmd_member(cell, "message"));
    member_print(cmd_member(cell, "config"), (int)strlen(cmd_member(cell, "config")), &text);
}

static void engines_print(json_t *answer)
{
    const json_t *item;
    size_t index;

    json_array_foreach(json_object_get(answer, "engines"), index, item) engine_print(item);
    json_array_foreach(json_object_get(answer, "cells"), index, item) cell_print(item);
}

/* ---- which report ---------------------------------------------------------------------------- */

static enum cmd_exit diagnosis_verdict(const json_t *answer)
{
    const char *verdict = cmd_member(answer, "verdict");

    return strcmp(verdict, "match") == 0 || strcmp(verdict, "consistent") == 0 ? CMD_DONE
                                                                               : CMD_WRONG;
}

static enum cmd_exit comparison_verdict(const json_t *answer)
{
    return json_integer_value(json_object_get(answer, "unequal")) == 0 ? CMD_DONE : CMD_WRONG;
}

/* ---- a check by a golden file ---------------------------------------------------------------- */

static bool is_right(const json_t *answer)
{
    return strcmp(cmd_member(answer, "verdict"), "right") == 0;
}

/* "0.33 of the allowed error" */
static void used_put(struct cmd_text *text, const json_t *used)
{
    char printed[64];

    snprintf(printed, sizeof(printed), "%.2f of the allowed error", json_number_value(used));
    cmd_text_put(text, printed);
}

/* "q_rotated: layout-swapped, 900 of 1024 elements, the first at position 1" */
static void checked_print(const json_t *row)
{
    const json_t *first = json_object_get(row, "first");
    const char *mistake = cmd_member(row, "mistake");
    struct cmd_text text = {0};

    cmd_text_put(&text, *mistake ? mistake : "right");
    cmd_text_put(&text, ", ");
    if (*mistake) {
        number_put(&text, "", json_object_get(row, "outside"), " of ");
        number_put(&text, "", json_object_get(row, "elements"), " elements");
        number_put(&text, ", largest error ", json_object_get(row, "max_abs"), "");
        if (json_object_get(first, "position"))
            number_put(&text, ", the first at position ", json_object_get(first, "position"), "");
    } else {
        used_put(&text, json_object_get(row, "used"));
    }
    member_print(cmd_member(row, "tensor"), (int)strlen("attention_factor"), &text);
}

static void check_print(json_t *answer)
{
    const char *mistake = cmd_member(answer, "mistake");
    const int labels = (int)strlen("attention_factor");
    struct cmd_text text = {0};
    const json_t *row;
    size_t index;

    cmd_text_put(&text, is_right(answer) ? "right" : mistake);
    cmd_text_put(&text, ": ");
    cmd_text_put(&text, is_right(answer) ? "rounding explains every value that was checked"
                                         : cmd_member(answer, "explanation"));
    cmd_text_add(&text, "", 1);
    verdict_print(is_right(answer) ? RIGHT : WRONG, text.bytes);
    cmd_text_free(&text);
    if (*cmd_member(answer, "fix")) {
        cmd_text_put(&text, cmd_member(answer, "fix"));
        member_print("fix", labels, &text);
    }
    number_put(&text, "", json_object_get(answer, "checked"), " of ");
    number_put(&text, "", json_object_get(answer, "outputs"), " outputs");
    member_print("checked", labels, &text);
    json_array_foreach(json_object_get(answer, "tensors"), index, row) checked_print(row);
}

static enum cmd_exit check_verdict(const json_t *answer)
{
    return is_right(answer) ? CMD_DONE : CMD_WRONG;
}

static const struct report {
    const char *target;
    void (*print)(json_t *answer);
    enum cmd_exit (*verdict)(const json_t *answer);
} reports[] = {
    {"/v1/config", config_print, NULL},
    {"/v1/diagnosis", diagnosis_print, diagnosis_verdict},
    {"/v1/comparison", comparison_print, comparison_verdict},
    {"/v1/engines", engines_print, NULL},
    {"/v1/check", check_print, check_verdict},
    {"/v1/lint", cmd_lint_print, cmd_lint_verdict},
    {"/v1/extend", cmd_extend_print, cmd_extend_verdict},
};

static const struct report *report_of(const char *target)
{
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
        if (strcspn(target, "?") == strlen(reports[i].target) &&
            strncmp(target, reports[i].target, strlen(reports[i].target)) == 0)
            return &reports[i];
    return NULL;
}

bool cmd_report_is_for(const char *target)
{
    return report_of(target);
}

void cmd_report_print(const char *target, json_t *answer)
{
    report_of(target)->print(answer);
}

enum cmd_exit cmd_report_verdict(const char *target, const json_t *answer)
{
    const struct report *report = report_of(target);

    return report && report->verdict ? report->verdict(answer) : CMD_DONE;
}

/* ---- tensors as short tables ----------------------------------------------------------------- */

/* Of a long axis only the first and the last items are shown, with an ellipsis between them. */

enum { COLUMN = 11, NAME_MAX = 64, VALUE_MAX = 200 };

/* The items shown at the ends of an axis that has more than `most`. */
struct ends {
    size_t most, first, last;
};

static const struct ends of_rows = {8, 4, 3}, of_tables = {3, 1, 1};

/* The index shown after i; *gap: items are left out between them. */
static size_t next_shown(struct ends ends, size_t i, size_t count, bool *gap)
{
    *gap = count > ends.most && i + 1 == ends.first;
    return *gap ? count - ends.last : i + 1;
}

static void item_print(const json_t *item)
{
    if (json_is_string(item)) /* Infinity, NaN */
        printf("%*s", COLUMN, json_string_value(item));
    else if (json_is_boolean(item))
        printf("%*s", COLUMN, json_is_true(item) ? "true" : "false");
    else if (json_is_integer(item))
        printf("%*" JSON_INTEGER_FORMAT, COLUMN, json_integer_value(item));
    else
        printf("%*.5g", COLUMN, json_number_value(item));
}

static void row_print(const json_t *row)
{
    const size_t count = json_array_size(row);
    bool gap;

    for (size_t i = 0; i < count;) {
        item_print(json_array_get(row, i));
        i = next_shown(of_rows, i, count, &gap);
        if (gap)
            fputs(" ...", stdout);
    }
    putchar('\n');
}

static bool is_row(const json_t *data)
{
    return !json_is_array(json_array_get(data, 0));
}

/* Prints the rows of a table, each after its index. */
static void rows_print(const json_t *data)
{
    const size_t count = json_array_size(data);
    bool gap;

    for (size_t i = 0; i < count;) {
        printf("%8zu ", i);
        row_print(json_array_get(data, i));
        i = next_shown(of_rows, i, count, &gap);
        if (gap)
            puts("     ...");
    }
}

/* Prints a table, or several below the indices of the other axes. */
static void data_print(const json_t *data, const char *indices)
{
    const size_t count = json_array_size(data);
    char next[NAME_MAX];
    bool gap;

    if (is_row(json_array_get(data, 0))) {
        if (*indices)
            printf("  [%s]\n", indices);
        rows_print(data);
        return;
    }
    for (size_t i = 0; i < count;) {
        snprintf(next, sizeof(next), "%s%s%zu", indices, *indices ? ", " : "", i);
        data_print(json_array_get(data, i), next);
        i = next_shown(of_tables, i, count, &gap);
        if (gap)
            puts("  ...");
    }
}

static void tensor_print(const char *name, const json_t *tensor)
{
    const json_t *data = json_object_get(tensor, "data"), *size;
    size_t index;

    printf("%s: %s [", name, cmd_member(tensor, "dtype"));
    json_array_foreach(json_object_get(tensor, "shape"), index, size)
        printf("%s%" JSON_INTEGER_FORMAT, index > 0 ? ", " : "", json_integer_value(size));
    printf("]\n");
    if (!json_is_array(data)) {
        item_print(data);
        putchar('\n');
    } else if (is_row(data)) {
        printf("%9s", "");
        row_print(data);
    } else {
        data_print(data, "");
    }
}

/* Prints the other members of an answer that are short. */
static void others_print(json_t *answer)
{
    static const char *const printed[] = {"encoding", "tensors", "warnings"};
    char text[VALUE_MAX];
    const char *key;
    json_t *value;

    json_object_foreach(answer, key, value)
    {
        const size_t size = json_dumpb(value, text, sizeof(text),
                                       JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        bool is_other = size > 0 && size <= sizeof(text);
        for (size_t i = 0; i < sizeof(printed) / sizeof(printed[0]); i++)
            is_other = is_other && strcmp(key, printed[i]) != 0;
        if (is_other)
            printf("%s: %.*s\n", key, (int)size, text);
    }
}

bool cmd_tables_print(json_t *answer)
{
    json_t *tensors = json_object_get(answer, "tensors"), *tensor;
    const char *name;

    json_object_foreach(tensors, name, tensor) if (!json_object_get(tensor, "data")) return false;
    if (json_object_size(tensors) == 0)
        return false;
    if (json_object_get(answer, "encoding"))
        encoding_print(answer);
    others_print(answer);
    json_object_foreach(tensors, name, tensor) tensor_print(name, tensor);
    warnings_print(answer, (int)strlen("warning"));
    printf("(-o FILE writes the complete answer, format=json prints it)\n");
    return true;
}
