/* SPDX-License-Identifier: MIT */

/* The tables behind /v1/config, row by row, and bodies that no model has. The configs of real
 * models are in tests/integration/test_config.py. */

#include "api/config/config.h"
#include "core/views/view.h"
#include "tests/api/harness.h"

/* Encodings that a version may not have yet. */
static bool is_offered(const char *name)
{
    return pe_encoding_find(name) != NULL;
}

START_TEST(test_model_types)
{
    size_t rows = 0;

    for (const struct api_model_type *at = api_model_types; at->model_type; at++, rows++) {
        const struct pe_encoding *encoding = pe_encoding_find(at->encoding);
        char defaults[100], *rest = defaults;
        ck_assert_msg(!at[1].model_type || strcmp(at->model_type, at[1].model_type) < 0,
                      "%s is out of order", at->model_type);
        ck_assert(!*at->layout || !strcmp(at->layout, "half") ||
                  !strcmp(at->layout, "interleaved"));
        ck_assert_msg(!encoding ||
                          pe_encoding_has(encoding, PE_KIND_ROTARY) == (*at->layout != '\0'),
                      "%s", at->model_type);
        ck_assert(!*at->sliding || !strcmp(at->sliding, "=") || atoi(at->sliding) > 1);
        snprintf(defaults, sizeof(defaults), "%s", at->defaults);
        for (char *pair; *at->defaults && (pair = strsep(&rest, " "));) {
            struct pe_params params;
            struct api_error err = {0};
            char *value = strchr(pair, '=');
            ck_assert_ptr_nonnull(value);
            *value++ = '\0';
            pe_params_init(&params, encoding->info.params, encoding->info.params_count);
            const int index = pe_params_find(&params, pair);
            ck_assert_msg(index >= 0, "%s: %s", at->model_type, pair);
            ck_assert_msg(!pe_params_set_text(&params, (size_t)index, value, &err.core), "%s",
                          err.detail);
            pe_params_free(&params);
        }
    }
    printf("%zu model types\n", rows);
}
END_TEST

/* A key whose parameter does not exist would never be read. */
START_TEST(test_keys)
{
    static const struct {
        const char *encoding, *param;
    } keys[] = {
#define CONFIG_KEY(encoding, param, places, keys)  {encoding, param},
#define CONFIG_RATIO(encoding, param, over, under) {encoding, param},
#include "api/config/keys.def"
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct pe_encoding *encoding = pe_encoding_find(keys[i].encoding);
        struct pe_params params;
        if (!is_offered(keys[i].encoding) || pe_encoding_has(encoding, PE_KIND_LEARNED) ||
            !strcmp(keys[i].param, "heads"))
            continue; /* a learned table has the size that it has */
        pe_params_init(&params, encoding->info.params, encoding->info.params_count);
        ck_assert_msg(pe_params_find(&params, keys[i].param) >= 0, "%s %s", keys[i].encoding,
                      keys[i].param);
    }
}
END_TEST

#define LLAMA "\"model_type\":\"llama\",\"head_dim\":8"

START_TEST(test_bodies)
{
    static const struct {
        const char *target, *body;
        int status;
        const char *path, *text; /* a member of the answer and its value */
    } table[] = {
        {"", "{" LLAMA "}", 200, "encoding.layout", "half"},
        {"", "{" LLAMA ",\"head_dim\":8}", 400, "code", "malformed"},
        {"?rope_theta=7", "{" LLAMA ",\"rope_theta\":5}", 200, "provenance.base", "request"},
        {"", "{\"config\":\"{\\\"model_type\\\":\\\"llama\\\",\\\"head_dim\\\":8}\"}", 200,
         "provenance.dim", "head_dim"},
        {"", "{" LLAMA ",\"rope_theta\":3,\"text_config\":{" LLAMA ",\"rope_theta\":5}}", 200,
         "warnings.0", "text_config.rope_theta and rope_theta differ; the first is read"},
        {"", "{" LLAMA ",\"rope_scaling\":{\"type\":\"linear\",\"rope_type\":\"default\"}}", 200,
         "encoding.rope_type", "default"},
        {"", "{" LLAMA ",\"rope_scaling\":{\"rope_type\":null,\"factor\":null}}", 200,
         "provenance.rope_type", "default"},
        {"", "{" LLAMA ",\"rope_scaling\":{\"rope_type\":\"default\",\"factor\":2}}", 200,
         "encoding.rope_type", "default"},
        {"?strict=1", "{" LLAMA ",\"rope_scaling\":{\"rope_type\":\"default\",\"factor\":2}}", 422,
         "code", "conflicting-parameters"},
        {"?layer_type=b",
         "{" LLAMA ",\"rope_parameters\":{\"a\":{\"rope_theta\":5},\"b\":{\"rope_theta\":6}}}", 200,
         "provenance.base", "rope_parameters.b.rope_theta"},
        {"", "{" LLAMA ",\"rope_parameters\":{\"a\":{\"rope_theta\":5},\"b\":{}}}", 422, "detail",
         "layer_type is required, the layers of this config differ: a, b"},
        {"", "{" LLAMA ",\"rope_parameters\":{\"a\":{\"rope_theta\":5}}}", 200, "provenance.base",
         "rope_parameters.a.rope_theta"},
        {"", "{\"model_type\":\"deepseek_v3\",\"qk_rope_head_dim\":4,\"head_dim\":6}", 200,
         "unused.0", "head_dim"},
        {"", "{\"model_type\":\"deepseek_v3\",\"rope_interleave\":false}", 200, "provenance.layout",
         "rope_interleave"},
        {"", "{\"model_type\":\"falcon\",\"alibi\":true,\"num_attention_heads\":2}", 200,
         "encoding.name", "alibi"},
        {"", "{\"model_type\":\"mpt\",\"n_heads\":2,\"attn_config\":{\"alibi_bias_max\":4}}", 200,
         "provenance.alibi_bias_max", "attn_config.alibi_bias_max"},
        {"?rotary_dim=4", "{" LLAMA ",\"partial_rotary_factor\":0.25}", 200,
         "provenance.rotary_dim", "request"},
        {"", "{\"model_type\":7,\"rope_theta\":5,\"head_dim\":8}", 200, "encoding.name", "rope"},
        {"", "{" LLAMA ",\"text_config\":[]}", 200, "encoding.name", "rope"},
        {"", "{" LLAMA ",\"rope_scaling\":{\"a.b\":1}}", 200, "warnings.0",
         "rope_scaling.a.b is no parameter of rope and is not read"},
        {"", "{" LLAMA ",\"rope_scaling\":{\"type\":\"dynamic\",\"alpha\":1000,\"factor\":1}}", 200,
         "encoding.rope_type", "ntk"},
        {"", "{" LLAMA ",\"rope_scaling\":{\"type\":\"dynamic\",\"alpha\":1000,\"factor\":1}}", 200,
         "provenance.alpha", "rope_scaling.alpha"},
        {"", "[]", 400, "code", "malformed"},
        {"", "", 422, "code", "missing-parameter"},
    };
    struct api *api = api_make(NULL);

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char target[100];
        snprintf(target, sizeof(target), "/v1/config%s", table[i].target);
        struct answer answer =
            call(api, "POST", target, "Content-Type: application/json", table[i].body);
        ck_assert_msg(answer.status == table[i].status, "%s: %d %s", table[i].body, answer.status,
                      (char *)answer.body);
        ck_assert_msg(!strcmp(member_text(&answer, table[i].path), table[i].text), "%s: %s",
                      table[i].body, (char *)answer.body);
        answer_free(&answer);
    }
    printf("%zu bodies\n", sizeof(table) / sizeof(table[0]));
    api_free(api);
}
END_TEST

/* A validator stands for the warnings too. */
START_TEST(test_etag)
{
    static const char *const targets[] = {
        "/v1/encodings/rope/table?length=1&dim=8",
        "/v1/encodings/rope/"
        "table?length=1&config=%7B%22model_type%22:%22llama%22,%22head_dim%22:8%7D",
        "/v1/encodings/rope/table?length=1&config=%7B%22model_type%22:%22x%22,%22rope_theta%22:1e4,"
        "%22head_dim%22:8%7D",
    };
    struct api *api = api_make(NULL);
    char *etags[3];

    for (size_t i = 0; i < 3; i++) {
        struct answer answer = call(api, "GET", targets[i], NULL, NULL);
        ck_assert_msg(answer.status == 200, "%s", (char *)answer.body);
        etags[i] = strdup(answer_header(&answer, "ETag"));
        answer_free(&answer);
    }
    ck_assert_str_eq(etags[0], etags[1]); /* a config says the same as parameters */
    ck_assert_str_ne(etags[1], etags[2]); /* but this one has a warning */
    for (size_t i = 0; i < 3; i++)
        free(etags[i]);
    api_free(api);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tests = tcase_create("config");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tests);
    tcase_add_test(tests, test_model_types);
    tcase_add_test(tests, test_keys);
    tcase_add_test(tests, test_bodies);
    tcase_add_test(tests, test_etag);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
