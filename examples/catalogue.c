/* SPDX-License-Identifier: MIT */
/* Everything that the library has: encodings, their parameters with ranges, defaults and docs, and
 * their views. Columns are separated by tabs. */
#include <posenc/posenc.h>
#include <stdio.h>

static const char *const types[] = {"number",  "integer", "boolean", "choice",
                                    "numbers", "ranges",  "text"};

static void params_print(const char *owner, const struct pe_param *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct pe_param *param = &params[i];
        const bool bounded = param->min < 0 || param->max > 0; /* both 0: any finite number */

        printf("parameter\t%s\t%s\t%s\t", owner, param->name, types[param->type]);
        if (bounded)
            printf("%s%.17g..%.17g", param->above_min ? "above " : "", param->min, param->max);
        else
            printf("%s", param->choices ? param->choices : "");
        if (param->required)
            printf("\trequired");
        else
            printf("\t%s%s", param->fallback ? "default " : "",
                   param->fallback ? param->fallback : "");
        printf("\t%s\t%s\n", param->unit ? param->unit : "", param->doc);
    }
}

static void views_print(const struct pe_encoding *encoding, const char *name)
{
    const struct pe_view_type *type;
    char owner[64];

    for (size_t i = 0; (type = pe_encoding_view_at(encoding, i)); i++) {
        const struct pe_view_info *view = pe_view_info(type);

        printf("view\t%s\t%s\t%s\t%s\n", name, view->name, view->title, view->doc);
        snprintf(owner, sizeof(owner), "%s/%s", name, view->name);
        params_print(owner, view->params, view->params_count);
    }
}

int main(void)
{
    static const char *const kinds[] = {"rows", "rotary", "bias", "relative", "learned"};
    const struct pe_encoding *encoding;

    printf("posenc\t%s\t%s\n", pe_version(), pe_isa_name());
    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++) {
        const struct pe_encoding_info *info = pe_encoding_info(encoding);

        printf("encoding\t%s\t%s\t%s\t%s\t%s\t", info->name, info->family, info->title,
               info->formula, info->source);
        for (int kind = PE_KIND_ROWS; kind <= PE_KIND_LEARNED; kind++)
            printf("%s", pe_encoding_has(encoding, (enum pe_kind)kind) ? kinds[kind] : "");
        printf("\t%s\n", pe_attention_takes(encoding) ? "attention" : "");
        params_print(info->name, info->params, info->params_count);
        views_print(encoding, info->name);
    }
    return 0;
}
