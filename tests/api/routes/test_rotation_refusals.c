/* SPDX-License-Identifier: MIT */

/* POST /v1/rotation: refusals and their sentences. */

#include "tests/api/harness.h"
#include "tests/check_main.h"

static unsigned long cases;

#define TYPE_JSON "Content-Type: application/json"

#define Q4   "'tensors':{'q':{'shape':[1,1,2,4],'data':[1,2,3,4,5,6,7,8]}}"
#define FULL "'encoding':'rope','axes':'bhsd','layout':'half'," Q4

#define TWO_ROWS                                                                                   \
    "'encoding':'rope','axes':'bsd','layout':'half','dim':2,'tensors':{'q':{"                      \
    "'data':"                                                                                      \
    "[[[1,2],[3,4]],[[5,6],[7,8]]]}}"

#define CHANGE "'axes':'bhsd','layout':'half','start':0," Q4 ","
#define FULL_TABLE(cos, sin)                                                                       \
    "'encoding':'rope','axes':'bhsd','layout':'half','tensors':{'q':{'shape':["                    \
    "1,1,2,4],'data':[1,2,3,4,5,6,7,8]},'cos':{'data':" cos "},'sin':{'data':" sin "}}"

static const struct asked refusals[] = {
    {"", "{" FULL ",'positions':{'start':0}}", "200", ""},
    {"", "{" FULL ",'positions':[0,1]}", "200", ""},
    {"", "{" FULL ",'positions':[[0,1]]}", "200", ""},
    {"?start=3&step=-0.5", "{" FULL "}", "200", ""},
    {"?positions=0..1", "{" FULL "}", "200", ""},
    {"", "{" FULL ",'delta':3,'dim':4}", "200", ""},
    {"", "{" FULL ",'positions':{}}", "200", ""},
    {"", "{" FULL ",'positions':[-9007199254740991,0]}", "200", ""},
    {"", "{" FULL "}", "422 missing-parameter", "positions is required"},
    {"", "{'encoding':'rope','axes':'bhsd','start':0," Q4 "}", "422 missing-parameter",
     "layout is required: half (HF, NeoX) or interleaved (GPT-J, Meta)"},
    {"", "{'axes':'bhsd','layout':'half','start':0," Q4 "}", "422 missing-parameter",
     "encoding is required"},
    {"", "{'encoding':'rope','layout':'half','start':0," Q4 "}", "422 missing-parameter",
     "axes is required for rank 4"},
    {"", "{'encoding':'rope','axes':'shd','layout':'half','start':0," Q4 "}", "422 shape-mismatch",
     "axes=shd"},
    {"", "{'encoding':'roap','axes':'bhsd','layout':'half','start':0," Q4 "}", "404 not-found",
     "rope"},
    {"", "{'encoding':'alibi','axes':'bhsd','layout':'half','start':0,'heads':1," Q4 "}",
     "422 unsupported", "rotary"},
    {"", "{'encoding':{'base':3},'axes':'bhsd','layout':'half','start':0," Q4 "}",
     "422 missing-parameter", "name"},
    {"", "{'encoding':7,'axes':'bhsd','layout':'half','start':0," Q4 "}", "422 invalid-parameter",
     "name"},
    {"?encoding=alibi",
     "{'encoding':{'name':'rope'},'axes':'bhsd','layout':'half'," Q4 ",'start':0}",
     "422 conflicting-parameters", "twice"},
    {"?base=500", "{" FULL ",'start':0,'base':600}", "422 conflicting-parameters", "base"},
    {"", "{" FULL ",'start':0,'dim':8}", "422 conflicting-parameters", "dim"},
    {"", "{" FULL ",'start':0,'rotary_dim':3}", "422 out-of-range", "even"},
    {"", "{" FULL ",'start':0,'rotary_dim':6}", "422 out-of-range", "from 2 to 4; got 6"},
    {"", "{" FULL ",'start':0,'bas':6}", "422 unknown-parameter", "'base'"},
    {"", "{" FULL ",'start':0,'cu_seqlens':[0,1]}", "422 shape-mismatch", "ends at 1"},
    {"", "{" FULL ",'cu_seqlens':[0,1,2]}", "200", ""},
    {"", "{" FULL ",'cu_seqlens':[0,0,2,2],'start':5}", "200", ""},
    {"?cu_seqlens=0,1,2", "{" FULL "}", "200", ""},
    {"", "{" FULL ",'cu_seqlens':[1,2]}", "422 invalid-parameter", "begin at 0"},
    {"", "{" FULL ",'cu_seqlens':[0,2,1,2]}", "422 invalid-parameter", "never fall"},
    {"", "{" FULL ",'cu_seqlens':[0,1.5,2]}", "422 invalid-parameter", "whole"},
    {"", "{" FULL ",'cu_seqlens':[]}", "422 shape-mismatch", "ends at 0"},
    {"", "{" FULL ",'cu_seqlens':[[0,2]]}", "422 shape-mismatch", "one list"},
    {"", "{" FULL ",'cu_seqlens':{}}", "422 invalid-parameter", "list"},
    {"", "{" FULL ",'cu_seqlens':[0,2],'start':0.5}", "422 invalid-parameter", "whole"},
    {"", "{" FULL ",'cu_seqlens':[0,2],'positions':[0,1]}", "422 conflicting-parameters",
     "list of positions"},
    {"", "{" FULL ",'cu_seqlens':[0,2],'delta':1}", "422 conflicting-parameters", "delta"},
    {"", "{" FULL ",'start':0,'to_encoding':'rope'}", "422 conflicting-parameters",
     "take the place"},
    {"", "{" CHANGE "'from_encoding':'rope'}", "422 missing-parameter", "to_encoding"},
    {"", "{" CHANGE "'to_encoding':'rope'}", "422 missing-parameter", "from_encoding"},
    {"", "{" CHANGE "'from_encoding':'rope','to_encoding':'alibi'}", "422 unsupported", "alibi"},
    {"", "{" CHANGE "'from_encoding':'alibi','to_encoding':'rope'}", "422 unsupported", "alibi"},
    {"", "{" CHANGE "'from_encoding':'rope','to_encoding':'rope','base':7}",
     "422 unknown-parameter", "base"},
    {"", "{" CHANGE "'from_encoding':'rope','to_encoding':'rope','inverse':true}",
     "422 conflicting-parameters", "inverse"},
    {"", "{" CHANGE "'from_encoding':'rope','to_encoding':{'name':'rope','base':9}}", "200", ""},
    {"", "{" FULL_TABLE("[[1,0],[0,1]]", "[[0,1],[1,0]]") ",'positions':[1,0]}", "200", ""},
    {"", "{" FULL_TABLE("[[1,0],[0,1]]", "[[0,1],[1,0]]") ",'positions':[2,0]}", "422 out-of-range",
     "rows 0 to 1"},
    {"", "{" FULL_TABLE("[[1,0],[0,1]]", "[[0,1],[1,0]]") ",'positions':[-1,0]}",
     "422 out-of-range", "position -1"},
    {"", "{" FULL_TABLE("[[1,0],[0,1]]", "[[0,1],[1,0]]") ",'positions':[0.5,0]}",
     "422 out-of-range", "position 0.5"},
    {"", "{" FULL_TABLE("[[1,0],[0,1]]", "[[0,1],[1,0]]") ",'delta':1}",
     "422 conflicting-parameters", "distances"},
    {"",
     "{" FULL_TABLE("[[1,0],[0,1]]", "[[0,1],[1,0]]") ",'start':0,'apply_attention_factor':false}",
     "422 conflicting-parameters", "attention factor"},
    {"", "{" FULL_TABLE("[[1,0],[0,1]]", "[[0,1]]") ",'start':0}", "422 shape-mismatch",
     "cos and sin"},
    {"", "{" FULL_TABLE("[[1,0],[0,1]]", "[[0],[1]]") ",'start':0}", "422 shape-mismatch",
     "cos and sin"},
    {"", "{" FULL_TABLE("[[1,0,0],[0,1,1]]", "[[1,0,0],[0,1,1]]") ",'start':0}", "422", ""},
    {"", "{" FULL_TABLE("[[1],[0]]", "[[1],[0]]") ",'start':0,'rotary_dim':4}",
     "422 shape-mismatch", "rotary_dim"},
    {"", "{" FULL_TABLE("[[1],[0]]", "[[1],[0]]") ",'start':0}", "200", ""},
    {"", "{" FULL_TABLE("[1,0]", "[0,1]") ",'start':0}", "422 shape-mismatch", ""},
    {"",
     "{'encoding':'rope','axes':'bhsd','layout':'half','start':0,'tensors':{'q':{'shape':[1,1,1,2],"
     "'data':[1,2]},'cos':{'data':[[1]]}}}",
     "422 missing-parameter", "sin is missing"},
    {"", "{" FULL ",'start':0,'config':{}}", "422 unsupported", "cannot determine"},
    {"",
     "{" CHANGE
     "'from_encoding':'rope','to_encoding':'rope','config':{'model_type':'llama','head_dim':4}}",
     "422 conflicting-parameters", "config"},
    {"", "{" FULL ",'start':0,'dtype':'i32'}", "422 invalid-parameter", "dtype"},
    {"", "{" FULL ",'start':'0'}", "422 invalid-parameter", "start"},
    {"", "{" FULL ",'start':1,'positions':[0,1]}", "422 conflicting-parameters", "start"},
    {"", "{" TWO_ROWS ",'delta':[1,2]}", "422 conflicting-parameters",
     "as many batch rows as tokens; nest it as [b, s]"},
    {"", "{" TWO_ROWS ",'delta':[[1,2],[3,4]]}", "200", ""},
    {"", "{" FULL ",'start':1,'delta':1}", "422 conflicting-parameters", "only one"},
    {"?delta=1", "{" FULL ",'positions':[0,1]}", "422 conflicting-parameters", "only one"},
    {"?positions=0..1", "{" FULL ",'positions':[0,1]}", "422 conflicting-parameters", "twice"},
    {"", "{" FULL ",'positions':[0,1,2]}", "422 shape-mismatch",
     "positions has 3 entries, axis s of tensor q has 2"},
    {"", "{" FULL ",'positions':[[0,1],[2,3]]}", "422 shape-mismatch", "[2, 2]"},
    {"", "{" FULL ",'positions':[[0,1],[2]]}", "422 shape-mismatch", "one length"},
    {"", "{" FULL ",'positions':[0,[1]]}", "422 invalid-parameter", "numbers only"},
    {"", "{" FULL ",'positions':[0,'1']}", "422 invalid-parameter", "numbers only"},
    {"", "{" FULL ",'positions':[0,9007199254740992]}", "422 out-of-range", "2^53"},
    {"", "{" FULL ",'positions':{'start':9007199254740991}}", "422 out-of-range", "2^53"},
    {"", "{" FULL ",'positions':{'begin':0}}", "422 unknown-parameter", "begin"},
    {"", "{" FULL ",'positions':'tensor:p'}", "422 missing-parameter", "'p'"},
    {"", "{" FULL ",'positions':'tensor:q'}", "422 shape-mismatch", "[b, s]"},
    {"", "{" FULL ",'positions':true}", "422 invalid-parameter", "list"},
    {"", "{" FULL ",'delta':{'start':0}}", "422 invalid-parameter", "delta"},
    {"", "{" FULL ",'delta':[1,2,3]}", "422 shape-mismatch", "delta"},
    {"",
     "{'encoding':'rope','axes':'shd','layout':'half','start':0,'tensors':{'q':{'dtype':'i32','"
     "data':[[[1,2]]]}}}",
     "422 unsupported", "i32"},
    {"", "{'encoding':'rope','layout':'half','start':0,'tensors':{'q':{'data':[[1,2]]}}}",
     "422 missing-parameter", "dim"},
    {"", "{'encoding':'rope','layout':'half','start':0,'tensors':{'q':{'data':[1,2]}}}",
     "422 shape-mismatch", "rank"},
    {"",
     "{'encoding':'rope','axes':'shd','layout':'half','start':0,'tensors':{'q':{'data':[[[1,2,3]]]}"
     "}}",
     "422", ""},
    {"",
     "{'encoding':'rope','axes':'shd','layout':'half','start':0,'tensors':{'q':{'shape':[1,1,0],'"
     "data':[]}}}",
     "422 shape-mismatch", "axis d"},
    {"", "{'encoding':'rope','axes':'shd','layout':'half','tensors':{'positions':{'data':[1]}}}",
     "422 missing-parameter", "no tensor to rotate"},
    {"",
     "{'encoding':'rope','axes':'shd','layout':'half','tensors':{'positions':{'dtype':'f16','data':"
     "[1]},'q':{'data':[[[1,2]]]}}}",
     "422 invalid-parameter", "f64"},
    {"",
     "{'encoding':'rope','axes':'bhsd','layout':'half','start':0,'tensors':{'q':{'shape':[0,1,"
     "1099511627776,4],'data':[]}}}",
     "200", ""},
    {"", "", "400 malformed", "empty"},
};

TEST(test_refusals)
{
    cases += asked_check("/v1/rotation", refusals, COUNT_OF(refusals));
}

CHECK_WAY(.cases = &cases);
