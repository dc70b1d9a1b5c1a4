/* SPDX-License-Identifier: MIT */

/* The measured engines and cells, as the library has them. */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/engines/measured.h"
#include "tests/check_main.h"

TEST(test_each_engine_is_found_by_its_name_and_its_version)
{
    const struct pe_engine *engine, *found;
    char text[80];

    ck_assert_ptr_nonnull(pe_engine_at(0));
    for (size_t i = 0; (engine = pe_engine_at(i)); i++) {
        struct pe_error err = {0};
        ck_assert_int_eq(pe_engine_find(&found, engine->name, "", &err), PE_OK);
        ck_assert_ptr_eq(found, engine);
        snprintf(text, sizeof(text), "%s==%s", engine->name, engine->version);
        ck_assert_int_eq(pe_engine_find(&found, text, "", &err), PE_OK);
        ck_assert_ptr_eq(found, engine);
        ck_assert_uint_eq(strlen(engine->sha256), 64);
        for (const char *at = engine->sha256; *at; at++)
            ck_assert(isxdigit((unsigned char)*at));
        snprintf(text, sizeof(text), "%s==%s.1", engine->name, engine->version);
        ck_assert_int_eq(pe_engine_find(&found, text, "parameter:for", &err), PE_UNSUPPORTED);
        ck_assert_ptr_null(found);
        ck_assert_str_eq(err.where, "parameter:for");
        snprintf(text, sizeof(text), "is %s==%s", engine->name, engine->version);
        ck_assert_msg(strstr(err.detail, text) != NULL, "%s", err.detail);
    }
}

TEST(test_versions_of_an_engine_begin_with_the_newest)
{
    const struct pe_engine *engine, *version, *found;
    struct pe_engine_cell cell;
    size_t older = 0;
    char text[80];

    for (size_t i = 0; (engine = pe_engine_at(i)); i++) {
        ck_assert_ptr_eq(pe_engine_version_at(engine, 0), engine);
        for (size_t j = 1; (version = pe_engine_version_at(engine, j)); j++, older++) {
            struct pe_error err = {0};
            ck_assert_str_eq(version->name, engine->name);
            ck_assert_str_ne(version->version, engine->version);
            ck_assert_ptr_eq(pe_engine_version_at(version, 0), engine);
            snprintf(text, sizeof(text), "%s==%s", version->name, version->version);
            ck_assert_int_eq(pe_engine_find(&found, text, "", &err), PE_OK);
            ck_assert_ptr_eq(found, version);
            ck_assert(pe_engine_cell_at(version, NULL, 0, &cell));
            ck_assert_ptr_eq(cell.engine, version);
        }
    }
    ck_assert_uint_gt(older, 0);
    for (size_t i = 0; pe_engine_cell_at(NULL, NULL, i, &cell); i++)
        ck_assert_ptr_eq(pe_engine_version_at(cell.engine, 0), cell.engine);
}

TEST(test_the_nearest_version_is_named)
{
    static const struct {
        const char *version, *nearest;
    } cases[] = {
        {"0.33.0", "0.32.2"},
        {"0.32", "0.32.2"},
        {"0.31.5", "0.31.3"},
        {"0.31", "0.31.3"},
        {"0.30.0", "0.31.3"},
        {"0.31.3.1", "0.31.3"},
        {"1.0", "0.32.2"},
        {"main", "0.32.2"},
        {"0", "0.31.3"},
        {"0.32.2rc1", "0.32.2"},
        {"0.31.3-", "0.31.3"},
        {"99999999999999999999", "0.32.2"},
        {"0.99999999999999999999", "0.32.2"},
        {"0.-1", "0.31.3"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct pe_engine *found;
        struct pe_error err = {0};
        char text[80];
        snprintf(text, sizeof(text), "mlx-lm==%s", cases[i].version);
        ck_assert_int_eq(pe_engine_find(&found, text, "", &err), PE_UNSUPPORTED);
        snprintf(text, sizeof(text), "is mlx-lm==%s", cases[i].nearest);
        ck_assert_msg(strstr(err.detail, text) != NULL, "%s: %s", cases[i].version, err.detail);
    }
}

TEST(test_other_texts_are_refused)
{
    static const struct {
        const char *text;
        enum pe_status status;
    } cases[] = {
        {NULL, PE_INVALID},       {"", PE_INVALID},         {"==1", PE_INVALID},
        {"mlx-lm==", PE_INVALID}, {"mlx", PE_NOT_FOUND},    {"mlx-lm2", PE_NOT_FOUND},
        {"MLX-LM", PE_NOT_FOUND}, {"mlx==1", PE_NOT_FOUND}, {"mlx-lm=0.32.2", PE_NOT_FOUND},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct pe_engine *found;
        struct pe_error err = {0};
        ck_assert_int_eq(pe_engine_find(&found, cases[i].text, "", &err), cases[i].status);
        ck_assert_ptr_null(found);
    }
}

static bool is_code(const char *name)
{
    const char *code, *doc;

    for (size_t i = 0; (code = pe_engine_code_at(i, &doc)); i++)
        if (strcmp(code, name) == 0)
            return *doc != '\0';
    return false;
}

static void difference_check(const struct pe_engine_cell *cell)
{
    const struct pe_engine_difference *difference = cell->difference;

    if (cell->verdict == PE_ENGINE_BY_DEFAULT) {
        ck_assert_ptr_nonnull(difference->keys);
        return;
    }
    ck_assert_msg(is_code(difference->code), "%s: %s", cell->row, difference->code);
    ck_assert(!difference->also || is_code(difference->also));
    ck_assert_uint_le(difference->pairs, difference->of);
    ck_assert((difference->pairs > 0) == (difference->radians > 0));
    ck_assert((difference->pairs > 0) == (difference->at > 0));
}

TEST(test_cells_are_well_formed)
{
    struct pe_engine_cell cell;
    size_t counts[PE_ENGINE_VERDICTS] = {0};

    for (size_t i = 0; pe_engine_cell_at(NULL, NULL, i, &cell); i++) {
        const bool differs =
            cell.verdict == PE_ENGINE_BY_DEFAULT || cell.verdict == PE_ENGINE_DIFFERS;
        ck_assert(cell.form == 4 || cell.form == 5);
        ck_assert((cell.difference != NULL) == differs);
        ck_assert((cell.message != NULL) == (!differs && cell.verdict != PE_ENGINE_SAME));
        ck_assert(!cell.model_type || pe_engine_has_model_type(cell.model_type));
        if (differs)
            difference_check(&cell);
        counts[cell.verdict]++;
    }
    for (size_t i = 0; i < PE_ENGINE_VERDICTS; i++)
        ck_assert_msg(counts[i] > 0, "%s", pe_engine_verdict_name((enum pe_engine_verdict)i));
    ck_assert(!pe_engine_has_model_type("no_such_type"));
}

TEST(test_filters_part_the_cells)
{
    const struct pe_engine *engine;
    struct pe_engine_cell cell;
    size_t all = 0, of_engines = 0;

    while (pe_engine_cell_at(NULL, "llama", all, &cell))
        all++;
    for (size_t i = 0; (engine = pe_engine_at(i)); i++)
        for (size_t j = 0; pe_engine_cell_at(engine, "llama", j, &cell); j++, of_engines++) {
            ck_assert_ptr_eq(cell.engine, engine);
            ck_assert_str_eq(cell.model_type, "llama");
        }
    ck_assert_uint_gt(all, 0);
    ck_assert_uint_eq(all, of_engines);
    ck_assert(!pe_engine_cell_at(NULL, "no_such_type", 0, &cell));
}

TEST(test_names_have_an_end)
{
    const char *doc = NULL;

    ck_assert_str_eq(pe_engine_verdict_name(PE_ENGINE_VERDICTS), "");
    ck_assert_ptr_null(pe_engine_code_at(1000, &doc));
    ck_assert_ptr_null(pe_engine_at(1000));
}

/* The engines and releases in the order of the file, by which its rows have their number. */
static const struct {
    const char *name, *version;
} rows[] = {
#define ENGINE(name, package, version, sha256, beside, how) {name, version},
#include "core/engines/measured.def"
#undef ENGINE
};

enum { ENGINES = COUNT_OF(rows) };

static const struct pe_engine *engine_of_row(size_t row)
{
    const struct pe_engine *engine;
    char text[80];

    snprintf(text, sizeof(text), "%s==%s", rows[row].name, rows[row].version);
    ck_assert_int_eq(pe_engine_find(&engine, text, "", &(struct pe_error){0}), PE_OK);
    return engine;
}

/* Each such key is found by its engine and rope type, and by no other engine. */
TEST(test_keys_without_a_measured_effect)
{
    static const struct {
        size_t engine;
        const char *rope_type, *key;
    } unseen[] = {
#define UNSEEN(engine, rope_type, key) {engine, rope_type, key},
#include "core/engines/measured.def"
#undef UNSEEN
    };

    for (size_t i = 0; i < COUNT_OF(unseen); i++) {
        const struct pe_engine_part *part;
        bool is_type = false;
        for (size_t j = 0; (part = pe_engine_part_at(j)); j++)
            is_type |= strcmp(part->rope_type, unseen[i].rope_type) == 0;
        ck_assert_msg(is_type, "%s", unseen[i].rope_type);
    }
    for (size_t e = 0; e < ENGINES; e++)
        for (size_t i = 0; i < COUNT_OF(unseen); i++) {
            const char *key;
            bool is_named = false;
            for (size_t at = 0;
                 (key = pe_engine_unseen_at(engine_of_row(e), unseen[i].rope_type, at)); at++)
                is_named |= strcmp(key, unseen[i].key) == 0;
            ck_assert(is_named == (e == unseen[i].engine));
        }
}
