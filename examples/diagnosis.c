/* SPDX-License-Identifier: MIT */
/* Which known mistake was made? First in a table of cosines and sines, then in a KV cache, by layer
 * and head; and where the cache differs from the right rotation. All mistakes here are positions
 * that begin at 1 and are taken to begin at 0. */
#include <posenc/posenc.h>
#include <stdio.h>

enum { ROWS = 64, DIM = 32, PAIRS = DIM / 2, LAYERS = 2, HEADS = 3 };

static const char *const verdicts[] = {"match", "known-bug", "other-scheme", "unknown",
                                       "consistent"};
static const struct pe_positions from_zero = {.step = 1, .count = ROWS};

/* ---- a table --------------------------------------------------------------------------------- */

/* The faulty table, cosines and sines apart, in f32 as a model keeps them. */
static enum pe_status table_make(const struct pe_scheme *scheme, float out[2][ROWS * PAIRS],
                                 struct pe_error *err)
{
    const struct pe_view_type *type = pe_encoding_view(pe_scheme_encoding(scheme), "table");
    const struct pe_view_info *info = pe_view_info(type);
    struct pe_params params;
    struct pe_view *view = NULL;

    pe_params_init(&params, info->params, info->params_count);
    if (!pe_params_set_pairs(&params, "length=64 start=1", err) &&
        !pe_params_finish(&params, err) &&
        !pe_view_new(&view, scheme, type, &params, PE_F32, NULL, err) &&
        !pe_view_fill(view, 0, 0, ROWS, out[0], NULL, err))
        pe_view_fill(view, 1, 0, ROWS, out[1], NULL, err);
    pe_view_free(view);
    pe_params_free(&params);
    return err->status;
}

static enum pe_status table_diagnose(const struct pe_scheme *expected, struct pe_error *err)
{
    static float table[2][ROWS * PAIRS];
    const struct pe_tensor cos = {PE_F32, 2, {ROWS, PAIRS}, table[0]};
    const struct pe_tensor sin = {PE_F32, 2, {ROWS, PAIRS}, table[1]};
    const struct pe_observed observed = {.size = sizeof(observed),
                                         .cos = &cos,
                                         .sin = &sin,
                                         .expected = expected,
                                         .positions = from_zero};
    struct pe_observations *observations = NULL;
    struct pe_diagnosis *diagnosis = NULL;

    if (!table_make(expected, table, err) &&
        !pe_observations_new(&observations, &observed, NULL, err) &&
        !pe_diagnose(&diagnosis, expected, pe_observations_samples(observations),
                     pe_observations_count(observations), NULL, NULL, err)) {
        const struct pe_finding *finding = pe_diagnosis_finding(diagnosis, 0); /* the best one */
        printf("%s\n", verdicts[pe_diagnosis_verdict(diagnosis)]);
        if (finding && finding->bug)
            printf("%s\n%s\n%s\n%.17g\n", finding->bug->code, finding->bug->explanation,
                   finding->bug->fix, finding->max_abs);
    }
    pe_diagnosis_free(diagnosis);
    pe_observations_free(observations);
    return err->status;
}

/* ---- a cache --------------------------------------------------------------------------------- */

/* Keys [LAYERS, HEADS, ROWS, DIM], rotated; in the last layer from position 1 on. */
static enum pe_status keys_rotate(const struct pe_scheme *scheme, float *keys, struct pe_error *err)
{
    const struct pe_axes axes = {1, HEADS, ROWS, 1, DIM};

    for (size_t layer = 0; layer < LAYERS && !err->status; layer++) {
        const struct pe_rotation_spec spec = {
            .size = sizeof(spec),
            .scheme = scheme,
            .positions = {.start = layer + 1 == LAYERS, .step = 1, .count = ROWS}};
        struct pe_rotation *rotation = NULL;
        if (!pe_rotation_new(&rotation, &spec, PE_F32, NULL, NULL, err))
            pe_rotate(rotation, keys + layer * HEADS * ROWS * DIM, &axes, 0, HEADS * ROWS, NULL,
                      err);
        pe_rotation_free(rotation);
    }
    return err->status;
}

/* The mistake that explains a head. */
static const char *mistake_of(const struct pe_kv_diagnosis *diagnosis,
                              const struct pe_kv_cell *head)
{
    const struct pe_kv_explanation *by;
    const struct pe_finding *finding;

    if (head->explanation < 0)
        return "-";
    by = pe_kv_diagnosis_explanation(diagnosis, (size_t)head->explanation);
    finding = pe_diagnosis_finding(by->diagnosis, 0);
    return finding->bug ? finding->bug->code : "-";
}

/* "LAYER HEAD VERDICT MISTAKE" for each head. */
static enum pe_status cache_diagnose(const struct pe_kv_spec *spec, struct pe_error *err)
{
    struct pe_kv_diagnosis *diagnosis = NULL;
    const struct pe_kv_cell *head;

    if (pe_diagnose_kv(&diagnosis, spec, NULL, NULL, err))
        return err->status;
    for (size_t i = 0; (head = pe_kv_diagnosis_head(diagnosis, i)); i++)
        printf("%zu %zu %s %s\n", i / HEADS, i % HEADS, verdicts[head->verdict],
               mistake_of(diagnosis, head));
    pe_kv_diagnosis_free(diagnosis);
    return PE_OK;
}

/* The largest difference from the right rotation, and the layer, head and position of the first. */
static enum pe_status cache_compare(const struct pe_kv_spec *spec, struct pe_error *err)
{
    const struct pe_rotation_spec right = {
        .size = sizeof(right), .scheme = spec->expected, .positions = from_zero};
    struct pe_operand a = {
        .size = sizeof(a), .tensors = spec->q, .tensors_count = 1, .rotation = &right};
    const struct pe_operand b = {.size = sizeof(b), .tensors = spec->q_rotated, .tensors_count = 1};
    const struct pe_differences_spec both = {
        .size = sizeof(both), .a = &a, .b = &b, .dtype = PE_F32, .axes = &spec->axes};
    struct pe_differences *differences = NULL;

    if (!pe_kv_axes_slabs(&spec->axes, &a.axes, &a.slabs, err) &&
        !pe_differences_new(&differences, &both, NULL, err) &&
        !pe_differences_find(differences, NULL, err)) {
        const struct pe_comparison *sum = pe_differences_found(differences)->sum;
        printf("%.17g %zu %zu %.0f\n", sum->max_abs,
               pe_kv_axes_coordinate(&spec->axes, PE_KV_ROWS, sum->row, 'l'),
               pe_kv_axes_coordinate(&spec->axes, PE_KV_ROWS, sum->row, 'h'),
               pe_differences_position(differences, sum->row));
    }
    pe_differences_free(differences);
    return err->status;
}

static enum pe_status cache_examine(const struct pe_scheme *expected, struct pe_error *err)
{
    static float keys[2][LAYERS * HEADS * ROWS * DIM];
    const struct pe_tensor q = {PE_F32, 4, {LAYERS, HEADS, ROWS, DIM}, keys[0]};
    const struct pe_tensor q_rotated = {PE_F32, 4, {LAYERS, HEADS, ROWS, DIM}, keys[1]};
    struct pe_kv_spec spec = {.size = sizeof(spec),
                              .q = &q,
                              .q_rotated = &q_rotated,
                              .expected = expected,
                              .layout = "half",
                              .positions = from_zero};

    for (size_t i = 0; i < sizeof(keys[0]) / sizeof(float); i++)
        keys[0][i] = keys[1][i] = (float)(i * 37 % 101) / 64 - 0.75F;
    if (!keys_rotate(expected, keys[1], err) && !pe_kv_axes_parse(&spec.axes, "lhsd", &q, err) &&
        !cache_diagnose(&spec, err))
        cache_compare(&spec, err);
    return err->status;
}

int main(void)
{
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_scheme *scheme = NULL;

    if (!pe_params_parse(&params, "rope", "dim=32 base=500000", &err) &&
        !pe_scheme_new(&scheme, pe_encoding_find("rope"), &params, NULL, &err) &&
        !table_diagnose(scheme, &err))
        cache_examine(scheme, &err);
    pe_scheme_free(scheme);
    pe_params_free(&params);
    if (err.status)
        fprintf(stderr, "%s: %s\n", pe_status_title(err.status), err.detail);
    return err.status != PE_OK;
}
