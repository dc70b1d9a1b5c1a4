/* SPDX-License-Identifier: MIT */
#include "tests/core/public_fixture.h"

/* Wrong arguments for the functions of engines, lint and probe. */

static struct pe_config *config_of(const char *model_type)
{
    struct pe_config *config;
    struct pe_config_node *top;

    ACCEPTED(pe_config_new(&config, NULL, &err));
    top = pe_config_top(config);
    if (model_type)
        ACCEPTED(pe_config_set_text(top, "model_type", model_type, &err));
    ACCEPTED(pe_config_set_integer(top, "hidden_size", 128, &err));
    ACCEPTED(pe_config_set_integer(top, "num_attention_heads", 8, &err));
    ACCEPTED(pe_config_set_number(top, "max_position_embeddings", 512, &err));
    return config;
}

TEST(engines_refuse)
{
    const struct pe_engine *engine;
    struct pe_engine_cell cell;
    const char *doc;

    REFUSED(PE_INVALID, pe_engine_find(&engine, NULL, "", &err));
    REFUSED(PE_NOT_FOUND, pe_engine_find(&engine, "\xff", "", &err));
    REFUSED(PE_UNSUPPORTED, pe_engine_find(&engine, "mlx-lm==0", "", &err));
    ck_assert_ptr_null(engine);
    ck_assert_ptr_null(pe_engine_at(SIZE_MAX));
    ck_assert_ptr_null(pe_engine_version_at(pe_engine_at(0), SIZE_MAX));
    ck_assert(!pe_engine_cell_at(NULL, NULL, SIZE_MAX, &cell));
    ck_assert(!pe_engine_cell_at(pe_engine_at(0), "no such type", 0, &cell));
    ck_assert(!pe_engine_has_model_type("") && pe_engine_has_model_type("llama"));
    ck_assert_str_eq(pe_engine_verdict_name((enum pe_engine_verdict)99), "");
    ck_assert_ptr_null(pe_engine_code_at(SIZE_MAX, &doc));
}

TEST(extensions_refuse)
{
    struct pe_config *config = config_of("llama"), *bias = config_of("bloom");
    struct pe_extension *extension;

    REFUSED(PE_UNSUPPORTED, pe_extension_new(&extension, bias, 1024, NULL, NULL, &err));
    pe_extension_free(extension);
    REFUSED(PE_OUT_OF_RANGE, pe_extension_new(&extension, config, INT64_MIN, NULL, NULL, &err));
    pe_extension_free(extension);
    REFUSED(PE_OUT_OF_RANGE, pe_extension_new(&extension, config, INT64_MAX, NULL, NULL, &err));
    pe_extension_free(extension);
    REFUSED(PE_INVALID, pe_extension_new(&extension, config, 1024, "\xff", NULL, &err));
    pe_extension_free(extension);
    ACCEPTED(pe_extension_new(&extension, config, 1024, NULL, NULL, &err));
    ck_assert_ptr_null(pe_extension_layers(extension, SIZE_MAX));
    ck_assert_ptr_null(pe_extension_patch(extension, 3));
    ck_assert_ptr_null(pe_extension_config(extension, 6));
    ck_assert_ptr_nonnull(pe_extension_reason(extension, -1));
    ck_assert_ptr_null(pe_extension_reason(extension, 4));
    ck_assert_ptr_nonnull(pe_extension_config(extension, 4));
    ck_assert_ptr_nonnull(pe_extension_override(extension));
    ck_assert(pe_extension_from(extension) == 512 && pe_extension_factor(extension) == 2);
    ck_assert_str_eq(pe_extension_type(extension), "yarn");
    ck_assert(pe_extension_work(config) > 0);
    pe_extension_free(extension);
    pe_extension_free(NULL);
    pe_config_free(config);
    pe_config_free(bias);
}

TEST(lint_refuses)
{
    struct pe_config *config = config_of("llama"), *bias = config_of("bloom"),
                     *unknown = config_of(NULL);
    struct pe_config_reading *reading;
    struct pe_lint *lint;

    REFUSED(PE_UNSUPPORTED, pe_lint_engine(&lint, bias, pe_engine_at(0), NULL, &err));
    pe_lint_free(lint);
    REFUSED(PE_UNSUPPORTED, pe_lint_against(&lint, config, bias, NULL, &err));
    pe_lint_free(lint);
    ACCEPTED(pe_lint_engine(&lint, config, pe_engine_at(0), NULL, &err));
    ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_SAME);
    ck_assert_ptr_null(pe_lint_finding(lint, SIZE_MAX));
    ck_assert_ptr_null(pe_lint_reason(lint));
    ck_assert_int_eq(pe_lint_form(lint), 4);
    pe_lint_free(lint);
    pe_lint_free(NULL);
    ck_assert(pe_lint_work(config) > 0 && pe_lint_work(unknown) > 0);
    ACCEPTED(pe_config_read(&reading, config, NULL, false, &err));
    ck_assert_int_eq(pe_config_context(reading), 512);
    pe_config_reading_free(reading);
    pe_config_free(unknown);
    pe_config_free(bias);
    pe_config_free(config);
}

TEST(probe_refuses)
{
    double unit[8] = {1, 0, 1, 0, 0, 1, 0, 1}, nothing[8] = {NAN}, at[2] = {1, 2};
    const struct pe_tensor x = {.dtype = PE_F64, .rank = 3, .shape = {2, 2, 2}, .data = unit},
                           bad = {.dtype = PE_F64, .rank = 3, .shape = {2, 2, 2}, .data = nothing},
                           row = {.dtype = PE_F64, .rank = 1, .shape = {2}, .data = unit},
                           whole = {.dtype = PE_I64, .rank = 3, .shape = {2, 2, 2}, .data = unit};
    const struct pe_probed good = {
        .size = sizeof(good), .x = &x, .y = &x, .positions = {.values = at, .count = 2}};
    struct pe_probed wrong[] = {good, good, good, good, good};
    const enum pe_status statuses[] = {PE_INVALID, PE_MISSING, PE_SHAPE_MISMATCH, PE_UNSUPPORTED,
                                       PE_INVALID};
    struct pe_probe *probe;
    struct pe_axes axes;

    wrong[0].size = 0;
    wrong[1].y = NULL;
    wrong[2].y = &row;
    wrong[3].x = wrong[3].y = &whole;
    wrong[4].axes = "xy";
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        REFUSED(statuses[i], pe_probed_axes(&wrong[i], &axes, NULL, &err));
        REFUSED(statuses[i], pe_probe_new(&probe, &wrong[i], NULL, NULL, &err));
    }
    wrong[4] = good;
    wrong[4].x = wrong[4].y = &bad;
    REFUSED(PE_INVALID, pe_probe_new(&probe, &wrong[4], NULL, NULL, &err));
    wrong[4] = good;
    wrong[4].positions.count = 1;
    REFUSED(PE_SHAPE_MISMATCH, pe_probe_new(&probe, &wrong[4], NULL, NULL, &err));
    ACCEPTED(pe_probe_new(&probe, &good, NULL, NULL, &err));
    ck_assert_ptr_nonnull(pe_probe_result(probe));
    pe_probe_free(probe);
    pe_probe_free(NULL);
    ck_assert_ptr_null(pe_probe_fault_at(SIZE_MAX));
}
