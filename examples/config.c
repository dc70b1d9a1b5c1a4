/* SPDX-License-Identifier: MIT */
/* The frequencies of a model from its config.json, whose keys stand on the command line here; a
 * program that has a JSON library walks the file instead:
 *
 *     ./config model_type=llama hidden_size=4096 num_attention_heads=32 rope_theta=500000 \
 *         rope_scaling.rope_type=linear rope_scaling.factor=8
 *
 * Says which key each parameter came from, and prints inv_freq. */
#include <posenc/posenc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a value as JSON would have it: a whole number, another number, or text. */
static enum pe_status value_add(struct pe_config_node *node, const char *key, const char *value,
                                struct pe_error *err)
{
    char *end;
    const long long whole = strtoll(value, &end, 10);

    if (*value && !*end)
        return pe_config_set_integer(node, key, whole, err);
    const double number = strtod(value, &end);
    return *value && !*end ? pe_config_set_number(node, key, number, err)
                           : pe_config_set_text(node, key, value, err);
}

/* "key=value", or "object.key=value" for one object: rope_scaling. */
static enum pe_status argument_add(struct pe_config *config, struct pe_config_node **object,
                                   char *argument, struct pe_error *err)
{
    const char *key = strtok(argument, "="), *value = strtok(NULL, "");
    char *dot = key ? strchr(key, '.') : NULL;

    if (!dot)
        return value_add(pe_config_top(config), key, value ? value : "", err);
    *dot = '\0';
    if (!*object && pe_config_set_object(pe_config_top(config), key, object, err))
        return err->status;
    return value_add(*object, dot + 1, value ? value : "", err);
}

/* Nine digits tell one f32 from every other. */
static enum pe_status frequencies_print(const struct pe_scheme *scheme, struct pe_error *err)
{
    const struct pe_view_type *type = pe_encoding_view(pe_scheme_encoding(scheme), "frequencies");
    const struct pe_params none = {0};
    struct pe_view *view = NULL;
    float *w = calloc(pe_scheme_pairs(scheme) + 1, sizeof(*w));

    if (w && !pe_view_new(&view, scheme, type, &none, PE_F32, NULL, err) &&
        !pe_view_fill(view, 0, 0, 1, w, NULL, err))
        for (size_t i = 0; i < pe_scheme_pairs(scheme); i++)
            printf("%.9g\n", w[i]);
    pe_view_free(view);
    free(w);
    return err->status;
}

int main(int count, char **arguments)
{
    struct pe_error err = {0};
    struct pe_params params = {0};
    struct pe_config *config = NULL;
    struct pe_config_node *object = NULL;
    struct pe_config_reading *reading = NULL;
    struct pe_scheme *scheme = NULL;
    const struct pe_config_source *source;

    pe_config_new(&config, NULL, &err);
    for (int i = 1; i < count && !err.status; i++)
        argument_add(config, &object, arguments[i], &err);
    if (!err.status && !pe_config_read(&reading, config, NULL, false, &err) &&
        !pe_config_scheme(&scheme, reading, &params, &err) &&
        !pe_scheme_prepare(scheme, NULL, &err)) {
        for (size_t i = 0; (source = pe_config_source(reading, i)); i++)
            printf("%s: %s\n", source->param, source->key ? source->key : "not in the config");
        frequencies_print(scheme, &err);
    }
    pe_scheme_free(scheme);
    pe_params_free(&params);
    pe_config_reading_free(reading);
    pe_config_free(config);
    if (err.status)
        fprintf(stderr, "%s: %s\n", pe_status_title(err.status), err.detail);
    return err.status != PE_OK;
}
