/* SPDX-License-Identifier: MIT */
/* Views filled in blocks as the service asks for them, on one thread. */
#include <stdlib.h>

#include "bench/workers/library.h"

enum { BLOCK_SIZE = 1 << 18 };

struct filled {
    struct pe_scheme *scheme;
    const struct pe_view_type *type;
    struct pe_params params;
    enum pe_dtype dtype;
    struct pe_view *view;
    char *out;
};

static struct pe_view *view_new(const struct filled *filled)
{
    struct pe_error err = {0};
    struct pe_view *view;

    if (pe_view_new(&view, filled->scheme, filled->type, &filled->params, filled->dtype, NULL,
                    &err))
        library_fail(&err);
    return view;
}

static size_t row_size(const struct pe_output *output)
{
    return output->row_elements * pe_dtype_info(output->dtype)->size;
}

static void view_fill(const struct pe_view *view, char *out)
{
    const struct pe_output *output;
    struct pe_error err = {0};

    for (size_t i = 0; (output = pe_view_output(view, i)); i++) {
        const size_t size = row_size(output), most = size < BLOCK_SIZE ? BLOCK_SIZE / size : 1;

        for (size_t begin = 0, end; begin < output->rows; begin = end, out += most * size) {
            end = begin + most < output->rows ? begin + most : output->rows;
            if (pe_view_fill(view, i, begin, end, out, NULL, &err))
                library_fail(&err);
        }
    }
}

static void fill(void *state)
{
    const struct filled *filled = state;

    view_fill(filled->view, filled->out);
}

static void make_and_fill(void *state)
{
    struct filled *filled = state;

    pe_view_free(filled->view);
    filled->view = view_new(filled);
    view_fill(filled->view, filled->out);
}

static void end(void *state)
{
    struct filled *filled = state;

    pe_view_free(filled->view);
    pe_scheme_free(filled->scheme);
    pe_params_free(&filled->params);
    free(filled->out);
    free(filled);
}

/* Each block of an output may be a row longer than it needs. */
static size_t size_of(const struct pe_view *view)
{
    const struct pe_output *output;
    size_t size = 0;

    for (size_t i = 0; (output = pe_view_output(view, i)); i++)
        size += output->rows * row_size(output) + row_size(output) + BLOCK_SIZE;
    return size;
}

bool view_open(struct subject *subject, char *const words[WORDS_MAX], size_t count)
{
    struct filled *filled = calloc(1, sizeof(*filled));
    const struct pe_view_info *info;
    struct pe_error err = {0};

    if (count != 6 || !filled)
        return false;
    filled->scheme = library_scheme(words[1], words[4]);
    filled->type = pe_encoding_view(pe_scheme_encoding(filled->scheme), words[2]);
    filled->dtype = library_dtype(words[3]);
    info = pe_view_info(filled->type);
    pe_params_init(&filled->params, info->params, info->params_count);
    if (pe_params_set_pairs(&filled->params, words[5], &err) ||
        pe_params_finish(&filled->params, &err))
        library_fail(&err);
    filled->view = view_new(filled);
    filled->out = worker_memory(size_of(filled->view));
    *subject = (struct subject){.state = filled, .run = fill, .end = end};
    return true;
}

bool made_open(struct subject *subject, char *const words[WORDS_MAX], size_t count)
{
    const bool opened = view_open(subject, words, count);

    subject->run = make_and_fill;
    return opened;
}
