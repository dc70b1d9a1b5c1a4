/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/sanitizer.h"
#include "posenc/engine_caches.h"

static const char kv_letters[] = "lkbhsd";

static enum pe_status axes_fail(struct pe_error *err, const char *what)
{
    return pe_fail(err, PE_INVALID, "parameter:axes",
                   "axes %s: a letter an axis, l, k, b, h, s, each once at most, and d last", what);
}

enum pe_status pe_kv_axes_parse(struct pe_kv_axes *axes, const char *letters,
                                const struct pe_tensor *tensor, struct pe_error *err)
{
    enum { RANK_USUAL = 4 };
    static const char *const usual[] = {"bhsd", "lbhsd", kv_letters};
    const unsigned rank = tensor->rank;

    if (rank >= sizeof(kv_letters))
        return axes_fail(err, "are six at most");
    if (!letters && rank < RANK_USUAL)
        return pe_fail(err, PE_MISSING, "parameter:axes", "axes are required for rank %u", rank);
    letters = letters ? letters : usual[rank - RANK_USUAL];
    if (strlen(letters) != rank)
        return axes_fail(err, "have another number of letters than the tensors of axes");
    for (unsigned i = 0; i < rank; i++)
        if (!strchr(kv_letters, letters[i]) || strchr(letters, letters[i]) != letters + i ||
            (letters[i] == 'd') != (i + 1 == rank))
            return axes_fail(err, "are not right");
    axes->rank = rank;
    memcpy(axes->letters, letters, rank + 1);
    memcpy(axes->shape, tensor->shape, rank * sizeof(*axes->shape));
    return PE_OK;
}

size_t pe_kv_axes_length(const struct pe_kv_axes *axes, char letter)
{
    const char *at = strchr(axes->letters, letter);

    return at ? axes->shape[at - axes->letters] : 1;
}

size_t pe_kv_axes_stride(const struct pe_kv_axes *axes, char letter)
{
    const char *at = strchr(axes->letters, letter);
    size_t stride = at ? 1 : 0;

    for (unsigned i = axes->rank; at && i-- > (unsigned)(at - axes->letters) + 1;)
        stride *= axes->shape[i];
    return stride;
}

size_t pe_kv_axes_places(const struct pe_kv_axes *axes, const char *among)
{
    size_t count = 1;

    for (; *among; among++)
        count *= pe_kv_axes_length(axes, *among);
    return count;
}

PE_WRAPS("counts down past 0")
size_t pe_kv_axes_coordinate(const struct pe_kv_axes *axes, const char *among, size_t place,
                             char letter)
{
    for (unsigned i = axes->rank; i-- > 0;) {
        if (!strchr(among, axes->letters[i]))
            continue;
        if (axes->letters[i] == letter)
            return place % axes->shape[i];
        place /= axes->shape[i];
    }
    return 0;
}

size_t pe_kv_axes_project(const struct pe_kv_axes *axes, const char *among, size_t place,
                          const char *fewer)
{
    size_t number = 0;

    for (unsigned i = 0; i < axes->rank; i++)
        if (strchr(fewer, axes->letters[i]))
            number = number * axes->shape[i] +
                     pe_kv_axes_coordinate(axes, among, place, axes->letters[i]);
    return number;
}

enum pe_status pe_kv_axes_slabs(const struct pe_kv_axes *axes, struct pe_axes *slab, size_t *slabs,
                                struct pe_error *err)
{
    const char *s = strchr(axes->letters, 's'), *b = strchr(axes->letters, 'b');
    const bool has_rows = s && b && b < s;

    if (!s)
        return pe_fail(err, PE_INVALID, "parameter:axes", "axes of a rotation have an s");
    *slabs = 1;
    *slab = (struct pe_axes){1, 1, pe_kv_axes_length(axes, 's'), 1, axes->shape[axes->rank - 1]};
    for (const char *at = axes->letters; at < axes->letters + axes->rank - 1; at++) {
        size_t *part = at > s                ? &slab->heads_inner
                       : has_rows && at < b  ? slabs
                       : has_rows && at == b ? &slab->batch
                                             : &slab->heads_outer;
        if (at != s)
            *part *= axes->shape[at - axes->letters];
    }
    return PE_OK;
}
