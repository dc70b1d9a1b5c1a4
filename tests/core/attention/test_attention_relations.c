/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/attention_reference.h"
#include "tests/core/scheme_fixture.h"

/* ---- positions of a batch -------------------------------------------------------------------- */

enum { BATCH = 3, TOKENS = 6, KEYS = 5, DIM = 12, AXES = 3, MOST = BATCH * TOKENS * DIM };

/* The attention of some of a batch; returns the bytes that its work holds after it is freed. */
static uint64_t attend(const struct pe_attention_spec *spec, double *out)
{
    struct pe_error err = {0};
    struct pe_attention *attention;
    struct pe_work *work;

    ck_assert(!pe_work_new(&work, NULL, &err));
    ck_assert_msg(!pe_attention_new(&attention, spec, NULL, work, &err), "%s: %s", err.where,
                  err.detail);
    const size_t rows = spec->q.shape[0] * spec->q.shape[1] * spec->q.shape[2];
    ck_assert(!pe_attention_fill(attention, 0, rows, out, work, &err));
    pe_attention_free(attention);
    const uint64_t held = pe_work_memory(work);
    pe_work_free(work);
    return held;
}

/* What a work stays charged for after a rotation: the rotation may outlive it. */
static uint64_t rotation_held(const struct pe_scheme *scheme, size_t tokens)
{
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {.step = 1, .count = tokens});
    struct pe_error err = {0};
    struct pe_rotation *rotation;
    struct pe_work *work;

    ck_assert(!pe_work_new(&work, NULL, &err));
    ck_assert(!pe_rotation_new(&rotation, &spec, PE_F64, NULL, work, &err));
    pe_rotation_free(rotation);
    const uint64_t held = pe_work_memory(work);
    pe_work_free(work);
    return held;
}

/* One sequence of a batch. */
static struct pe_tensor one_of(const struct pe_tensor *tensor, size_t at)
{
    struct pe_tensor one = *tensor;

    one.shape[0] = 1;
    one.data = (double *)tensor->data + at * one.shape[1] * one.shape[2] * one.shape[3];
    return one;
}

/* The positions of one sequence: [axes, tokens] of [axes, batch, tokens]. */
static struct pe_positions positions_one(const struct pe_positions *of, size_t at, double *values)
{
    struct pe_positions one = *of;
    const size_t axes = of->axes > 1 ? of->axes : 1, rows = of->batch > 1 ? of->batch : 1;

    if (of->count == 0)
        return one;
    for (size_t axis = 0; axis < axes; axis++)
        memcpy(values + axis * of->count,
               of->values + (axis * rows + (rows > 1 ? at : 0)) * of->count,
               of->count * sizeof(double));
    one.batch = 0;
    one.values = values;
    return one;
}

/* Queries and keys each without positions, with the same for all sequences, and with a row for each
 * of them; one coordinate and several; with and without a temperature. */
TEST(a_batch_is_its_sequences)
{
    static double q[MOST], k[MOST], v[MOST], of_q[AXES * BATCH * TOKENS], of_k[MOST];
    size_t compared = 0;

    for (size_t i = 0; i < MOST; i++) {
        q[i] = sin((double)i);
        k[i] = sin((double)i * 1.7);
        v[i] = cos((double)i * 0.3);
        of_k[i] = (double)(i * 5 % 17);
    }
    for (size_t i = 0; i < COUNT_OF(of_q); i++)
        of_q[i] = (double)(i * 7 % 23);
    for (unsigned i = 0; i < 3 * 3 * 2 * 2; i++) {
        const unsigned of_queries = i % 3, of_keys = i / 3 % 3, several = i / 9 % 2;
        if ((of_keys && !of_queries) || (several && i / 18))
            continue; /* refused: a temperature has one coordinate */
        OWNED_SCHEME scheme = scheme_new(several ? "mrope" : "rope",
                                         several ? "dim=12 mrope_section=2,2,2" : "dim=12");
        const size_t axes = several ? AXES : 1, keys = of_keys ? KEYS : TOKENS;
        struct pe_attention_spec spec = SIZED(
            pe_attention_spec, .scheme = scheme, .q = {PE_F64, 4, {BATCH, 1, TOKENS, DIM}, q},
            .k = {PE_F64, 4, {BATCH, 1, keys, DIM}, k}, .v = {PE_F64, 4, {BATCH, 1, keys, DIM}, v},
            .scale = NAN, .query_start = NAN, .output = PE_ATTENTION_OUTPUT);
        double whole[MOST], part[TOKENS * DIM], q_values[AXES * TOKENS], k_values[AXES * TOKENS];
        if (i / 18)
            spec.temperature = (struct pe_temperature){0.1, 4, 1};
        if (of_queries)
            spec.positions = (struct pe_positions){.values = of_q,
                                                   .count = TOKENS,
                                                   .axes = axes,
                                                   .batch = of_queries == 2 ? BATCH : 0};
        if (of_keys)
            spec.key_positions = (struct pe_positions){
                .values = of_k, .count = KEYS, .axes = axes, .batch = of_keys == 2 ? BATCH : 0};
        /* As many keys as queries share their table. */
        const uint64_t of_query = rotation_held(scheme, TOKENS);
        const uint64_t of_key = of_keys ? rotation_held(scheme, KEYS) : 0;
        const uint64_t all =
            (of_queries == 2 ? BATCH : 1) * of_query + (of_keys == 2 ? BATCH : 1) * of_key;
        ck_assert_msg(attend(&spec, whole) == all, "%u: memory is not released", i);
        for (size_t at = 0; at < BATCH; at++) {
            struct pe_attention_spec one = spec;
            one.q = one_of(&spec.q, at);
            one.k = one_of(&spec.k, at);
            one.v = one_of(&spec.v, at);
            one.positions = positions_one(&spec.positions, at, q_values);
            one.key_positions = positions_one(&spec.key_positions, at, k_values);
            ck_assert_uint_eq(attend(&one, part), of_query + of_key);
            ck_assert_msg(!memcmp(part, whole + at * TOKENS * DIM, sizeof(part)),
                          "%u: sequence %zu", i, at);
            compared++;
        }
    }
    ck_assert_uint_eq(compared, 21 * BATCH);
}

/* ---- hidden keys ----------------------------------------------------------------------------- */

enum { LENGTH = 8, FIRST_HIDDEN = 5 };

/* Ways to hide the last keys. */
enum way { BY_BOOL, BY_MASK, BY_BIAS, BY_MASK_AND_BIAS, BY_WINDOW, BY_PACKING, WAYS };

/* However a key is hidden, its value has no effect, whatever it is. */
TEST(values_of_hidden_keys)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, 0};

    for (unsigned i = 0; i < WAYS * COUNT_OF(odd) * 2; i++) {
        const enum way way = i % WAYS;
        const enum pe_dtype dtype = i / WAYS % 2 ? PE_F64 : PE_F32;
        const double number = odd[i / WAYS / 2];
        const struct problem p =
            PROBLEM(.position = NOWHERE, .dtype = dtype, .batch = 1, .heads = 1, .kv_heads = 1,
                    .queries = LENGTH, .keys = LENGTH, .head_dim = 4, .value_dim = 4,
                    .query_start = NAN, .scale = NAN, .output = PE_ATTENTION_OUTPUT, .seed = i);
        OWNED_INPUTS in = inputs_new(&p);
        struct pe_attention_spec spec = spec_of(&p, &in, NULL);
        const int32_t ends[] = {0, FIRST_HIDDEN, LENGTH};
        unsigned char seen[LENGTH], hides[LENGTH * sizeof(double)], none[LENGTH * sizeof(double)];
        double numbers[LENGTH], zeros[LENGTH] = {0};
        char clean[LENGTH * 4 * sizeof(double)], dirty[sizeof(clean)];
        for (size_t key = 0; key < LENGTH; key++) {
            seen[key] = key < FIRST_HIDDEN;
            numbers[key] = key < FIRST_HIDDEN ? 0.5 * (double)key : -INFINITY;
        }
        pe_from_f64(hides, dtype, numbers, LENGTH);
        pe_from_f64(none, dtype, zeros, LENGTH);
        const struct pe_tensor hiding = {dtype, 1, {LENGTH}, hides};
        const struct pe_tensor showing = {dtype, 1, {LENGTH}, none};
        if (way == BY_BOOL)
            spec.mask = (struct pe_tensor){PE_BOOL, 1, {LENGTH}, seen};
        if (way == BY_MASK)
            spec.mask = hiding;
        if (way == BY_BIAS || way == BY_MASK_AND_BIAS)
            spec.bias = hiding;
        if (way == BY_MASK_AND_BIAS)
            spec.mask = showing;
        spec.has_window = way == BY_WINDOW;
        spec.window_left = -1;
        if (way == BY_PACKING)
            spec.cu_seqlens = (struct pe_tensor){PE_I32, 1, {3}, (void *)ends};
        for (int run = 0; run < 2; run++) {
            struct pe_attention *attention;
            struct pe_error err = {0};
            for (size_t at = FIRST_HIDDEN * 4; run && at < LENGTH * 4; at++)
                pe_from_f64((char *)in.v.data + at * pe_dtype_info(dtype)->size, dtype, &number, 1);
            ck_assert_msg(!pe_attention_new(&attention, &spec, NULL, NULL, &err), "%s", err.detail);
            ck_assert(!pe_attention_fill(attention, 0, LENGTH, run ? dirty : clean, NULL, &err));
            pe_attention_free(attention);
        }
        /* A window and a packed sequence hide them from the first queries alone. */
        const size_t rows = way == BY_WINDOW || way == BY_PACKING ? FIRST_HIDDEN : LENGTH;
        ck_assert_msg(!memcmp(clean, dirty, rows * 4 * pe_dtype_info(dtype)->size),
                      "way %d, %s, %g", way, pe_dtype_name(dtype), number);
    }
}

/* ---- caps ------------------------------------------------------------------------------------ */

/* cap tanh(q.k scale / cap) for scales and caps of every size, of products that are capped hardly,
 * by half, and fully. A float32 has neither their quotient nor the product of every pair. */
TEST(caps_of_every_size)
{
    static const double sizes[] = {1e-30, 1e-25, 1e-8, 1, 1e5, 1e22, 1e30},
                        parts[] = {0, 0.01, 1, 30};
    size_t compared = 0;

    for (unsigned i = 0; i < COUNT_OF(sizes) * COUNT_OF(sizes) * 4 * 2; i++) {
        const enum pe_dtype dtype = i % 2 ? PE_F64 : PE_F32;
        const double scale = sizes[i / 8 % COUNT_OF(sizes)], most = sizes[i / 8 / COUNT_OF(sizes)];
        const double product = most / scale * parts[i / 2 % 4];
        double q[4] = {1, 0, 0, 0}, k[4] = {product, 0, 0, 0}, got;
        char q_data[sizeof(q)], k_data[sizeof(k)], out[sizeof(got)];
        if (dtype == PE_F32 && product != 0 && (product > 1e37 || product < 1e-37))
            continue;
        pe_from_f64(q_data, dtype, q, 4);
        pe_from_f64(k_data, dtype, k, 4);
        const struct pe_attention_spec spec =
            SIZED(pe_attention_spec, .q = {dtype, 4, {1, 1, 1, 4}, q_data},
                  .k = {dtype, 4, {1, 1, 1, 4}, k_data}, .scale = scale, .query_start = NAN,
                  .output = PE_ATTENTION_SCORES, .softcap = most);
        struct pe_attention *attention;
        struct pe_error err = {0};
        ck_assert_msg(!pe_attention_new(&attention, &spec, NULL, NULL, &err), "%s", err.detail);
        ck_assert(!pe_attention_fill(attention, 0, 1, out, NULL, &err));
        pe_attention_free(attention);
        pe_to_f64(&got, out, dtype, 1);
        const double want = most * tanh(parts[i / 2 % 4]);
        ck_assert_msg(fabs(got - want) <= (dtype == PE_F64 ? 1e-12 : 1e-5) * want,
                      "scale %g, cap %g, %s: %g, %g", scale, most, pe_dtype_name(dtype), got, want);
        compared++;
    }
    ck_assert_uint_gt(compared, 200);
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

/* A tensor beside q has its dtype, or f32 beside a half precision; a mask may be bool. */
TEST(dtypes_of_tensors)
{
    static double numbers[64];
    static const char *const names[] = {"mask", "bias", "sinks", "q_norm", "k_norm"};
    size_t taken = 0;

    for (unsigned i = 0; i < 4 * PE_DTYPES * COUNT_OF(names); i++) {
        const enum pe_dtype q = (enum pe_dtype)(i % 4), dtype = (enum pe_dtype)(i / 4 % PE_DTYPES);
        const size_t which = i / 4 / PE_DTYPES;
        const struct pe_tensor x = {q, 4, {1, 2, 2, 2}, numbers};
        struct pe_attention_spec spec =
            SIZED(pe_attention_spec, .q = x, .k = x, .v = x, .scale = NAN, .query_start = NAN,
                  .output = PE_ATTENTION_OUTPUT, .norm = PE_NORM_BEFORE, .norm_epsilon = 1e-6);
        struct pe_tensor *const of[] = {&spec.mask, &spec.bias, &spec.sinks, &spec.q_norm,
                                        &spec.k_norm};
        const bool wider = dtype == PE_F32 && (q == PE_F16 || q == PE_BF16);
        const bool fits = dtype == q || wider || (which == 0 && dtype == PE_BOOL);
        struct pe_output output;
        struct pe_error err = {0};
        char where[40];
        *of[which] = (struct pe_tensor){dtype, 1, {2}, numbers};
        pe_attention_shape(&spec, &output, sizeof(output), &err);
        snprintf(where, sizeof(where), "tensor:%s", names[which]);
        ck_assert_msg(err.status == (fits ? PE_OK : PE_INVALID), "%s of %s beside %s: %s",
                      names[which], pe_dtype_name(dtype), pe_dtype_name(q), err.detail);
        ck_assert(fits || !strcmp(err.where, where));
        taken += fits;
    }
    ck_assert_uint_eq(taken, (4 + 2) * COUNT_OF(names) + 4);
}

/* ---- many keys ------------------------------------------------------------------------------- */

/* Keys are transformed in pieces: those at the end of many score as they do alone, rotated and
 * normalized, in each arithmetic. */
TEST(keys_score_as_they_do_alone)
{
    enum { COUNT = 1100, COLUMNS = 512, LAST = 3 };
    OWNED_SCHEME scheme = scheme_new("rope", "dim=512");
    OWNED_MEMORY double *numbers = malloc(COUNT * COLUMNS * sizeof(*numbers));
    OWNED_MEMORY char *keys = malloc(COUNT * COLUMNS * sizeof(*numbers));
    double positions[COUNT];

    for (size_t i = 0; i < COUNT * COLUMNS; i++)
        numbers[i] = (double)(i * 37 % 101) / 64;
    for (size_t i = 0; i < COUNT; i++)
        positions[i] = (double)(i * 5);
    for (unsigned i = 0; i < 6; i++) {
        const enum pe_dtype dtype = i % 2 ? PE_BF16 : PE_F64;
        const size_t size = pe_dtype_info(dtype)->size;
        char out[COUNT * sizeof(double)], alone[LAST * sizeof(double)];
        struct pe_attention_spec spec =
            SIZED(pe_attention_spec, .scheme = scheme, .q = {dtype, 4, {1, 1, 1, COLUMNS}, keys},
                  .k = {dtype, 4, {1, 1, COUNT, COLUMNS}, keys}, .scale = 1, .query_start = NAN,
                  .positions = {.values = positions, .count = 1},
                  .key_positions = {.values = positions, .count = COUNT},
                  .norm = (enum pe_attention_norm)(i / 2), .output = PE_ATTENTION_SCORES);
        struct pe_error err = {0};
        struct pe_attention *attention;
        pe_from_f64(keys, dtype, numbers, COUNT * COLUMNS);
        for (int run = 0; run < 2; run++) {
            ck_assert_msg(!pe_attention_new(&attention, &spec, NULL, NULL, &err), "%s", err.detail);
            ck_assert(!pe_attention_fill(attention, 0, 1, run ? alone : out, NULL, &err));
            pe_attention_free(attention);
            spec.k.shape[2] = spec.key_positions.count = LAST;
            spec.k.data = keys + (COUNT - LAST) * COLUMNS * size;
            spec.key_positions.values = positions + COUNT - LAST;
        }
        ck_assert_msg(!memcmp(out + (COUNT - LAST) * size, alone, LAST * size), "%s, norm %u",
                      pe_dtype_name(dtype), i / 2);
    }
}

/* ---- traits ---------------------------------------------------------------------------------- */

/* A norm of a model is applied unless both of the weights that it has are absent. */
TEST(weights_of_either_norm)
{
    for (unsigned i = 0; i < 4 * 3; i++) {
        const unsigned weight = i / 4;
        struct pe_attention_traits traits =
            SIZED(pe_attention_traits, .scale = NAN, .scale_multiplier = 1,
                  .qk_norm = {.kind = PE_QK_NORM_RMS, .eps = 1e-5});
        struct pe_attention_spec spec =
            SIZED(pe_attention_spec, .q = {PE_F32, 4, {1, 2, 3, 16}},
                  .q_norm = {PE_F32, i & 1 ? 1 : 0, {16}}, .k_norm = {PE_F32, i & 2 ? 1 : 0, {16}});
        const bool skips = weight != PE_QK_WEIGHT_NONE && i % 4 == 0;
        struct pe_error err = {0};
        unsigned skipped;

        traits.qk_norm.weight = weight;
        ck_assert_msg(!pe_attention_traits_apply(&traits, &spec, &skipped, &err), "%s", err.detail);
        ck_assert_uint_eq(skipped, skips ? PE_TRAITS_NORM_WEIGHTS : 0);
        ck_assert_int_eq(spec.norm, skips ? PE_NORM_NONE : PE_NORM_BEFORE);
        ck_assert_double_eq(spec.norm_offset, !skips && weight == PE_QK_WEIGHT_FROM_1 ? 1 : 0);
    }
}
