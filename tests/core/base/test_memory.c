/* SPDX-License-Identifier: MIT */

/* Each allocation of each public call fails once: the call returns PE_OUT_OF_MEMORY, or succeeds
 * without it. Nothing leaks, and nothing ends the process. */

#include <math.h>
#include <posenc/posenc.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check_main.h"
#include "tests/failing.h"

/* Calls functions and frees their results. */
typedef enum pe_status operation(const void *what, struct pe_error *err);

static unsigned long failed, refused;

static void every_allocation(const char *name, operation *run, const void *what)
{
    unsigned long allocations = 1;

    for (int i = 0; i < 2; i++) { /* objects that are made once a process exist now */
        struct pe_error err = {0};
        failing_begin(0, false);
        run(what, &err);
        allocations = failing_end();
        ck_assert_msg(!err.status, "%s: %s", name, err.detail);
    }
    for (unsigned long k = 1; k <= allocations; k++) {
        const long before = failing_live();
        struct pe_error err = {0};
        failing_begin(k, false);
        const enum pe_status status = run(what, &err);
        failing_end();
        ck_assert_msg(failing_live() == before, "%s: allocation %lu leaks", name, k);
        ck_assert_msg(status == PE_OUT_OF_MEMORY || !status, "%s: allocation %lu: %s", name, k,
                      err.detail);
        failed++;
        refused += status == PE_OUT_OF_MEMORY;
    }
}

/* ---- schemes and views ----------------------------------------------------------------------- */

enum { ROWS = 16, WIDTH = 6, BUCKETS = 32 };
static double numbers[BUCKETS * 16];

static enum pe_status scheme_make(struct pe_scheme **scheme, const struct pe_encoding *encoding,
                                  const char *text, struct pe_error *err)
{
    const struct pe_tensor table = {PE_F64, 2, {ROWS, WIDTH}, numbers};
    struct pe_params params = {0};

    *scheme = NULL;
    if (!pe_params_parse(&params, pe_encoding_info(encoding)->name, text ? text : "", err) &&
        !pe_scheme_open(scheme, encoding, &params, NULL, err) &&
        !(pe_encoding_has(encoding, PE_KIND_LEARNED) &&
          pe_scheme_give(*scheme, "table", &table, NULL, err)))
        pe_scheme_prepare(*scheme, NULL, err);
    pe_params_free(&params);
    return err->status;
}

static enum pe_status view_rows(const struct pe_view *view, struct pe_error *err)
{
    static double rows[1 << 14];
    const struct pe_output *output;

    for (size_t i = 0; !err->status && (output = pe_view_output(view, i)); i++)
        if (output->rows * output->row_elements <= sizeof(rows) / sizeof(rows[0]))
            pe_view_fill(view, i, 0, output->rows, rows, NULL, err);
    return err->status;
}

struct viewed {
    const struct pe_encoding *encoding;
    const struct pe_view_type *type;
};

static enum pe_status view_whole(const void *what, struct pe_error *err)
{
    const struct viewed *viewed = what;
    const struct pe_view_info *info = pe_view_info(viewed->type);
    struct pe_scheme *scheme;
    struct pe_params params;
    struct pe_view *view = NULL;

    const struct pe_encoding_info *of = pe_encoding_info(viewed->encoding);
    /* Vectors of shaw must be given, unless they are sines. */
    const char *more = strcmp(of->name, "shaw") == 0
                           ? "max_relative_position=2 dim=6 vectors=sinusoidal"
                           : of->example;

    /* The example of shaw's table has parameters of shaw alone. */
    const char *own = info->example && !strstr(info->example, "vectors=") ? info->example : "";

    pe_params_init(&params, info->params, info->params_count);
    if (!scheme_make(&scheme, viewed->encoding, more, err) &&
        !pe_params_set_pairs(&params, own, err) && !pe_params_finish(&params, err) &&
        !pe_view_new(&view, scheme, viewed->type, &params, PE_F64, NULL, err))
        view_rows(view, err);
    pe_view_free(view);
    pe_params_free(&params);
    pe_scheme_free(scheme);
    return err->status;
}

TEST(test_views)
{
    struct viewed viewed;

    for (size_t e = 0; (viewed.encoding = pe_encoding_at(e)); e++)
        for (size_t v = 0; (viewed.type = pe_encoding_view_at(viewed.encoding, v)); v++)
            if (!pe_view_info(viewed.type)->tensor)
                every_allocation(pe_encoding_info(viewed.encoding)->name, view_whole, &viewed);
    ck_assert_uint_gt(refused, failed / 2);
}

/* ---- functions ------------------------------------------------------------------------------- */

enum { TOKENS = 8, DIM = 8, HEADS = 2 };

static enum pe_status rotation_whole(const void *what, struct pe_error *err)
{
    static float data[TOKENS * DIM];
    const struct pe_tensor tensor = {PE_F32, 3, {TOKENS, 1, DIM}, data};
    struct pe_rotation_spec spec = {
        .size = sizeof(spec), .layout = PE_LAYOUT_HALF, .positions = {.step = 1, .count = TOKENS}};
    struct pe_rotation *rotation = NULL;
    struct pe_scheme *scheme;
    struct pe_axes axes;

    if (!scheme_make(&scheme, pe_encoding_find(what), "dim=8", err)) {
        spec.scheme = scheme;
        if (!pe_axes_parse(&axes, "shd", &tensor, 0, err) &&
            !pe_rotation_new(&rotation, &spec, PE_F32, NULL, NULL, err))
            pe_rotate(rotation, data, &axes, 0, TOKENS, NULL, err);
    }
    pe_rotation_free(rotation);
    pe_scheme_free(scheme);
    return err->status;
}

static enum pe_status attention_whole(const void *what, struct pe_error *err)
{
    static float q[HEADS * TOKENS * DIM], out[HEADS * TOKENS * DIM];
    const struct pe_tensor tensor = {PE_F32, 4, {1, HEADS, TOKENS, DIM}, q};
    const struct pe_encoding *encoding = pe_encoding_find(what);
    const struct pe_encoding_info *info = pe_encoding_info(encoding);
    struct pe_attention_spec spec = {.size = sizeof(spec),
                                     .q = tensor,
                                     .k = tensor,
                                     .v = tensor,
                                     .scale = NAN,
                                     .query_start = NAN,
                                     .output = PE_ATTENTION_OUTPUT};
    struct pe_attention *attention = NULL;
    struct pe_scheme *scheme = NULL;
    struct pe_params params;

    pe_params_init(&params, info->params, info->params_count);
    if (!pe_attention_infer(encoding, &params, &spec, err) && !pe_params_finish(&params, err) &&
        !pe_scheme_new(&scheme, encoding, &params, NULL, err)) {
        spec.scheme = scheme;
        if (!pe_attention_new(&attention, &spec, NULL, NULL, err))
            pe_attention_fill(attention, 0, HEADS * TOKENS, out, NULL, err);
    }
    pe_attention_free(attention);
    pe_scheme_free(scheme);
    pe_params_free(&params);
    return err->status;
}

static enum pe_status diagnosis_whole(const void *what, struct pe_error *err)
{
    static double cosines[TOKENS * DIM / 2], positions[TOKENS];
    const struct pe_sample sample = {.size = sizeof(sample),
                                     .rows = TOKENS,
                                     .pairs = DIM / 2,
                                     .positions = positions,
                                     .cos = cosines,
                                     .dtype = PE_F64,
                                     .precision = PE_F64};
    struct pe_diagnosis *diagnosis = NULL;
    struct pe_scheme *scheme;

    for (int i = 0; i < TOKENS * DIM / 2; i++) {
        positions[i / (DIM / 2)] = i / (DIM / 2);
        cosines[i] = cos((i / (DIM / 2) + 1) * pow(10000, -(i % (DIM / 2)) / 4.0));
    }
    if (!scheme_make(&scheme, pe_encoding_find(what), "dim=8", err))
        pe_diagnose(&diagnosis, scheme, &sample, 1, NULL, NULL, err);
    pe_diagnosis_free(diagnosis);
    pe_scheme_free(scheme);
    return err->status;
}

static enum pe_status config_whole(const void *what, struct pe_error *err)
{
    struct pe_config_reading *reading = NULL;
    struct pe_config_node *scaling, *top;
    struct pe_config *config = NULL;
    struct pe_params params = {0};
    struct pe_scheme *scheme = NULL;

    if (!pe_config_new(&config, NULL, err) && (top = pe_config_top(config)) &&
        !pe_config_set_text(top, "model_type", what, err) &&
        !pe_config_set_integer(top, "hidden_size", 64, err) &&
        !pe_config_set_integer(top, "num_attention_heads", 4, err) &&
        !pe_config_set_numbers(top, "unused", numbers, 4, err) &&
        !pe_config_set_object(top, "rope_scaling", &scaling, err) &&
        !pe_config_set_text(scaling, "rope_type", "linear", err) &&
        !pe_config_set_number(scaling, "factor", 2.5, err) &&
        !pe_config_read(&reading, config, NULL, false, err) &&
        !pe_config_scheme(&scheme, reading, &params, err))
        pe_scheme_prepare(scheme, NULL, err);
    pe_scheme_free(scheme);
    pe_params_free(&params);
    pe_config_reading_free(reading);
    pe_config_free(config);
    return err->status;
}

static enum pe_status pool_whole(const void *what, struct pe_error *err)
{
    struct pe_pool *pool = NULL;
    struct pe_work *work = NULL;

    (void)what;
    if (!pe_work_new(&work, NULL, err))
        pe_pool_new(&pool, 2, false, err);
    pe_pool_free(pool);
    pe_work_free(work);
    return err->status;
}

TEST(test_functions)
{
    const struct pe_encoding *encoding;

    every_allocation("rotation", rotation_whole, "rope");
    every_allocation("diagnosis", diagnosis_whole, "rope");
    every_allocation("config", config_whole, "llama");
    every_allocation("pool", pool_whole, NULL);
    for (size_t e = 0; (encoding = pe_encoding_at(e)); e++)
        if (pe_attention_takes(encoding)) {
            struct pe_error err = {0};
            const char *name = pe_encoding_info(encoding)->name;
            if (!attention_whole(name,
                                 &err)) /* some need tensors, or parameters that are not given */
                every_allocation(name, attention_whole, name);
        }
    ck_assert_uint_gt(refused, 0);
}
