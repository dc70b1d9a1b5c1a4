/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>

#include "core/attention/attention.h"

struct pe_scratches {
    pthread_mutex_t lock;
    struct pe_attention_scratch *first; /* those not in use */
    struct pe_work *work;               /* that they are charged to */
    size_t size;                        /* of one */
};

static struct pe_attention_scratch *scratch_new(const struct pe_attention *attention,
                                                struct pe_error *err)
{
    const struct pe_scratches *scratches = attention->scratches;
    const size_t rows = attention->rows_max * attention->size;
    struct pe_attention_scratch *scratch = NULL;

    _Static_assert(sizeof(*scratch) <= PE_PANEL_SIZE, "it stands in front of the first part");
    if (!pe_work_reserve(scratches->work, scratches->size)) {
        pe_no_memory(err, "a block of attention");
        return NULL;
    }
    if (posix_memalign((void **)&scratch, PE_PANEL_SIZE, scratches->size) != 0) {
        pe_work_release(scratches->work, scratches->size);
        pe_no_memory(err, "a block of attention");
        return NULL;
    }
    scratch->next = NULL;
    scratch->logits = (char *)scratch + PE_PANEL_SIZE;
    scratch->relative = scratch->logits + rows * attention->logits_stride;
    scratch->output = scratch->relative + rows * attention->relative_stride;
    scratch->q = scratch->output + rows * attention->output_stride;
    scratch->rows =
        (void *)(scratch->q + (attention->q_changes ? 2 * rows * attention->head_dim : 0));
    scratch->tile = (char *)(scratch->rows + attention->rows_max);
    scratch->bias = scratch->tile + pe_attention_tile_rows(attention) * PE_PANEL_SIZE;
    return scratch;
}

static void free_ones_release(struct pe_scratches *scratches)
{
    for (struct pe_attention_scratch *next; scratches->first; scratches->first = next) {
        next = scratches->first->next;
        free(scratches->first);
        pe_work_release(scratches->work, scratches->size);
    }
}

/* Scratches of all threads, or none. */
static enum pe_status scratches_fill(struct pe_attention *attention, size_t threads,
                                     struct pe_error *err)
{
    const size_t blocks_head =
        attention->rows_max ? (attention->queries - 1) / attention->rows_max + 1 : 0;
    const size_t blocks = blocks_head * pe_attention_batch_heads(attention);

    attention->scratches->size =
        attention->scratch_size + attention->rows_max * attention->scratch_row_size;
    for (size_t i = 0; i < threads && i < blocks; i++) {
        struct pe_attention_scratch *scratch = scratch_new(attention, err);
        if (!scratch) {
            free_ones_release(attention->scratches);
            return err->status;
        }
        pe_scratch_return(attention, scratch);
    }
    return PE_OK;
}

enum pe_status pe_scratches_new(struct pe_attention *attention, size_t threads,
                                struct pe_error *err)
{
    struct pe_scratches *scratches = attention->scratches = calloc(1, sizeof(*scratches));

    if (!scratches)
        return pe_no_memory(err, "an attention");
    scratches->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    scratches->work = attention->work;
    /* Large blocks are quicker, but no attention is refused for their sake. */
    while (scratches_fill(attention, threads, err) &&
           attention->rows_max / 2 >= PE_ATTENTION_ROWS_MIN) {
        attention->rows_max /= 2;
        *err = (struct pe_error){0};
    }
    return err->status;
}

void pe_scratches_free(struct pe_scratches *scratches)
{
    if (!scratches)
        return;
    free_ones_release(scratches);
    pthread_mutex_destroy(&scratches->lock);
    free(scratches);
}

struct pe_attention_scratch *pe_scratch_take(const struct pe_attention *attention,
                                             struct pe_error *err)
{
    struct pe_scratches *scratches = attention->scratches;

    pthread_mutex_lock(&scratches->lock);
    struct pe_attention_scratch *scratch = scratches->first;
    if (scratch)
        scratches->first = scratch->next;
    pthread_mutex_unlock(&scratches->lock);
    return scratch ? scratch : scratch_new(attention, err);
}

void pe_scratch_return(const struct pe_attention *attention, struct pe_attention_scratch *scratch)
{
    struct pe_scratches *scratches = attention->scratches;

    pthread_mutex_lock(&scratches->lock);
    scratch->next = scratches->first;
    scratches->first = scratch;
    pthread_mutex_unlock(&scratches->lock);
}
