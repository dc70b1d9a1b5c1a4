/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_CONFIG_FIXTURE_H
#define TESTS_CORE_CONFIG_FIXTURE_H

/* Writes configs in few words, and reads them as a program does that has the public headers alone.
 */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/tree.h"
#include "posenc/posenc.h"
#include "tests/core/owned.h"

static struct pe_error err;
static struct pe_config *config;
static struct pe_config_node *top;
static struct pe_config_reading *reading;

static inline void end(void)
{
    pe_config_reading_free(reading);
    pe_config_free(config);
    reading = NULL;
    config = NULL;
}

/* A new config; the last one and its reading are freed. A program has it called before each test,
 * and `end` behind it: CHECK_WAY(.before = begin, .after = end). */
static inline void begin(void)
{
    end();
    memset(&err, 0, sizeof(err));
    ck_assert_msg(!pe_config_new(&config, NULL, &err), "%s", err.detail);
    top = pe_config_top(config);
}

/* ---- writing configs shortly ----------------------------------------------------------------- */

static inline void text(struct pe_config_node *node, const char *key, const char *value)
{
    ck_assert_msg(!pe_config_set_text(node, key, value, &err), "%s", err.detail);
}

static inline void whole(struct pe_config_node *node, const char *key, int64_t value)
{
    ck_assert_msg(!pe_config_set_integer(node, key, value, &err), "%s", err.detail);
}

static inline void number(struct pe_config_node *node, const char *key, double value)
{
    ck_assert_msg(!pe_config_set_number(node, key, value, &err), "%s", err.detail);
}

static inline struct pe_config_node *object(struct pe_config_node *node, const char *key)
{
    struct pe_config_node *inner;

    ck_assert_msg(!pe_config_set_object(node, key, &inner, &err), "%s", err.detail);
    return inner;
}

/* A model type of 8 dimensions a head. */
static inline void model(const char *name)
{
    text(top, "model_type", name);
    whole(top, "head_dim", 8);
}

/* Adds "a.b=value": objects named before dots, then true, false, null, a number or text. */
static inline void pair_add(struct pe_config_node *node, char *pair)
{
    char *value = strchr(pair, '='), *dot, *end;

    for (*value++ = '\0'; (dot = strchr(pair, '.')); pair = dot + 1) {
        const struct pe_config_member *known;
        *dot = '\0';
        known = pe_config_member(node, pair);
        node = known ? known->value.as.node : object(node, pair);
    }
    if (!strcmp(value, "null"))
        ck_assert(!pe_config_set_null(node, pair, &err));
    else if (!strcmp(value, "true") || !strcmp(value, "false"))
        ck_assert(!pe_config_set_bool(node, pair, *value == 't', &err));
    else if (strtol(value, &end, 10), !*end)
        whole(node, pair, strtol(value, NULL, 10));
    else if (strtod(value, &end), !*end)
        number(node, pair, strtod(value, NULL));
    else
        text(node, pair, value);
}

static inline void pairs_add(const char *pairs)
{
    char copy[400], *rest = copy;

    snprintf(copy, sizeof(copy), "%s", pairs);
    for (char *pair; (pair = strsep(&rest, " "));)
        pair_add(top, pair);
}

/* ---- reading them ---------------------------------------------------------------------------- */

/* The last reading is freed. */
static inline struct pe_config_reading *read_layer(const char *layer_type, bool strict)
{
    pe_config_reading_free(reading);
    ck_assert_msg(!pe_config_read(&reading, config, layer_type, strict, &err), "%s: %s", err.where,
                  err.detail);
    return reading;
}

static inline struct pe_scheme *scheme_of(struct pe_config_reading *of)
{
    struct pe_params params = {0};
    struct pe_scheme *scheme;

    ck_assert_msg(!pe_config_scheme(&scheme, of, &params, &err), "%s: %s", err.where, err.detail);
    ck_assert_msg(!pe_scheme_prepare(scheme, NULL, &err), "%s", err.detail);
    pe_params_free(&params);
    return scheme;
}

/* Where a parameter came from: "KIND key". */
static inline const char *origin(const struct pe_config_reading *of, const char *param)
{
    static const char *const kinds[] = {"given", "key", "derived", "model", "default"};
    static char out[300];
    const struct pe_config_source *source;

    snprintf(out, sizeof(out), "nowhere");
    for (size_t i = 0; (source = pe_config_source(of, i)); i++)
        if (strcmp(source->param, param) == 0)
            snprintf(out, sizeof(out), "%s %s", kinds[source->from],
                     source->key ? source->key : "-");
    return out;
}

/* For pe_config_unused: appends a path and a space to text. */
static inline void path_join(void *context, const char *path)
{
    strcat(strcat(context, path), " ");
}

#endif
