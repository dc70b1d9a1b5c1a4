/* SPDX-License-Identifier: MIT */

/* Configs judged for engines by the measured rules, and against each other. tests/integration has
 * every measured cell; these are the cases of the functions. */

#include <math.h>

#include "core/engines/measured.h"
#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

CHECK_WAY(.before = begin, .after = end);

static struct pe_lint *lint;

static const struct pe_engine *engine_of(const char *name)
{
    const struct pe_engine *engine;

    ck_assert_msg(!pe_engine_find(&engine, name, "", &err), "%s", err.detail);
    return engine;
}

/* The first finding of a config for an engine; NULL: none. */
static const struct pe_lint_finding *judge(const char *pairs, const char *engine)
{
    begin();
    pairs_add(pairs);
    ck_assert_msg(!pe_lint_engine(&lint, config, engine_of(engine), NULL, &err), "%s", err.detail);
    return pe_lint_finding(lint, 0);
}

#define LLAMA                                                                                      \
    "model_type=llama hidden_size=256 num_attention_heads=4 num_hidden_layers=2 "                  \
    "max_position_embeddings=4096 "

TEST(test_a_key_that_is_not_read_is_named_with_its_consequence)
{
    const struct pe_lint_finding *finding =
        judge(LLAMA "rope_parameters.rope_type=default rope_parameters.rope_theta=500000",
              "mlx-lm==0.32.2");

    ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_DIFFERS);
    ck_assert_int_eq(pe_lint_form(lint), 5);
    ck_assert_str_eq(finding->code, "base");
    ck_assert_str_eq(finding->keys, "rope_parameters.rope_theta");
    ck_assert_str_eq(finding->reads, "rope_theta=10000");
    ck_assert_uint_eq(finding->layers, 2);
    ck_assert_uint_eq(finding->pairs, 31);
    ck_assert_uint_eq(finding->of, 32);
    ck_assert_int_eq(finding->at, 4095);
    /* the worst pair is the fourth: 3 / 32 */
    ck_assert(fabs(finding->radians / 4095 - (pow(10000, -3 / 32.0) - pow(500000, -3 / 32.0))) <
              1e-6);
    ck_assert_ptr_nonnull(strstr(finding->message, "rope_theta"));
    ck_assert_str_eq(finding->row, "llama");
    ck_assert_str_eq(finding->measured->code, "base");
    ck_assert_ptr_null(pe_lint_finding(lint, 1));
    pe_lint_free(lint);
}

TEST(test_a_value_that_is_the_engines_own_is_the_same)
{
    ck_assert_ptr_null(judge(
        LLAMA "rope_parameters.rope_type=default rope_parameters.rope_theta=10000", "mlx-lm"));
    ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_SAME);
    ck_assert_ptr_null(pe_lint_reason(lint));
    pe_lint_free(lint);
    ck_assert_ptr_null(judge(LLAMA "rope_theta=500000", "mlx-lm"));
    ck_assert_int_eq(pe_lint_form(lint), 4);
    ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_SAME);
    pe_lint_free(lint);
}

/* Each type of layers has a rope object; one of them is scaled. */
TEST(test_a_model_with_an_object_for_each_type_of_layers_is_the_same)
{
    ck_assert_ptr_null(judge(
        "model_type=mimo_v2_flash head_dim=192 num_hidden_layers=2 max_position_embeddings=4096 "
        "rope_parameters.full_attention.rope_type=yarn rope_parameters.full_attention.factor=4 "
        "rope_parameters.full_attention.original_max_position_embeddings=1024 "
        "rope_parameters.full_attention.partial_rotary_factor=0.334 "
        "rope_parameters.sliding_attention.partial_rotary_factor=0.334",
        "transformers"));
    ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_SAME);
    pe_lint_free(lint);
}

#define YARN                                                                                       \
    LLAMA "rope_theta=500000 rope_scaling.rope_type=yarn rope_scaling.type=yarn "                  \
          "rope_scaling.factor=4 rope_scaling.original_max_position_embeddings=1024"

TEST(test_only_keys_that_matter_are_named)
{
    ck_assert_ptr_null(judge(YARN, "mlx-lm"));
    ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_SAME);
    pe_lint_free(lint);
    ck_assert_str_eq(judge(YARN " rope_scaling.truncate=false", "mlx-lm")->keys,
                     "rope_scaling.truncate");
    pe_lint_free(lint);
    ck_assert_ptr_null(judge(YARN " rope_scaling.truncate=true", "mlx-lm"));
    pe_lint_free(lint);
    const struct pe_lint_finding *finding =
        judge(YARN " rope_scaling.attention_factor=1.5", "mlx-lm");
    ck_assert_str_eq(finding->code, "attention-factor");
    ck_assert_str_eq(finding->keys, "rope_scaling.attention_factor");
    ck_assert_uint_eq(finding->pairs, 0);
    pe_lint_free(lint);
}

/* A key without which the engine raises is named; with it the config is read. */
TEST(test_a_key_that_an_engine_needs)
{
#define ARCEE                                                                                      \
    "model_type=arcee hidden_size=256 num_attention_heads=4 num_hidden_layers=2 "                  \
    "max_position_embeddings=4096 rope_theta=500000 rope_scaling.rope_type=yarn "                  \
    "rope_scaling.original_max_position_embeddings=1024"
    const struct pe_lint_finding *finding = judge(ARCEE, "transformers==5.23.0");

    ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_RAISES);
    ck_assert_str_eq(finding->code, "raises");
    ck_assert_str_eq(finding->row, "arcee");
    ck_assert_str_eq(finding->keys, "");
    ck_assert_msg(strncmp(finding->message, "no factor: ", 11) == 0, "%s", finding->message);
    ck_assert_ptr_null(pe_lint_finding(lint, 1));
    pe_lint_free(lint);
    ck_assert_ptr_null(judge(ARCEE " rope_scaling.factor=4", "transformers==5.23.0"));
    ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_SAME);
    pe_lint_free(lint);
}

TEST(test_unmeasured_and_absent_models_have_a_reason)
{
    static const struct {
        const char *pairs, *engine;
        enum pe_engine_verdict verdict;
        const char *reason;
    } cases[] = {
        {"head_dim=64 rope_theta=5", "mlx-lm", PE_ENGINE_UNMEASURED, "no model_type"},
        {"model_type=no_such head_dim=64 rope_theta=5", "mlx-lm", PE_ENGINE_UNMEASURED, "no_such"},
        {LLAMA "rope_scaling.rope_type=ntk rope_scaling.factor=2", "mlx-lm", PE_ENGINE_UNMEASURED,
         "ntk"},
        {LLAMA "rope_scaling.rope_type=linear rope_scaling.factor=2 rope_scaling.mixed_b=0.5",
         "transformers", PE_ENGINE_UNMEASURED, "mixed_b"},
        {"model_type=chatglm hidden_size=64 num_attention_heads=2", "transformers",
         PE_ENGINE_ABSENT, "no such model"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        judge(cases[i].pairs, cases[i].engine);
        ck_assert_msg(pe_lint_verdict(lint) == cases[i].verdict, "%s: %s", cases[i].pairs,
                      pe_engine_verdict_name(pe_lint_verdict(lint)));
        ck_assert_msg(strstr(pe_lint_reason(lint), cases[i].reason) != NULL, "%s",
                      pe_lint_reason(lint));
        pe_lint_free(lint);
    }
}

TEST(test_configs_without_a_rotation_are_refused)
{
    begin();
    pairs_add("model_type=bloom hidden_size=64 n_head=2");
    ck_assert_int_eq(pe_lint_engine(&lint, config, engine_of("vllm"), NULL, &err), PE_UNSUPPORTED);
    pe_lint_free(lint);
    pe_lint_free(NULL);
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* The last key of a path. */
static const char *last_key(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? dot + 1 : path;
}

/* Has a measured outcome a change of this key? */
static bool changes_key(const struct pe_engine_outcome *outcome, const char *key)
{
    for (size_t i = 0; i < outcome->changes_count; i++)
        if (strcmp(last_key(outcome->changes[i].path), key) == 0 ||
            strcmp(outcome->changes[i].path, "rope") == 0)
            return true;
    return false;
}

/* A finding's row and rope object are those of a measurement in which its first key was changed. */
static void evidence_check(const struct pe_engine *engine, const char *model_type,
                           const struct pe_lint_finding *finding)
{
    const struct pe_engine_rules *rules =
        pe_engine_rules_find(engine, model_type, pe_lint_form(lint));
    const struct pe_engine_part *part;
    struct pe_engine_outcome outcome;
    char key[80], rope[80];

    ck_assert_ptr_nonnull(rules);
    ck_assert_str_eq(finding->row, pe_engine_rules_row(rules));
    snprintf(key, sizeof(key), "%.*s", (int)strcspn(finding->keys, ","), finding->keys);
    for (size_t i = 0; (part = pe_engine_part_at(i)); i++) {
        snprintf(rope, sizeof(rope), "%s %s", part->rope_type, part->name);
        if (strcmp(rope, finding->rope) != 0)
            continue;
        ck_assert(pe_engine_outcome_get(rules, i, &outcome));
        ck_assert_ptr_eq(outcome.difference, finding->measured);
        ck_assert_msg(changes_key(&outcome, last_key(key)), "%s %s: %s, %s", engine->name,
                      model_type, finding->keys, finding->rope);
        return;
    }
    ck_abort_msg("%s: no rope object %s", finding->message, finding->rope);
}

TEST(test_evidence_is_of_the_first_key)
{
    static const char *const types[] = {"llama", "qwen2", "qwen3", "phi3", "mistral", "granite"};
    static const char *const ropes[] = {
        "%s.rope_type=linear %s.factor=2",
        "%s.rope_type=dynamic %s.factor=2",
        "%s.rope_type=yarn %s.factor=4 %s.original_max_position_embeddings=1024",
        "%s.rope_type=yarn %s.factor=4 %s.beta_fast=16 %s.attention_factor=1.5 %s.truncate=false",
        "%s.rope_type=yarn %s.factor=4 %s.mscale=0.7 %s.mscale_all_dim=0.5 %s.beta_slow=2",
        "%s.rope_type=llama3 %s.factor=8 %s.low_freq_factor=1 %s.high_freq_factor=4 "
        "%s.original_max_position_embeddings=512",
    };
    const struct pe_engine *engine;
    size_t checked = 0;

    for (size_t i = 0; i < 2 * COUNT_OF(types) * COUNT_OF(ropes); i++) {
        const char *type = types[i / 2 % COUNT_OF(types)];
        const char *object = i % 2 ? "rope_parameters" : "rope_scaling";
        char pairs[600], rope[400];
        const char *const pattern = ropes[i / 2 / COUNT_OF(types)];
        rope[0] = 0;
        for (const char *at = pattern; *at; at++) {
            const size_t used = strlen(rope);
            if (at[0] == '%' && at[1] == 's')
                snprintf(rope + used, sizeof(rope) - used, "%s", object), at++;
            else
                snprintf(rope + used, sizeof(rope) - used, "%c", *at);
        }
        snprintf(pairs, sizeof(pairs),
                 "model_type=%s hidden_size=256 num_attention_heads=4 num_hidden_layers=2 "
                 "max_position_embeddings=4096 %srope_theta=500000 %s",
                 type, i % 2 ? "rope_parameters." : "", rope);
        for (size_t e = 0; (engine = pe_engine_at(e)); e++) {
            const struct pe_lint_finding *finding = judge(pairs, engine->name);
            for (size_t at = 0; (finding = pe_lint_finding(lint, at)); at++) {
                if (!*finding->keys || strcmp(finding->code, "raises") == 0)
                    continue;
                evidence_check(engine, type, finding);
                checked++;
            }
            pe_lint_free(lint);
        }
    }
    ck_assert_uint_gt(checked, 50);
}

/* ---- two configs ----------------------------------------------------------------------------- */

static void against(const char *pairs, const char *other_pairs)
{
    struct pe_config *first;

    begin();
    pairs_add(pairs);
    first = config;
    config = NULL;
    begin();
    pairs_add(other_pairs);
    ck_assert_msg(!pe_lint_against(&lint, first, config, NULL, &err), "%s", err.detail);
    pe_config_free(first);
}

TEST(test_configs_that_agree)
{
    against(LLAMA "rope_theta=500000",
            LLAMA "rope_parameters.rope_type=default rope_parameters.rope_theta=500000");
    ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_SAME);
    ck_assert_ptr_null(pe_lint_finding(lint, 0));
    pe_lint_free(lint);
}

TEST(test_each_difference_of_two_configs_is_named)
{
    static const struct {
        const char *first, *other, *code;
        bool is_note;
    } cases[] = {
        {"rope_theta=500000", "rope_theta=10000", "base", false},
        {"rope_theta=500000", "rope_theta=500000 head_dim=32", "width", false},
        {"rope_theta=500000", "model_type=cohere rope_theta=500000", "layout", false},
        {"rope_theta=500000",
         "rope_theta=500000 rope_scaling.rope_type=linear rope_scaling.factor=2", "scaling", false},
        {"rope_theta=500000 model_type=mistral sliding_window=128",
         "rope_theta=500000 model_type=mistral sliding_window=64", "window", false},
        {"rope_theta=500000 max_position_embeddings=4096",
         "rope_theta=500000 max_position_embeddings=2048", "context", true},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char first[300], other[300];
        const char *sizes = "hidden_size=256 num_attention_heads=4 num_hidden_layers=2";
        const bool is_typed = strstr(cases[i].first, "model_type");
        const bool is_other_typed = strstr(cases[i].other, "model_type");
        snprintf(first, sizeof(first), "%s%s %s", is_typed ? "" : "model_type=llama ", sizes,
                 cases[i].first);
        snprintf(other, sizeof(other), "%s%s %s", is_other_typed ? "" : "model_type=llama ", sizes,
                 cases[i].other);
        against(first, other);
        ck_assert_ptr_nonnull(pe_lint_finding(lint, 0));
        ck_assert_str_eq(pe_lint_finding(lint, 0)->code, cases[i].code);
        ck_assert(pe_lint_finding(lint, 0)->is_note == cases[i].is_note);
        ck_assert_int_eq(pe_lint_verdict(lint),
                         cases[i].is_note ? PE_ENGINE_SAME : PE_ENGINE_DIFFERS);
        ck_assert_ptr_null(pe_lint_finding(lint, 0)->row);
        pe_lint_free(lint);
    }
}

#define SIZED_AS(model) "model_type=" model " hidden_size=256 num_attention_heads=4 head_dim=64 "

static const char *const population[] = {
    SIZED_AS("llama") "num_hidden_layers=4",
    SIZED_AS("llama") "num_hidden_layers=4 rope_theta=10000",
    SIZED_AS("llama") "num_hidden_layers=4 rope_scaling.rope_type=linear rope_scaling.factor=2",
    SIZED_AS("llama") "num_hidden_layers=4 rope_scaling.rope_type=yarn rope_scaling.factor=2 "
                      "rope_scaling.attention_factor=3 max_position_embeddings=4096",
    SIZED_AS("llama") "num_hidden_layers=6",
    SIZED_AS("llama") "num_hidden_layers=4 max_position_embeddings=512",
    SIZED_AS("cohere") "num_hidden_layers=4",
    SIZED_AS("glm") "num_hidden_layers=4 partial_rotary_factor=0.5",
    SIZED_AS("mistral") "num_hidden_layers=4 sliding_window=128",
    SIZED_AS("smollm3") "num_hidden_layers=4 no_rope_layer_interval=2 rope_theta=10000",
    SIZED_AS("smollm3") "num_hidden_layers=6 no_rope_layer_interval=3",
    SIZED_AS("cohere2") "num_hidden_layers=4 sliding_window=128 sliding_window_pattern=2",
    SIZED_AS("gemma3_text") "num_hidden_layers=4 sliding_window=128 sliding_window_pattern=2",
    SIZED_AS("gemma3_text") "num_hidden_layers=4 sliding_window=128 sliding_window_pattern=4 "
                            "rope_local_base_freq=500",
};

/* A bit for each code that is the same from either side. */
static unsigned codes_of(const struct pe_lint *found)
{
    static const char *const codes[] = {"width", "layout", "window", "context", "softmax-scale"};
    const struct pe_lint_finding *finding;
    unsigned bits = 0;

    for (size_t at = 0; (finding = pe_lint_finding(found, at)); at++)
        for (size_t i = 0; i < COUNT_OF(codes); i++)
            bits |= (unsigned)(strcmp(finding->code, codes[i]) == 0) << i;
    return bits;
}

/* Of any two configs neither has layers that the other lacks without a finding. */
TEST(test_two_configs_differ_both_ways)
{
    enum { COUNT = COUNT_OF(population) };
    enum pe_engine_verdict verdicts[COUNT][COUNT];
    unsigned codes[COUNT][COUNT];
    const struct pe_lint_finding *finding;

    for (size_t i = 0; i < COUNT * COUNT; i++) {
        against(population[i / COUNT], population[i % COUNT]);
        verdicts[i / COUNT][i % COUNT] = pe_lint_verdict(lint);
        codes[i / COUNT][i % COUNT] = codes_of(lint);
        for (size_t at = 0; (finding = pe_lint_finding(lint, at)); at++) {
            ck_assert_uint_ge(finding->layers, 1);
            ck_assert_msg(finding->layers <= 6, "%s: %zu layers", finding->message,
                          finding->layers);
        }
        pe_lint_free(lint);
    }
    for (size_t i = 0; i < COUNT * COUNT; i++) {
        ck_assert_msg(verdicts[i / COUNT][i % COUNT] == verdicts[i % COUNT][i / COUNT],
                      "%s against %s", population[i / COUNT], population[i % COUNT]);
        ck_assert_msg(codes[i / COUNT][i % COUNT] == codes[i % COUNT][i / COUNT], "%s against %s",
                      population[i / COUNT], population[i % COUNT]);
        ck_assert(i / COUNT != i % COUNT || verdicts[i / COUNT][i % COUNT] == PE_ENGINE_SAME);
    }
}

/* Layers of a type that the other config lacks are named with their number. */
TEST(test_layers_that_only_one_config_has)
{
    const char *plain = population[0], *gemma = population[12], *without = population[9];

    against(without, plain);
    ck_assert_str_eq(pe_lint_finding(lint, 0)->code, "rotated");
    ck_assert_uint_eq(pe_lint_finding(lint, 0)->layers, 2);
    pe_lint_free(lint);
    against(plain, without);
    ck_assert_str_eq(pe_lint_finding(lint, 0)->code, "not-rotated");
    ck_assert_uint_eq(pe_lint_finding(lint, 0)->layers, 2);
    pe_lint_free(lint);
    for (size_t way = 0; way < 2; way++) {
        const struct pe_lint_finding *finding;
        size_t at = 0;
        against(way ? plain : gemma, way ? gemma : plain);
        while ((finding = pe_lint_finding(lint, at)) && strcmp(finding->code, "window") != 0)
            at++;
        ck_assert_ptr_nonnull(finding);
        ck_assert_str_eq(finding->layer_types, "sliding_attention");
        ck_assert_uint_eq(finding->layers, 2);
        pe_lint_free(lint);
    }
}
