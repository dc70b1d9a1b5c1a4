/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/attention_reference.h"
#include "tests/core/scheme_fixture.h"

/* ---- refusals -------------------------------------------------------------------------------- */

struct refusal {
    const char *what;
    enum pe_status status;
    const char *where, *says;
};

static const struct refusal refusals[] = {
    {"k absent", PE_MISSING, "tensor:k", "k"},
    {"q of rank 3", PE_SHAPE_MISMATCH, "tensor:q", "3"},
    {"k of another dtype", PE_INVALID, "tensor:k", "f16"},
    {"q of integers", PE_UNSUPPORTED, "tensor:q", "i64"},
    {"k of another batch", PE_SHAPE_MISMATCH, "tensor:k", "expected 1"},
    {"heads that do not divide", PE_SHAPE_MISMATCH, "tensor:k", "multiple of the 3"},
    {"no heads of k", PE_SHAPE_MISMATCH, "tensor:k", "multiple of the 0"},
    {"k of another head_dim", PE_SHAPE_MISMATCH, "tensor:k", "expected 8"},
    {"head_dim 0", PE_SHAPE_MISMATCH, "tensor:q", "at least 1"},
    {"v absent", PE_MISSING, "tensor:v", "v"},
    {"v of another length", PE_SHAPE_MISMATCH, "tensor:v", "expected 5"},
    {"v of other heads", PE_SHAPE_MISMATCH, "tensor:v", "expected 2"},
    {"rel_k without shaw", PE_CONFLICT, "tensor:rel_k", "shaw"},
    {"shaw without rel_k", PE_MISSING, "tensor:rel_k", "[9, 8]"},
    {"rel_k too short", PE_SHAPE_MISMATCH, "tensor:rel_k", "[9, 8]"},
    {"rel_k of rank 1", PE_SHAPE_MISMATCH, "tensor:rel_k", "[9, 8]"},
    {"rel_v too wide", PE_SHAPE_MISMATCH, "tensor:rel_v", "[9, 6]"},
    {"alibi of other heads", PE_SHAPE_MISMATCH, "tensor:q", "4"},
    {"rope of another dim", PE_SHAPE_MISMATCH, "tensor:q", "16"},
    {"a table", PE_UNSUPPORTED, "parameter:encoding", "embeddings"},
    {"scale 0", PE_OUT_OF_RANGE, "parameter:scale", "got 0"},
    {"scale infinite", PE_OUT_OF_RANGE, "parameter:scale", "got inf"},
    {"query_start 0.5", PE_INVALID, "parameter:query_start", "0.5"},
    {"query_start infinite", PE_OUT_OF_RANGE, "parameter:query_start", "2^53"},
    {"query_start 2^53", PE_OUT_OF_RANGE, "parameter:query_start", "2^53"},
    {"q wraps", PE_TOO_LARGE, "tensor:q", "63 bits"},
    {"scores wrap", PE_TOO_LARGE, "tensor:k", "63 bits"},
};

/* Breaks a good request in the way named. */
static void spec_break(struct pe_attention_spec *spec, const char *what,
                       struct pe_scheme *const schemes[])
{
    const struct pe_tensor rel = {
        .dtype = PE_F32, .rank = 2, .shape = {9, 8}, .data = spec->q.data};
#define IS(text) (strcmp(what, text) == 0)

    spec->scheme = strstr(what, "shaw") || strstr(what, "rel_") ? schemes[0]
                   : strstr(what, "alibi")                      ? schemes[1]
                   : strstr(what, "rope")                       ? schemes[2]
                   : strstr(what, "table")                      ? schemes[3]
                                                                : NULL;
    if (strstr(what, "rel_"))
        spec->rel_k = rel;
    if (IS("k absent"))
        spec->k = (struct pe_tensor){0};
    else if (IS("q of rank 3"))
        spec->q.rank = 3;
    else if (IS("k of another dtype"))
        spec->k.dtype = PE_F16;
    else if (IS("q of integers"))
        spec->q.dtype = PE_I64;
    else if (IS("k of another batch"))
        spec->k.shape[0] = 2;
    else if (IS("heads that do not divide"))
        spec->k.shape[1] = 3;
    else if (IS("no heads of k"))
        spec->k.shape[1] = 0;
    else if (IS("k of another head_dim"))
        spec->k.shape[3] = 7;
    else if (IS("head_dim 0"))
        spec->q.shape[3] = spec->k.shape[3] = 0;
    else if (IS("v absent"))
        spec->v = (struct pe_tensor){0};
    else if (IS("v of another length"))
        spec->v.shape[2] = 6;
    else if (IS("v of other heads"))
        spec->v.shape[1] = 1;
    else if (IS("rel_k without shaw"))
        spec->scheme = NULL;
    else if (IS("shaw without rel_k"))
        spec->rel_k = (struct pe_tensor){0};
    else if (IS("rel_k too short"))
        spec->rel_k.shape[0] = 8;
    else if (IS("rel_k of rank 1"))
        spec->rel_k.rank = 1;
    else if (IS("rel_v too wide"))
        spec->rel_v = rel;
    else if (IS("scale 0"))
        spec->scale = 0;
    else if (IS("scale infinite"))
        spec->scale = INFINITY;
    else if (IS("query_start 0.5"))
        spec->query_start = 0.5;
    else if (IS("query_start infinite"))
        spec->query_start = -INFINITY;
    else if (IS("query_start 2^53"))
        spec->query_start = 0x1p53 - 2;
    else if (IS("q wraps"))
        spec->q.shape[2] = (size_t)1 << 61;
    else if (IS("scores wrap")) {
        /* no tensor holds an element; the answer would have 2^80 */
        spec->q.shape[2] = spec->k.shape[2] = (size_t)1 << 40;
        spec->output = PE_ATTENTION_SCORES;
    }
#undef IS
}

START_TEST(refused)
{
    const struct problem p = {.dtype = PE_F32,
                              .batch = 1,
                              .heads = 4,
                              .kv_heads = 2,
                              .queries = 5,
                              .keys = 5,
                              .head_dim = 8,
                              .value_dim = 6,
                              .query_start = NAN,
                              .scale = NAN,
                              .output = PE_ATTENTION_OUTPUT};
    struct pe_scheme *const schemes[] = {
        scheme_new("shaw", "max_relative_position=4"), scheme_new("alibi", "heads=8"),
        scheme_new("rope", "dim=16"), scheme_new("sinusoidal", "dim=8")};
    struct inputs in = inputs_new(&p);
    const size_t count = sizeof(refusals) / sizeof(refusals[0]);

    for (size_t i = 0; i < count; i++) {
        struct pe_attention_spec spec = spec_of(&p, &in, NULL);
        struct pe_attention *attention = (struct pe_attention *)&spec;
        struct pe_error err = {0};
        spec_break(&spec, refusals[i].what, schemes);
        const enum pe_status status = pe_attention_new(&attention, &spec, NULL, NULL, &err);
        ck_assert_msg(status == refusals[i].status && err.status == status, "%s: %s, %s",
                      refusals[i].what, pe_status_code(status), err.detail);
        ck_assert_ptr_null(attention);
        ck_assert_str_eq(err.where, refusals[i].where);
        ck_assert_msg(strstr(err.detail, refusals[i].says), "%s: '%s' does not say '%s'",
                      refusals[i].what, err.detail, refusals[i].says);
    }
    printf("attention: %zu wrong requests refused\n", count);
    for (size_t i = 0; i < 4; i++)
        pe_scheme_free(schemes[i]);
    inputs_free(&in);
    pe_attention_free(NULL);
}
END_TEST

CHECK_PROGRAM("attention refused", refused)
