/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/attention_reference.h"

#include <sys/wait.h>
#include <unistd.h>

#include "core/base/isa.h"
#include "core/kernels/attention.h"

/* ---- same bytes ------------------------------------------------------------------------------ */

static uint64_t bytes_hash(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static struct problem wide_problem(unsigned i)
{
    struct problem p = problem_of(i);

    if (i % 2)
        p = options_of(i);
    else
        p.position = (enum position)(i % 5);
    p.clip = p.position == SHAW && i % 2 ? 4 : 1 + i * 7 % 90;
    p.queries = 150 + i;
    p.keys = 200 - i;
    return p;
}

/* Hash of what some problems give in this process. */
static uint64_t problems_hash(struct pe_pool *pool, size_t cut)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (unsigned i = 0; i < 30; i += NUMBERS_STEP_OF(3)) {
        const struct problem p = wide_problem(i);
        OWNED_INPUTS in = inputs_new(&p);
        size_t size;
        OWNED_MEMORY void *out = attention_run(&p, &in, pool, cut, &size);
        hash = bytes_hash(hash, out, size);
    }
    return hash;
}

TEST(same_bytes_for_threads_and_cuts)
{
    static const size_t cuts[] = {1, 5, 96, 151, 1000000};
    const uint64_t want = problems_hash(NULL, 64);

    for (size_t workers = 1; workers <= 3; workers++)
        for (size_t c = 0; c < COUNT_OF(cuts); c++) {
            struct pe_error err = {0};
            struct pe_pool *pool;
            ck_assert(!pe_pool_new(&pool, workers, true, &err));
            ck_assert_msg(problems_hash(pool, cuts[c]) == want, "%zu workers, cuts of %zu", workers,
                          cuts[c]);
            pe_pool_free(pool);
        }
}

/* Weights before they are divided: every ISA has these bytes, so one is enough. */
TEST(exp_within_two_ulp)
{
    double worst = 0;

    for (double x = 0; x > -87; x -= 1e-4 * NUMBERS_STEP) {
        float row[PE_ATTENTION_PARTIALS], in[PE_ATTENTION_PARTIALS];
        float sums[PE_ATTENTION_PARTIALS] = {0};
        for (int i = 0; i < PE_ATTENTION_PARTIALS; i++)
            row[i] = in[i] = (float)fmax(x * (1 + i * 1e-5), -87);
        pe_isa()->kernels->softmax_f32(row, PE_ATTENTION_PARTIALS, 0, 1, sums, 0);
        for (int i = 0; i < PE_ATTENTION_PARTIALS; i++)
            worst = fmax(worst, fabs(row[i] - exp(in[i])) / ldexp(1, ilogb(exp(in[i])) - 23));
    }
    ck_assert_double_le(worst, 2);
}

/* Their sum fits, but no multiple of it. */
TEST(large_values_stay_finite)
{
    enum { KEYS = 40, DIM = 32 };
    static float zeros[KEYS * DIM], values[KEYS * DIM], out[DIM];
    const struct pe_attention_spec spec = {.size = sizeof(spec),
                                           .q = {PE_F32, 4, {1, 1, 1, DIM}, zeros},
                                           .k = {PE_F32, 4, {1, 1, KEYS, DIM}, zeros},
                                           .v = {PE_F32, 4, {1, 1, KEYS, DIM}, values},
                                           .scale = NAN,
                                           .query_start = NAN,
                                           .output = PE_ATTENTION_OUTPUT};
    struct pe_error err = {0};
    struct pe_attention *attention;

    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = 0x1p120f;
    ck_assert_msg(!pe_attention_new(&attention, &spec, NULL, NULL, &err), "%s", err.detail);
    ck_assert(!pe_attention_fill(attention, 0, 1, out, NULL, &err));
    pe_attention_free(attention);
    for (size_t i = 0; i < DIM; i++)
        ck_assert_double_eq(out[i], 0x1p120);
}

/* The sum of a row with a NaN is NaN, but keys that the row does not see weigh 0, whatever rows
 * share its block. */
TEST(hidden_keys_of_odd_rows_weigh_nothing)
{
    enum { TOKENS = 70, DIM = 2 };
    static float zeros[TOKENS * DIM], nans[TOKENS * DIM], out[TOKENS * TOKENS];
    const struct pe_attention_spec spec = {.size = sizeof(spec),
                                           .q = {PE_F32, 4, {1, 1, TOKENS, DIM}, nans},
                                           .k = {PE_F32, 4, {1, 1, TOKENS, DIM}, zeros},
                                           .scale = NAN,
                                           .query_start = NAN,
                                           .causal = true,
                                           .output = PE_ATTENTION_WEIGHTS};
    static const size_t cuts[] = {TOKENS, 7, 1};
    struct pe_error err = {0};
    struct pe_attention *attention;

    for (size_t i = 0; i < COUNT_OF(nans); i++)
        nans[i] = NAN;
    ck_assert_msg(!pe_attention_new(&attention, &spec, NULL, NULL, &err), "%s", err.detail);
    for (size_t c = 0; c < COUNT_OF(cuts); c++) {
        for (size_t row = 0; row < TOKENS; row += cuts[c])
            ck_assert(
                !pe_attention_fill(attention, row, row + cuts[c], out + row * TOKENS, NULL, &err));
        for (size_t i = 0; i < COUNT_OF(out); i++)
            ck_assert_msg(i % TOKENS > i / TOKENS ? out[i] == 0 : isnan(out[i]),
                          "cuts of %zu: query %zu, key %zu: %g", cuts[c], i / TOKENS, i % TOKENS,
                          (double)out[i]);
    }
    pe_attention_free(attention);
}

/* The bytes of 96 queries to 60 000 keys within so much memory; false: it is not enough. */
static bool attend_within(float *out, uint64_t memory_max, uint64_t *taken)
{
    enum { ROWS = 96, KEYS = 60000 };
    static float q[ROWS], k[KEYS];
    const struct pe_attention_spec spec = {.size = sizeof(spec),
                                           .q = {PE_F32, 4, {1, 1, ROWS, 1}, q},
                                           .k = {PE_F32, 4, {1, 1, KEYS, 1}, k},
                                           .v = {PE_F32, 4, {1, 1, KEYS, 1}, k},
                                           .scale = NAN,
                                           .query_start = NAN,
                                           .output = PE_ATTENTION_OUTPUT};
    const struct pe_work_limits limits = {.size = sizeof(limits), .memory_max = memory_max};
    struct pe_error err = {0};
    struct pe_attention *attention;
    struct pe_work *work;

    for (size_t i = 0; i < ROWS; i++)
        q[i] = (float)i / ROWS;
    for (size_t i = 0; i < KEYS; i++)
        k[i] = (float)(i % 1000) / 500 - 1;
    ck_assert(!pe_work_new(&work, &limits, &err));
    const bool fits = !pe_attention_new(&attention, &spec, NULL, work, &err);
    if (fits) {
        *taken = pe_work_memory(work);
        ck_assert(!pe_attention_fill(attention, 0, ROWS, out, work, &err));
        pe_attention_free(attention);
    }
    ck_assert_uint_eq(pe_work_memory(work), 0);
    pe_work_free(work);
    return fits;
}

/* Blocks have fewer rows where memory is short. */
TEST(short_memory_changes_no_byte)
{
    static float want[96], got[96];
    uint64_t most, less;

    ck_assert(attend_within(want, 0, &most));
    ck_assert(attend_within(got, most - 1, &less));
    ck_assert_uint_lt(less, most * 3 / 4);
    ck_assert_mem_eq(got, want, sizeof(want));
    ck_assert(!attend_within(got, most / 4, &less));
}

/* This program again, with another POSENC_ISA; it prints the ISA it took and the hash. */
static void child_run(const char *isa, char *line, size_t size)
{
    int ends[2], status;

    ck_assert(!pipe(ends));
    const pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        setenv("POSENC_ISA", isa, 1);
        execl("/proc/self/exe", "test_attention", "--hash", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    ssize_t length = 0, got;
    while ((got = read(ends[0], line + length, size - 1 - (size_t)length)) > 0)
        length += got;
    line[length] = '\0';
    close(ends[0]);
    ck_assert(waitpid(child, &status, 0) == child && status == 0);
}

TEST(same_bytes_at_every_isa)
{
    char want[100] = "", line[100];
    size_t compared = 0;

    for (const struct pe_isa *isa = pe_isas; isa->name; isa++) {
        if (!isa->usable())
            continue;
        child_run(isa->name, line, sizeof(line));
        const size_t name = strlen(isa->name);
        ck_assert_msg(!strncmp(line, isa->name, name) && line[name] == ' ', "%s ran as %s",
                      isa->name, line);
        if (*want)
            ck_assert_str_eq(line + name, want);
        snprintf(want, sizeof(want), "%s", line + name);
        compared++;
    }
    printf("attention: the same bytes at %zu ISAs:%s", compared, want);
    ck_assert_uint_ge(compared, 2);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--hash") == 0) {
        printf("%s %016llx\n", pe_isa_name(), (unsigned long long)problems_hash(NULL, 50));
        return 0;
    }
    return check_run();
}
