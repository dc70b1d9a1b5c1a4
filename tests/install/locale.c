/* SPDX-License-Identifier: MIT */
/* A program whose locale writes 0.5 as 0,5: parameters have a point all the same, and a diagnosis
 * writes and reads its candidates with one. */
#include <locale.h>
#include <posenc/posenc.h>
#include <stdio.h>

int main(void)
{
    const double seen[4] = {1, 0.0564, 0.00318, 0.000179};
    const struct pe_sample sample = {.size = sizeof(sample), .pairs = 4, .frequencies = seen};
    struct pe_diagnosis *diagnosis = NULL;
    const struct pe_finding *finding;
    struct pe_params params = {0};
    struct pe_error err = {0}, refused = {0};

    if (!setlocale(LC_NUMERIC, "comma"))
        return 1;
    printf("%.1f\n", 0.5);
    if (!pe_params_parse(&params, "rope", "dim=8 base=1234.5 rope_type=linear factor=2.5", &err))
        printf("%a %a\n", pe_param_number(&params, "base"), pe_param_number(&params, "factor"));
    if (pe_params_parse(&params, "rope", "dim=8.25", &refused))
        printf("%s\n", refused.detail);
    if (!pe_diagnose(&diagnosis, NULL, &sample, 1, NULL, NULL, &err))
        for (size_t i = 0; (finding = pe_diagnosis_finding(diagnosis, i)); i++)
            printf("%s %a %a\n", pe_encoding_info(pe_scheme_encoding(finding->scheme))->name,
                   pe_param_number(pe_scheme_params(finding->scheme), "base"), finding->rms);
    pe_diagnosis_free(diagnosis);
    pe_params_free(&params);
    return err.status != PE_OK;
}
