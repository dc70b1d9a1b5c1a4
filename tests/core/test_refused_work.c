/* SPDX-License-Identifier: MIT */

/* Public functions with a piece of work that refuses one reservation after the other, that is
 * cancelled before or within the call, or that lacks one operation. Each call has the status of it,
 * and its memory is given back. tests/core/diagnosis and tests/core/golden do the same for their
 * functions. */

#include <math.h>
#include <string.h>

#include "tests/core/public_fixture.h"
#include "tests/core/refusing_work.h"

/* A function under test: it frees what it makes. `scheme` is prepared. */
struct call {
    const char *name, *encoding, *params;
    void (*run)(const struct pe_scheme *scheme, struct pe_work *work, struct pe_error *error);
    long reservations; /* at least */
};

/* ---- tensors --------------------------------------------------------------------------------- */

enum { ROWS = 6, DIM = 8 };

static float *numbers(void)
{
    static float values[4 * ROWS * DIM];

    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = (float)sin((double)i);
    return values;
}

/* A call returns the status of its error. */
static bool is_done(enum pe_status status, const struct pe_error *error)
{
    ck_assert_int_eq(status, error->status);
    return !status;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The parameters' work is the scheme's own, so they are made without one. */
static void scheme_run(const struct pe_scheme *like, struct pe_work *work, struct pe_error *error)
{
    const struct pe_tensor table = {PE_F32, 2, {ROWS, DIM}, numbers()};
    struct pe_scheme *scheme = NULL;

    if (is_done(
            pe_scheme_open(&scheme, pe_scheme_encoding(like), pe_scheme_params(like), work, error),
            error) &&
        (!pe_encoding_has(pe_scheme_encoding(like), PE_KIND_LEARNED) ||
         is_done(pe_scheme_give(scheme, "table", &table, work, error), error)))
        is_done(pe_scheme_prepare(scheme, work, error), error);
    pe_scheme_free(scheme);
}

static void views_run(const struct pe_scheme *scheme, struct pe_work *work, struct pe_error *error)
{
    const struct pe_view_type *type;

    for (size_t i = 0;
         !error->status && (type = pe_encoding_view_at(pe_scheme_encoding(scheme), i)); i++) {
        const struct pe_view_info *info = pe_view_info(type);
        const struct pe_output *output;
        struct pe_view *view = NULL;
        struct pe_params params;
        pe_params_init(&params, info->params, info->params_count);
        ACCEPTED(pe_params_set_pairs(&params, info->example ? info->example : "", &err));
        ACCEPTED(pe_params_finish(&params, &err));
        is_done(pe_view_new(&view, scheme, type, &params, PE_F64, work, error), error);
        for (size_t at = 0; !error->status && (output = pe_view_output(view, at)); at++) {
            OWNED_MEMORY void *out = malloc(output->row_elements * sizeof(double) + 1);
            if (output->rows > 0)
                is_done(pe_view_fill(view, at, 0, 1, out, work, error), error);
        }
        pe_view_free(view);
        pe_params_free(&params);
    }
}

static void rotation_run(const struct pe_scheme *scheme, struct pe_work *work,
                         struct pe_error *error)
{
    const struct pe_tensor x = {PE_F32, 2, {ROWS, DIM}, numbers()};
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {.step = 1, .count = ROWS});
    struct pe_rotation *rotation = NULL;
    struct pe_axes axes;

    ACCEPTED(pe_axes_parse(&axes, "sd", &x, DIM, &err));
    if (is_done(pe_rotation_new(&rotation, &spec, PE_F32, NULL, work, error), error))
        is_done(pe_rotate(rotation, x.data, &axes, 0, ROWS, work, error), error);
    pe_rotation_free(rotation);
}

/* All of packing: two heads of q for one of k, a mask, packed sequences, and sinks. */
static void attention_run(const struct pe_scheme *scheme, struct pe_work *work,
                          struct pe_error *error)
{
    static const int32_t ends[] = {0, 2, ROWS};
    static float out[2 * ROWS * DIM], sinks[] = {0, 1};
    const struct pe_tensor q = {PE_F32, 4, {1, 2, ROWS, DIM}, numbers()};
    const struct pe_tensor k = {PE_F32, 4, {1, 1, ROWS, DIM}, numbers()};
    const bool is_shaw = scheme && pe_encoding_has(pe_scheme_encoding(scheme), PE_KIND_RELATIVE);
    const struct pe_attention_spec spec =
        SIZED(pe_attention_spec, .scheme = scheme, .q = q, .k = k, .v = k, .scale = NAN,
              .query_start = NAN, .output = PE_ATTENTION_OUTPUT,
              .rel_k = {PE_F32, is_shaw ? 2 : 0, {5, DIM}, numbers()},
              .rel_v = {PE_F32, is_shaw ? 2 : 0, {5, DIM}, numbers()},
              .bias = {PE_F32, 2, {ROWS, ROWS}, numbers()},
              .cu_seqlens = {PE_I32, 1, {3}, (void *)ends}, .sinks = {PE_F32, 1, {2}, sinks});
    struct pe_attention *attention = NULL;

    if (is_done(pe_attention_new(&attention, &spec, NULL, work, error), error))
        is_done(pe_attention_fill(attention, 0, 2 * ROWS, out, work, error), error);
    pe_attention_free(attention);
}

static void project_run(const struct pe_scheme *scheme, struct pe_work *work,
                        struct pe_error *error)
{
    static float out[2 * ROWS * DIM];
    const struct pe_tensor x = {PE_F32, 3, {1, ROWS, DIM}, numbers()};
    const struct pe_tensor weight = {PE_F32, 2, {2 * DIM, DIM}, numbers()};
    const struct pe_tensor to = {PE_F32, 4, {1, 2, ROWS, DIM}, out};

    (void)scheme;
    is_done(pe_project(&x, &weight, NULL, &to, work, error), error);
}

static void tolerance_run(const struct pe_scheme *scheme, struct pe_work *work,
                          struct pe_error *error)
{
    struct pe_tolerance *tolerance = NULL;

    is_done(pe_tolerance_new(&tolerance, scheme, PE_PATH_F32_ANGLE, work, error), error);
    pe_tolerance_free(tolerance);
}

/* Compares an operand with tensors, and counts the values outside of error intervals around it. */
static void operands_compare(const struct pe_operand *made, const struct pe_tensor *tensors,
                             size_t count, struct pe_work *work, struct pe_error *error)
{
    const struct pe_operand seen = SIZED(pe_operand, .tensors = tensors, .tensors_count = count);
    const struct pe_differences_spec spec = SIZED(
        pe_differences_spec, .a = &seen, .b = made, .dtype = PE_F32, .by_row = true,
        .by_pair = true, .has_path = true, .path = PE_PATH_F32_ANGLE, .keeps_intervals = true);
    struct pe_differences *differences = NULL;

    if (is_done(pe_differences_new(&differences, &spec, work, error), error))
        is_done(pe_differences_find(differences, NULL, error), error);
    pe_differences_free(differences);
}

static void view_differences_run(const struct pe_scheme *scheme, struct pe_work *work,
                                 struct pe_error *error)
{
    const struct pe_tensor half = {PE_F32, 2, {ROWS, DIM / 2}, numbers()};
    const struct pe_tensor tables[] = {half, half};
    struct pe_view *view;

    ACCEPTED(public_view(&view, scheme, pe_encoding_view(pe_scheme_encoding(scheme), "table"),
                         "length=6", &err));
    operands_compare(&SIZED(pe_operand, .view = view), tables, 2, work, error);
    pe_view_free(view);
}

static void rotation_differences_run(const struct pe_scheme *scheme, struct pe_work *work,
                                     struct pe_error *error)
{
    const struct pe_tensor x = {PE_F32, 2, {ROWS, DIM}, numbers()};
    const struct pe_rotation_spec rotation =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {.step = 1, .count = ROWS});
    struct pe_operand rotated =
        SIZED(pe_operand, .tensors = &x, .tensors_count = 1, .rotation = &rotation, .slabs = 1);

    ACCEPTED(pe_axes_parse(&rotated.axes, "sd", &x, DIM, &err));
    operands_compare(&rotated, &x, 1, work, error);
}

/* ---- configs --------------------------------------------------------------------------------- */

/* A model with sliding layers and a scaling. */
static void config_fill(struct pe_config *config, double base, struct pe_error *error)
{
    struct pe_config_node *top = pe_config_top(config), *rope;

    if (pe_config_set_text(top, "model_type", "llama", error) ||
        pe_config_set_integer(top, "hidden_size", 256, error) ||
        pe_config_set_integer(top, "num_attention_heads", 4, error) ||
        pe_config_set_integer(top, "num_hidden_layers", 2, error) ||
        pe_config_set_integer(top, "max_position_embeddings", 4096, error) ||
        pe_config_set_object(top, "rope_parameters", &rope, error))
        return;
    pe_config_set_text(rope, "rope_type", "default", error);
    pe_config_set_number(rope, "rope_theta", base, error);
}

static void reading_run(const struct pe_scheme *like, struct pe_work *work, struct pe_error *error)
{
    struct pe_config *config = NULL;
    struct pe_config_reading *reading = NULL;
    struct pe_params params = {0};
    struct pe_scheme *scheme = NULL;

    (void)like;
    if (is_done(pe_config_new(&config, work, error), error))
        config_fill(config, 500000, error);
    if (!error->status && is_done(pe_config_read(&reading, config, NULL, false, error), error))
        is_done(pe_config_scheme(&scheme, reading, &params, error), error);
    pe_params_free(&params);
    pe_scheme_free(scheme);
    pe_config_reading_free(reading);
    pe_config_free(config);
}

static struct pe_config *config_of(double base)
{
    struct pe_config *config;

    ACCEPTED(pe_config_new(&config, NULL, &err));
    ACCEPTED((config_fill(config, base, &err), err.status));
    return config;
}

static void lint_engine_run(const struct pe_scheme *scheme, struct pe_work *work,
                            struct pe_error *error)
{
    struct pe_config *config = config_of(500000);
    const struct pe_engine *engine;
    struct pe_lint *lint = NULL;

    (void)scheme;
    ACCEPTED(pe_engine_find(&engine, "mlx-lm==0.32.2", "", &err));
    if (is_done(pe_lint_engine(&lint, config, engine, work, error), error))
        ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_DIFFERS);
    pe_lint_free(lint);
    pe_config_free(config);
}

static void lint_against_run(const struct pe_scheme *scheme, struct pe_work *work,
                             struct pe_error *error)
{
    struct pe_config *config = config_of(500000), *other = config_of(10000);
    struct pe_lint *lint = NULL;

    (void)scheme;
    if (is_done(pe_lint_against(&lint, config, other, work, error), error))
        ck_assert_int_eq(pe_lint_verdict(lint), PE_ENGINE_DIFFERS);
    pe_lint_free(lint);
    pe_config_free(other);
    pe_config_free(config);
}

static void extension_run(const struct pe_scheme *scheme, struct pe_work *work,
                          struct pe_error *error)
{
    struct pe_config *config = config_of(500000);
    struct pe_extension *extension = NULL;

    (void)scheme;
    if (is_done(pe_extension_new(&extension, config, 16384, NULL, work, error), error))
        ck_assert_str_eq(pe_extension_type(extension), "yarn");
    pe_extension_free(extension);
    pe_config_free(config);
}

/* ---- diagnosis ------------------------------------------------------------------------------- */

static void diagnose_run(const struct pe_scheme *scheme, struct pe_work *work,
                         struct pe_error *error)
{
    static double positions[ROWS], cos_rows[ROWS * DIM / 2], sin_rows[ROWS * DIM / 2];
    const struct pe_sample sample =
        SIZED(pe_sample, .rows = ROWS, .pairs = DIM / 2, .positions = positions, .cos = cos_rows,
              .sin = sin_rows, .dtype = PE_F64, .precision = PE_F64);
    struct pe_held held = SIZED(pe_held);
    struct pe_diagnosis *diagnosis = NULL;

    for (size_t row = 0; row < ROWS; row++)
        for (size_t pair = 0; pair < DIM / 2; pair++) {
            const double angle = (double)row * pow(10000, -(double)pair / (DIM / 2));
            positions[row] = (double)row;
            cos_rows[row * DIM / 2 + pair] = cos(angle);
            sin_rows[row * DIM / 2 + pair] = sin(angle);
        }
    if (is_done(pe_diagnose(&diagnosis, scheme, &sample, 1, NULL, work, error), error) &&
        is_done(pe_diagnosis_hold(diagnosis, &sample, NULL, work, &held, error), error))
        ck_assert(held.fits);
    pe_diagnosis_free(diagnosis);
}

/* Cosines and sines with all of their rows, rounded to float32. */
static void observations_run(const struct pe_scheme *scheme, struct pe_work *work,
                             struct pe_error *error)
{
    static float cos_rows[ROWS * DIM / 2], sin_rows[ROWS * DIM / 2];
    const struct pe_tensor cos_tensor = {PE_F32, 2, {ROWS, DIM / 2}, cos_rows};
    const struct pe_tensor sin_tensor = {PE_F32, 2, {ROWS, DIM / 2}, sin_rows};
    const struct pe_observed observed =
        SIZED(pe_observed, .cos = &cos_tensor, .sin = &sin_tensor, .expected = scheme,
              .positions = {.step = 1, .count = ROWS});
    struct pe_observations *observations = NULL;
    struct pe_diagnosis *diagnosis = NULL;

    for (size_t i = 0; i < ROWS * DIM / 2; i++) {
        const double pair = (double)(i % (DIM / 2));
        const double angle = (double)(i / (DIM / 2)) * pow(10000, -pair / (DIM / 2));
        cos_rows[i] = (float)cos(angle);
        sin_rows[i] = (float)sin(angle);
    }
    if (is_done(pe_observations_new(&observations, &observed, work, error), error)) {
        const struct pe_sample *samples = pe_observations_samples(observations);
        if (is_done(pe_diagnose(&diagnosis, scheme, samples, pe_observations_count(observations),
                                NULL, work, error),
                    error))
            ck_assert_int_eq(pe_diagnosis_verdict(diagnosis), PE_VERDICT_MATCH);
    }
    pe_diagnosis_free(diagnosis);
    pe_observations_free(observations);
}

/* ---- position ids ---------------------------------------------------------------------------- */

enum { TOKENS = 100 };

/* Text around an image, as a model of whole ids or of fractions has them. */
static struct pe_ids_spec ids_of(const char *model)
{
    static const int64_t grid[] = {1, 8, 8};
    static unsigned char kinds[TOKENS];
    struct pe_ids_spec spec = {.size = sizeof(spec), .rows = 1, .images = grid, .images_count = 1};
    const struct pe_ids_model *found = pe_ids_model_find(model);
    size_t tokens = 0;

    ck_assert_ptr_nonnull(found);
    spec.model = *found;
    ACCEPTED(pe_ids_grid_tokens(&spec, &tokens, &err));
    memset(kinds, PE_IDS_TEXT, sizeof(kinds));
    memset(kinds + 10, PE_IDS_IMAGE, tokens);
    spec.kinds = kinds;
    spec.tokens = spec.count = 20 + tokens;
    return spec;
}

static void ids_run(const struct pe_scheme *scheme, struct pe_work *work, struct pe_error *error)
{
    static int64_t ids[3 * TOKENS];
    const struct pe_ids_spec spec = ids_of("qwen2_vl");

    (void)scheme;
    is_done(pe_ids_fill(&spec, ids, NULL, work, error), error);
}

static void coordinates_run(const struct pe_scheme *scheme, struct pe_work *work,
                            struct pe_error *error)
{
    static double coordinates[3 * TOKENS];
    const struct pe_ids_spec spec = ids_of("mochi");

    (void)scheme;
    is_done(pe_ids_fill_f64(&spec, coordinates, NULL, work, error), error);
}

static void ids_diagnose_run(const struct pe_scheme *scheme, struct pe_work *work,
                             struct pe_error *error)
{
    static const int64_t ids[3 * TOKENS];
    const struct pe_ids_spec spec = ids_of("qwen2_vl");
    struct pe_ids_finding finding;

    (void)scheme;
    if (is_done(pe_ids_diagnose(&finding, &spec, ids, 3, work, error), error))
        ck_assert_uint_gt(finding.unequal, 0);
}

/* ---- all of them ----------------------------------------------------------------------------- */

#define ROPE "rope", "dim=8"
#define YARN                                                                                       \
    "rope", "dim=8 rope_type=yarn factor=4 original_max_position_embeddings=4096 base=500000"

static const struct call calls[] = {
    {"scheme", ROPE, scheme_run, 2},
    {"scheme", YARN, scheme_run, 2},
    {"scheme", "mrope", "dim=8 mrope_section=1,2,1", scheme_run, 2},
    {"scheme", "rope-2d", "dim=8", scheme_run, 2},
    {"scheme", "xpos", "dim=8 t_center=4", scheme_run, 2},
    {"scheme", "sinusoidal", "dim=8", scheme_run, 2},
    {"scheme", "sandwich", "heads=2 dim=8", scheme_run, 2},
    {"scheme", "alibi", "heads=2", scheme_run, 2},
    {"views", ROPE, views_run, 1},
    {"views", YARN, views_run, 1},
    {"views", "mrope", "dim=8 mrope_section=1,2,1", views_run, 1},
    {"views", "xpos", "dim=8 t_center=4", views_run, 1},
    {"views", "sinusoidal", "dim=8", views_run, 1},
    {"views", "alibi", "heads=2", views_run, 1},
    {"views", "sandwich", "heads=2 dim=8", views_run, 1},
    {"rotation", ROPE, rotation_run, 2},
    {"rotation", "xpos", "dim=8 t_center=4", rotation_run, 2},
    {"attention", ROPE, attention_run, 5},
    {"attention", "alibi", "heads=2", attention_run, 5},
    {"attention", "shaw", "max_relative_position=2 head_dim=8", attention_run, 5},
    {"project", ROPE, project_run, 1},
    {"tolerance", ROPE, tolerance_run, 1},
    {"tolerance", YARN, tolerance_run, 1},
    {"differences of a view", ROPE, view_differences_run, 5},
    {"differences of a rotation", ROPE, rotation_differences_run, 5},
    {"reading of a config", ROPE, reading_run, 5},
    {"lint of an engine", ROPE, lint_engine_run, 10},
    {"lint of two configs", ROPE, lint_against_run, 5},
    {"extension", ROPE, extension_run, 10},
    {"diagnosis", ROPE, diagnose_run, 20},
    {"diagnosis", YARN, diagnose_run, 20},
    {"observations", ROPE, observations_run, 20},
    {"position ids", ROPE, ids_run, 0},
    {"coordinates", ROPE, coordinates_run, 0},
    {"diagnosis of ids", ROPE, ids_diagnose_run, 0},
};

/* Functions whose schemes or rotations outlive the work: their bytes stay charged. */
static bool outlives(const struct call *call)
{
    static const char *const all[] = {"views",       "project",      "reading of a config",
                                      "coordinates", "position ids", "attention"};

    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (!strcmp(call->name, all[i]))
            return !strcmp(call->name, "attention") && !strcmp(call->encoding, "rope");
    return true;
}

TEST_LOOP(COUNT_OF(calls), a_refused_reservation_fails_the_call)
{
    const struct call *call = &calls[_i];
    OWNED_SCHEME scheme = public_scheme(call->encoding, call->params, true);
    enum pe_status status = PE_OUT_OF_MEMORY;
    long most = 0;

    for (; status; most++) {
        struct refusing refusing;
        struct pe_work *work = refusing_work(&refusing, most);
        struct pe_error err = {0};
        call->run(scheme, work, &err);
        status = err.status;
        ck_assert_msg(status == (refusing.left < 0 ? PE_OUT_OF_MEMORY : PE_OK),
                      "%s of %s, %ld reservations: %s, %s", call->name, call->encoding, most,
                      pe_status_code(status), err.detail);
        ck_assert(!status || err.detail[0]);
        ck_assert_msg(outlives(call) || pe_work_memory(work) == 0, "%s of %s stays charged: %llu",
                      call->name, call->encoding, (unsigned long long)pe_work_memory(work));
        pe_work_free(work);
        ck_assert_msg(refusing.held == 0, "%s of %s: %zu bytes are held", call->name,
                      call->encoding, refusing.held);
    }
    ck_assert_msg(most >= call->reservations, "%s of %s: %ld reservations", call->name,
                  call->encoding, most);
}

TEST_LOOP(COUNT_OF(calls), a_cancelled_call_fails)
{
    const struct call *call = &calls[_i];
    OWNED_SCHEME scheme = public_scheme(call->encoding, call->params, true);
    struct refusing refusing;
    struct pe_work *work = refusing_work(&refusing, -1);
    struct pe_error err = {0};

    pe_work_cancel(work);
    call->run(scheme, work, &err);
    ck_assert_msg(err.status == PE_CANCELLED, "%s of %s: %s", call->name, call->encoding,
                  pe_status_code(err.status));
    pe_work_free(work);
    ck_assert_uint_eq(refusing.held, 0);
}

/* A work that is cancelled by its own reservation number `left`. */
struct cancelling {
    struct refusing counted;
    struct pe_work *work;
    long left;
};

static bool cancelling_reserve(void *context, size_t bytes)
{
    struct cancelling *cancelling = context;

    if (cancelling->left-- == 0)
        pe_work_cancel(cancelling->work);
    return refusing_reserve(&cancelling->counted, bytes);
}

static void cancelling_release(void *context, size_t bytes)
{
    refusing_release(&((struct cancelling *)context)->counted, bytes);
}

/* A call that is cancelled while it runs fails so, unless it was about to end. */
TEST_LOOP(COUNT_OF(calls), a_call_cancelled_within_fails)
{
    const struct call *call = &calls[_i];
    OWNED_SCHEME scheme = public_scheme(call->encoding, call->params, true);
    struct cancelling cancelling = {.left = -1};

    for (long most = 0; most == 0 || cancelling.left < 0; most++) {
        const struct pe_work_limits limits =
            SIZED(pe_work_limits, .reserve = cancelling_reserve, .release = cancelling_release,
                  .context = &cancelling);
        struct pe_error error = {0};
        cancelling = (struct cancelling){.counted = {.left = -1}, .left = most};
        ck_assert(!pe_work_new(&cancelling.work, &limits, &error));
        call->run(scheme, cancelling.work, &error);
        ck_assert_msg(error.status == PE_OK || error.status == PE_CANCELLED, "%s of %s: %s",
                      call->name, call->encoding, pe_status_code(error.status));
        pe_work_free(cancelling.work);
        ck_assert_uint_eq(cancelling.counted.held, 0);
    }
}

static enum pe_status limited_status(const struct call *call, const struct pe_scheme *scheme,
                                     uint64_t limit, uint64_t *operations)
{
    const struct pe_work_limits limits = SIZED(pe_work_limits, .operations_max = limit);
    struct pe_work *work;
    struct pe_error error = {0};

    ACCEPTED(pe_work_new(&work, &limits, &err));
    call->run(scheme, work, &error);
    *operations = pe_work_operations(work);
    pe_work_free(work);
    return error.status;
}

/* A call with as many operations as it counts is made; with fewer it is refused. */
TEST_LOOP(COUNT_OF(calls), a_call_over_its_operations_fails)
{
    const struct call *call = &calls[_i];
    OWNED_SCHEME scheme = public_scheme(call->encoding, call->params, true);
    uint64_t operations, counted;

    ck_assert_int_eq(limited_status(call, scheme, UINT64_MAX, &operations), PE_OK);
    ck_assert_msg(operations > 0, "%s of %s", call->name, call->encoding);
    ck_assert_int_eq(limited_status(call, scheme, operations, &counted), PE_OK);
    ck_assert_uint_eq(counted, operations);
    for (uint64_t limit = operations > 0 ? operations - 1 : 0; limit > 0; limit -= (limit + 3) / 4)
        ck_assert_msg(limited_status(call, scheme, limit, &counted) == PE_TOO_LARGE,
                      "%s of %s, %llu of %llu operations", call->name, call->encoding,
                      (unsigned long long)limit, (unsigned long long)operations);
}
