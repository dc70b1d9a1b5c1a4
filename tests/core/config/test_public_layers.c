/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "tests/core/public_fixture.h"

/* Kinds of layers, tolerances and rows of a diagnosis, by their public headers alone. */

static struct pe_config *config_new(const char *model_type)
{
    struct pe_config *config;
    struct pe_config_node *top;

    ACCEPTED(pe_config_new(&config, NULL, &err));
    top = pe_config_top(config);
    ACCEPTED(pe_config_set_text(top, "model_type", model_type, &err));
    ACCEPTED(pe_config_set_integer(top, "hidden_size", 128, &err));
    ACCEPTED(pe_config_set_integer(top, "num_attention_heads", 8, &err));
    ACCEPTED(pe_config_set_integer(top, "num_hidden_layers", 4, &err));
    ACCEPTED(pe_config_set_integer(top, "head_dim", 16, &err));
    return config;
}

TEST(kinds_of_layers)
{
    struct pe_config *config = config_new("gpt_oss");
    struct pe_config_kinds *kinds;
    struct pe_config_reading *reading;
    struct pe_attention_traits traits = {.size = sizeof(traits)}, small = {.size = 1};
    struct pe_config_reader reader;
    const struct pe_config_kind *kind;
    size_t layers = 0, count = 0;

    ACCEPTED(pe_config_kinds_new(&kinds, config, &err));
    for (; (kind = pe_config_kind(kinds, count)); count++)
        layers += kind->count;
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(layers, 4);
    ck_assert_ptr_null(pe_config_kind(kinds, SIZE_MAX));
    kind = pe_config_kind(kinds, pe_config_kinds_usual(kinds));
    ck_assert_str_eq(kind->layer_type, "full_attention");
    ACCEPTED(pe_config_read(&reading, config, "sliding_attention", false, &err));
    ck_assert_str_eq(pe_config_layer_meant(reading), "sliding_attention");
    ck_assert_str_eq(pe_config_text_part(reading), "");
    ACCEPTED(pe_config_traits(reading, &traits, &err));
    ck_assert_int_eq(traits.window, 128);
    ck_assert(traits.sinks);
    ck_assert_str_eq(pe_config_trait_source(reading, 0)->param, "window");
    ck_assert_ptr_null(pe_config_trait_source(reading, SIZE_MAX));
    ACCEPTED(pe_config_kind_traits(reading, kind, &traits, &err));
    ck_assert_int_eq(traits.window, 0);
    ACCEPTED(pe_config_traits(reading, &small, &err)); /* of an older program: no more is written */
    ck_assert_int_eq(small.window, 0);
    ck_assert(!pe_config_reader(reading, SIZE_MAX, &reader));
    pe_config_reading_free(reading);
    pe_config_kinds_free(kinds);
    pe_config_kinds_free(NULL);
    pe_config_free(config);
}

TEST(tolerances)
{
    struct pe_scheme *rope = public_scheme("rope", "dim=4", true);
    struct pe_scheme *unprepared = public_scheme("rope", "dim=4", false);
    struct pe_scheme *alibi = public_scheme("alibi", "heads=2", true);
    struct pe_tolerance *tolerance;
    struct pe_tolerance_pair pair = {.x = {1, 0}};
    struct pe_interval one, both[2];

    ck_assert_str_eq(pe_path_name(PE_PATH_F32_ANGLE), "f32-angle");
    ck_assert_ptr_null(pe_path_name((enum pe_path)99));
    REFUSED(PE_UNSUPPORTED, pe_tolerance_new(&tolerance, alibi, PE_PATH_F32_ANGLE, NULL, &err));
    REFUSED(PE_UNSUPPORTED, pe_tolerance_new(&tolerance, rope, (enum pe_path)99, NULL, &err));
    REFUSED(PE_UNSUPPORTED,
            pe_tolerance_new(&tolerance, unprepared, PE_PATH_F32_ANGLE, NULL, &err));
    ck_assert_ptr_null(tolerance);
    ACCEPTED(pe_tolerance_new(&tolerance, rope, PE_PATH_F32_ANGLE, NULL, &err));
    ck_assert_int_eq(pe_tolerance_interval(tolerance, 2, 0, false, PE_F32, &one), PE_OUT_OF_RANGE);
    ck_assert_int_eq(pe_tolerance_interval(tolerance, 0, NAN, false, PE_F32, &one),
                     PE_OUT_OF_RANGE);
    ck_assert_int_eq(pe_tolerance_element(tolerance, 1, 0, 1, PE_F32, &pair.sin), PE_OK);
    ck_assert_int_eq(pe_tolerance_interval(tolerance, 0, 1, false, PE_F32, &pair.cos), PE_OK);
    ck_assert(pair.cos.low <= cos(1) && cos(1) <= pair.cos.high);
    ck_assert(pair.sin.low <= sin(1) && sin(1) <= pair.sin.high);
    pe_tolerance_rotated(tolerance, &pair, both);
    ck_assert(both[0].low <= cos(1) && cos(1) <= both[0].high);
    pe_tolerance_free(tolerance);
    pe_tolerance_free(NULL);
    pe_scheme_free(rope);
    pe_scheme_free(unprepared);
    pe_scheme_free(alibi);
}
