/* SPDX-License-Identifier: MIT */
#include "api/routes/diagnosis.h"

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

/* "10 007": integers from 10 000 on in groups of three digits. */
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

/* "rope, base 10 007 (usual: 10 000)": the given numbers; the width has no default and is left out.
 */
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

/* The fix is the library's sentence; a route that applies it is added here. */
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

static const char *verdict_name(enum pe_verdict verdict)
{
    static const char *const names[] = {"match", "known-bug", "other-scheme", "unknown",
                                        "consistent"};

    return names[verdict];
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

/* ---- by layer and head ----------------------------------------------------------------------- */

/* The first cell that is no match, or the first one: the report's verdict is about it. */
static size_t reported_cell(const struct pe_kv_diagnosis *by_head)
{
    const size_t bad = pe_kv_diagnosis_first_bad(by_head);

    return bad == SIZE_MAX ? 0 : bad;
}

/* The diagnosis of everything, or of the reported cell. NULL: that has none. */
static const struct pe_diagnosis *reported_diagnosis(const struct diagnosis_state *state)
{
    const struct pe_kv_diagnosis *by_head = state->kv_diagnosis;
    int explanation;

    if (state->probe)
        return pe_probe_result(state->probe)->diagnosis;
    if (!by_head)
        return state->diagnosis;
    explanation = pe_kv_diagnosis_cell(by_head, reported_cell(by_head))->explanation;
    return explanation < 0 ? NULL
                           : pe_kv_diagnosis_explanation(by_head, (size_t)explanation)->diagnosis;
}

/* Of all cells: bad rows, and how many cells are undecided. */
static void cells_count(const struct pe_kv_diagnosis *by_head, size_t *cells, size_t *bad_rows,
                        size_t *undecided)
{
    const struct pe_kv_cell *cell;

    *bad_rows = *undecided = 0;
    for (*cells = 0; (cell = pe_kv_diagnosis_cell(by_head, *cells)); ++*cells) {
        *bad_rows += cell->bad.count;
        *undecided += cell->undecided;
    }
}

static json_t *heads_json(const struct diagnosis_state *state)
{
    json_t *report = json_object(), *verdicts = json_array(), *explanations = json_array(),
           *bad_rows = json_array(), *max_abs = json_array();
    const struct pe_kv_cell *head;

    for (size_t i = 0; (head = pe_kv_diagnosis_head(state->kv_diagnosis, i)); i++) {
        json_array_append_new(verdicts, json_string(verdict_name(head->verdict)));
        json_array_append_new(
            explanations, head->explanation < 0 ? json_null() : json_integer(head->explanation));
        json_array_append_new(bad_rows, json_integer((json_int_t)head->bad.count));
        json_array_append_new(max_abs, api_number_json(head->max_abs));
    }
    api_kv_heads_report(&state->by_head.axes, report);
    json_object_set_new(report, "verdict", verdicts);
    json_object_set_new(report, "explanation", explanations);
    json_object_set_new(report, "bad_rows", bad_rows);
    json_object_set_new(report, "max_abs", max_abs);
    return report;
}

static json_t *explanations_json(const struct diagnosis_state *state)
{
    const struct pe_kv_explanation *by;
    json_t *list = json_array();

    for (size_t i = 0; (by = pe_kv_diagnosis_explanation(state->kv_diagnosis, i)); i++) {
        const bool noisy = pe_diagnosis_is_noisy(by->diagnosis);
        json_array_append_new(
            list,
            json_pack("{so sI sb sb so}", "first_head",
                      api_kv_place_json(&state->by_head.axes, PE_KV_BATCH, by->first_cell), "heads",
                      (json_int_t)by->cells, "ambiguous", pe_diagnosis_is_ambiguous(by->diagnosis),
                      "noisy", noisy, "candidate",
                      finding_json(pe_diagnosis_finding(by->diagnosis, 0), noisy, state->scheme)));
    }
    return list;
}

static void heads_report(const struct diagnosis_state *state, json_t *report)
{
    const size_t reported = reported_cell(state->kv_diagnosis);
    const struct pe_kv_cell *cell = pe_kv_diagnosis_cell(state->kv_diagnosis, reported);

    json_object_set_new(report, "verdict", json_string(verdict_name(cell->verdict)));
    json_object_set_new(report, "first_bad", first_bad_json(&cell->bad));
    json_object_set_new(report, "first_head",
                        pe_verdict_is_good(cell->verdict)
                            ? json_null()
                            : api_kv_place_json(&state->by_head.axes, PE_KV_BATCH, reported));
    json_object_set_new(report, "per_head", heads_json(state));
    json_object_set_new(report, "explanations", explanations_json(state));
}

/* ---- probes ---------------------------------------------------------------------------------- */

static json_t *fault_json(const struct pe_probe_result *result)
{
    const struct pe_probe_place *place = &result->place;

    if (!result->fault)
        return json_null();
    return json_pack("{ss ss sI sI sI sI sI so so so}", "code", result->fault->code, "explanation",
                     result->fault->explanation, "call", (json_int_t)place->call, "batch",
                     (json_int_t)place->batch, "head", (json_int_t)place->head, "token",
                     (json_int_t)place->token, "element", (json_int_t)place->element, "position",
                     api_number_json(place->position), "seen", api_number_json(place->seen),
                     "predicted", api_number_json(place->predicted));
}

static json_t *pairing_json(const struct pe_bug_info *pairing)
{
    return pairing ? json_pack("{ss ss ss}", "code", pairing->code, "explanation",
                               pairing->explanation, "fix", pairing->fix)
                   : json_null();
}

static json_t *number_or_null(double number)
{
    return isnan(number) ? json_null() : api_number_json(number);
}

static json_t *pair_json(const struct pe_probe_pair *pair)
{
    return json_pack("{sI sI so si so so so so so sb}", "first", (json_int_t)pair->first, "second",
                     (json_int_t)pair->second, "frequency", number_or_null(pair->frequency),
                     "direction", pair->direction, "scale", api_number_json(pair->scale), "offset",
                     number_or_null(pair->offset), "expected", number_or_null(pair->expected),
                     "error", number_or_null(pair->error), "error_position",
                     number_or_null(pair->error_position), "differs", pair->differs);
}

static json_t *pairs_json(const struct pe_probe_result *result)
{
    json_t *pairs = json_array();

    for (size_t i = 0; i < result->pairs_count; i++)
        json_array_append_new(pairs, pair_json(&result->pairs[i]));
    return pairs;
}

/* What a function is: the verdict is about the elements that it pairs too. */
static void probe_report(const struct diagnosis_state *state, json_t *report)
{
    const struct pe_probe_result *result = pe_probe_result(state->probe);

    if (result->fault)
        json_object_set_new(report, "verdict", json_string("refused"));
    else if (result->pairing)
        json_object_set_new(report, "verdict", json_string("known-bug"));
    json_object_set_new(
        report, "probe",
        json_pack("{ss so so so so sI sI so}", "summary", result->summary, "right",
                  state->scheme ? json_boolean(result->right) : json_null(), "fault",
                  fault_json(result), "pairing", pairing_json(result->pairing), "layout",
                  text_or_null(result->layout), "head_dim", (json_int_t)result->head_dim, "width",
                  (json_int_t)result->width, "pairs", pairs_json(result)));
}

/* ---- the report ------------------------------------------------------------------------------ */

static json_t *warnings_json(const struct diagnosis_state *state,
                             const struct pe_diagnosis *diagnosis, size_t bad_rows,
                             size_t undecided)
{
    json_t *warnings = json_array();

    api_scheme_warnings(state->scheme, warnings);
    if (state->rows > 0 && !state->places.numbers.given &&
        !pe_param_given(&state->places_params, "start") &&
        !pe_param_given(&state->places_params, "step"))
        json_array_append_new(
            warnings, json_string("no positions are given: rows were taken for 0, 1, 2 ..."));
    if (!state->scheme && diagnosis && pe_diagnosis_verdict(diagnosis) == PE_VERDICT_CONSISTENT)
        json_array_append_new(
            warnings, json_string("nothing was expected, so nothing is confirmed: post encoding or "
                                  "config for a verdict of match"));
    if (bad_rows > 0 && !state->kv_diagnosis)
        json_array_append_new(
            warnings, json_sprintf("%zu of %zu rows are not what the first candidate makes; "
                                   "first_bad is in the first of them",
                                   bad_rows, state->rows));
    if (undecided > 0)
        json_array_append_new(
            warnings,
            json_sprintf("%zu heads are explained by none of %d explanations, and no more "
                         "are looked for; post them by themselves",
                         undecided, PE_KV_EXPLANATIONS_MAX));
    if (diagnosis && pe_diagnosis_is_ambiguous(diagnosis))
        json_array_append_new(
            warnings, json_string("what was posted is explained equally well by every candidate "
                                  "that fits; more rows, other positions or both of cos and sin "
                                  "would tell them apart"));
    return warnings;
}

json_t *diagnosis_report(const struct diagnosis_state *state)
{
    const struct pe_diagnosis *diagnosis = reported_diagnosis(state);
    const struct pe_bad_rows *bad =
        state->diagnosis ? pe_diagnosis_bad_rows(state->diagnosis) : NULL;
    size_t bad_rows = bad ? bad->count : 0, undecided = 0, cells = 1;

    if (state->kv_diagnosis)
        cells_count(state->kv_diagnosis, &cells, &bad_rows, &undecided);
    const json_int_t rows = (json_int_t)(state->rows * cells);
    json_t *report = json_pack(
        "{ss sb sb so sI sI sI so so so}", "verdict",
        verdict_name(diagnosis ? pe_diagnosis_verdict(diagnosis) : PE_VERDICT_UNKNOWN), "ambiguous",
        diagnosis && pe_diagnosis_is_ambiguous(diagnosis), "noisy",
        diagnosis && pe_diagnosis_is_noisy(diagnosis), "identical_to", identical_json(diagnosis),
        "rows", rows, "rows_compared", rows, "bad_rows", (json_int_t)bad_rows, "first_bad",
        first_bad_json(bad), "candidates", candidates_json(diagnosis, state->scheme), "warnings",
        warnings_json(state, diagnosis, bad_rows, undecided));

    if (report && state->kv_diagnosis)
        heads_report(state, report);
    if (report && state->probe)
        probe_report(state, report);
    return report;
}
