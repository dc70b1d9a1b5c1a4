/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <string.h>

#include "posenc/posenc.h"
#include "server/options.h"

/* The manual page in man's macros of roff. */

static const char beginning[] =
    ".SH NAME\n"
    "posencd \\- positional encodings over HTTP\n"
    ".SH SYNOPSIS\n"
    ".B posencd\n"
    ".RB [ \\-\\-\\fIflag\\fP\n"
    ".IR value ]...\n"
    ".SH DESCRIPTION\n"
    "Serves tables, rotations, biases and analyses of the positional encodings of transformers, "
    "correctly rounded. What it offers and takes is described by the server itself, at\n"
    ".I /openapi.yaml\n"
    "and\n"
    ".IR /v1/encodings .\n"
    ".SH OPTIONS\n"
    "A flag and its value are two arguments, or one with = between them. Each flag can stand in "
    "the "
    "environment, too: \\-\\-body\\-max is\n"
    ".BR POSENC_BODY_MAX ;\n"
    "an argument goes before it.\n";

static const char end[] =
    ".SH ENVIRONMENT\n"
    "A variable for each flag, as listed above; an address of a Kubernetes Service "
    "(POSENC_PORT=tcp://...) is passed over.\n"
    ".TP\n"
    ".B POSENC_ISA\n"
    "A lower instruction set than the machine has.\n"
    ".TP\n"
    ".B NOTIFY_SOCKET\n"
    "Set by a service manager, which is notified when the server listens and when it ends.\n"
    ".SH SIGNALS\n"
    ".TP\n"
    ".BR SIGTERM \", \" SIGINT\n"
    "Drains: is unready at once, accepts for \\-\\-drain\\-delay (not at SIGINT), and ends when "
    "what "
    "is under way is done, after \\-\\-shutdown\\-timeout at the latest. Again: ends at once.\n"
    ".TP\n"
    ".B SIGHUP\n"
    "Reads the tokens and the tables again.\n"
    ".SH EXIT STATUS\n"
    ".TP\n"
    ".B 0\n"
    "It ended on request.\n"
    ".TP\n"
    ".B 1\n"
    "It did not start, or did not end in time; the log says why. Of \\-\\-healthcheck: the server "
    "is "
    "not ready.\n"
    ".TP\n"
    ".B 2\n"
    "A setting is wrong.\n"
    ".SH FILES\n"
    ".TP\n"
    ".I /etc/default/posencd\n"
    "Variables for the unit posencd.service.\n"
    ".TP\n"
    ".I /var/lib/posencd\n"
    "Stored tables of that unit. For anybody to store there, name a file of tokens:\n"
    ".B LoadCredential=tokens:/etc/posencd.tokens\n"
    "and\n"
    ".B Environment=POSENC_TOKEN_FILE=%d/tokens\n"
    "in an override of the unit.\n";

/* Text for roff, which takes - for a hyphen and a backslash for an escape. */
static void text_put(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
}

static void option_put(void *context, const struct srv_option_info *option)
{
    FILE *out = context;

    fputs(".TP\n.B \\-\\-", out);
    text_put(out, option->name);
    fputs("\n\\&", out); /* no request, however the text begins */
    text_put(out, option->doc);
    if (option->takes) {
        fputs(".\nIt takes ", out);
        text_put(out, option->takes);
        fputs(*option->fallback ? "; default: " : "; there is no default", out);
        text_put(out, option->fallback);
    }
    fputs(".\n", out);
}

void srv_manual_print(FILE *out)
{
    fprintf(out, ".\\\" SPDX-License-Identifier: MIT\n.TH POSENCD 8 \"\" \"posenc %s\"\n%s",
            pe_version(), beginning);
    srv_options_each(option_put, out);
    fputs(end, out);
}
