/* SPDX-License-Identifier: MIT */
#include "api/routes/kv_axes.h"

#include <string.h>

static const char known[] = "lkbhsd";

enum { RANK_USUAL = 4 };

static enum pe_status axes_fail(struct pe_error *err, const char *what)
{
    return pe_fail(err, PE_INVALID, "parameter:axes",
                   "axes %s: a letter an axis, l, k, b, h, s, each once at most, and d last", what);
}

enum pe_status kv_axes_read(struct kv_axes *axes, const struct pe_tensor *tensor,
                            const char *letters, struct pe_error *err)
{
    static const char *const usual[] = {"bhsd", "lbhsd", known};
    const unsigned rank = tensor->rank;

    if (rank >= sizeof(known))
        return axes_fail(err, "are six at most");
    if (!letters && rank < RANK_USUAL)
        return pe_fail(err, PE_MISSING, "parameter:axes", "axes are required for rank %u", rank);
    letters = letters ? letters : usual[rank - RANK_USUAL];
    if (strlen(letters) != rank)
        return axes_fail(err, "have another number of letters than the tensors of axes");
    for (unsigned i = 0; i < rank; i++)
        if (!strchr(known, letters[i]) || strchr(letters, letters[i]) != letters + i ||
            (letters[i] == 'd') != (i + 1 == rank))
            return axes_fail(err, "are not right");
    axes->rank = rank;
    memcpy(axes->letters, letters, rank + 1);
    memcpy(axes->shape, tensor->shape, rank * sizeof(*axes->shape));
    return PE_OK;
}

size_t kv_axes_total(const struct kv_axes *axes, const char *among)
{
    size_t count = 1;

    for (; *among; among++)
        count *= kv_axes_count(axes, *among);
    return count;
}

size_t kv_axes_index(const struct kv_axes *axes, const char *among, size_t number, char letter)
{
    for (unsigned i = axes->rank - 1; i-- > 0;) {
        if (!strchr(among, axes->letters[i]))
            continue;
        if (axes->letters[i] == letter)
            return number % axes->shape[i];
        number /= axes->shape[i];
    }
    return 0;
}

size_t kv_axes_number(const struct kv_axes *axes, const char *among, size_t number,
                      const char *fewer)
{
    size_t other = 0;

    for (unsigned i = 0; i + 1 < axes->rank; i++)
        if (strchr(fewer, axes->letters[i]))
            other = other * axes->shape[i] + kv_axes_index(axes, among, number, axes->letters[i]);
    return other;
}

json_t *kv_axes_place_json(const struct kv_axes *axes, const char *among, size_t number)
{
    json_t *place = json_object();

    for (unsigned i = 0; i + 1 < axes->rank; i++) {
        const char name[] = {axes->letters[i], '\0'};
        if (strchr(among, *name))
            json_object_set_new(
                place, name, json_integer((json_int_t)kv_axes_index(axes, among, number, *name)));
    }
    return place;
}

size_t kv_axes_count(const struct kv_axes *axes, char letter)
{
    const char *at = strchr(axes->letters, letter);

    return at ? axes->shape[at - axes->letters] : 1;
}

size_t kv_axes_step(const struct kv_axes *axes, char letter)
{
    const char *at = strchr(axes->letters, letter);
    size_t step = at ? 1 : 0;

    for (unsigned i = axes->rank; at && i-- > (unsigned)(at - axes->letters) + 1;)
        step *= axes->shape[i];
    return step;
}

void kv_axes_heads_tell(const struct kv_axes *axes, json_t *report)
{
    char letters[sizeof(KV_HEADS)] = "";
    json_t *shape = json_array();
    size_t used = 0;

    for (unsigned i = 0; i + 1 < axes->rank; i++)
        if (strchr(KV_HEADS, axes->letters[i])) {
            letters[used++] = axes->letters[i];
            json_array_append_new(shape, json_integer((json_int_t)axes->shape[i]));
        }
    json_object_set_new(report, "axes", json_string(letters));
    json_object_set_new(report, "shape", shape);
}
