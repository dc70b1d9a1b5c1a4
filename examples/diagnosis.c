/* SPDX-License-Identifier: MIT */
/* Which known mistake explains a table of cosines and sines? The one here was made with positions
 * that begin at 1, and the program that uses it takes them to begin at 0. */
#include <posenc/posenc.h>
#include <stdio.h>

enum { ROWS = 64, PAIRS = 16 };

/* The faulty table, cosines and sines apart, in f32 as a model keeps them. */
static enum pe_status faulty_make(const struct pe_scheme *scheme, float out[2][ROWS * PAIRS],
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

static enum pe_status diagnose(const struct pe_scheme *expected, struct pe_error *err)
{
    static const char *const verdicts[] = {"match", "known-bug", "other-scheme", "unknown",
                                           "consistent"};
    static float table[2][ROWS * PAIRS];
    static double cos[ROWS * PAIRS], sin[ROWS * PAIRS], positions[ROWS];
    const struct pe_sample sample = {
        .size = sizeof(sample),
        .rows = ROWS,
        .pairs = PAIRS,
        .positions = positions, /* where the rows are believed to stand */
        .cos = cos,
        .sin = sin,
        .dtype = PE_F32,
        .precision = PE_F32,
    };
    struct pe_diagnosis *diagnosis = NULL;
    const struct pe_finding *finding;

    for (int i = 0; i < ROWS; i++)
        positions[i] = i;
    if (faulty_make(expected, table, err))
        return err->status;
    pe_to_f64(cos, table[0], PE_F32, ROWS * PAIRS);
    pe_to_f64(sin, table[1], PE_F32, ROWS * PAIRS);
    if (pe_diagnose(&diagnosis, expected, &sample, 1, NULL, NULL, err))
        return err->status;
    finding = pe_diagnosis_finding(diagnosis, 0); /* the best explanation */
    printf("%s\n", verdicts[pe_diagnosis_verdict(diagnosis)]);
    if (finding && finding->bug)
        printf("%s\n%s\n%s\n%.17g\n", finding->bug->code, finding->bug->explanation,
               finding->bug->fix, finding->max_abs);
    pe_diagnosis_free(diagnosis);
    return PE_OK;
}

int main(void)
{
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_scheme *scheme = NULL;

    if (!pe_params_parse(&params, "rope", "dim=32 base=500000", &err) &&
        !pe_scheme_new(&scheme, pe_encoding_find("rope"), &params, NULL, &err))
        diagnose(scheme, &err);
    pe_scheme_free(scheme);
    pe_params_free(&params);
    if (err.status)
        fprintf(stderr, "%s: %s\n", pe_status_title(err.status), err.detail);
    return err.status != PE_OK;
}
