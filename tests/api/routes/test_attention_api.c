/* SPDX-License-Identifier: MIT */

/* POST /v1/attention: against the formula in double for each kind of position; refusals. */

#include <math.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

static unsigned long cases;

#define TYPE_JSON "Content-Type: application/json"
#define QK                                                                                         \
    "'q':{'shape':[1,2,2,2],'data':[1,2,3,4,5,6,7,8]},'k':{'shape':[1,1,2,2],'data':[1,2,3,4]}"
#define MORE   "'outputs':'scores','tensors':{" QK ","
#define SCORES "'outputs':'scores','tensors':{" QK "}"

static const struct asked refusals[] = {
    {"", "{'encoding':'none'," SCORES "}", "200", ""},
    {"", "{'encoding':'alibi'," SCORES "}", "200", ""},
    {"", "{'encoding':'rope','layout':'half'," SCORES "}", "200", ""},
    {"", "{'encoding':'none','query_start':-3," SCORES "}", "200", ""},
    {"",
     "{'encoding':'none','outputs':'scores','tensors':{'q':{'shape':[1,1,0,2],'data':[]},'k':{'"
     "shape':[1,1,3,2],'data':[1,2,3,4,5,6]}}}",
     "200", ""},
    {"", "{" SCORES "}", "422 missing-parameter", "encoding is required"},
    {"", "{'encoding':'aliby'," SCORES "}", "404 not-found", "alibi"},
    {"", "{'encoding':'rope'," SCORES "}", "422 missing-parameter", "layout is required"},
    {"", "{'encoding':'alibi','layout':'half'," SCORES "}", "422 conflicting-parameters",
     "leave it out"},
    {"", "{'encoding':'sinusoidal','dim':2," SCORES "}", "422 unsupported", "table"},
    {"", "{'encoding':'none','heads':2," SCORES "}", "422 conflicting-parameters", "heads"},
    {"", "{'encoding':'alibi','heads':4," SCORES "}", "422 shape-mismatch", "heads"},
    {"", "{'encoding':'rope','layout':'half','dim':4," SCORES "}", "422 shape-mismatch", "dim"},
    {"", "{'encoding':'shaw'," SCORES "}", "422", ""},
    {"", "{'encoding':'shaw'," MORE "'rel_k':{'shape':[2,2],'data':[1,2,3,4]}}}", "422", ""},
    {"",
     "{'encoding':'shaw','max_relative_position':2," MORE
     "'rel_k':{'shape':[3,2],'data':[1,2,3,4,5,6]}}}",
     "422 shape-mismatch", "rel_k"},
    {"", "{'encoding':'none'," MORE "'rel_k':{'shape':[3,2],'data':[1,2,3,4,5,6]}}}",
     "422 conflicting-parameters", "rel_k"},
    {"", "{'encoding':'none','dtype':'f16'," SCORES "}", "422 unknown-parameter", "not offered"},
    {"", "{'encoding':'none','window':3," SCORES "}", "200", ""},
    {"", "{'encoding':'none','window':3,'window_left':1," SCORES "}", "422 conflicting-parameters",
     "both sides"},
    {"", "{'encoding':'none','window_left':-1," SCORES "}", "422 out-of-range", "window_left"},
    {"", "{'encoding':'none','softcap':-1," SCORES "}", "422 out-of-range", "softcap"},
    {"", "{'encoding':'none','bias_before_scale':true," SCORES "}", "422 conflicting-parameters",
     "none adds none"},
    {"", "{'encoding':'alibi','bias_before_scale':true," SCORES "}", "200", ""},
    {"", "{'encoding':'none'," MORE "'mask':{'dtype':'bool','data':[true]}}}", "200", ""},
    {"", "{'encoding':'none'," MORE "'mask':{'dtype':'bool','data':[true,false,true]}}}",
     "422 shape-mismatch", "whole or 1"},
    {"", "{'encoding':'none'," MORE "'mask':{'data':[0,'-Infinity']}}}", "200", ""},
    {"", "{'encoding':'none'," MORE "'mask':{'data':[0,'Infinity']}}}", "422 out-of-range",
     "inf at element 1"},
    {"", "{'encoding':'none'," MORE "'bias':{'data':['NaN',0]}}}", "422 out-of-range",
     "NaN at element 0"},
    {"", "{'encoding':'none'," MORE "'mask':{'dtype':'i32','data':[1,0]}}}",
     "422 invalid-parameter", "dtype of q"},
    {"", "{'encoding':'none'," MORE "'bias':{'dtype':'bool','data':[true,true]}}}",
     "422 invalid-parameter", "dtype of q"},
    {"", "{'encoding':'none'," MORE "'sinks':{'data':[1,2,3]}}}", "422 shape-mismatch", "[heads]"},
    {"", "{'encoding':'none'," MORE "'q_norm':{'data':[1,2]}}}", "200", ""},
    {"", "{'encoding':'none'," MORE "'q_norm':{'data':[1]}}}", "422 shape-mismatch", "[d] = [2]"},
    {"", "{'encoding':'none','norm':'none'," MORE "'q_norm':{'data':[1,2]}}}",
     "422 conflicting-parameters", "before or after"},
    {"", "{'encoding':'none','norm_epsilon':1e-5," SCORES "}", "422 conflicting-parameters",
     "there is none"},
    {"", "{'encoding':'none','norm':'before','norm_offset':1," SCORES "}",
     "422 conflicting-parameters", "not posted"},
    {"", "{'encoding':'none','temperature_strength':1," SCORES "}", "422 missing-parameter",
     "temperature_length"},
    {"", "{'encoding':'none','temperature_length':8," SCORES "}", "422 missing-parameter",
     "temperature_strength"},
    {"",
     "{'encoding':'none','query_start':-3,'temperature_strength':1,'temperature_length':8," SCORES
     "}",
     "422 out-of-range", "positions of -1"},
    {"", "{'encoding':'none','cu_seqlens':[0,1,2]," SCORES "}", "200", ""},
    {"", "{'encoding':'none','cu_seqlens':[0,1,3]," SCORES "}", "422 shape-mismatch", "ends at 3"},
    {"", "{'encoding':'none','cu_seqlens':[0,1.5,2]," SCORES "}", "422 invalid-parameter", "1.5"},
    {"", "{'encoding':'none','cu_seqlens':[0,2],'query_start':0," SCORES "}",
     "422 conflicting-parameters", "query_start"},
    {"", "{'encoding':'none','cu_seqlens_k':[0,2]," SCORES "}", "422 missing-parameter",
     "cu_seqlens"},
    {"", "{'encoding':'none','cu_seqlens':[0,2],'cu_seqlens_k':[0,1,2]," SCORES "}",
     "422 shape-mismatch", "3 entries"},
    {"", "{'encoding':'none','positions':[0,1]," SCORES "}", "422 conflicting-parameters",
     "query_start"},
    {"", "{'encoding':'rope','layout':'half','positions':[3,9]," SCORES "}", "200", ""},
    {"", "{'encoding':'rope','layout':'half','positions':[3,9,1]," SCORES "}", "422 shape-mismatch",
     "3 entries"},
    {"", "{'encoding':'rope','layout':'half','key_positions':[3,9]," SCORES "}",
     "422 missing-parameter", "q needs"},
    {"", "{'encoding':'rope','layout':'half','positions':{'start':3}," SCORES "}",
     "422 invalid-parameter", "list"},
    {"", "{'encoding':'alibi'," MORE "'pos_key':{'shape':[2,4],'data':[1,2,3,4,5,6,7,8]}}}",
     "422 conflicting-parameters", "deberta-log"},
    {"",
     "{'encoding':'deberta-log','position_buckets':2,'max_relative_positions':4," MORE
     "'pos_key':{'shape':[2,4],'data':[1,2,3,4,5,6,7,8]}}}",
     "422 shape-mismatch", "[4, 4]"},
    {"", "{'encoding':'none'," MORE "'w':{'data':[1]}}}", "422 unknown-parameter", "takes q, k, v"},
    {"", "{'encoding':'none','outputs':'bias','tensors':{" QK "}}", "422 invalid-parameter",
     "scores"},
    {"", "{'encoding':'none','tensors':{" QK "}}", "422 missing-parameter", "v"},
    {"", "{'encoding':'none','tensors':{'q':{'data':[[[[1]]]]}}}", "422 missing-parameter", "k "},
    {"", "{'encoding':'none','tensors':{'q':{'data':[[1]]},'k':{'data':[[1]]}}}",
     "422 shape-mismatch", "batch"},
    {"", "{'encoding':'none','scale':0," SCORES "}", "422 out-of-range", "scale"},
    {"", "{'encoding':'none','scale':1e31," SCORES "}", "422 out-of-range", "scale"},
    {"", "{'encoding':'none','query_start':0.5," SCORES "}", "422 invalid-parameter",
     "query_start"},
    {"", "{'encoding':'none','query_start':9007199254740991," SCORES "}", "422 out-of-range", ""},
    {"",
     "{'encoding':'none','outputs':'scores','tensors':{'q':{'shape':[1,3,1,1],'data':[1,2,3]},'k':{"
     "'shape':[1,2,1,1],'data':[1,2]}}}",
     "422 shape-mismatch", "multiple"},
    {"",
     "{'encoding':'none','outputs':'scores','tensors':{'q':{'shape':[1,1,1,1],'data':[1]},'k':{'"
     "dtype':'f64','shape':[1,1,1,1],'data':[1]}}}",
     "422 invalid-parameter", "f64"},
    {"", "{'encoding':'t5'," SCORES "}", "422 missing-parameter", "weights [32, 2]"},
    {"",
     "{'encoding':'t5','num_buckets':4,'max_distance':4," MORE
     "'weights':{'shape':[4,2],'data':[1,2,3,4,5,6,7,8]}}}",
     "200", ""},
    {"",
     "{'encoding':'t5','num_buckets':4,'max_distance':4," MORE
     "'weights':{'shape':[2,4],'data':[1,2,3,4,5,6,7,8]}}}",
     "422 shape-mismatch", "[4, heads]"},
    {"",
     "{'encoding':'t5','num_buckets':4,'max_distance':4," MORE
     "'weights':{'shape':[4,1],'data':[1,2,3,4]}}}",
     "422 shape-mismatch", "2 heads"},
    {"", "{'encoding':'none'," MORE "'weights':{'shape':[1,2],'data':[1,2]}}}",
     "422 conflicting-parameters", "not to none"},
    {"", "{'encoding':'alibi'," MORE "'weights':{'shape':[1,2],'data':[1,2]}}}",
     "422 conflicting-parameters", "not to alibi"},
    {"", "{'encoding':'deberta-log'," SCORES "}", "422 missing-parameter", "pos_key"},
    {"", "{'encoding':'kerple-log','p':1,'a':[1,2]," SCORES "}", "200", ""},
    {"", "{'encoding':'kerple-log','p':1," SCORES "}", "422 missing-parameter", "a is required"},
    {"", "{'encoding':'kerple-power','p':1,'a':[1,2,3]," SCORES "}", "422 shape-mismatch",
     "heads is 2"},
    {"", "{'encoding':'sandwich','dim':8," SCORES "}", "200", ""},
    {"", "{'encoding':'sandwich'," SCORES "}", "422 missing-parameter", "dim is required"},
    {"", "{'encoding':'transformer-xl'," SCORES "}", "200", ""},
    {"", "{'encoding':'transformer-xl','layout':'concatenated'," SCORES "}", "200", ""},
    {"", "{'encoding':'transformer-xl','layout':'half'," SCORES "}", "422 invalid-parameter",
     "concatenated"},
    {"", "{'encoding':'transformer-xl','dim':4," SCORES "}", "422 missing-parameter", "w_r"},
    {"", "{'encoding':'transformer-xl','direction':'past'," SCORES "}",
     "422 conflicting-parameters", "causal"},
    {"", "{'encoding':'transformer-xl','direction':'past','causal':true," SCORES "}", "200", ""},
    {"",
     "{'encoding':'transformer-xl'," MORE
     "'w_r':{'shape':[4,1],'data':[1,2,3,4]},'pos_bias_u':{'shape':[2,2],'data':[1,2,3,4]}}}",
     "200", ""},
    {"", "{'encoding':'transformer-xl'," MORE "'w_r':{'shape':[3,1],'data':[1,2,3]}}}",
     "422 shape-mismatch", "[heads * head_dim, dim]"},
    {"", "{'encoding':'transformer-xl'," MORE "'pos_bias_v':{'shape':[1,2],'data':[1,2]}}}",
     "422 shape-mismatch", "pos_bias_v"},
    {"", "{'encoding':'alibi'," MORE "'pos_bias_v':{'shape':[2,2],'data':[1,2,3,4]}}}",
     "422 conflicting-parameters", "transformer-xl"},
    {"", "{'encoding':'shaw','vectors':'sinusoidal'," SCORES "}", "422 missing-parameter",
     "max_relative_position"},
    {"", "{'encoding':'shaw','vectors':'sinusoidal','max_relative_position':2," SCORES "}", "200",
     ""},
    {"",
     "{'encoding':'shaw','vectors':'sinusoidal','max_relative_position':1,'dim':2,'outputs':'"
     "scores','tensors':{" QK ",'rel_k':{'shape':[3,2],'data':[1,2,3,4,5,6]}}}",
     "422 conflicting-parameters", "not learned"},
    {"", "", "400 malformed", "empty"},
};

TEST(test_refusals)
{
    cases += asked_check("/v1/attention", refusals, COUNT_OF(refusals));
}

/* Limits apply to cost and size estimated from shapes. */
TEST(test_limits)
{
    struct api_settings settings = settings_make();
    settings.limits.work_max = 100;
    struct api *api = api_make(&settings);
    OWNED_ANSWER answer =
        call(api, "POST", "/v1/attention", TYPE_JSON, "{'encoding':'none'," SCORES "}");

    ck_assert_int_eq(answer.status, 413); /* 8 logits, and 8 numbers to print */
    ck_assert_ptr_nonnull(strstr(member_text(&answer, "detail"), "--work-max"));
    answer_free(&answer);
    api_free(api);
    settings.limits.work_max = 3000; /* parsing of the body included */
    api = api_make(&settings);
    answer = call(api, "POST", "/v1/attention", TYPE_JSON, "{'encoding':'none'," SCORES "}");
    ck_assert_int_eq(answer.status, 200);
    answer_free(&answer);
    api_free(api);
    settings = settings_make();
    settings.limits.output_max = 31; /* 2 * 2 * 2 floats are 32 */
    api = api_make(&settings);
    answer = call(api, "POST", "/v1/attention", TYPE_JSON, "{'encoding':'none'," SCORES "}");
    ck_assert_int_eq(answer.status, 413);
    ck_assert_ptr_nonnull(strstr(member_text(&answer, "detail"), "--output-max"));
    answer_free(&answer);
    api_free(api);
    cases += 3;
}

/* ---- against the formula --------------------------------------------------------------------- */

enum { H = 4, HK = 2, S = 3, N = 5, D = 4, CLIP = 2 };

struct batch {
    double q[H][S][D], k[HK][N][D], v[HK][N][D], rel_k[2 * CLIP + 1][D], rel_v[2 * CLIP + 1][D];
};

static void fill_random(double *x, size_t count)
{
    static uint32_t seed = 7;
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (double)(int32_t)seed / 0x1p30;
    }
}

static void rotate(double *out, const double *x, double t)
{
    for (int i = 0; i < D / 2; i++) {
        const double angle = t * pow(10000, -2.0 * i / D);
        out[2 * i] = x[2 * i] * cos(angle) - x[2 * i + 1] * sin(angle);
        out[2 * i + 1] = x[2 * i] * sin(angle) + x[2 * i + 1] * cos(angle);
    }
}

static int bucket(int i, int j)
{
    const int r = j - i;
    return (r < -CLIP ? -CLIP : r > CLIP ? CLIP : r) + CLIP;
}

/* One row: scores of all keys, later their weights, and the output. `i` is the query's position. */
static void row_make(const struct batch *x, const char *encoding, int head, int row, int i,
                     bool causal, double *scores, double *weights, double *output)
{
    const bool shaw = strcmp(encoding, "shaw") == 0;
    double most = -INFINITY, sum = 0;

    for (int j = 0; j < N; j++) {
        double q[D], k[D];
        memcpy(q, x->q[head][row], sizeof(q));
        memcpy(k, x->k[head / (H / HK)][j], sizeof(k));
        if (strcmp(encoding, "rope") == 0) {
            rotate(q, x->q[head][row], i);
            rotate(k, x->k[head / (H / HK)][j], j);
        }
        scores[j] = 0;
        for (int e = 0; e < D; e++)
            scores[j] += q[e] * (k[e] + (shaw ? x->rel_k[bucket(i, j)][e] : 0));
        scores[j] /= sqrt(D);
        if (strcmp(encoding, "alibi") == 0)
            scores[j] -= pow(2, -8.0 * (head + 1) / H) * abs(i - j);
        if (causal && j > i)
            scores[j] = -INFINITY;
        most = fmax(most, scores[j]);
    }
    for (int j = 0; j < N; j++)
        sum += weights[j] = exp(scores[j] - most);
    for (int e = 0; e < D; e++)
        output[e] = 0;
    for (int j = 0; j < N; j++) {
        weights[j] /= sum;
        for (int e = 0; e < D; e++)
            output[e] +=
                weights[j] * (x->v[head / (H / HK)][j][e] + (shaw ? x->rel_v[bucket(i, j)][e] : 0));
    }
}

static size_t body_make(unsigned char *out, const struct batch *x, bool relative)
{
    char header[800];
    size_t used, size = relative ? sizeof(*x) : offsetof(struct batch, rel_k);

#define TENSOR(name, shape)                                                                        \
    "\"" #name "\":{\"dtype\":\"F64\",\"shape\":" shape ",\"data_offsets\":[%zu,%zu]}"
#define RANGE(name) offsetof(struct batch, name), offsetof(struct batch, name) + sizeof(x->name)
    used = (size_t)snprintf(
        header, sizeof(header),
        "{" TENSOR(q, "[1,4,3,4]") "," TENSOR(k, "[1,2,5,4]") "," TENSOR(v, "[1,2,5,4]"), RANGE(q),
        RANGE(k), RANGE(v));
    if (relative)
        used += (size_t)snprintf(header + used, sizeof(header) - used,
                                 "," TENSOR(rel_k, "[5,4]") "," TENSOR(rel_v, "[5,4]"),
                                 RANGE(rel_k), RANGE(rel_v));
    used += (size_t)snprintf(header + used, sizeof(header) - used, "}");
    const uint64_t length = used;
    memcpy(out, &length, 8);
    memcpy(out + 8, header, used);
    memcpy(out + 8 + used, x, size);
    return 8 + used + size;
}

static double difference(double a, double b)
{
    return a == b ? 0 : fabs(a - b); /* both -Infinity: none */
}

TEST(test_formula)
{
    static const char *const encodings[] = {"none", "rope", "alibi", "shaw"};
    static const char *const outputs[] = {"scores", "weights", "output"};
    OWNED_API api = api_make(NULL);
    unsigned char body[4096];
    struct batch x;
    double worst = 0;

    fill_random(&x.q[0][0][0], sizeof(x) / sizeof(double));
    for (int e = 0; e < 4; e++)
        for (int o = 0; o < 3; o++)
            for (int variant = 0; variant < 4; variant++) {
                const bool causal = variant & 1, first = variant & 2;
                const size_t size = body_make(body, &x, e == 3), width = o == 2 ? D : N;
                char target[200];
                snprintf(target, sizeof(target), "/v1/attention?encoding=%s&outputs=%s%s%s%s",
                         encodings[e], outputs[o], e == 1 ? "&layout=interleaved" : "",
                         causal ? "&causal=true" : "", first ? "&query_start=0" : "");
                OWNED_ANSWER answer = call_bytes(api, "POST", target, NULL, body, size);
                ck_assert_msg(answer.status == 200, "%s: %.300s", target, (char *)answer.body);
                ck_assert_ptr_nonnull(strstr((char *)answer.body + 8, outputs[o]));
                const unsigned char *at =
                    answer.body + answer.size - H * S * width * sizeof(double);
                for (int row = 0; row < H * S; row++) {
                    double scores[N], weights[N], output[D], y[N];
                    const double *expected[] = {scores, weights, output};
                    row_make(&x, encodings[e], row / S, row % S, row % S + (first ? 0 : N - S),
                             causal, scores, weights, output);
                    memcpy(y, at + (size_t)row * width * sizeof(double), width * sizeof(double));
                    for (size_t j = 0; j < width; j++)
                        worst = fmax(worst, difference(y[j], expected[o][j]));
                }
                cases++;
            }
    printf("attention: worst difference %g\n", worst);
    ck_assert(worst < 1e-13);
}

/* JSON reports resolved parameters: heads and the clip, inferred from the tensors. */
TEST(test_resolved)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer = call(api, "POST", "/v1/attention", TYPE_JSON,
                               "{'encoding':'alibi','causal':true," SCORES "}");

    ck_assert_int_eq(answer.status, 200);
    ck_assert_int_eq(json_integer_value(member(&answer, "encoding.heads")), 2);
    ck_assert_str_eq(member_text(&answer, "tensors.scores.data.0.0.0.1"), "-Infinity");
    ck_assert(member(&answer, "tensors.weights") == NULL);
    answer_free(&answer);
    answer = call(api, "POST", "/v1/attention", TYPE_JSON,
                  "{'encoding':'shaw','outputs':'weights','tensors':{" QK
                  ",'rel_k':{'shape':[3,2],'data':[1,2,3,4,5,6]}}}");
    ck_assert_int_eq(answer.status, 200);
    ck_assert_int_eq(json_integer_value(member(&answer, "encoding.max_relative_position")), 1);
    answer_free(&answer);
    answer =
        call(api, "POST", "/v1/attention?layout=half", TYPE_JSON, "{'encoding':'rope'," SCORES "}");
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(member_text(&answer, "encoding.layout"), "half");
    ck_assert_int_eq(json_integer_value(member(&answer, "encoding.dim")), 2);
    answer_free(&answer);
    answer = call(api, "POST", "/v1/attention", TYPE_JSON, "{'encoding':'none'," SCORES "}");
    ck_assert_str_eq(member_text(&answer, "encoding.name"), "none");
    cases += 4;
}

CHECK_WAY(.cases = &cases);
