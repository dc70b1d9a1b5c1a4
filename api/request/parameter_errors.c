/* SPDX-License-Identifier: MIT */
#include "api/request/parameters.h"

#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/request/request.h"

bool api_is_parameter_error(enum pe_status status)
{
    return status == PE_MISSING || status == PE_UNKNOWN_PARAMETER || status == PE_INVALID ||
           status == PE_OUT_OF_RANGE || status == PE_CONFLICT || status == PE_SHAPE_MISMATCH ||
           status == PE_UNSUPPORTED;
}

/* A parameter with a refused value is absent too, which is no second error. */
static bool is_listed(const struct api_parameter_errors *errors, const struct pe_error *err,
                      const char *name)
{
    for (size_t i = 0; i < errors->count; i++) {
        const struct api_parameter_error *old = &errors->list[i];
        const bool same_name = *name && strcmp(old->name, name) == 0;
        if (strcmp(old->where, err->where) == 0 ||
            (same_name && (old->status == PE_MISSING || err->status == PE_MISSING)))
            return true;
    }
    return false;
}

static const struct {
    const char *name, *intended;
} spellings[] = {
#define SPELLING(name, intended) {name, intended},
#include "api/request/spellings.def"
#undef SPELLING
};

/* The next intended parameter of a folded name, from *at = 0 on; NULL: no more. */
static const char *spelling_next(const char *fold, size_t *at)
{
    while (*at < sizeof(spellings) / sizeof(spellings[0])) {
        const size_t place = (*at)++;
        if (strcmp(spellings[place].name, fold) == 0)
            return spellings[place].intended;
    }
    return NULL;
}

static struct api_parameter_errors *list_of(struct api_request *request)
{
    if (!request->parameter_errors)
        request->parameter_errors =
            api_arena_take(request->arena, sizeof(*request->parameter_errors));
    return request->parameter_errors;
}

static const char *last_word(const char *where)
{
    const char *word = strpbrk(where, ":") ? strchr(where, ':') + 1 : "";

    return strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
}

static void insert(struct api_parameter_errors *errors, const struct pe_error *err,
                   const char *name)
{
    size_t place = errors->count++;

    while (err->status != PE_MISSING && place > 0 && errors->list[place - 1].status == PE_MISSING) {
        errors->list[place] = errors->list[place - 1];
        place--;
    }
    struct api_parameter_error *entry = &errors->list[place];
    entry->status = err->status;
    entry->name = name;
    memcpy(entry->where, err->where, sizeof(entry->where));
    memcpy(entry->detail, err->detail, sizeof(entry->detail));
}

enum pe_status api_parameter_error_note(struct api_request *request, const char *name,
                                        struct pe_error *err)
{
    struct api_parameter_errors *errors;

    if (!name)
        name = last_word(err->where);
    if (!api_is_parameter_error(err->status))
        return err->status;
    errors = list_of(request);
    if (!errors)
        return err->status;
    if (!is_listed(errors, err, name)) {
        if (errors->count == API_PARAMETER_ERRORS_MAX)
            errors->more++;
        else if ((name = api_arena_copy(request->arena, name)))
            insert(errors, err, name);
        else
            return err->status;
    }
    *err = (struct pe_error){0};
    return PE_OK;
}

bool api_parameter_errors_have(const struct api_parameter_errors *errors, const char *where)
{
    if (!errors || errors->count == API_PARAMETER_ERRORS_MAX)
        return errors;
    for (size_t i = 0; i < errors->count; i++)
        if (strcmp(errors->list[i].where, where) == 0)
            return true;
    return false;
}

enum pe_status api_parameter_errors_fail(const struct api_parameter_errors *errors,
                                         struct pe_error *err)
{
    const struct api_parameter_error *first = errors->list;

    return pe_fail(err, first->status, first->where, "%s", first->detail);
}

/* A conflict or a shape may follow from an error that was noted before. */
static bool is_independent(enum pe_status status)
{
    return status == PE_MISSING || status == PE_UNKNOWN_PARAMETER || status == PE_INVALID ||
           status == PE_OUT_OF_RANGE;
}

enum pe_status api_parameter_errors_end(struct api_request *request, struct pe_error *err)
{
    const enum pe_status status = err->status;

    if (!request->parameter_errors ||
        (status && status != PE_MALFORMED && !api_is_parameter_error(status)))
        return status;
    if (is_independent(status) && api_parameter_error_note(request, NULL, err))
        return err->status;
    *err = (struct pe_error){0};
    return api_parameter_errors_fail(request->parameter_errors, err);
}

/* ---- unknown names --------------------------------------------------------------------------- */

/* The names known to a handler. */
struct known {
    struct pe_params **sets;
    size_t sets_count;
    const char *handler_names;
};

static void list_offer(struct api_nearest *nearest, const char *list, const char *separator)
{
    for (; list && *list; list += strspn(list, separator)) {
        const size_t length = strcspn(list, separator);
        api_nearest_offer(nearest, list, length);
        list += length;
    }
}

static void all_offer(struct api_nearest *nearest, const struct known *known)
{
    for (size_t i = 0; i < known->sets_count; i++)
        for (size_t j = 0; j < known->sets[i]->count; j++) {
            const struct pe_param *param = &known->sets[i]->list[j];
            api_nearest_offer(nearest, param->name, strlen(param->name));
            list_offer(nearest, param->aliases, ",");
        }
    list_offer(nearest, known->handler_names, " ");
}

/* A list of words; if it is cut, it ends with `rest`. */
struct words {
    char *out;
    size_t used, size;
    const char *rest;
    bool cut;
};

static void word_put(struct words *words, const char *word, size_t length)
{
    const size_t needed = length + 1 + strlen(words->rest);

    words->cut |= words->used + needed >= words->size;
    if (words->cut || length == 0)
        return;
    words->used += (size_t)snprintf(words->out + words->used, words->size - words->used, " %.*s",
                                    (int)length, word);
}

/* Sets of more parameters are printed last, and may be cut. */
enum { FEW = 12 };

static void known_print(const struct known *known, char *out, size_t size, const char *rest)
{
    static const char begin[] = "; known:";
    struct words words = {out, (size_t)snprintf(out, size, "%s", begin), size, rest, false};

    for (const char *at = known->handler_names; at && *at;) {
        const size_t length = strcspn(at, " ");
        word_put(&words, at, length);
        at += length + (at[length] == ' ');
    }
    for (int large = 0; large < 2; large++)
        for (size_t i = 0; i < known->sets_count; i++)
            for (size_t j = 0; j < known->sets[i]->count; j++)
                if ((known->sets[i]->count > FEW) == large)
                    word_put(&words, known->sets[i]->list[j].name,
                             strlen(known->sets[i]->list[j].name));
    if (words.cut)
        snprintf(out + words.used, size - words.used, "%s", rest);
    else if (words.used == sizeof(begin) - 1)
        snprintf(out, size, "; this resource takes none");
}

static bool is_known_name(const struct known *known, const char *name)
{
    for (size_t i = 0; i < known->sets_count; i++)
        if (pe_params_find(known->sets[i], name) >= 0)
            return true;
    return api_names_have(known->handler_names, " ", name, strlen(name));
}

/* The known name intended by an unknown one: one that differs in case, or by spellings.def; NULL:
 * none. */
static const char *known_spelling(struct api_request *request, const struct known *known,
                                  const char *name)
{
    char fold[48];
    const char *intended;
    size_t size = 0, at = 0;

    for (; name[size] && size + 1 < sizeof(fold); size++)
        fold[size] = api_letter_fold(name[size]);
    fold[size] = '\0';
    if (!name[size] && is_known_name(known, fold))
        return api_arena_copy(request->arena, fold);
    while ((intended = spelling_next(fold, &at)))
        if (is_known_name(known, intended))
            return intended;
    return NULL;
}

const char *api_spelling_find(struct api_request *request, struct pe_params **sets,
                              size_t sets_count, const char *handler_names, const char *name)
{
    const struct known known = {sets, sets_count, handler_names};

    return known_spelling(request, &known, name);
}

/* Is it a list or an object in the body, as a tensor is? */
static bool is_bulk(const struct api_request *request, const char *name)
{
    const json_t *value = json_object_get(request->json, name);

    return json_is_array(value) || json_is_object(value);
}

/* Hints for names of other resources, given if `beside` is a known name. */
static const struct {
    const char *name, *beside, *hint;
} hints[] = {
    {"layout", "duplicate",
     "; cos and sin are alike in every layout, one column a pair (duplicate=true: each row twice, "
     "as half has it); layout belongs to rotation and attention"},
    {"length", "shape", "; shape has the number of points of each axis (one axis: shape=16)"},
    {"axes", "outputs",
     "; q, k and v of attention are [batch, heads, positions, head_dim] (bhsd): transpose others"},
    {"name", "encoding",
     "; an encoding with its parameters stands under encoding: {\"encoding\": {\"name\": ...}}"},
    {"name", "per_pair", "; what is compared stands under a and b: {\"a\": {\"name\": ...}}"},
    {"config", "spatial_merge_size",
     "; ids are counted by model_type, spatial_merge_size, temporal_merge_size and "
     "tokens_per_second, which stand here as the config has them"},
    {"name", "dtype",
     "; the path names the encoding, and its parameters stand here; one with its parameters, as "
     "answers give it, stands under encoding: {\"encoding\": {\"name\": ...}}"},
};

static const char *hint_find(const struct known *known, const char *name)
{
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (strcmp(name, hints[i].name) == 0 && is_known_name(known, hints[i].beside))
            return hints[i].hint;
    return NULL;
}

enum pe_status api_unknown_fail(struct api_request *request, struct pe_params **sets,
                                size_t sets_count, const char *handler_names, const char *where,
                                const char *name, struct pe_error *err)
{
    const struct known known = {sets, sets_count, handler_names};
    struct api_nearest nearest = {.word = name};
    const char *intended;
    char text[256], rest[80];

    if (api_parameter_errors_have(request->parameter_errors, where))
        return pe_fail(err, PE_UNKNOWN_PARAMETER, where, "only counted");
    snprintf(rest, sizeof(rest), " ... and more in %.40s/openapi.yaml",
             request->settings->base_path);
    intended = known_spelling(request, &known, name);
    all_offer(&nearest, &known);
    if (hint_find(&known, name))
        snprintf(text, sizeof(text), "%s", hint_find(&known, name));
    else if (is_bulk(request, name) && api_names_have(handler_names, " ", "tensors", 7))
        snprintf(text, sizeof(text),
                 "; tensors stand in tensors: {\"tensors\": {\"%.40s\": {\"data\": [...]}}}", name);
    else if (intended)
        snprintf(text, sizeof(text), "; did you mean '%s'?", intended);
    else if (nearest.count > 0)
        api_nearest_print(&nearest, text, sizeof(text));
    else
        known_print(&known, text, sizeof(text), rest);
    return pe_fail(err, PE_UNKNOWN_PARAMETER, where, "there is no parameter '%.60s'%s", name, text);
}
