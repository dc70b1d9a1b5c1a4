/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/config/config.h"
#include "api/formats/formats.h"
#include "api/request/request.h"
#include "api/routes/diagnosis.h"

static const struct pe_param params_list[] = {
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .doc = "The expected layout of the pairs; any layout if absent."},
    {.name = "axes",
     .type = PE_TEXT,
     .doc = "The axes of q and q_rotated, one letter for each axis: b batch, s tokens (t in packed "
            "sequences), h heads, d the elements of a head, or of all heads where h is missing. "
            "With l (layer) or k (key or value), as of a KV cache, each head is reported. If "
            "absent lkbhsd, lbhsd or bhsd, by the rank. Those of x and y, which a function took "
            "and gave: c calls of it, b, h, s and d; if absent sd or csd."},
    {.name = "per_head",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether each layer and head is reported. It always is for axes with l or k, and for "
            "tensors of rank 5 or more."},
    API_PARAM_CACHE,
};

#define OWN "encoding tensors positions tensor " API_CONFIG_OWN
static const char own[] = OWN;
/* The JSON answer of a table, posted unchanged, has members that describe the answer. */
static const char own_of_answer[] = OWN " warnings attention_factor";
static const char later[] = "cu_seqlens delta";

static void state_release(void *what)
{
    struct diagnosis_state *state = what;

    pe_diagnosis_free(state->diagnosis);
    pe_observations_free(state->observations);
    pe_kv_diagnosis_free(state->kv_diagnosis);
    pe_probe_free(state->probe);
    pe_params_free(&state->params);
    pe_scheme_free(state->scheme);
}

/* ---- parameters and tensors ------------------------------------------------------------------ */

/* Names the only tensor of a format without names (npy, raw): frequencies where it has rank 1, else
 * a table. */
static void unnamed_tensor_name(struct api_request *request)
{
    struct api_tensor *only = request->tensors_count == 1 ? &request->tensors[0] : NULL;

    if (only && strcmp(only->name, "x") == 0)
        only->name = only->tensor.rank == 1 ? "inv_freq" : "table";
}

/* Turns caches of engines into cos and sin, or inv_freq. */
static enum pe_status engine_caches_read(struct diagnosis_state *state, struct pe_error *err)
{
    const bool is_rotary = !state->encoding || pe_encoding_has(state->encoding, PE_KIND_ROTARY);

    unnamed_tensor_name(state->request);
    if (is_rotary && api_stacked_table_split(state->request, err))
        return err->status;
    if (api_request_tensor(state->request, "freqs_cis"))
        return PE_OK; /* a diagnosis takes it as it is */
    return api_engine_cache_replace(state->request, &state->params, err) ||
                   api_factors_open(state->request, &state->factors, err)
               ? err->status
               : PE_OK;
}

static enum pe_status tensors_check(struct diagnosis_state *state, struct pe_error *err)
{
    static const char known[] = "cos sin freqs_cis table inv_freq q q_rotated k k_rotated x y";
    char where[sizeof(err->where)];

    state->dtype = PE_F32;
    for (size_t i = 0; i < state->request->tensors_count; i++) {
        const struct api_tensor *tensor = &state->request->tensors[i];
        if (api_token_positions_hold(&state->places, tensor->name))
            continue;
        snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
        if (!api_names_have(known, " ", tensor->name, strlen(tensor->name)))
            return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                           "a diagnosis has no tensor '%.60s'; it takes %s; tensor=NAME says which "
                           "of them an npy file or raw bytes are",
                           tensor->name, known);
        if (!pe_dtype_is_float(tensor->tensor.dtype))
            return pe_fail(err, PE_UNSUPPORTED, where,
                           "%.60s is %s; f64, f32, f16 and bf16 are diagnosed", tensor->name,
                           pe_dtype_info(tensor->tensor.dtype)->name);
        state->dtype = tensor->tensor.dtype;
    }
    return PE_OK;
}

static enum pe_status not_diagnosed(const struct diagnosis_state *state, struct pe_error *err)
{
    return pe_fail(
        err, PE_UNSUPPORTED, "parameter:encoding",
        "%s is not made of rows of cosines and sines at positions; rotary and sinusoidal "
        "encodings are",
        pe_encoding_info(state->encoding)->name);
}

/* The expected encoding: a named one, or that of a config; or none. */
static enum pe_status expected_read(struct diagnosis_state *state, struct pe_error *err)
{
    struct api_request *request = state->request;

    if (api_config_open(request, err))
        return err->status;
    if (!api_metadata_names_encoding(request))
        api_metadata_drop_encoding(request);
    if (!request->config && !api_function_posted(request, "encoding"))
        return PE_OK;
    if (api_function_encoding(request, NULL, &state->encoding, &state->encoding_params,
                              &state->params, err))
        return err->status;
    return pe_encoding_has(state->encoding, PE_KIND_ROTARY) ||
                   pe_encoding_has(state->encoding, PE_KIND_ROWS)
               ? PE_OK
               : not_diagnosed(state, err);
}

/* Is the body an answer of the service, whose warnings are a list? */
static bool is_answer(const struct api_request *request)
{
    return json_is_array(json_object_get(request->json, "warnings"));
}

static enum pe_status params_read(struct diagnosis_state *state, struct pe_error *err)
{
    struct pe_params *sets[] = {&state->params, &state->places_params, &state->answer_params,
                                &state->encoding_params};
    struct api_request *request = state->request;

    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_token_positions_params(&state->places_params);
    api_answer_params(request, &state->answer_params);
    if (api_function_start(request, later, err) || expected_read(state, err) ||
        api_bind(request, sets, state->encoding ? 4 : 3, is_answer(request) ? own_of_answer : own,
                 err))
        return err->status;
    if (state->encoding &&
        (api_config_fill(request->config, state->encoding, &state->encoding_params, err) ||
         (pe_encoding_has(state->encoding, PE_KIND_ROTARY) &&
          api_config_layout(request->config, &state->params, err))))
        return err->status;
    state->places.from_zero = true;
    return pe_params_finish(&state->params, err) ||
                   api_answer_apply(request, &state->answer_params, NULL, err) ||
                   api_token_positions_read(request, &state->places_params, &state->places, err) ||
                   engine_caches_read(state, err) || tensors_check(state, err)
               ? err->status
               : PE_OK;
}

/* The tensors by their names. */
static void tensors_find(struct diagnosis_state *state)
{
    const char *axes = pe_param_value(&state->params, "axes")->given
                           ? pe_param_value(&state->params, "axes")->text
                           : NULL;
    struct pe_observed *observed = &state->observed;
    const struct {
        const char *name;
        const struct pe_tensor **tensor;
    } names[] = {{"cos", &observed->cos},
                 {"sin", &observed->sin},
                 {"freqs_cis", &observed->freqs_cis},
                 {"table", &observed->table},
                 {"inv_freq", &observed->inv_freq},
                 {"q", &observed->q},
                 {"q_rotated", &observed->q_rotated},
                 {"k", &observed->k},
                 {"k_rotated", &observed->k_rotated},
                 {"x", &state->probed.x},
                 {"y", &state->probed.y}};

    *observed = (struct pe_observed){.size = sizeof(*observed), .axes = axes};
    state->probed = (struct pe_probed){.size = sizeof(state->probed), .axes = axes};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct api_tensor *tensor = api_request_tensor(state->request, names[i].name);
        *names[i].tensor = tensor ? &tensor->tensor : NULL;
    }
}

/* Are x and y of a function posted? */
static bool is_probe(const struct diagnosis_state *state)
{
    return state->probed.x || state->probed.y;
}

/* The width of a head, or of a row; 0: unknown. */
static size_t posted_dim(const struct diagnosis_state *state)
{
    const struct pe_tensor *any = state->probed.x ? state->probed.x : state->probed.y;

    return any && any->rank > 0 ? any->shape[any->rank - 1] : pe_observed_dim(&state->observed);
}

/* Is one thing posted? */
static enum pe_status tensors_count(const struct diagnosis_state *state, struct pe_error *err)
{
    const struct pe_observed *observed = &state->observed;
    const int found = (observed->cos || observed->sin) + (observed->table != NULL) +
                      (observed->freqs_cis != NULL) + (observed->inv_freq != NULL) +
                      (observed->q || observed->q_rotated || observed->k || observed->k_rotated) +
                      is_probe(state);

    return found == 1 ? PE_OK
                      : pe_fail(err, found ? PE_CONFLICT : PE_MISSING, "parameter:tensors",
                                "post one thing to diagnose: cos and sin (or one of them), "
                                "freqs_cis, table, inv_freq, q with q_rotated, beside which k with "
                                "k_rotated may be, or x with y");
}

static enum pe_status expected_open(struct diagnosis_state *state, struct pe_error *err)
{
    const size_t dim = posted_dim(state);

    if (!state->encoding)
        return PE_OK;
    if ((dim && pe_params_infer(&state->encoding_params, "dim", (double)(dim), err)) ||
        api_scheme_open(state->request->config, state->encoding, &state->encoding_params,
                        state->request->work, &state->scheme, err))
        return err->status;
    state->places.axes_count = pe_scheme_axes(state->scheme);
    return PE_OK;
}

/* ---- by layer and head ----------------------------------------------------------------------- */

enum { RANK_BY_HEAD = 5 };

/* Where heads are diagnosed together, axes are those of a rotation. */
static enum pe_status axes_check(const char *letters, struct pe_error *err)
{
    static const char known[] = "bhsd,bshd,thd,shd,hsd,bsd,sd";

    if (!letters || api_names_have(known, ",", letters, strlen(letters)))
        return PE_OK;
    return pe_fail(err, PE_INVALID, "parameter:axes",
                   "axes must be one of %s, or a letter an axis beside per_head, got \"%.32s\"",
                   known, letters);
}

/* Reads the axes of q, if heads are diagnosed one by one; *nanoseconds: the cost then. */
static enum pe_status heads_open(struct diagnosis_state *state, double *nanoseconds,
                                 struct pe_error *err)
{
    const struct pe_tensor *before = state->observed.q, *after = state->observed.q_rotated;
    const bool per_head = pe_param_number(&state->params, "per_head") != 0;
    const char *letters = state->observed.axes;

    state->by_head =
        (struct pe_kv_spec){.size = sizeof(state->by_head), .q = before, .q_rotated = after};
    if (per_head && (!before || !after))
        return pe_fail(err, PE_CONFLICT, "parameter:per_head",
                       "q and q_rotated have heads; leave it out for anything else");
    if (is_probe(state))
        return PE_OK; /* their axes are checked with them */
    if (!before || !after ||
        (!per_head && before->rank < RANK_BY_HEAD && !(letters && strpbrk(letters, "lk"))))
        return axes_check(letters, err);
    if (state->observed.k || state->observed.k_rotated)
        return pe_fail(err, PE_CONFLICT, "tensor:k",
                       "k beside q is compared with it, all heads together; where each head is "
                       "reported, post keys as q and q_rotated");
    return pe_kv_axes_parse(&state->by_head.axes, letters, before, err)
               ? err->status
               : pe_kv_diagnosis_check(&state->by_head, nanoseconds, err);
}

static enum pe_status shapes_check(const struct diagnosis_state *state,
                                   const struct pe_sample *sample, struct pe_error *err)
{
    const bool rotates = state->scheme && pe_encoding_has(state->encoding, PE_KIND_ROTARY);

    if (!state->scheme || sample->frequencies ||
        (rotates ? !sample->absolute
                 : sample->absolute && pe_scheme_pairs(state->scheme) == sample->pairs))
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:encoding",
                   "%s has %zu pairs, %s; what was posted has %zu, %s",
                   pe_encoding_info(state->encoding)->name, pe_scheme_pairs(state->scheme),
                   rotates ? "to be rotated" : "in rows to be added", sample->pairs,
                   sample->absolute ? "in rows to be added" : "to be rotated");
}

static enum pe_status heads_diagnose(struct diagnosis_state *state, struct pe_error *err)
{
    const struct pe_sample rotated = {.pairs = pe_observed_dim(&state->observed) / 2};
    struct pe_kv_spec *spec = &state->by_head;
    /* One list of positions is that of every batch row. */
    const struct pe_axes axes = {
        state->places.numbers.rank < 2 ? 1 : pe_kv_axes_length(&spec->axes, 'b'), 1,
        pe_kv_axes_length(&spec->axes, 's'), 1, 2 * ((spec->q->shape[spec->q->rank - 1] + 1) / 2)};

    spec->expected = state->scheme;
    spec->layout = state->layout;
    state->rows = axes.sequence;
    return shapes_check(state, &rotated, err) ||
                   api_token_positions_fit(state->request, &state->places, &axes, "q",
                                           &spec->positions, err)
               ? err->status
               : pe_diagnose_kv(&state->kv_diagnosis, spec, api_pool(state->request->api),
                                state->request->work, err);
}

/* ---- the diagnosis --------------------------------------------------------------------------- */

static enum pe_status expected_prepare(const struct diagnosis_state *state, struct pe_error *err)
{
    if (!state->scheme)
        return PE_OK;
    if (pe_scheme_prepare(state->scheme, state->request->work, err))
        return err->status;
    return pe_diagnosis_takes(state->scheme) ? PE_OK : not_diagnosed(state, err);
}

/* The expected layout: of a rotation as posted; of a table as its scheme has it. */
static enum pe_status layout_expected(struct diagnosis_state *state, struct pe_error *err)
{
    const struct pe_value *value = pe_param_value(&state->params, "layout");
    const struct pe_scheme *scheme = state->scheme;

    if (!scheme || pe_encoding_has(pe_scheme_encoding(scheme), PE_KIND_ROTARY)) {
        state->layout =
            value->given ? api_layout_name((enum pe_layout)(size_t)value->number) : NULL;
        return PE_OK;
    }
    state->layout = pe_diagnosis_columns(scheme, state->request->work);
    return state->layout ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a row");
}

static enum pe_status together_diagnose(struct diagnosis_state *state, struct pe_error *err)
{
    struct pe_observed *observed = &state->observed;
    const char *name = observed->cos         ? "cos"
                       : observed->sin       ? "sin"
                       : observed->freqs_cis ? "freqs_cis"
                       : observed->table     ? "table"
                                             : "q";
    const struct pe_sample *samples;
    struct pe_axes axes;

    observed->expected = state->scheme;
    observed->layout = state->layout;
    if (pe_observed_axes(observed, &axes, err))
        return err->status;
    state->rows = axes.batch * axes.sequence;
    if ((state->rows > 0 && api_token_positions_fit(state->request, &state->places, &axes, name,
                                                    &observed->positions, err)) ||
        pe_observations_new(&state->observations, observed, state->request->work, err))
        return err->status;
    samples = pe_observations_samples(state->observations);
    return shapes_check(state, samples, err)
               ? err->status
               : pe_diagnose(&state->diagnosis, state->scheme, samples,
                             pe_observations_count(state->observations),
                             api_pool(state->request->api), state->request->work, err);
}

static enum pe_status probe_make(struct diagnosis_state *state, struct pe_error *err)
{
    struct pe_probed *probed = &state->probed;
    struct pe_axes axes;

    probed->expected = state->scheme;
    probed->layout = state->layout;
    if (pe_probed_axes(probed, &axes, NULL, err))
        return err->status;
    state->rows = axes.sequence;
    return api_token_positions_fit(state->request, &state->places, &axes, "x", &probed->positions,
                                   err) ||
                   pe_probe_new(&state->probe, probed, api_pool(state->request->api),
                                state->request->work, err)
               ? err->status
               : PE_OK;
}

/* ---- the two phases -------------------------------------------------------------------------- */

/* Numbers that are reported of each head, and of each pair of a probe. */
enum { LISTS = 4, PAIR_NUMBERS = 10 };

static enum pe_status diagnosis_open(struct api_request *request, struct api_result *result,
                                     struct pe_error *err)
{
    struct diagnosis_state *state = result->state = api_arena_take(request->arena, sizeof(*state));
    struct pe_axes axes;
    double by_head = 0, probing = 0;

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a diagnosis");
    state->request = request;
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    if (params_read(state, err))
        return err->status;
    tensors_find(state);
    if (expected_open(state, err) || tensors_count(state, err) ||
        heads_open(state, &by_head, err) ||
        (is_probe(state) && pe_probed_axes(&state->probed, &axes, &probing, err)))
        return err->status;
    result->operation = "diagnosis";
    result->work = (is_probe(state)                ? probing
                    : state->by_head.axes.rank > 0 ? by_head
                                                   : pe_observed_work(&state->observed)) +
                   (state->scheme ? pe_scheme_work(state->scheme) : 0);
    result->elements = state->by_head.axes.rank > 0
                           ? LISTS * pe_kv_axes_places(&state->by_head.axes, PE_KV_BATCH)
                       : is_probe(state) ? PAIR_NUMBERS * axes.head_dim / 2
                                         : 0;
    result->subject = "the diagnosis";
    result->advice = "post fewer rows or pairs";
    result->encoding_name = state->encoding ? pe_encoding_info(state->encoding)->name : "none";
    result->dtype = state->dtype;
    return PE_OK;
}

static enum pe_status diagnosis_prepare(struct api_request *request, struct api_result *result,
                                        struct pe_error *err)
{
    struct diagnosis_state *state = result->state;

    if (expected_prepare(state, err) || layout_expected(state, err) ||
        api_factors_apply(request, &state->factors, state->scheme, err) ||
        (is_probe(state)                ? probe_make(state, err)
         : state->by_head.axes.rank > 0 ? heads_diagnose(state, err)
                                        : together_diagnose(state, err)))
        return err->status;
    result->report = diagnosis_report(state);
    return PE_OK;
}

const struct api_handler api_handler_diagnosis = {diagnosis_open, diagnosis_prepare};
