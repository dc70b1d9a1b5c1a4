/* SPDX-License-Identifier: MIT */
#include "api/survey/survey.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/handlers/handler.h"
#include "api/request/mistakes.h"

/* A handler stops at its first mistake. Here the request is mended as far as it can be and the
 * handler runs again, until all mistakes are known or the request turns out to be right in other
 * spellings. A request without mistakes never comes here. */

enum { ROUNDS_MAX = 24, SPELLINGS_MAX = 3, BODY_MAX = 16 << 20 };

/* ---- mending --------------------------------------------------------------------------------- */

/* Texts that stand in for what handlers read by themselves. One encoding for each function that
 * needs no parameter which its tensors do not tell. */
static const struct {
    const char *pattern, *missing, *name, *value;
} stand_ins[] = {
    {"/v1/rotation", "encoding", "encoding", "rope"},
    {"/v1/attention", "encoding", "encoding", "none"},
    {"/v1/embedding", "encoding", "encoding", "sinusoidal"},
    {"/v1/comparison", "a", "a", "index"},
    {"/v1/comparison", "b", "b", "index"},
    {"/v1/config", "config", "config",
     "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_attention_heads\":1}"},
    {"/v1/attention", "positions", NULL, NULL}, /* they are a list, and there is no start */
    {NULL, "positions", "start", "0"},
};

static enum api_status query_add(struct api_request *request, const char *name, const char *value,
                                 struct api_error *err)
{
    const size_t count = request->query_count;
    struct api_pair *query = api_arena_take(request->arena, (count + 1) * sizeof(*query));

    if (!query)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the query");
    if (count > 0)
        memcpy(query, request->query, count * sizeof(*query));
    query[count] = (struct api_pair){name, value};
    request->query = query;
    request->query_count++;
    return API_OK;
}

static bool is_guessed(const struct api_mistakes *mistakes, const char *name)
{
    for (size_t i = 0; i < mistakes->guesses_count; i++)
        if (strcmp(mistakes->guesses[i], name) == 0)
            return true;
    return false;
}

static bool stand_in(struct api_request *request, const char *missing)
{
    struct api_mistakes *mistakes = request->mistakes;

    if (mistakes->guesses_count == API_GUESSES_MAX || is_guessed(mistakes, missing))
        return false;
    mistakes->guesses[mistakes->guesses_count++] = missing;
    for (size_t i = 0; i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++) {
        const char *pattern = stand_ins[i].pattern;
        if (strcmp(stand_ins[i].missing, missing) != 0 ||
            (pattern && strcmp(pattern, request->route->pattern) != 0))
            continue;
        if (!stand_ins[i].name)
            return false;
        mistakes->encoding_is_guessed |= pattern != NULL;
        return query_add(request, stand_ins[i].name, stand_ins[i].value, &(struct api_error){0}) ==
               API_OK;
    }
    return true;
}

/* Of a width that every encoding has. Never written to: nothing is computed here. */
static const float nothing[64];

/* Some tensors for a function to which none were sent. */
static bool tensors_stand_in(const struct api_request *request, struct api_opened *before)
{
    static const char *const names[] = {"q", "k", "v"};
    const struct pe_tensor row = {PE_F32, 2, {1, 64}, (void *)(uintptr_t)nothing};
    const struct pe_tensor heads = {PE_F32, 4, {1, 1, 1, 64}, (void *)(uintptr_t)nothing};
    const bool attends = strcmp(request->route->pattern, "/v1/attention") == 0;
    struct api_tensor *tensors = api_arena_take(request->arena, 3 * sizeof(*tensors));

    if (!tensors || before->tensors_count > 0)
        return false;
    for (size_t i = 0; i < 3; i++)
        tensors[i] = (struct api_tensor){names[i], attends ? heads : row};
    before->tensors = tensors;
    before->tensors_count = attends ? 3 : 1;
    return true;
}

static bool pairs_drop(struct api_pair *pairs, size_t *count, const char *name)
{
    const size_t before = *count;
    size_t kept = 0;

    for (size_t i = 0; i < before; i++)
        if (strcmp(pairs[i].name, name) != 0)
            pairs[kept++] = pairs[i];
    *count = kept;
    return kept < before;
}

static bool tensor_drop(struct api_opened *opened, const char *name)
{
    const size_t before = opened->tensors_count;
    size_t kept = 0;

    for (size_t i = 0; i < before; i++)
        if (strcmp(opened->tensors[i].name, name) != 0)
            opened->tensors[kept++] = opened->tensors[i];
    opened->tensors_count = kept;
    return kept < before;
}

/* Takes a wrong value away, so that what stands behind it is looked at. */
static bool value_drop(struct api_request *request, const char *name)
{
    bool dropped = pairs_drop(request->query, &request->query_count, name);

    dropped |= pairs_drop(request->metadata, &request->metadata_count, name);
    dropped |= json_object_del(request->json, name) == 0;
    return dropped;
}

/* False: there is no way on. */
static bool mend(struct api_request *request, struct api_opened *before,
                 const struct api_error *err)
{
    const char *colon = strchr(err->where, ':');
    const char *name = colon ? api_arena_copy(request->arena, colon + 1) : NULL;
    const bool is_tensor = strncmp(err->where, "tensor:", 7) == 0;

    if (!name)
        return false;
    if (err->status == API_MISSING && strcmp(name, "tensors") == 0)
        return tensors_stand_in(request, before);
    if (err->status == API_MISSING)
        return !is_tensor && stand_in(request, name);
    return is_tensor ? tensor_drop(before, name) : value_drop(request, name + (*name == '/'));
}

/* ---- which failures count -------------------------------------------------------------------- */

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = text; length > 0 && (at = strstr(at, word)); at += length) {
        const bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (begins && !(isalnum((unsigned char)at[length]) || at[length] == '_'))
            return true;
    }
    return false;
}

/* Does the failure follow from what was mended before? What is missing follows from a value that
 * was taken away or is a guess, which its words name, and from no name that nobody knows. */
static bool is_consequence(const struct api_mistakes *mistakes, const struct api_error *err)
{
    const bool missing = err->status == API_MISSING;
    const bool is_tensor = strncmp(err->where, "tensor:", 7) == 0;

    if (mistakes && mistakes->encoding_is_guessed && missing &&
        strcmp(err->where, "parameter:length") == 0)
        return true;
    for (size_t i = 0; mistakes && i < mistakes->count; i++) {
        const struct api_mistake *mistake = &mistakes->list[i];
        const bool names_it =
            has_word(err->detail, mistake->name) || has_word(err->where, mistake->name);
        if (missing && (is_tensor || strncmp(mistake->where, "tensor:", 7) == 0))
            return true;
        if (names_it && !(missing && mistake->status == API_UNKNOWN_PARAMETER))
            return true;
    }
    return false;
}

/* Is a parameter wrong that the request has, and not one that was put in? */
static bool is_given(const struct api_request *request, const struct api_error *err)
{
    return strncmp(err->where, "parameter:", 10) != 0 ||
           api_request_text(request, err->where + 10) ||
           json_object_get(request->json, err->where + 10);
}

/* A contradiction, or a shape, may be one because of what was mended: it is told alone. */
static bool counts(const struct api_request *request, const struct api_error *err)
{
    return err->status == API_MISSING ||
           (is_given(request, err) &&
            (err->status == API_UNKNOWN_PARAMETER || err->status == API_INVALID ||
             err->status == API_OUT_OF_RANGE));
}

/* ---- the rounds ------------------------------------------------------------------------------ */

static enum api_status open_again(struct api_request *request, struct api_result *result,
                                  const struct api_opened *before, struct api_error *err)
{
    request->json = before->json;
    request->tensors = before->tensors;
    request->tensors_count = before->tensors_count;
    request->config = NULL;
    if (request->mistakes)
        request->mistakes->fresh = false;
    *result = (struct api_result){0};
    *err = (struct api_error){0};
    return request->route->handler->open(request, result, err);
}

/* Notes a failure, unless the binding of parameters has. False: the last one has been found. */
static bool note(struct api_request *request, struct api_opened *before, struct api_error *err)
{
    const struct api_error found = *err;

    if (request->mistakes && request->mistakes->fresh)
        return request->mistakes->more == 0;
    if (!counts(request, err))
        return false;
    if (is_consequence(request->mistakes, err))
        return err->status == API_MISSING && mend(request, before, &found);
    return api_mistake_note(request, NULL, err) == API_OK && mend(request, before, &found);
}

/* In other spellings the request may be right: false where it is not, with its failure in err. */
static bool spelled_again(struct api_request *request, struct api_result *result,
                          const struct api_opened *before, struct api_error *err)
{
    for (int round = 0; round < SPELLINGS_MAX && api_is_mistake(api_failed(err)); round++) {
        request->json = before->json;
        if (!api_spellings_mend(request, err))
            return false;
        request->mistakes = NULL;
        open_again(request, result, before, err);
    }
    return !api_is_mistake(api_failed(err));
}

void api_survey(struct api_request *request, struct api_result *result, struct api_opened *before,
                struct api_error *err)
{
    const char *method = request->route->method;

    if (!api_is_mistake(api_failed(err)) ||
        (strcmp(method, "GET") != 0 && strcmp(method, "POST") != 0) ||
        spelled_again(request, result, before, err) || request->body_size > BODY_MAX)
        return;
    for (size_t round = 0; round < ROUNDS_MAX && note(request, before, err); round++)
        if (open_again(request, result, before, err) == API_OK)
            break;
    if (api_failed(err) == API_OUT_OF_MEMORY || !request->mistakes || request->mistakes->count == 0)
        return;
    *err = (struct api_error){0};
    api_mistakes_first(request->mistakes, err);
}
