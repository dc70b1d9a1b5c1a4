/* SPDX-License-Identifier: MIT */
#include "api/memory/json_parse.h"

#include <string.h>

/* Nanoseconds of a value that is read and given back, about. */
enum { VALUE_WORK = 100 };

/* The text on its way to jansson, which asks for a kilobyte at a time. */
struct feeding {
    const struct api_json_text *text;
    const char *at;
    size_t left;
    uint64_t values;
    bool in_string, escaped, opened; /* opened: by the last character that is no blank */
    bool has_ended, has_too_many;
    json_error_t *fault;
};

/* Counts values: each comma stands between two, and each list or object that is not empty has one
 * more than commas. */
static void values_count(struct feeding *feeding, const char *at, size_t size)
{
    for (const char *end = at + size; at < end; at++) {
        const char c = *at;
        if (feeding->in_string) {
            feeding->in_string = feeding->escaped || c != '"';
            feeding->escaped = !feeding->escaped && c == '\\';
            continue;
        }
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
            continue;
        feeding->values += c == ',' || (feeding->opened && c != ']' && c != '}');
        feeding->opened = c == '[' || c == '{';
        feeding->in_string = c == '"';
    }
}

/* jansson takes SIZE_MAX for the end of the text: it then finds a fault, which is not looked at. */
static size_t feed(void *buffer, size_t room, void *context)
{
    struct feeding *feeding = context;
    size_t size;

    feeding->has_ended = pe_work_ended(feeding->text->work);
    if (feeding->left == 0)
        feeding->at = feeding->text->next(feeding->text->context, &feeding->left);
    if (feeding->has_ended || !feeding->at)
        return feeding->has_ended ? SIZE_MAX : 0;
    size = feeding->left < room ? feeding->left : room;
    values_count(feeding, feeding->at, size);
    feeding->has_too_many =
        feeding->text->values_max > 0 && feeding->values > feeding->text->values_max;
    if (feeding->has_too_many)
        return SIZE_MAX;
    memcpy(buffer, feeding->at, size);
    feeding->at += size;
    feeding->left -= size;
    return size;
}

static void refuse(const struct feeding *feeding, const char *what, struct pe_error *err)
{
    if (feeding->has_ended)
        pe_fail(err, PE_INTERNAL, "", "the work ended while %s was read", what);
    else if (feeding->has_too_many)
        pe_fail(err, PE_TOO_LARGE, "",
                "%s has more than %llu values outside of lists of numbers, the value of "
                "--json-values-max; send lists of finite numbers alone, or npy or safetensors",
                what, (unsigned long long)feeding->text->values_max);
    else if (api_json_memory_is_over())
        pe_fail(err, PE_TOO_LARGE, "",
                "%s takes more than %llu MiB outside of lists of numbers; send npy or safetensors",
                what, (unsigned long long)(API_JSON_TREE_MAX >> 20));
    else if (api_json_memory_failed())
        pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to read %s", what);
}

static json_t *parse(void *context)
{
    struct feeding *feeding = context;

    return json_load_callback(feed, feeding, JSON_REJECT_DUPLICATES, feeding->fault);
}

json_t *api_json_parse_runs(const struct api_json_text *text, const char *what, json_error_t *fault,
                            struct pe_error *err)
{
    struct feeding feeding = {.text = text, .fault = fault};
    json_t *json;

    api_json_memory_init();
    api_json_memory_limit(API_JSON_TREE_MAX);
    json = api_json_memory_try(parse, &feeding);
    refuse(&feeding, what, err);
    if (!err->status)
        pe_work_spend(text->work, feeding.values * VALUE_WORK, err);
    if (err->status == PE_TOO_LARGE)
        api_json_memory_reset(); /* no shortage: the limit was meant to refuse */
    api_json_memory_limit(0);
    if (err->status) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

/* ---- a text of one run ----------------------------------------------------------------------- */

struct run {
    const char *at;
    size_t size;
};

static const char *run_next(void *context, size_t *size)
{
    struct run *run = context;
    const char *at = run->size > 0 ? run->at : NULL;

    *size = run->size;
    run->size = 0;
    return at;
}

json_t *api_json_parse_limited(const char *bytes, size_t size, const char *where,
                               uint64_t values_max, struct pe_work *work, struct pe_error *err)
{
    struct run run = {bytes, size};
    const struct api_json_text text = {run_next, &run, values_max, work};
    json_error_t fault;
    json_t *json = api_json_parse_runs(&text, "the JSON text", &fault, err);

    if (!json && !err->status)
        pe_fail(err, PE_MALFORMED, where, "the JSON text cannot be read at line %d, column %d: %s",
                fault.line, fault.column, fault.text);
    return json;
}

json_t *api_json_parse(const char *bytes, size_t size, const char *where, struct pe_error *err)
{
    api_json_memory_reset();
    return api_json_parse_limited(bytes, size, where, 0, NULL, err);
}
