/* SPDX-License-Identifier: MIT */
#include "api/routes/diagnosis_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/base/system.h"
#include "api/config/config.h"

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* "10 007": whole numbers from 10 000 on in groups of three digits. */
static void number_write(char out[48], double number)
{
    char digits[40];
    size_t count, at = 0;

    api_print(digits, sizeof(digits), "%.17g", number);
    if (!(number >= 10000 && number < 1e15 && number == floor(number)))
        api_print(digits, sizeof(digits), "%.6g", number);
    count = strlen(digits);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0 && strspn(digits, "0123456789") == count && count > 4)
            out[at++] = ' ';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

/* "rope, base 10 007 (usual: 10 000)": the numbers that were given, but for the width, which every
 * scheme takes from what was posted. */
static void scheme_write(const struct pe_scheme *scheme, char *out, size_t size)
{
    const struct pe_params *params = pe_scheme_params(scheme);
    size_t at =
        (size_t)snprintf(out, size, "%s", pe_encoding_info(pe_scheme_encoding(scheme))->name);

    for (size_t i = 0; i < params->count && at < size; i++) {
        const struct pe_param *param = &params->list[i];
        char number[48], usual[48];
        struct pe_params defaults;
        if (!params->values[i].given || !param->fallback || param->type != PE_NUMBER)
            continue;
        number_write(number, params->values[i].number);
        at += (size_t)snprintf(out + at, size - at, ", %s %s", param->name, number);
        if (pe_diagnosis_is_usual(scheme, i) || at >= size)
            continue;
        pe_params_init(&defaults, params->list, params->count);
        pe_params_set_text(&defaults, i, param->fallback, &(struct pe_error){0});
        number_write(usual, defaults.values[i].number);
        pe_params_free(&defaults);
        at += (size_t)snprintf(out + at, size - at, " (usual: %s)", usual);
    }
}

static json_t *explanation_json(const struct pe_finding *finding, bool noisy, bool is_expected)
{
    const struct pe_bug_info *info = finding->bug;
    char scheme[200];

    if (!finding->fits)
        return json_string(finding->is_near
                               ? "near, but further away than rounding or noise explains"
                               : "far away: it explains nothing of what was posted");
    if (info)
        return json_string(info->explanation);
    if (!is_expected) {
        scheme_write(finding->scheme, scheme, sizeof(scheme));
        return json_sprintf("consistent with %s%s", scheme,
                            noisy ? ", but for noise as large as rms" : "");
    }
    return json_string(noisy ? "what was posted, but for noise as large as rms"
                             : "every value that was looked at is explained by rounding, that of "
                               "angles in float32 included");
}

/* A mistake's cure is the library's; that a route of the service applies it is known here. */
static json_t *fix_json(const struct pe_finding *finding)
{
    static const char converted[] = "layout-swapped,columns-swapped";
    const struct pe_bug_info *info = finding->bug;

    if (!info || !finding->fits)
        return json_null();
    return json_sprintf("%s%s", info->fix,
                        api_names_have(converted, ",", info->code, strlen(info->code))
                            ? "; POST /v1/layout converts"
                            : "");
}

static json_t *finding_json(const struct pe_finding *finding, bool noisy, bool is_expected)
{
    const struct pe_bug_info *info = finding->bug;
    json_t *encoding = api_scheme_json(finding->scheme);

    return json_pack("{so so sb so so so so so so}", "encoding", encoding, "layout",
                     text_or_null(finding->sample->layout), "fits", finding->fits, "bug",
                     text_or_null(info ? info->code : NULL), "explanation",
                     explanation_json(finding, noisy, is_expected), "fix", fix_json(finding),
                     "max_abs", api_number_json(finding->max_abs), "max_ulp",
                     api_number_json(finding->max_ulp), "rms", api_number_json(finding->rms));
}

/* Cells that were left, because there are as many explanations as are looked for. */
static size_t cells_waiting(const struct diagnosis_heads *heads)
{
    size_t count = 0;

    for (size_t i = 0; i < heads->count; i++)
        count += heads->cells[i].is == CELL_WAITS;
    return count;
}

static json_t *warnings_make(const struct diagnosis_state *state, size_t bad_rows)
{
    const struct api_readings *readings = &state->readings;
    const struct diagnosis_heads *heads = &state->heads;
    const struct pe_diagnosis *told = diagnosis_told(state);
    json_t *warnings = json_array();

    api_scheme_warnings(state->scheme, warnings);
    if (readings->rows_count > 0 && !state->places.numbers.given &&
        !pe_param_given(&state->places_params, "start") &&
        !pe_param_given(&state->places_params, "step"))
        json_array_append_new(
            warnings, json_string("no positions are given: rows were taken for 0, 1, 2 ..."));
    if (!state->scheme && told && pe_diagnosis_verdict(told) == PE_VERDICT_CONSISTENT)
        json_array_append_new(
            warnings, json_string("nothing was expected, so nothing is confirmed: post encoding or "
                                  "config for a verdict of match"));
    if (bad_rows > 0 && heads->axes.rank == 0)
        json_array_append_new(
            warnings, json_sprintf("%zu of %zu rows are not what the first candidate makes; "
                                   "first_bad is in the first of them",
                                   bad_rows, readings->rows_posted));
    if (heads->axes.rank > 0 && cells_waiting(heads) > 0)
        json_array_append_new(
            warnings,
            json_sprintf("%zu heads are explained by none of %d explanations, and no more "
                         "are looked for; post them by themselves",
                         cells_waiting(heads), DIAGNOSIS_EXPLANATIONS_MAX));
    if (told && pe_diagnosis_is_ambiguous(told))
        json_array_append_new(
            warnings, json_string("what was posted is explained equally well by every candidate "
                                  "that fits; more rows, other positions or both of cos and sin "
                                  "would tell them apart"));
    return warnings;
}

static json_t *first_bad_json(const struct pe_bad_rows *bad)
{
    if (!bad || bad->count == 0)
        return json_null();
    return json_pack("{sI so sI ss so so}", "row", (json_int_t)bad->row, "position",
                     api_number_json(bad->position), "pair", (json_int_t)bad->pair, "part",
                     bad->is_sin ? "sin" : "cos", "seen", api_number_json(bad->seen), "predicted",
                     api_number_json(bad->predicted));
}

static json_t *identical_json(const struct pe_diagnosis *diagnosis)
{
    json_t *list = json_array();
    const char *name;

    for (size_t i = 0; diagnosis && (name = pe_diagnosis_identical(diagnosis, i)); i++)
        json_array_append_new(list, json_string(name));
    return list;
}

static json_t *candidates_json(const struct pe_diagnosis *diagnosis, bool is_expected)
{
    json_t *candidates = json_array();
    const struct pe_finding *finding;

    for (size_t i = 0; diagnosis && (finding = pe_diagnosis_finding(diagnosis, i)); i++)
        json_array_append_new(candidates,
                              finding_json(finding, pe_diagnosis_is_noisy(diagnosis), is_expected));
    return candidates;
}

static const char *verdict_name(enum pe_verdict verdict)
{
    static const char *const names[] = {"match", "known-bug", "other-scheme", "unknown",
                                        "consistent"};

    return names[verdict];
}

/* ---- heads ---------------------------------------------------------------------------------- */

/* The first cell that is no match, or the first one. */
static size_t cell_told(const struct diagnosis_heads *heads)
{
    for (size_t i = 0; i < heads->count; i++)
        if (!pe_verdict_is_good(heads->cells[i].verdict))
            return i;
    return 0;
}

const struct pe_diagnosis *diagnosis_told(const struct diagnosis_state *state)
{
    const struct diagnosis_heads *heads = &state->heads;
    int explanation;

    if (state->diagnosis)
        return state->diagnosis;
    explanation = heads->cells[cell_told(heads)].explanation;
    return explanation < 0 ? NULL : heads->explanations[explanation].diagnosis;
}

/* Rows of all cells that are not explained. */
static size_t cells_bad(const struct diagnosis_heads *heads)
{
    size_t count = 0;

    for (size_t i = 0; i < heads->count; i++)
        count += heads->cells[i].bad.count;
    return count;
}

/* Each head as its first batch row that is no match has it, with the bad rows of all and the
 * largest error; the caller's lists. */
static void head_join(struct diagnosis_cell *head, const struct diagnosis_cell *cell)
{
    const size_t bad = head->bad.count + cell->bad.count;
    const double max_abs = fmax(head->max_abs, cell->max_abs);

    if (head->is == CELL_WAITS ||
        (pe_verdict_is_good(head->verdict) && !pe_verdict_is_good(cell->verdict)))
        *head = *cell;
    head->is = CELL_HELD;
    head->bad.count = bad;
    head->max_abs = max_abs;
}

static json_t *heads_json(const struct diagnosis_state *state)
{
    const struct diagnosis_heads *heads = &state->heads;
    const size_t count = pe_kv_axes_places(&heads->axes, PE_KV_HEADS);
    struct diagnosis_cell *joined = api_arena_take(state->request->arena, count * sizeof(*joined));
    json_t *report = json_object(), *verdicts = json_array(), *explanations = json_array(),
           *bad_rows = json_array(), *max_abs = json_array();

    for (size_t i = 0; joined && i < heads->count; i++)
        head_join(&joined[pe_kv_axes_project(&heads->axes, PE_KV_BATCH, i, PE_KV_HEADS)],
                  &heads->cells[i]);
    for (size_t i = 0; joined && i < count; i++) {
        json_array_append_new(verdicts, json_string(verdict_name(joined[i].verdict)));
        json_array_append_new(explanations, joined[i].explanation < 0
                                                ? json_null()
                                                : json_integer(joined[i].explanation));
        json_array_append_new(bad_rows, json_integer((json_int_t)joined[i].bad.count));
        json_array_append_new(max_abs, api_number_json(joined[i].max_abs));
    }
    api_kv_heads_report(&heads->axes, report);
    json_object_set_new(report, "verdict", verdicts);
    json_object_set_new(report, "explanation", explanations);
    json_object_set_new(report, "bad_rows", bad_rows);
    json_object_set_new(report, "max_abs", max_abs);
    return report;
}

static json_t *explanations_json(const struct diagnosis_heads *heads, bool is_expected)
{
    json_t *list = json_array();

    for (size_t i = 0; i < heads->explanations_count; i++) {
        const struct diagnosis_explanation *by = &heads->explanations[i];
        size_t count = 0;
        for (size_t at = 0; at < heads->count; at++)
            count += heads->cells[at].explanation == (int)i;
        json_array_append_new(
            list,
            json_pack("{so sI sb sb so}", "first_head",
                      api_kv_place_json(&heads->axes, PE_KV_BATCH, by->cell), "heads",
                      (json_int_t)count, "ambiguous", pe_diagnosis_is_ambiguous(by->diagnosis),
                      "noisy", pe_diagnosis_is_noisy(by->diagnosis), "candidate",
                      finding_json(pe_diagnosis_finding(by->diagnosis, 0),
                                   pe_diagnosis_is_noisy(by->diagnosis), is_expected)));
    }
    return list;
}

/* Where the first cell stands that is no match, and in it the first bad row. */
static void heads_tell(const struct diagnosis_state *state, json_t *report)
{
    const struct diagnosis_heads *heads = &state->heads;
    const size_t told = cell_told(heads);
    const struct diagnosis_cell *cell = &heads->cells[told];

    json_object_set_new(report, "verdict", json_string(verdict_name(cell->verdict)));
    json_object_set_new(report, "first_bad", first_bad_json(&cell->bad));
    json_object_set_new(report, "first_head",
                        pe_verdict_is_good(cell->verdict)
                            ? json_null()
                            : api_kv_place_json(&heads->axes, PE_KV_BATCH, told));
    json_object_set_new(report, "per_head", heads_json(state));
    json_object_set_new(report, "explanations", explanations_json(heads, state->scheme));
}

/* ---- all of it ------------------------------------------------------------------------------ */

json_t *diagnosis_report(const struct diagnosis_state *state)
{
    const bool by_head = state->heads.axes.rank > 0;
    const struct pe_diagnosis *told = diagnosis_told(state);
    const struct pe_bad_rows *bad = by_head ? NULL : pe_diagnosis_bad_rows(told);
    const size_t bad_rows = by_head ? cells_bad(&state->heads) : bad ? bad->count : 0;
    const json_int_t rows =
        (json_int_t)(state->readings.rows_posted * (by_head ? state->heads.count : 1));
    json_t *report = json_pack(
        "{ss sb sb so sI sI sI so so so}", "verdict",
        verdict_name(told ? pe_diagnosis_verdict(told) : PE_VERDICT_UNKNOWN), "ambiguous",
        told && pe_diagnosis_is_ambiguous(told), "noisy", told && pe_diagnosis_is_noisy(told),
        "identical_to", identical_json(told), "rows", rows, "rows_compared", rows, "bad_rows",
        (json_int_t)bad_rows, "first_bad", first_bad_json(bad), "candidates",
        candidates_json(told, state->scheme), "warnings", warnings_make(state, bad_rows));

    if (report && by_head)
        heads_tell(state, report);
    return report;
}
