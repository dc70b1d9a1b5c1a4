/* SPDX-License-Identifier: MIT */

/* Millions of values of every encoding, with random parameters and in every dtype, against their
 * formulas by MPFR at 256 bits.
 *
 *   check_encodings [millions [seed]]
 *
 * check_samples has plain rope, whose values a cheaper filter decides. */

#include <pthread.h>
#include <unistd.h>

#include "tests/core/samples_fixture.h"

enum { THREADS_MAX = 8, KINDS_MAX = 32 };

struct worker {
    pthread_t thread;
    struct sample sample;
    unsigned long wanted, checked, wrong, of_kind[KINDS_MAX];
};

/* Buckets have rows for queries alone, and heads in common. */
static void rows_check(struct worker *w, const struct sample_kind *kind,
                       const struct pe_output *out, const char *data)
{
    const struct sample *s = &w->sample;
    const size_t columns = s->columns, size = pe_dtype_info(out->dtype)->size;
    const size_t all = out->rows * out->row_elements, most = SAMPLE_ROWS * columns;
    mpfr_t value;

    mpfr_init2(value, SAMPLE_BITS);
    for (size_t i = 0; i < all && i < most; i++, w->checked++) {
        double got;
        kind->real(value, s, i / columns, i % columns);
        const double want =
            out->dtype == PE_I64 ? mpfr_get_d(value, MPFR_RNDN) : oracle_round(value, out->dtype);
        pe_to_f64(&got, data + i * size, out->dtype, 1);
        if (got != want && w->wrong++ < 5)
            fprintf(stderr, "%s %s %s %s %s [%zu, %zu]: got %a, want %a\n", kind->encoding, s->text,
                    kind->view, s->view, pe_dtype_info(out->dtype)->name, i / columns, i % columns,
                    got, want);
    }
    mpfr_clear(value);
}

static void sample_check(struct worker *w, const struct sample_kind *kind, enum pe_dtype dtype)
{
    struct sample *s = &w->sample;
    const bool is_learned = s->learned.rank > 0;
    const struct request request = {.encoding = kind->encoding,
                                    .text = s->text,
                                    .view = kind->view,
                                    .view_text = s->view,
                                    .dtype = dtype,
                                    .learned = is_learned ? &s->learned : NULL};
    struct opened opened;
    struct pe_error err = {0};
    const struct pe_output *out;
    char *data = NULL;

    if (!request_try(&request, &opened, &err)) {
        out = pe_view_output(opened.view, 0);
        const size_t rows = out->rows < SAMPLE_ROWS ? out->rows : SAMPLE_ROWS;
        data = malloc(rows * out->row_elements * 8 + 1);
        if (data && !pe_view_fill(opened.view, 0, s->begin, s->begin + rows, data, NULL, &err))
            rows_check(w, kind, out, data);
    }
    if (err.status && w->wrong++ < 5)
        fprintf(stderr, "%s %s %s %s: %s\n", kind->encoding, s->text, kind->view, s->view,
                err.detail);
    free(data);
    opened_free(&opened);
}

static void *work(void *argument)
{
    struct worker *w = argument;

    for (size_t turn = 0; w->checked < w->wanted && w->wrong < 100; turn++)
        for (const struct sample_kind *kind = sample_kinds; kind->encoding; kind++) {
            const unsigned long before = w->checked;
            w->sample.begin = 0;
            w->sample.learned = (struct pe_tensor){0};
            kind->draw(&w->sample);
            sample_check(w, kind, (enum pe_dtype)(turn % 4));
            w->of_kind[kind - sample_kinds] += w->checked - before;
        }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
    return NULL;
}

/* How many encodings of the catalogue have no kind of sample. */
static unsigned long unsampled(void)
{
    const struct pe_encoding *encoding;
    unsigned long count = 0;

    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++) {
        const char *name = pe_encoding_info(encoding)->name;
        const struct sample_kind *kind = sample_kinds;
        while (kind->encoding && strcmp(kind->encoding, name) != 0)
            kind++;
        if (!kind->encoding && ++count)
            printf("%s has no samples\n", name);
    }
    return count;
}

int main(int argc, char **argv)
{
    const unsigned long millions = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (int)cores;
    static struct worker workers[THREADS_MAX];
    unsigned long checked = 0, wrong = unsampled();

    for (int i = 0; i < threads; i++) {
        sample_begin(&workers[i].sample,
                     (seed * THREADS_MAX + (uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15));
        workers[i].wanted = millions * 1000000 / (unsigned long)threads + 1;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        checked += workers[i].checked;
        wrong += workers[i].wrong;
        sample_end(&workers[i].sample);
    }
    for (const struct sample_kind *kind = sample_kinds; kind->encoding; kind++) {
        unsigned long of_kind = 0;
        for (int i = 0; i < threads; i++)
            of_kind += workers[i].of_kind[kind - sample_kinds];
        printf("%-15s %-6s %9lu\n", kind->encoding, kind->view, of_kind);
        wrong += of_kind == 0;
    }
    printf("%lu random values of every encoding, %lu misrounded, %lu undecided\n", checked, wrong,
           pe_exact_undecided());
    return checked == 0 || wrong != 0 || pe_exact_undecided() != 0;
}
