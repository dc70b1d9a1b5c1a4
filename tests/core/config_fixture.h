/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_CONFIG_FIXTURE_H
#define TESTS_CORE_CONFIG_FIXTURE_H

/* Writes configs in few words, and reads them as a program does that has the public headers alone.
 */

#include <check.h>
#include <stdio.h>
#include <string.h>

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
