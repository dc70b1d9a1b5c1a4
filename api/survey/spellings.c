/* SPDX-License-Identifier: MIT */
#include "api/survey/survey.h"

#include <string.h>

#include "api/base/names.h"
#include "api/request/mistakes.h"

/* What handlers read by themselves may be missing under its name and there under another. Any other
 * parameter may not: where length is missing, seq_len can be one of its own. */
static const char *missing_meant(const char *fold, const struct api_error *err)
{
    static const char own[] = "encoding positions tensors config tokens a b";
    const char *missing = err->status == API_MISSING ? strchr(err->where, ':') : NULL, *meant;
    size_t at = 0;

    if (!missing || !api_names_have(own, " ", missing + 1, strlen(missing + 1)))
        return NULL;
    while ((meant = api_spelling_next(fold, &at)))
        if (strcmp(missing + 1, meant) == 0)
            return meant;
    return NULL;
}

/* The name that is meant, in the arena or constant; NULL: the name as it stands, or no memory. One
 * that means nothing stays as it was written, for so it is told. */
static const char *name_meant(struct api_request *request, const char *name,
                              const struct api_error *err)
{
    char *fold = api_arena_copy(request->arena, name);
    const char *meant = NULL;
    const bool is_unknown = api_mistakes_unknown(request->mistakes, name, &meant);

    for (char *at = fold; at && *at; at++)
        *at = api_letter_fold(*at);
    if (fold && !meant)
        meant = missing_meant(fold, err) ?: is_unknown ? NULL : fold;
    return meant && strcmp(meant, name) != 0 ? meant : NULL;
}

static bool pairs_mend(struct api_request *request, struct api_pair *pairs, size_t count,
                       const struct api_error *err)
{
    bool changed = false;

    for (size_t i = 0; i < count; i++) {
        const char *meant = name_meant(request, pairs[i].name, err);
        if (meant)
            pairs[i].name = meant;
        changed |= meant != NULL;
    }
    return changed;
}

/* An object of more members than there are parameters is not mended: the time would grow with the
 * product of its members and its lists. */
enum { MEMBERS_MAX = 256 };

/* A member whose right name is there too keeps its own, and is refused by it; so does an object. */
static bool object_mend(struct api_request *request, json_t *object, const struct api_error *err)
{
    const char *name;
    json_t *value;
    void *next;
    bool changed = false;

    if (json_object_size(object) > MEMBERS_MAX)
        return false;
    json_object_foreach_safe(object, next, name, value)
    {
        const char *meant = name_meant(request, name, err);
        if (!meant || json_is_object(value) || json_object_get(object, meant) ||
            json_object_set(object, meant, value))
            continue;
        for (size_t i = 0; i < request->lists_count; i++)
            if (strcmp(request->lists[i].name, name) == 0)
                request->lists[i].name = meant;
        json_object_del(object, name);
        changed = true;
    }
    return changed;
}

bool api_spellings_mend(struct api_request *request, const struct api_error *err)
{
    static const char *const objects[] = {
        "encoding", "from_encoding", "to_encoding", "positions", "a", "b"};
    bool changed = pairs_mend(request, request->query, request->query_count, err);

    changed |= pairs_mend(request, request->metadata, request->metadata_count, err);
    if (!json_is_object(request->json))
        return changed;
    changed |= object_mend(request, request->json, err);
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        json_t *member = json_object_get(request->json, objects[i]);
        if (json_is_object(member) && !json_object_get(member, "model_type"))
            changed |= object_mend(request, member, err);
    }
    return changed;
}
