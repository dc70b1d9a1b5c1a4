/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/readers/json_number.h"
#include "api/readers/reader.h"

/* Walks an array of elements once. All elements of a tensor stand at one depth (`leaf`), and all
 * arrays of one depth have one length. */
struct walk {
    const char *name;
    const unsigned char *text, *at, *end;
    enum pe_dtype dtype;
    unsigned char *out;
    size_t element_size, elements;
    unsigned depth, leaf;          /* leaf 0: not known yet */
    size_t count[PE_RANK_MAX + 1]; /* so far, in the open array of a depth */
    size_t shape[PE_RANK_MAX + 1];
    bool shape_known[PE_RANK_MAX + 1];
    struct pe_error *err;
};

static enum pe_status fail(struct walk *walk, enum pe_status status, const char *what)
{
    char where[sizeof(walk->err->where)];

    return pe_fail(walk->err, status, api_tensor_where(walk->name, where, sizeof(where)),
                   "data of %.60s, byte %zu of the body: %s", walk->name,
                   (size_t)(walk->at - walk->text), what);
}

static enum pe_status ragged(struct walk *walk)
{
    return fail(walk, PE_SHAPE_MISMATCH, "the arrays of one level differ in length or depth");
}

static void space_skip(struct walk *walk)
{
    while (walk->at < walk->end &&
           (*walk->at == ' ' || *walk->at == '\n' || *walk->at == '\r' || *walk->at == '\t'))
        walk->at++;
}

static enum pe_status element_read(struct walk *walk)
{
    enum pe_status status;

    if (!walk->leaf)
        walk->leaf = walk->depth;
    if (walk->depth != walk->leaf)
        return ragged(walk);
    const char *fault = NULL;
    status = api_json_element_read(&walk->at, walk->end, walk->dtype,
                                   walk->out + walk->elements * walk->element_size, &fault);
    if (status)
        return fail(walk, status, fault);
    walk->elements++;
    walk->count[walk->depth]++;
    return PE_OK;
}

static enum pe_status array_open(struct walk *walk)
{
    if (walk->depth == PE_RANK_MAX)
        return fail(walk, PE_INVALID, "more than 8 dimensions");
    if (walk->leaf && walk->depth == walk->leaf)
        return ragged(walk);
    walk->at++;
    walk->count[++walk->depth] = 0;
    return PE_OK;
}

static enum pe_status array_close(struct walk *walk)
{
    const unsigned depth = walk->depth;

    walk->at++;
    if (!walk->leaf)
        walk->leaf = depth; /* [] or [[], []]: nothing stands below */
    if (walk->shape_known[depth] && walk->shape[depth] != walk->count[depth])
        return ragged(walk);
    walk->shape[depth] = walk->count[depth];
    walk->shape_known[depth] = true;
    walk->depth--;
    walk->count[walk->depth]++;
    return PE_OK;
}

/* The span begins with '[' and ends with its ']', so `at` never runs past the end. */
static enum pe_status walk_run(struct walk *walk)
{
    bool value_next = true, may_close = false;

    do {
        space_skip(walk);
        if (value_next && *walk->at == '[') {
            if (array_open(walk))
                return walk->err->status;
            may_close = true;
        } else if (*walk->at == ']' && (may_close || !value_next)) {
            if (array_close(walk))
                return walk->err->status;
            value_next = may_close = false;
        } else if (value_next) {
            if (element_read(walk))
                return walk->err->status;
            value_next = may_close = false;
        } else if (*walk->at == ',') {
            walk->at++;
            value_next = true;
            may_close = false;
        } else {
            return fail(walk, PE_MALFORMED, "a comma or a bracket is expected");
        }
    } while (walk->depth > 0);
    return PE_OK;
}

static enum pe_status shape_check(struct walk *walk, struct pe_tensor *tensor, bool shaped)
{
    size_t count = 1;
    bool same = walk->leaf == tensor->rank;

    for (unsigned i = 0; shaped && i < tensor->rank; i++) {
        same = same && tensor->shape[i] == walk->shape[i + 1];
        count *= tensor->shape[i];
    }
    if (shaped && !same && !(walk->leaf == 1 && walk->elements == count)) {
        char text[96];
        snprintf(text, sizeof(text), "%zu elements, nested %u deep, do not fill its shape (%zu)",
                 walk->elements, walk->leaf, count);
        return fail(walk, PE_SHAPE_MISMATCH, text);
    }
    if (!shaped) {
        tensor->rank = walk->leaf;
        memcpy(tensor->shape, walk->shape + 1, walk->leaf * sizeof(*tensor->shape));
    }
    return PE_OK;
}

enum pe_status api_json_data_read(struct api_request *request, const char *name,
                                  struct api_json_span span, bool shaped, struct pe_tensor *tensor,
                                  struct pe_error *err)
{
    struct walk walk = {.name = name,
                        .text = request->body,
                        .at = request->body + span.begin,
                        .end = request->body + span.end,
                        .dtype = tensor->dtype,
                        .element_size = pe_dtype_info(tensor->dtype)->size,
                        .err = err};
    size_t room = 1, size;

    /* Elements are one more than commas, or fewer; each takes two bytes of text at least. */
    for (const unsigned char *at = walk.at; at < walk.end; at++)
        room += *at == ',';
    if (!pe_size_multiply(room, walk.element_size, &size) ||
        !(walk.out = api_arena_take(request->arena, size)))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the elements of %.60s", name);
    tensor->data = walk.out;
    return walk_run(&walk) ? err->status : shape_check(&walk, tensor, shaped);
}
