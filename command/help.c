/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

#define WORD_COLUMN 33 /* width of a word's arguments in the list of words */

const char *cmd_member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool list_has(const json_t *list, const char *name)
{
    size_t index;
    json_t *item;

    json_array_foreach(list, index, item)
    {
        const char *text = json_string_value(item);
        if (text && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

void cmd_schema_visit(const json_t *object, const struct cmd_visitor *visitor)
{
    const json_t *required = json_object_get(object, "required");
    const char *name;
    json_t *schema;

    json_object_foreach(json_object_get(object, "properties"), name, schema)
        visitor->visit(visitor->context, name, schema, list_has(required, name));
}

/* ---- the contract ---------------------------------------------------------------------------- */

/* Resolves {"$ref": "#/components/parameters/dim"}; other values are returned. */
static const json_t *resolved(const json_t *contract, const json_t *value)
{
    const char *at = cmd_member(value, "$ref");
    const json_t *found = *at ? contract : value;

    while (*at) {
        char key[128];
        size_t length;
        at += strspn(at, "#/");
        length = strcspn(at, "/");
        snprintf(key, sizeof(key), "%.*s", (int)length, at);
        found = json_object_get(found, key);
        at += length;
    }
    return found;
}

const json_t *cmd_operation(const json_t *contract, const struct cmd_word *word)
{
    const json_t *path =
        json_object_get(json_object_get(contract, "paths"), word->target ? word->target : "");
    char method[16] = "";

    for (size_t i = 0; word->method[i] && i + 1 < sizeof(method); i++)
        method[i] = (char)tolower((unsigned char)word->method[i]);
    return json_object_get(path, method);
}

void cmd_operation_visit(const json_t *contract, const json_t *operation,
                         const struct cmd_visitor *visitor)
{
    size_t index;
    json_t *item;

    json_array_foreach(json_object_get(operation, "parameters"), index, item)
    {
        const json_t *param = resolved(contract, item);
        const json_t *schema = resolved(contract, json_object_get(param, "schema"));
        json_t *described = json_copy((json_t *)schema);
        if (described && *cmd_member(param, "description"))
            json_object_set(described, "description", json_object_get(param, "description"));
        if (described && strcmp(cmd_member(param, "in"), "query") == 0)
            visitor->visit(visitor->context, cmd_member(param, "name"), described,
                           json_is_true(json_object_get(param, "required")));
        json_decref(described);
    }
}

/* ---- schemas as text ------------------------------------------------------------------------- */

/* Prints the fewest digits that read back as the same number. */
static void real_print(double value, FILE *out)
{
    char text[32];
    double read;
    int digits = 0;

    do {
        snprintf(text, sizeof(text), "%.*g", ++digits, value);
        pe_from_text(&read, PE_F64, text, strlen(text));
    } while (read != value && digits < 17);
    fputs(text, out);
}

static void value_print(const json_t *value, FILE *out)
{
    if (json_is_string(value))
        fprintf(out, "%s", json_string_value(value));
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        real_print(json_real_value(value), out);
    else if (json_is_boolean(value))
        fprintf(out, "%s", json_is_true(value) ? "true" : "false");
}

static void choices_print(const json_t *schema, FILE *out)
{
    size_t index;
    json_t *choice;

    json_array_foreach(json_object_get(schema, "enum"), index, choice)
    {
        fputs(index > 0 ? " | " : "", out);
        value_print(choice, out);
    }
}

static void range_print(const json_t *schema, FILE *out)
{
    static const struct {
        const char *key, *before;
    } bounds[] = {{"minimum", " from "}, {"exclusiveMinimum", " above "}, {"maximum", " to "}};

    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (json_object_get(schema, bounds[i].key)) {
            fputs(bounds[i].before, out);
            value_print(json_object_get(schema, bounds[i].key), out);
        }
}

void cmd_schema_print(const json_t *schema, bool required, FILE *out)
{
    const char *type = cmd_member(schema, "type");

    if (json_object_get(schema, "enum"))
        choices_print(schema, out);
    else if (strcmp(type, "boolean") == 0)
        fputs("true | false", out);
    else if (strcmp(type, "array") == 0)
        fputs("numbers with commas between them", out);
    else
        fputs(strcmp(type, "integer") == 0  ? "a whole number"
              : strcmp(type, "number") == 0 ? "a number"
                                            : "a text",
              out);
    range_print(schema, out);
    if (json_object_get(schema, "default")) {
        fputs(", by default ", out);
        value_print(json_object_get(schema, "default"), out);
    } else if (required) {
        fputs(", required", out);
    }
    if (*cmd_member(schema, "description"))
        fprintf(out, ": %s", cmd_member(schema, "description"));
}

/* ---- encodings and commands ------------------------------------------------------------------ */

/* The service's "operations" are called views everywhere else. */
static void views_list(const json_t *encoding)
{
    size_t index;
    json_t *view;

    json_array_foreach(json_object_get(encoding, "operations"), index, view)
        printf("%s%s", index > 0 ? " " : "", cmd_member(view, "name"));
}

enum cmd_exit cmd_encodings(struct cmd *cmd)
{
    struct cmd_request request = {0};
    json_t *list, *encoding;
    enum cmd_exit code;
    size_t index;

    if (cmd->line->names_count > 0) {
        cmd_say("encodings takes no name (posenc help %s describes one)", cmd->line->names[0]);
        return CMD_USAGE;
    }
    cmd_text_put(&request.target, "/v1/encodings");
    for (size_t i = 0; i < cmd->line->params_count; i++)
        cmd_request_param(&request, cmd->line->params[i].name, cmd->line->params[i].value);
    list = cmd_document(cmd, "GET", request.target.bytes, &code);
    json_array_foreach(json_object_get(list, "encodings"), index, encoding)
    {
        printf("%-16s%-10s%s\n%26s", cmd_member(encoding, "name"), cmd_member(encoding, "family"),
               cmd_member(encoding, "title"), "");
        views_list(encoding);
        putchar('\n');
    }
    json_decref(list);
    cmd_text_free(&request.target);
    return code;
}

static void param_show(void *context, const char *name, const json_t *schema, bool required)
{
    (void)context;
    printf("  %s=\n      ", name);
    cmd_schema_print(schema, required, stdout);
    putchar('\n');
}

static const struct cmd_visitor shower = {param_show, NULL};

/* "dim=4 length=3" of an example's query. */
static void example_show(const json_t *view, const char *encoding)
{
    const char *query = strchr(cmd_member(view, "example"), '?');

    if (!query)
        return;
    printf("  for instance: posenc %s %s ", cmd_member(view, "name"), encoding);
    for (query++; *query; query++)
        putchar(*query == '&' ? ' ' : *query);
    putchar('\n');
}

/* Parameters that only a view has, beside those of its encoding. */
static void view_show(const json_t *view, const char *encoding)
{
    const json_t *params = json_object_get(view, "parameters");
    const char *name;
    json_t *schema;

    printf("\nposenc %s %s: %s\n ", cmd_member(view, "name"), encoding, cmd_member(view, "title"));
    json_object_foreach(json_object_get(params, "properties"), name, schema) printf(" %s=", name);
    putchar('\n');
    example_show(view, encoding);
}

static enum cmd_exit encoding_help(struct cmd *cmd, const char *name)
{
    enum cmd_exit code;
    json_t *encoding = cmd_encoding(cmd, name, &code), *view;
    size_t index;

    if (!encoding)
        return code;
    printf("%s (%s): %s\n  %s\n  %s\n\n", cmd_member(encoding, "name"),
           cmd_member(encoding, "family"), cmd_member(encoding, "title"),
           cmd_member(encoding, "formula"), cmd_member(encoding, "reference"));
    cmd_schema_visit(json_object_get(encoding, "parameters"), &shower);
    json_array_foreach(json_object_get(encoding, "operations"), index, view)
        view_show(view, cmd_member(encoding, "name"));
    json_decref(encoding);
    return CMD_DONE;
}

/* ---- views and parameters -------------------------------------------------------------------- */

/* The places that use a name, by its description: {"description": ["rope", "rotate"]}. */
struct uses {
    const char *name;
    const char *place; /* being visited */
    json_t *found;
};

static void use_add(struct uses *uses, const char *text)
{
    json_t *places = json_object_get(uses->found, text), *place;
    size_t index;

    if (!places) {
        places = json_array();
        json_object_set_new(uses->found, text, places);
    }
    json_array_foreach(places, index,
                       place) if (strcmp(json_string_value(place), uses->place) == 0) return;
    json_array_append_new(places, json_string(uses->place));
}

static void param_use(void *context, const char *name, const json_t *schema, bool required)
{
    struct uses *uses = context;
    char *text = NULL;
    size_t size;
    FILE *out = strcmp(name, uses->name) == 0 ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    cmd_schema_print(schema, required, out);
    fclose(out);
    use_add(uses, text);
    free(text);
}

static void uses_print(const struct uses *uses, const char *title)
{
    const char *text;
    json_t *places, *place;
    size_t index;

    json_object_foreach(uses->found, text, places)
    {
        printf("%s\n      %s\n     ", title, text);
        json_array_foreach(places, index, place)
            printf("%s %s", index > 0 ? "," : "", json_string_value(place));
        putchar('\n');
    }
}

/* Lists encodings, views and commands with a parameter of this name. */
static bool parameter_help(struct cmd *cmd, const json_t *list, const char *name)
{
    struct uses uses = {.name = name, .found = json_object()};
    const struct cmd_visitor visitor = {param_use, &uses};
    struct cmd_text title = {0};
    json_t *encoding, *view, *contract;
    enum cmd_exit code;
    size_t i, j;

    json_array_foreach(json_object_get(list, "encodings"), i, encoding)
    {
        uses.place = cmd_member(encoding, "name");
        cmd_schema_visit(json_object_get(encoding, "parameters"), &visitor);
        json_array_foreach(json_object_get(encoding, "operations"), j, view)
        {
            uses.place = cmd_member(view, "name");
            cmd_schema_visit(json_object_get(view, "parameters"), &visitor);
        }
    }
    contract = cmd_document(cmd, "GET", "/openapi.json", &code);
    for (i = 0; cmd_word_at(i); i++) {
        uses.place = cmd_word_at(i)->name;
        if (cmd_word_at(i)->takes != CMD_ENCODING)
            cmd_operation_visit(contract, cmd_operation(contract, cmd_word_at(i)), &visitor);
    }
    cmd_text_put(&title, name);
    cmd_text_put(&title, "=");
    uses_print(&uses, title.bytes);
    const bool is_known = json_object_size(uses.found) > 0;
    cmd_text_free(&title);
    json_decref(uses.found);
    json_decref(contract);
    return is_known;
}

/* Lists encodings with a view of this name. */
static bool view_help(const json_t *list, const char *name)
{
    struct uses uses = {.name = name, .found = json_object()};
    json_t *encoding, *view;
    size_t i, j;

    json_array_foreach(json_object_get(list, "encodings"), i, encoding)
    {
        uses.place = cmd_member(encoding, "name");
        json_array_foreach(json_object_get(encoding, "operations"), j, view)
        {
            if (strcmp(cmd_member(view, "name"), name) == 0)
                use_add(&uses, cmd_member(view, "title"));
        }
    }
    const bool is_known = json_object_size(uses.found) > 0;
    if (is_known)
        printf("posenc %s ENCODING [FILE] [name=value]...\n", name);
    uses_print(&uses, "");
    json_decref(uses.found);
    return is_known;
}

static bool is_encoding(const json_t *list, const char *name)
{
    json_t *encoding;
    size_t index;

    json_array_foreach(json_object_get(list, "encodings"), index,
                       encoding) if (strcmp(cmd_member(encoding, "name"), name) == 0) return true;
    return false;
}

/* Help for a name that is not a command. */
static enum cmd_exit other_help(struct cmd *cmd, const char *name)
{
    enum cmd_exit code;
    json_t *list = cmd_document(cmd, "GET", "/v1/encodings", &code);
    const bool is_known = list && !is_encoding(list, name) &&
                          (view_help(list, name) | parameter_help(cmd, list, name));

    json_decref(list);
    if (!list || is_known)
        return code;
    return encoding_help(cmd, name);
}

enum cmd_exit cmd_help(struct cmd *cmd, const char *name)
{
    const struct cmd_word *word = cmd_word_find(name);
    enum cmd_exit code;
    json_t *contract;
    const json_t *operation;

    if (!word)
        return other_help(cmd, name);
    printf("posenc %s %s\n  %s\n", word->name, word->arguments, word->doc);
    if (word->takes == CMD_TARGET)
        return CMD_DONE;
    if (word->takes == CMD_ENCODING) {
        printf("\nposenc help ENCODING lists its parameters.\n");
        return CMD_DONE;
    }
    contract = cmd_document(cmd, "GET", "/openapi.json", &code);
    operation = cmd_operation(contract, word);
    if (*cmd_member(operation, "description"))
        printf("\n%s\n", cmd_member(operation, "description"));
    cmd_operation_visit(contract, operation, &shower);
    json_decref(contract);
    return code;
}

/* ---- usage ----------------------------------------------------------------------------------- */

/* A line of the list of words; the description has a line of its own where the arguments fill its
 * column. */
static void print_word(FILE *out, const char *name, const char *arguments, const char *doc)
{
    if (strlen(arguments) < WORD_COLUMN)
        fprintf(out, "  %-12s%-*s%s\n", name, WORD_COLUMN, arguments, doc);
    else
        fprintf(out, "  %-12s%s\n  %*s%s\n", name, arguments, 12 + WORD_COLUMN, "", doc);
}

/* "  -o, --output FILE       doc" */
static void print_flag(FILE *out, const struct cmd_flag *flag)
{
    enum { FLAG_COLUMN = 18 };
    const int used =
        (int)(strlen("--") + strlen(flag->name) + strlen(flag->value)) + !!*flag->value;

    fprintf(out, "  %s%s%s--%s%s%s", *flag->letter ? "-" : "   ", flag->letter,
            *flag->letter ? ", " : " ", flag->name, *flag->value ? " " : "", flag->value);
    fprintf(out, "%*s  %s\n", used < FLAG_COLUMN ? FLAG_COLUMN - used : 0, "", flag->doc);
}

void cmd_usage_print(FILE *out)
{
    static const struct {
        int code;
        const char *doc;
    } exits[] = {
#define EXIT(name, code, doc) {code, doc},
#include "command/exits.def"
#undef EXIT
    };

    fprintf(out, "posenc: positional encodings, exact\n\nusage: posenc WORD [argument]...\n\n");
    for (size_t i = 0; cmd_word_at(i); i++)
        print_word(out, cmd_word_at(i)->name, cmd_word_at(i)->arguments, cmd_word_at(i)->doc);
    print_word(out, "help", "[NAME]", "a command, an encoding, a view or a parameter");
    print_word(out, "VIEW", "ENCODING [FILE] [name=value]...",
               "any other view or analysis of an encoding: similarity");
    fprintf(out,
            "\nname=value is a parameter; name=@FILE takes its value from a file. FILE is a body\n"
            "(.npy, .safetensors, .json), - the standard input.\n\n");
    for (size_t i = 0; cmd_flag_at(i); i++)
        print_flag(out, cmd_flag_at(i));
    fprintf(out, "\nsettings of the service, as posencd has them:\n\n");
    for (size_t i = 0; pe_service_setting(i); i++) {
        const struct pe_setting_info *info = pe_service_setting(i);
        fprintf(out, "      --%-18s%s (%s)\n", info->name, info->doc,
                *info->fallback ? info->fallback : "none");
    }
    fprintf(out, "\nexit codes:\n\n");
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
        fprintf(out, "  %4d  %s\n", exits[i].code, exits[i].doc);
}
