/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "command/command.h"

/* The manual page and the completion for bash, generated from /v1/encodings and /openapi.json:
 * `make` runs posenc generate man, and posenc generate bash. */

/* ---- bash ------------------------------------------------------------------------------------ */

static void name_put(void *context, const char *name, const json_t *schema, bool required)
{
    (void)context, (void)schema, (void)required;
    printf("%s= ", name);
}

static const struct cmd_visitor namer = {name_put, NULL};

/* Prints the choices of a parameter, once for each name. context: a set of names printed before. */
static void choices_put(void *context, const char *name, const json_t *schema, bool required)
{
    json_t *printed = context, *choice;
    const json_t *choices = json_object_get(schema, "enum");
    size_t index;

    (void)required;
    if (!choices || json_object_get(printed, name))
        return;
    json_object_set_new(printed, name, json_true());
    printf("        %s) REPLY='", name);
    json_array_foreach(choices, index, choice) if (json_is_string(choice))
        printf("%s ", json_string_value(choice));
    printf("' ;;\n");
}

static void encodings_each(const json_t *list, const struct cmd_visitor *visitor, bool views)
{
    json_t *encoding, *view;
    size_t i, j;

    json_array_foreach(json_object_get(list, "encodings"), i, encoding)
    {
        cmd_schema_visit(json_object_get(encoding, "parameters"), visitor);
        json_array_foreach(json_object_get(encoding, "operations"), j, view) if (views)
            cmd_schema_visit(json_object_get(view, "parameters"), visitor);
    }
}

/* Prints the parameters of each encoding, of its views, and of each function. */
static void bash_parameters(const json_t *list, const json_t *contract)
{
    json_t *encoding, *view;
    size_t i, j;

    printf("_posenc_parameters() {\n    case $1 in\n");
    json_array_foreach(json_object_get(list, "encodings"), i, encoding)
    {
        json_array_foreach(json_object_get(encoding, "operations"), j, view)
        {
            printf("        %s/%s) REPLY='", cmd_member(view, "name"),
                   cmd_member(encoding, "name"));
            cmd_schema_visit(json_object_get(encoding, "parameters"), &namer);
            cmd_schema_visit(json_object_get(view, "parameters"), &namer);
            printf("' ;;\n");
        }
    }
    for (i = 0; cmd_word_at(i); i++) {
        const struct cmd_word *word = cmd_word_at(i);
        if (word->takes == CMD_ENCODING || word->takes == CMD_TARGET)
            continue;
        printf("        %s/*) REPLY='", word->name);
        cmd_operation_visit(contract, cmd_operation(contract, word), &namer);
        printf("' ;;\n");
    }
    printf("        *) REPLY= ;;\n    esac\n}\n\n");
}

static void bash_choices(const json_t *list, const json_t *contract)
{
    json_t *printed = json_object();
    const struct cmd_visitor chooser = {choices_put, printed};

    printf("_posenc_choices() {\n    case $1 in\n");
    encodings_each(list, &chooser, true);
    for (size_t i = 0; cmd_word_at(i); i++)
        cmd_operation_visit(contract, cmd_operation(contract, cmd_word_at(i)), &chooser);
    printf("        *) REPLY= ;;\n    esac\n}\n\n");
    json_decref(printed);
}

static void bash_lists(const json_t *list)
{
    json_t *encoding, *view, *printed = json_object();
    size_t i, j;

    printf("_posenc_words='help");
    for (i = 0; cmd_word_at(i); i++) {
        json_object_set_new(printed, cmd_word_at(i)->name, json_true());
        printf(" %s", cmd_word_at(i)->name);
    }
    json_array_foreach(json_object_get(list, "encodings"), i, encoding)
        json_array_foreach(json_object_get(encoding, "operations"), j, view)
    {
        const char *name = cmd_member(view, "name");
        if (!json_object_get(printed, name))
            printf(" %s", name);
        json_object_set_new(printed, name, json_true());
    }
    printf("'\n_posenc_encodings='");
    json_array_foreach(json_object_get(list, "encodings"), i, encoding)
        printf("%s ", cmd_member(encoding, "name"));
    printf("'\n_posenc_flags='");
    for (i = 0; cmd_flag_at(i); i++)
        printf("%s--%s", i > 0 ? " " : "", cmd_flag_at(i)->name);
    for (i = 0; pe_service_setting(i); i++)
        printf(" --%s", pe_service_setting(i)->name);
    printf("'\n\n");
    json_decref(printed);
}

/* bash splits words at '=': after one, the parameter's name is the word before. */
static const char bash_function[] =
    "_posenc() {\n"
    "    local word=${COMP_WORDS[1]-} name=${COMP_WORDS[2]-} cur=${COMP_WORDS[COMP_CWORD]}\n"
    "    local before=${COMP_WORDS[COMP_CWORD-1]} REPLY=\n"
    "    COMPREPLY=()\n"
    "    if [ \"$cur\" = = ]; then\n"
    "        cur= ; _posenc_choices \"$before\"\n"
    "    elif [ \"$before\" = = ]; then\n"
    "        _posenc_choices \"${COMP_WORDS[COMP_CWORD-2]}\"\n"
    "    elif [ \"${cur#-}\" != \"$cur\" ]; then\n"
    "        REPLY=$_posenc_flags\n"
    "    elif [ \"$COMP_CWORD\" = 1 ]; then\n"
    "        REPLY=$_posenc_words\n"
    "    elif [ \"$COMP_CWORD\" = 2 ]; then\n"
    "        if [ \"$word\" = help ]; then\n"
    "            REPLY=\"$_posenc_encodings $_posenc_words\"\n"
    "        else\n"
    "            _posenc_parameters \"$word/\"\n"
    "            [ -n \"$REPLY\" ] || REPLY=$_posenc_encodings\n"
    "        fi\n"
    "    else\n"
    "        _posenc_parameters \"$word/$name\"\n"
    "    fi\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$REPLY\" -- \"$cur\")\n"
    "    case ${COMPREPLY[0]-} in *=) compopt -o nospace ;; esac\n"
    "}\n\n"
    "complete -o default -F _posenc posenc\n";

/* ---- the manual page ------------------------------------------------------------------------- */

/* Prints a text as roff, with requests and escapes quoted. */
static void roff_put(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\n')
            fputs("\n.br\n", stdout);
        else
            putchar(*text);
    }
}

static void man_param(void *context, const char *name, const json_t *schema, bool required)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)context;
    if (!out)
        return;
    cmd_schema_print(schema, required, out);
    fclose(out);
    printf(".TP\n.BI ");
    roff_put(name);
    printf("= value\n");
    roff_put(text);
    putchar('\n');
    cmd_text_free(&(struct cmd_text){.bytes = text});
}

static const struct cmd_visitor man_visitor = {man_param, NULL};

static void man_words(void)
{
    printf(".SH WORDS\n");
    for (size_t i = 0; cmd_word_at(i); i++) {
        const struct cmd_word *word = cmd_word_at(i);
        printf(".TP\n.B %s\n", word->name);
        printf(".I ");
        roff_put(word->arguments);
        printf("\n.br\n");
        roff_put(word->doc);
        putchar('\n');
    }
    printf(".TP\n.B help\n.I [NAME]\n.br\na command, an encoding, a view or a parameter\n"
           ".TP\n.I VIEW ENCODING [FILE] [name=value]...\n.br\n"
           "any other view or analysis of an encoding\n");
}

static void man_flag(const struct cmd_flag *flag)
{
    printf(".TP\n.B ");
    if (*flag->letter)
        printf("\\-%s, ", flag->letter);
    printf("\\-\\-%s", flag->name);
    if (*flag->value)
        printf(" \\fI%s\\fR", flag->value);
    putchar('\n');
    roff_put(flag->doc);
    putchar('\n');
}

static void man_options(void)
{
    printf(".SH OPTIONS\n");
    for (size_t i = 0; cmd_flag_at(i); i++)
        man_flag(cmd_flag_at(i));
    printf(".PP\nSettings of the service, as in\n.BR posencd (8):\n");
    for (size_t i = 0; pe_service_setting(i); i++) {
        const struct pe_setting_info *info = pe_service_setting(i);
        printf(".TP\n.B \\-\\-");
        roff_put(info->name);
        printf(" \\fIVALUE\\fR\n");
        roff_put(info->doc);
        printf(" (");
        roff_put(*info->fallback ? info->fallback : "none");
        printf(")\n");
    }
}

static void man_encodings(const json_t *list)
{
    json_t *encoding, *view;
    size_t i, j;

    printf(".SH ENCODINGS\n");
    json_array_foreach(json_object_get(list, "encodings"), i, encoding)
    {
        printf(".SS ");
        roff_put(cmd_member(encoding, "name"));
        putchar('\n');
        roff_put(cmd_member(encoding, "title"));
        printf(". Views:");
        json_array_foreach(json_object_get(encoding, "operations"), j, view)
        {
            putchar(' ');
            roff_put(cmd_member(view, "name"));
        }
        putchar('\n');
        cmd_schema_visit(json_object_get(encoding, "parameters"), &man_visitor);
    }
}

static void man_signs(void)
{
    static const struct {
        const char *sign, *head_sign, *doc;
    } signs[] = {
#define SIGN(name, sign, head_sign, colour, doc) {sign, head_sign, doc},
#include "command/signs.def"
#undef SIGN
    };

    printf(".SH SIGNS\nA report on a terminal begins with a sign; that of a head, where heads are "
           "reported, is in parentheses.\n");
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        printf(".TP\n.B %s (%s)\n%s\n", signs[i].sign, signs[i].head_sign, signs[i].doc);
}

static void man_exits(void)
{
    static const struct {
        int code;
        const char *doc;
    } exits[] = {
#define EXIT(name, code, doc) {code, doc},
#include "command/exits.def"
#undef EXIT
    };

    printf(".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
        printf(".TP\n.B %d\n%s\n", exits[i].code, exits[i].doc);
}

static void man_print(const json_t *list)
{
    printf(".\\\" Made by posenc generate man.\n.TH POSENC 1 \"\" \"posenc %s\"\n"
           ".SH NAME\nposenc \\- positional encodings for Transformers, exact\n"
           ".SH SYNOPSIS\n.B posenc\n.I WORD\n.RI [ argument ]...\n"
           ".SH DESCRIPTION\nAnswers what posencd answers, in this process: the same targets, "
           "parameters, bytes and refusals. A parameter is\n.IR name = value ;\n"
           ".IR name =@ FILE\ntakes its value from a file. A\n.I FILE\nis a body, by its name in "
           "npy, safetensors or JSON;\n.B \\-\nis the standard input. Binary answers are not "
           "written to a terminal.\n",
           pe_version());
    man_words();
    man_options();
    man_signs();
    man_exits();
    man_encodings(list);
    printf(
        ".SH EXAMPLES\n.nf\n"
        "posenc table rope dim=128 length=4096 \\-o rope.npy\n"
        "posenc config config.json\n"
        "posenc rotate qkv.safetensors encoding=rope layout=half axes=bhsd \\-o out.safetensors\n"
        "posenc compare 'rope dim=4' 'rope dim=4 base=500000' length=3\n.fi\n");
}

enum cmd_exit cmd_generate(struct cmd *cmd, const char *kind)
{
    const bool is_man = strcmp(kind, "man") == 0;
    enum cmd_exit code;
    json_t *list, *contract;

    if (!is_man && strcmp(kind, "bash") != 0) {
        cmd_say("generate makes man or bash");
        return CMD_USAGE;
    }
    list = cmd_document(cmd, "GET", "/v1/encodings", &code);
    contract = list ? cmd_document(cmd, "GET", "/openapi.json", &code) : NULL;
    if (contract && is_man) {
        man_print(list);
    } else if (contract) {
        printf("# Completion of posenc for bash. Made by posenc generate bash.\n\n");
        bash_lists(list);
        bash_parameters(list, contract);
        bash_choices(list, contract);
        fputs(bash_function, stdout);
    }
    json_decref(list);
    json_decref(contract);
    return code;
}
