/* SPDX-License-Identifier: MIT */

/* Bodies of /v1/config that no model has. The configs of real models are in
 * tests/integration/test_config.py. */

#include "tests/api/harness.h"
#include "tests/check_main.h"

#define LLAMA "'model_type':'llama','head_dim':8"

TEST(test_bodies)
{
    static const struct {
        const char *target, *body;
        int status;
        const char *path, *text; /* a member of the answer and its value */
    } table[] = {
        {"", "{" LLAMA "}", 200, "encoding.layout", "half"},
        {"", "{" LLAMA ",'head_dim':8}", 400, "code", "malformed"},
        {"?rope_theta=7", "{" LLAMA ",'rope_theta':5}", 200, "provenance.base", "request"},
        {"", "{'config':'{\\\"model_type\\\":\\\"llama\\\",\\\"head_dim\\\":8}'}", 200,
         "provenance.dim", "head_dim"},
        {"", "{" LLAMA ",'rope_theta':3,'text_config':{" LLAMA ",'rope_theta':5}}", 200,
         "warnings.0", "text_config.rope_theta and rope_theta differ; the first is read"},
        {"", "{" LLAMA ",'rope_scaling':{'type':'linear','rope_type':'default'}}", 200,
         "encoding.rope_type", "default"},
        {"", "{" LLAMA ",'rope_scaling':{'rope_type':null,'factor':null}}", 200,
         "provenance.rope_type", "default"},
        {"", "{" LLAMA ",'rope_scaling':{'rope_type':'default','factor':2}}", 200,
         "encoding.rope_type", "default"},
        {"?strict=1", "{" LLAMA ",'rope_scaling':{'rope_type':'default','factor':2}}", 422, "code",
         "conflicting-parameters"},
        {"?layer_type=b",
         "{" LLAMA ",'rope_parameters':{'a':{'rope_theta':5},'b':{'rope_theta':6}}}", 200,
         "provenance.base", "rope_parameters.b.rope_theta"},
        {"", "{" LLAMA ",'rope_parameters':{'a':{'rope_theta':5},'b':{}}}", 200, "warnings.0",
         "the layers of this config differ: `encoding` is that of a, `layers` has all of them; "
         "functions take layer_type"},
        {"", "{" LLAMA ",'rope_parameters':{'a':{'rope_theta':5}}}", 200, "provenance.base",
         "rope_parameters.a.rope_theta"},
        {"", "{'model_type':'deepseek_v3','qk_rope_head_dim':4,'head_dim':6}", 200, "unused.0",
         "head_dim"},
        {"", "{'model_type':'deepseek_v3','rope_interleave':false}", 200, "provenance.layout",
         "rope_interleave"},
        {"", "{'model_type':'falcon','alibi':true,'num_attention_heads':2}", 200, "encoding.name",
         "alibi"},
        {"", "{'model_type':'mpt','n_heads':2,'attn_config':{'alibi_bias_max':4}}", 200,
         "provenance.alibi_bias_max", "attn_config.alibi_bias_max"},
        {"?rotary_dim=4", "{" LLAMA ",'partial_rotary_factor':0.25}", 200, "provenance.rotary_dim",
         "request"},
        {"", "{'model_type':7,'rope_theta':5,'head_dim':8}", 200, "encoding.name", "rope"},
        {"", "{" LLAMA ",'text_config':[]}", 200, "encoding.name", "rope"},
        {"", "{" LLAMA ",'text_config':{}}", 200, "provenance.dim", "head_dim"},
        {"", "{" LLAMA ",'rope_scaling':{'a.b':1}}", 200, "warnings.0",
         "rope_scaling.a.b is no parameter of rope and is not read"},
        {"", "{" LLAMA ",'rope_scaling':{'type':'dynamic','alpha':1000,'factor':1}}", 200,
         "encoding.rope_type", "ntk"},
        {"", "{" LLAMA ",'rope_scaling':{'type':'dynamic','alpha':1000,'factor':1}}", 200,
         "provenance.alpha", "rope_scaling.alpha"},
        {"", "[]", 400, "code", "malformed"},
        {"", "", 422, "code", "missing-parameter"},
    };
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        char target[100];
        snprintf(target, sizeof(target), "/v1/config%s", table[i].target);
        OWNED_ANSWER answer =
            call(api, "POST", target, "Content-Type: application/json", table[i].body);
        ck_assert_msg(answer.status == table[i].status, "%s: %d %s", table[i].body, answer.status,
                      (char *)answer.body);
        ck_assert_msg(!strcmp(member_text(&answer, table[i].path), table[i].text), "%s: %s",
                      table[i].body, (char *)answer.body);
    }
    printf("%zu bodies\n", COUNT_OF(table));
}

/* A warning of any step, from the reading to the scheme, is in the answer of each kind of route
 * that takes a config, once. */
TEST(test_warnings_of_every_route)
{
    static const struct {
        const char *config, *text;
    } table[] = {
        {"{'model_type':'x','rope_theta':1e4,'head_dim':8}", "the layout is unknown"},
        {"{" LLAMA ",'rope_theta':3,'text_config':{" LLAMA ",'rope_theta':5}}",
         "text_config.rope_theta and rope_theta differ; the first is read"},
        {"{" LLAMA ",'rope_scaling':{'a.b':1}}",
         "rope_scaling.a.b is no parameter of rope and is not read"},
        {"{'model_type':'granite','head_dim':8,'attention_multiplier':'a'}",
         "attention_multiplier is neither a number nor a boolean, and is not read"},
    };
#define ROW "{'shape':[1,1,1,8],'data':[1,2,3,4,5,6,7,8]}"
    static const struct {
        const char *target, *rest;
    } routes[] = {
        {"/v1/config", ""},
        {"/v1/encodings/rope/table", ",'length':1"},
        {"/v1/encodings/rope/frequencies", ""},
        {"/v1/rotation", ",'start':0,'layout':'half','axes':'bhsd','tensors':{'q':" ROW "}"},
        {"/v1/attention", ",'layout':'half','tensors':{'q':" ROW ",'k':" ROW ",'v':" ROW "}"},
    };
#undef ROW
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(table); i++)
        for (size_t j = 0; j < COUNT_OF(routes); j++) {
            char body[1000];
            if (strstr(table[i].config, "attention_") && j > 0 && j + 1 < COUNT_OF(routes))
                continue; /* of attention alone */
            snprintf(body, sizeof(body), "{'config':%s%s}", table[i].config, routes[j].rest);
            OWNED_ANSWER answer =
                call(api, "POST", routes[j].target, "Content-Type: application/json", body);
            ck_assert_msg(answer.status == 200, "%s %s: %s", routes[j].target, body,
                          (char *)answer.body);
            const char *found = strstr((char *)answer.body, table[i].text);
            ck_assert_msg(found && !strstr(found + 1, table[i].text), "%s %s: %s", routes[j].target,
                          body, (char *)answer.body);
        }
}

/* A validator stands for the warnings too. */
TEST(test_etag)
{
    static const char *const targets[] = {
        "/v1/encodings/rope/table?length=1&dim=8",
        "/v1/encodings/rope/"
        "table?length=1&config=%7B%22model_type%22:%22llama%22,%22head_dim%22:8%7D",
        "/v1/encodings/rope/"
        "table?length=1&config=%7B%22model_type%22:%22x%22,%22rope_theta%22:1e4,%22head_dim%22:8%"
        "7D",
    };
    OWNED_API api = api_make(NULL);
    char *etags[3];

    for (size_t i = 0; i < 3; i++) {
        OWNED_ANSWER answer = call(api, "GET", targets[i], NULL, NULL);
        ck_assert_msg(answer.status == 200, "%s", (char *)answer.body);
        etags[i] = strdup(answer_header(&answer, "ETag"));
    }
    ck_assert_str_eq(etags[0], etags[1]); /* a config says the same as parameters */
    ck_assert_str_ne(etags[1], etags[2]); /* but this one has a warning */
    for (size_t i = 0; i < 3; i++)
        free(etags[i]);
}
