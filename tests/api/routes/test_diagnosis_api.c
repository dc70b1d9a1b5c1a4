/* SPDX-License-Identifier: MIT */

/* POST /v1/diagnosis: what it refuses, and in which words. */

#include "tests/api/harness.h"
#include "tests/check_main.h"

static unsigned long cases;

#define TYPE_JSON "Content-Type: application/json"
#define DIAGNOSE  "/v1/diagnosis"
#define COS       "'cos':{'data':[[1,1],[0.5,0.9]]}"
#define FREQ      "'tensors':{'inv_freq':{'data':[1,0.01]}}"
#define Q         "'q':{'shape':[2,1,2],'data':[1,0,1,0]}"
#define TURNED    "'q_rotated':{'shape':[2,1,2],'data':[1,0,0.54030231,0.84147098]}"
#define KEYS                                                                                       \
    "'k':{'shape':[2,1,2],'data':[1,0,1,0]},"                                                      \
    "'k_rotated':{'shape':[2,1,2],'data':[1,0,0.54030231,0.84147098]}"

static const struct asked rows[] = {
    {DIAGNOSE, "{" FREQ "}", "200", ""},
    {DIAGNOSE, "{'encoding':'rope'," FREQ "}", "200", ""},
    {DIAGNOSE "?encoding=rope&start=3", "{'tensors':{" COS "}}", "200", ""},
    {DIAGNOSE, "{'positions':[0,5],'layout':'half','tensors':{" COS "}}", "200", ""},
    {DIAGNOSE, "{'axes':'shd','tensors':{" Q "," TURNED "}}", "200", ""},
    {DIAGNOSE, "{'tensors':{" COS ",'positions':{'dtype':'i64','data':[0,1]}}}", "200", ""},
    {DIAGNOSE, "{}", "422 missing-parameter", "tensors"},
    {DIAGNOSE, "{'tensors':{}}", "422 missing-parameter", "tensors"},
    {DIAGNOSE, "{'tensors':{'z':{'data':[1]}}}", "422 unknown-parameter", "'z'"},
    {DIAGNOSE, "{'tensors':{" COS ",'inv_freq':{'data':[1]}}}", "422 conflicting-parameters",
     "one thing"},
    {DIAGNOSE, "{'tensors':{" Q "}}", "422 missing-parameter", "q_rotated is missing"},
    {DIAGNOSE, "{'tensors':{" TURNED "}}", "422 missing-parameter", "q is missing"},
    {DIAGNOSE, "{'tensors':{" Q "," TURNED "}}", "422 missing-parameter", "axes"},
    {DIAGNOSE, "{'axes':'shd','tensors':{" Q ",'q_rotated':{'data':[1,0]}}}", "422 shape-mismatch",
     "of the shape of q"},
    {DIAGNOSE, "{'axes':'shd','tensors':{" Q "," TURNED "," KEYS "}}", "200", ""},
    {DIAGNOSE, "{'axes':'shd','tensors':{" KEYS "}}", "422 missing-parameter", "q is missing"},
    {DIAGNOSE, "{'axes':'shd','tensors':{" Q "," TURNED ",'k':{'shape':[2,1,2],'data':[1,0,1,0]}}}",
     "422 missing-parameter", "k_rotated is missing"},
    {DIAGNOSE, "{'axes':'lsd','tensors':{" Q "," TURNED "," KEYS "}}", "422 conflicting-parameters",
     "all heads together"},
    {DIAGNOSE, "{'tensors':{" COS ",'sin':{'data':[[1,0]]}}}", "422 shape-mismatch", "sin must be"},
    {DIAGNOSE, "{'tensors':{'cos':{'data':[1,0]}}}", "422 shape-mismatch", "[positions"},
    {DIAGNOSE, "{'tensors':{'cos':{'shape':[0,4],'data':[]}}}", "422 shape-mismatch", "one row"},
    {DIAGNOSE, "{'tensors':{'table':{'data':[[1]]}}}", "422 shape-mismatch", "two columns"},
    {DIAGNOSE, "{'tensors':{'freqs_cis':{'data':[[[1,0,0]]]}}}", "422 shape-mismatch", "imaginary"},
    {DIAGNOSE, "{'tensors':{'inv_freq':{'data':[[1,0]]}}}", "422 shape-mismatch", "[pairs]"},
    {DIAGNOSE, "{'tensors':{'inv_freq':{'data':[]}}}", "422 shape-mismatch", "[pairs]"},
    {DIAGNOSE, "{'tensors':{'inv_freq':{'data':[1,'NaN']}}}", "422 invalid-parameter",
     "not finite, at index 1"},
    {DIAGNOSE, "{'tensors':{'inv_freq':{'dtype':'i32','data':[1]}}}", "422 unsupported", "i32"},
    {DIAGNOSE, "{'positions':[0],'tensors':{" COS "}}", "422 shape-mismatch", "positions has 1"},
    {DIAGNOSE, "{'positions':[0,1e300],'tensors':{" COS "}}", "422", "positions"},
    {DIAGNOSE, "{'start':9007199254740991,'tensors':{" COS "}}", "422 out-of-range",
     "positions must be"},
    {DIAGNOSE, "{'encoding':'roop'," FREQ "}", "404 not-found", "rope"},
    {DIAGNOSE, "{'encoding':'alibi'," FREQ "}", "422", "alibi"},
    {DIAGNOSE, "{'encoding':{'name':'rope','bas':2}," FREQ "}", "422 unknown-parameter", "'bas'"},
    {DIAGNOSE, "{'encoding':{'name':'rope','base':1}," FREQ "}", "422 out-of-range", "base"},
    {DIAGNOSE, "{'encoding':'sinusoidal','tensors':{" COS "}}", "422 shape-mismatch",
     "rows to be added"},
    {DIAGNOSE, "{'encoding':'rope','tensors':{'table':{'data':[[0,1]]}}}", "422 shape-mismatch",
     "to be rotated"},
    {DIAGNOSE, "{'layout':'third'," FREQ "}", "422 invalid-parameter", "layout"},
    {DIAGNOSE, "{'axes':'dsh'," FREQ "}", "422 invalid-parameter", "axes"},
    {DIAGNOSE, "{'cu_seqlens':[0,1]," FREQ "}", "422", "cu_seqlens"},
    {DIAGNOSE, "{'delta':1," FREQ "}", "422", "delta"},
    {DIAGNOSE, "{'what':1," FREQ "}", "422 unknown-parameter", "what"},
    {DIAGNOSE "?config=%7B%22model_type%22%3A%22llama%22%2C%22head_dim%22%3A4%7D", "{" FREQ "}",
     "200", ""},
};

TEST(test_refusals)
{
    cases += asked_check("", rows, COUNT_OF(rows));
}

CHECK_WAY(.cases = &cases);
