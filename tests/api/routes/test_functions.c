/* SPDX-License-Identifier: MIT */

/* POST /v1/comparison, /v1/embedding and /v1/layout: what they refuse, and in which words. */

#include "tests/api/harness.h"
#include "tests/check_main.h"

static unsigned long cases;

#define TYPE_JSON "Content-Type: application/json"
#define X24       "'tensors':{'x':{'shape':[2,4],'data':[1,2,3,4,5,6,7,8]}}"
#define COMPARE   "/v1/comparison"
#define EMBED     "/v1/embedding"
#define LAYOUT    "/v1/layout"
#define ROPE4     "{'name':'rope','dim':4}"
#define TO_HALF   "'from_layout':'meta','to_layout':'half'"
#define SINE      "'encoding':'sinusoidal'"

static const struct asked rows[] = {
    /* a comparison */
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'length':3}", "200", ""},
    {COMPARE, "{'a':'sinusoidal','b':'tensor:x'," X24 "}", "200", ""},
    {COMPARE, "{'a':'tensor:x','b':'tensor:x'," X24 "}", "200", ""},
    {COMPARE "?a=tensor:x&b=sinusoidal&length=2", "{" X24 "}", "200", ""},
    {COMPARE, "{'a':'rope','b':'tensor:x','part':'cos'," X24 "}", "200", ""},
    {COMPARE, "{'a':'rope','b':'tensor:x','part':'sin','duplicate':true," X24 "}", "200", ""},
    {COMPARE, "{'a':'tensor:x','b':'tensor:x','positions':[3,9]," X24 "}", "200", ""},
    {COMPARE, "{'b':'sinusoidal','length':3}", "422 missing-parameter", "a is required"},
    {COMPARE, "{'a':'sinusoidal','length':3}", "422 missing-parameter", "b is required"},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 "}", "422 missing-parameter", "length"},
    {COMPARE, "{'a':7,'b':" ROPE4 "}", "422 invalid-parameter", "a must be a name"},
    {COMPARE, "{'a':'roop','b':" ROPE4 "}", "404 not-found", "rope"},
    {COMPARE, "{'a':{'name':'rope','dim':4,'bas':3},'b':" ROPE4 "}", "422 unknown-parameter",
     "'base'"},
    {COMPARE, "{'a':'alibi','b':" ROPE4 "}", "422 unsupported", "alibi has no table"},
    {COMPARE, "{'a':'tensor:y','b':'tensor:x'," X24 "}", "422 missing-parameter", "'y'"},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'length':3," X24 "}", "422 conflicting-parameters",
     "neither a nor b"},
    {COMPARE, "{'a':" ROPE4 ",'b':{'name':'rope','dim':8},'length':3}", "422 shape-mismatch",
     "a is [3, 2], b is [3, 4]"},
    {COMPARE, "{'a':" ROPE4 ",'b':'tensor:x'," X24 "}", "422 shape-mismatch", "part=cos"},
    {COMPARE, "{'a':'sinusoidal','b':'tensor:x','length':3," X24 "}", "422 shape-mismatch",
     "a is [3, 4], b is [2, 4]"},
    {COMPARE, "{'a':'tensor:x','b':'tensor:x','length':3," X24 "}", "422 shape-mismatch",
     "length says 3"},
    {COMPARE, "{'a':'tensor:x','b':'tensor:x','positions':[3]," X24 "}", "422 shape-mismatch",
     "positions says 1"},
    {COMPARE, "{'a':'tensor:x','b':'tensor:x','tensors':{'x':{'data':[1,2]}}}",
     "422 shape-mismatch", "rank 1"},
    {COMPARE, "{'a':'tensor:x','b':'tensor:x','tensors':{'x':{'dtype':'i32','data':[[1]]}}}",
     "422 unsupported", "i32"},
    {COMPARE,
     "{'a':'tensor:x','b':'tensor:x','tensors':{'x':{'shape':[1099511627776,0],'data':[]}}}",
     "422 shape-mismatch", "0 wide"},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'length':1000000}", "413 too-large",
     "--json-elements-max"},
    {COMPARE, "{'a':{'name':'rope','dim':65538},'b':{'name':'rope','dim':65538},'length':1}",
     "413 too-large", "--dim-max"},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'length':3,'tolerance':-1}", "422 out-of-range",
     "tolerance"},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'length':3,'tolerance':'NaN'}", "422 invalid-parameter",
     "tolerance"},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'length':3,'per_pair':2}", "422 invalid-parameter",
     "per_pair"},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'length':3,'positions':[1]}",
     "422 conflicting-parameters", "positions"},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'start':9007199254740991,'length':3}",
     "422 out-of-range", ""},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'length':3,'dtype':'f8'}", "422 invalid-parameter",
     "dtype"},
    {COMPARE, "{'a':" ROPE4 ",'b':" ROPE4 ",'length':3,'config':{}}", "422 unknown-parameter",
     "config"},
    {COMPARE "?format=npy", "{'a':" ROPE4 ",'b':" ROPE4 ",'length':3}", "406 not-acceptable",
     "json"},

    /* an embedding */
    {EMBED, "{" SINE ",'start':0," X24 "}", "200", ""},
    {EMBED, "{" SINE ",'positions':[7,-1.5]," X24 "}", "200", ""},
    {EMBED, "{" SINE ",'dim':6,'merge_mode':'concat','start':0," X24 "}", "200", ""},
    {EMBED, "{" SINE ",'tokens':['a','b'],'dim':2}", "200", ""},
    {EMBED "?tokens=a,b&dim=2&encoding=sinusoidal", "{}", "200", ""},
    {EMBED, "{" SINE ",'start':0,'tensors':{'x':{'shape':[0,4],'data':[]}}}", "200", ""},
    {EMBED, "{" SINE "," X24 "}", "422 missing-parameter", "positions is required"},
    {EMBED, "{'start':0," X24 "}", "422 missing-parameter", "encoding is required"},
    {EMBED, "{" SINE ",'start':0}", "422 missing-parameter", "tokens with dim"},
    {EMBED, "{" SINE ",'dim':6,'start':0," X24 "}", "422 shape-mismatch",
     "rows of sinusoidal are 6 wide, those of x 4"},
    {EMBED, "{" SINE ",'merge_mode':'concat','start':0," X24 "}", "422 missing-parameter", "dim"},
    {EMBED, "{" SINE ",'merge_mode':'sum','start':0," X24 "}", "422 invalid-parameter",
     "merge_mode"},
    {EMBED, "{" SINE ",'merge_mode':'mul','xscale':2,'start':0," X24 "}",
     "422 conflicting-parameters", "xscale"},
    {EMBED, "{" SINE ",'xscale':1e31,'start':0," X24 "}", "422 out-of-range", "xscale"},
    {EMBED, "{" SINE ",'xscale':'NaN','start':0," X24 "}", "422 invalid-parameter", "xscale"},
    {EMBED, "{" SINE ",'seed':1,'start':0," X24 "}", "422 conflicting-parameters", "seed"},
    {EMBED, "{" SINE ",'seed':-1,'dim':2,'tokens':['a']}", "422 out-of-range", "seed"},
    {EMBED, "{" SINE ",'seed':1.5,'dim':2,'tokens':['a']}", "422 invalid-parameter", "seed"},
    {EMBED, "{" SINE ",'tokens':['a']}", "422 missing-parameter", "dim"},
    {EMBED, "{" SINE ",'dim':2,'tokens':['a',1]}", "422 invalid-parameter",
     "token 1 is not a string"},
    {EMBED, "{" SINE ",'dim':2,'tokens':[]}", "422 invalid-parameter", "one at least"},
    {EMBED, "{" SINE ",'dim':2,'tokens':{}}", "422 invalid-parameter", "list of strings"},
    {EMBED, "{" SINE ",'dim':2,'tokens':['a']," X24 "}", "422 conflicting-parameters", "only one"},
    {EMBED, "{" SINE ",'dim':1048576,'tokens':['a']}", "413 too-large", "--dim-max"},
    {EMBED, "{'encoding':'rope','start':0," X24 "}", "422 unsupported", "absolute"},
    {EMBED, "{" SINE ",'start':0,'delta':1," X24 "}", "422 unknown-parameter", "delta"},
    {EMBED, "{" SINE ",'positions':[1,2,3]," X24 "}", "422 shape-mismatch", "3 entries"},
    {EMBED, "{" SINE ",'start':9007199254740991," X24 "}", "422 out-of-range", ""},
    {EMBED, "{" SINE ",'start':0,'tensors':{'x':{'data':[1,2]}}}", "422 shape-mismatch", "rank 1"},
    {EMBED, "{" SINE ",'start':0,'tensors':{'x':{'data':[[1,2]]},'y':{'data':[[1]]}}}",
     "422 unknown-parameter", "one tensor"},
    {EMBED, "{" SINE ",'start':0,'tensors':{'x':{'dtype':'i64','data':[[1,2]]}}}",
     "422 unsupported", "i64"},
    {EMBED, "{" SINE ",'start':0,'tensors':{'x':{'shape':[4,0],'data':[]}}}", "422 shape-mismatch",
     "axis d"},

    /* a layout */
    {LAYOUT, "{" TO_HALF ",'kind':'activations','head_dim':2," X24 "}", "200", ""},
    {LAYOUT, "{" TO_HALF ",'kind':'projection_rows','dim':2," X24 "}", "200", ""},
    {LAYOUT, "{" TO_HALF ",'kind':'table'," X24 "}", "200", ""},
    {LAYOUT, "{" TO_HALF ",'kind':'activations','axes':'sd','dim':4," X24 "}", "200", ""},
    {LAYOUT, "{'to_layout':'half','kind':'table'," X24 "}", "422 missing-parameter", "from_layout"},
    {LAYOUT, "{'from_layout':'half','kind':'table'," X24 "}", "422 missing-parameter", "to_layout"},
    {LAYOUT, "{" TO_HALF "," X24 "}", "422 missing-parameter", "kind"},
    {LAYOUT, "{" TO_HALF ",'kind':'rows'," X24 "}", "422 invalid-parameter", "kind"},
    {LAYOUT, "{'from_layout':'quarter','to_layout':'half','kind':'table'," X24 "}",
     "422 invalid-parameter", "from_layout"},
    {LAYOUT, "{" TO_HALF ",'kind':'activations'," X24 "}", "422 missing-parameter", "head_dim"},
    {LAYOUT, "{" TO_HALF ",'kind':'activations','head_dim':3," X24 "}", "422 out-of-range", "even"},
    {LAYOUT, "{" TO_HALF ",'kind':'activations','head_dim':1," X24 "}", "422 out-of-range",
     "head_dim"},
    {LAYOUT, "{" TO_HALF ",'kind':'table','rotary_dim':6," X24 "}", "422 out-of-range",
     "from 2 to 4; got 6"},
    {LAYOUT, "{" TO_HALF ",'kind':'activations','head_dim':8," X24 "}", "422 shape-mismatch",
     "no multiple"},
    {LAYOUT, "{" TO_HALF ",'kind':'table','head_dim':2," X24 "}", "422 shape-mismatch",
     "not head_dim 2"},
    {LAYOUT, "{" TO_HALF ",'kind':'table','axes':'sd'," X24 "}", "422 conflicting-parameters",
     "axes"},
    {LAYOUT, "{" TO_HALF ",'kind':'table','tensors':{'x':{'shape':[8,0],'data':[]}}}",
     "422 shape-mismatch", "axis d"},
    {LAYOUT, "{" TO_HALF ",'kind':'table'}", "422 missing-parameter", "tensors"},
    {LAYOUT, "{" TO_HALF ",'kind':'table','base':3," X24 "}", "422 unknown-parameter", "base"},
};

TEST(test_refusals)
{
    cases += asked_check("", rows, COUNT_OF(rows));
}

/* GET /v1/layout: limits, and a validator that depends on everything. */
TEST(test_permutation)
{
    OWNED_API api = api_make(NULL);
    static const struct {
        const char *query;
        int status;
    } targets[] = {
        {"?from_layout=half&to_layout=meta&head_dim=4", 200},
        {"?from_layout=half&to_layout=meta&head_dim=4&heads=2", 200},
        {"?from_layout=half&to_layout=meta&head_dim=4&rotary_dim=2", 200},
        {"?from_layout=meta&to_layout=half&head_dim=4", 200},
        {"?from_layout=half&to_layout=meta&head_dim=1048576&heads=1&format=npy", 200},
        {"?from_layout=half&to_layout=meta&head_dim=1048576&heads=2", 422},
        {"?from_layout=half&to_layout=meta&head_dim=5", 422},
        {"?from_layout=half&to_layout=meta&head_dim=4&heads=0", 422},
        {"?from_layout=half&to_layout=meta&head_dim=4&rotary_dim=6", 422},
        {"?from_layout=half&to_layout=meta", 422},
        {"?to_layout=meta&head_dim=4", 422},
        {"?from_layout=half&head_dim=4", 422},
    };
    char tags[16][64] = {""};

    for (size_t i = 0; i < COUNT_OF(targets); i++, cases++) {
        char target[200], headers[1100];
        snprintf(target, sizeof(target), LAYOUT "%s", targets[i].query);
        OWNED_ANSWER answer = call(api, "GET", target, NULL, NULL);
        ck_assert_msg(answer.status == targets[i].status, "%s: %d", target, answer.status);
        if (answer.status == 200) {
            snprintf(tags[i], sizeof(tags[i]), "%s", answer_header(&answer, "ETag"));
            for (size_t j = 0; j < i; j++)
                ck_assert_str_ne(tags[j], tags[i]);
        }
        answer_free(&answer);
        snprintf(headers, sizeof(headers), "If-None-Match: %s", tags[i]);
        if (targets[i].status != 200)
            continue;
        answer = call(api, "GET", target, headers, NULL);
        ck_assert_int_eq(answer.status, 304);
    }
}

CHECK_WAY(.cases = &cases);
