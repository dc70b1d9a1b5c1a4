/* SPDX-License-Identifier: MIT */

/* An attention asks for its memory before the first block: filling is not where it can run out. */

#include <errno.h>
#include <stdatomic.h>

#include "tests/check_main.h"
#include "tests/core/attention_problem.h"

#ifdef __SANITIZE_ADDRESS__

int main(void)
{
    printf("not with AddressSanitizer, which brings an allocator of its own\n");
    return 0;
}

#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_bool empty;
static atomic_uint refused;

/* NULL from now on, and counted? */
static bool fails(void)
{
    if (!atomic_load(&empty))
        return false;
    atomic_fetch_add(&refused, 1);
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = fails() ? NULL : __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

enum { WORKERS = 3, ROWS = 96 };

/* Rows of an attention, a hundred or so a block. */
struct filling {
    struct pe_job job;
    struct pe_attention *attention;
    size_t rows, row_size;
    char *out;
    atomic_uint failed;
};

static void filling_run(struct pe_job *job, size_t block)
{
    struct filling *filling = (struct filling *)job;
    const size_t begin = block * ROWS;
    const size_t end = begin + ROWS < filling->rows ? begin + ROWS : filling->rows;

    if (!(pe_attention_fill(filling->attention, begin, end,
                            filling->out + begin * filling->row_size, NULL,
                            &(struct pe_error){0}) == PE_OK))
        atomic_fetch_add(&filling->failed, 1);
}

static void fill_without_memory(const struct problem *p, struct pe_pool *pool)
{
    OWNED_INPUTS in = inputs_new(p);
    OWNED_SCHEME scheme = scheme_open(p);
    const struct pe_attention_spec spec = spec_of(p, &in, scheme);
    struct filling filling = {.job.run = filling_run};
    struct pe_error err = {0};

    ck_assert(!scheme || !pe_scheme_prepare(scheme, NULL, &err));
    ck_assert_msg(!pe_attention_new(&filling.attention, &spec, pool, NULL, &err), "%s", err.detail);
    const struct pe_output *output = pe_attention_output(filling.attention);
    filling.rows = output->rows;
    filling.row_size = output->row_elements * pe_dtype_info(output->dtype)->size;
    filling.out = malloc(filling.rows * filling.row_size + 1);
    filling.job.blocks = (filling.rows + ROWS - 1) / ROWS;
    atomic_store(&empty, true);
    pe_pool_run(pool, &filling.job);
    atomic_store(&empty, false);
    ck_assert_uint_eq(filling.failed, 0);
    ck_assert_uint_eq(refused, 0);
    pe_attention_free(filling.attention);
    free(filling.out);
}

TEST(nothing_is_asked_for)
{
    struct pe_error err = {0};
    struct pe_pool *pool;

    ck_assert(!pe_pool_new(&pool, WORKERS, false, &err));
    for (unsigned i = 0; i < 24; i++) {
        struct problem p = problem_of(i);
        p.position = (enum position)(i % 5); /* those of bias and of relative vectors, too */
        p.clip = 7;
        p.queries = 300;
        p.keys = 200;
        fill_without_memory(&p, pool);
        fill_without_memory(&p, NULL);
    }
    pe_pool_free(pool);
}

#endif
