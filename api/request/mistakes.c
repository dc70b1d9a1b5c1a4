/* SPDX-License-Identifier: MIT */
#include "api/request/mistakes.h"

#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/base/nearest.h"
#include "api/request/service.h"

bool api_is_mistake(enum api_status status)
{
    return status == API_MISSING || status == API_UNKNOWN_PARAMETER || status == API_INVALID ||
           status == API_OUT_OF_RANGE || status == API_CONFLICT || status == API_SHAPE_MISMATCH ||
           status == API_UNSUPPORTED;
}

bool api_mistakes_unknown(const struct api_mistakes *mistakes, const char *name, const char **meant)
{
    for (size_t i = 0; mistakes && i < mistakes->count; i++)
        if (mistakes->list[i].status == API_UNKNOWN_PARAMETER &&
            strcmp(mistakes->list[i].name, name) == 0) {
            *meant = mistakes->list[i].meant;
            return true;
        }
    return false;
}

/* A parameter whose value was refused is missing when the handler runs again, and one that was
 * missing may be refused for the value that it was given in the meantime: neither is news. */
static bool is_known(const struct api_mistakes *mistakes, const struct api_error *err,
                     const char *name)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        const struct api_mistake *old = &mistakes->list[i];
        const bool same_name = *name && strcmp(old->name, name) == 0;
        if (strcmp(old->where, err->where) == 0 ||
            (same_name && (old->status == API_MISSING || err->status == API_MISSING)))
            return true;
    }
    return false;
}

static const struct {
    const char *name, *meant;
} spellings[] = {
#define SPELLING(name, meant) {name, meant},
#include "api/request/spellings.def"
#undef SPELLING
};

const char *api_spelling_next(const char *fold, size_t *at)
{
    while (*at < sizeof(spellings) / sizeof(spellings[0])) {
        const size_t place = (*at)++;
        if (strcmp(spellings[place].name, fold) == 0)
            return spellings[place].meant;
    }
    return NULL;
}

static struct api_mistakes *list_of(struct api_request *request)
{
    if (!request->mistakes)
        request->mistakes = api_arena_take(request->arena, sizeof(*request->mistakes));
    return request->mistakes;
}

static const char *last_word(const char *where)
{
    const char *word = strpbrk(where, ":") ? strchr(where, ':') + 1 : "";

    return strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
}

static void insert(struct api_mistakes *mistakes, const struct api_error *err, const char *name)
{
    size_t place = mistakes->count++;

    while (err->status != API_MISSING && place > 0 &&
           mistakes->list[place - 1].status == API_MISSING) {
        mistakes->list[place] = mistakes->list[place - 1];
        place--;
    }
    struct api_mistake *mistake = &mistakes->list[place];
    mistake->status = err->status;
    mistake->name = name;
    mistake->meant = mistakes->meant;
    memcpy(mistake->where, err->where, sizeof(mistake->where));
    memcpy(mistake->detail, err->detail, sizeof(mistake->detail));
}

enum api_status api_mistake_note(struct api_request *request, const char *name,
                                 struct api_error *err)
{
    struct api_mistakes *mistakes;
    const char *kept = name ? name : last_word(err->where);

    if (!api_is_mistake(api_failed(err)))
        return api_failed(err);
    mistakes = list_of(request);
    kept = mistakes ? api_arena_copy(request->arena, name ? name : last_word(err->where)) : NULL;
    if (!kept)
        return api_failed(err);
    if (mistakes->count == API_MISTAKES_MAX) {
        mistakes->more++;
        mistakes->fresh = true;
    } else if (!is_known(mistakes, err, kept)) {
        insert(mistakes, err, kept);
        mistakes->fresh = true;
    }
    mistakes->meant = NULL;
    *err = (struct api_error){0};
    return API_OK;
}

enum api_status api_mistakes_first(const struct api_mistakes *mistakes, struct api_error *err)
{
    const struct api_mistake *first = mistakes->list;

    return api_fail(err, first->status, first->where, "%s", first->detail);
}

enum api_status api_mistakes_fail(const struct api_mistakes *mistakes, struct api_error *err)
{
    return mistakes->fresh ? api_mistakes_first(mistakes, err) : api_failed(err);
}

/* ---- what was missing ------------------------------------------------------------------------ */

/* Sets some value that the parameter may have: an even width, few positions. */
static void guess_set(struct pe_params *set, size_t index)
{
    const struct pe_param *param = &set->list[index];
    const double usual = param->unit && strcmp(param->unit, "positions") == 0 ? 1 : 64,
                 most = param->max > param->min ? param->max : usual;
    const double number = usual > most ? most : usual < param->min ? param->min : usual;
    struct pe_error ignored = {0};
    char choice[64];

    switch (param->type) {
    case PE_NUMBER:
    case PE_INTEGER:
    case PE_NUMBERS:
    case PE_RANGES:
        pe_params_set_number(set, index, number, &ignored);
        return;
    case PE_BOOLEAN:
        pe_params_set_text(set, index, "false", &ignored);
        return;
    case PE_CHOICE:
        pe_choice_name(param, 0, choice, sizeof(choice));
        pe_params_set_text(set, index, choice, &ignored);
        return;
    case PE_TEXT:
        return;
    }
}

void api_guesses_set(const struct api_mistakes *mistakes, struct pe_params **sets, size_t count)
{
    for (size_t i = 0; i < mistakes->guesses_count; i++)
        for (size_t j = 0; j < count; j++) {
            const int index = pe_params_find(sets[j], mistakes->guesses[i]);
            if (index >= 0 && !sets[j]->values[index].present)
                guess_set(sets[j], (size_t)index);
        }
}

/* ---- unknown names --------------------------------------------------------------------------- */

/* Names that are known where an unknown one stands. */
struct known {
    struct pe_params **sets;
    size_t sets_count;
    const char *own;
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
    list_offer(nearest, known->own, " ");
}

/* A list of words that ends with where the rest is, if it is not whole. */
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

/* More parameters than these stand behind all others, and may be cut. */
enum { FEW = 12 };

static void known_print(const struct known *known, char *out, size_t size, const char *rest)
{
    static const char begin[] = "; known:";
    struct words words = {out, (size_t)snprintf(out, size, "%s", begin), size, rest, false};

    for (const char *own = known->own; own && *own;) {
        const size_t length = strcspn(own, " ");
        word_put(&words, own, length);
        own += length + (own[length] == ' ');
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
    return api_names_have(known->own, " ", name, strlen(name));
}

/* The known name that an unknown one is in other letters, or stands for elsewhere; NULL: none. */
static const char *spelling_find(struct api_request *request, const struct known *known,
                                 const char *name)
{
    char fold[48];
    const char *meant;
    size_t size = 0, at = 0;

    for (; name[size] && size + 1 < sizeof(fold); size++)
        fold[size] = api_letter_fold(name[size]);
    fold[size] = '\0';
    if (!name[size] && is_known_name(known, fold))
        return api_arena_copy(request->arena, fold);
    while ((meant = api_spelling_next(fold, &at)))
        if (is_known_name(known, meant))
            return meant;
    return NULL;
}

/* Has any encoding a parameter of this name? */
static bool encodings_have(const char *name)
{
    const struct pe_encoding *encoding;
    struct pe_params params;

    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++) {
        pe_params_init(&params, pe_encoding_info(encoding)->params,
                       pe_encoding_info(encoding)->params_count);
        if (pe_params_find(&params, name) >= 0)
            return true;
    }
    return false;
}

/* Is it a list or an object of the body, as a tensor would be? */
static bool is_bulk(const struct api_request *request, const char *name)
{
    const json_t *value = json_object_get(request->json, name);

    return json_is_array(value) || json_is_object(value);
}

/* Names that mean something elsewhere, and what to ask where another one is known. */
static const struct {
    const char *name, *beside, *says;
} strays[] = {
    {"layout", "duplicate",
     "; cos and sin are alike in every layout, one column a pair (duplicate=true: each row twice, "
     "as half has it); layout belongs to rotation and attention"},
    {"axes", "outputs",
     "; q, k and v of attention are [batch, heads, positions, head_dim] (bhsd): transpose others"},
    {"name", "encoding",
     "; an encoding with its parameters stands under encoding: {\"encoding\": {\"name\": ...}}"},
    {"name", "per_pair", "; what is compared stands under a and b: {\"a\": {\"name\": ...}}"},
    {"name", "dtype",
     "; the path names the encoding, and its parameters stand here; one with its parameters, as "
     "answers tell it, stands under encoding: {\"encoding\": {\"name\": ...}}"},
};

static const char *stray_find(const struct known *known, const char *name)
{
    for (size_t i = 0; i < sizeof(strays) / sizeof(strays[0]); i++)
        if (strcmp(name, strays[i].name) == 0 && is_known_name(known, strays[i].beside))
            return strays[i].says;
    return NULL;
}

enum api_status api_unknown_fail(struct api_request *request, struct pe_params **sets,
                                 size_t sets_count, const char *own, const char *where,
                                 const char *name, struct api_error *err)
{
    const struct known known = {sets, sets_count, own};
    struct api_nearest nearest = {.word = name};
    const char *meant;
    char text[256], rest[80];

    if (request->mistakes && request->mistakes->encoding_is_guessed && encodings_have(name))
        return API_OK;
    if (request->mistakes && request->mistakes->count == API_MISTAKES_MAX)
        return api_fail(err, API_UNKNOWN_PARAMETER, where, "one of many"); /* only counted */
    snprintf(rest, sizeof(rest), " ... and more in %.40s/openapi.yaml",
             request->settings->base_path);
    meant = spelling_find(request, &known, name);
    if (list_of(request))
        request->mistakes->meant = meant;
    all_offer(&nearest, &known);
    if (stray_find(&known, name))
        snprintf(text, sizeof(text), "%s", stray_find(&known, name));
    else if (is_bulk(request, name) && api_names_have(own, " ", "tensors", 7))
        snprintf(text, sizeof(text),
                 "; tensors stand in tensors: {\"tensors\": {\"%.40s\": {\"data\": [...]}}}", name);
    else if (meant)
        snprintf(text, sizeof(text), "; did you mean '%s'?", meant);
    else if (nearest.count > 0)
        api_nearest_print(&nearest, text, sizeof(text));
    else
        known_print(&known, text, sizeof(text), rest);
    return api_fail(err, API_UNKNOWN_PARAMETER, where, "there is no parameter '%.60s'%s", name,
                    text);
}
