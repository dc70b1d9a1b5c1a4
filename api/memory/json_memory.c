/* SPDX-License-Identifier: MIT */
#include "api/memory/json_memory.h"

#include <pthread.h>
#include <stdlib.h>

static _Thread_local bool failed;

static void *take(size_t size)
{
    void *memory = malloc(size);

    if (!memory)
        failed = true;
    return memory;
}

static void set_once(void)
{
    json_set_alloc_funcs(take, free);
}

void api_json_memory_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_once);
}

void api_json_memory_reset(void)
{
    failed = false;
}

bool api_json_memory_failed(void)
{
    return failed;
}

json_t *api_json_parse(const char *text, size_t size, const char *where, struct api_error *err)
{
    json_error_t error;
    json_t *json;

    api_json_memory_init();
    api_json_memory_reset();
    json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (api_json_memory_failed()) {
        json_decref(json);
        api_fail(err, API_OUT_OF_MEMORY, where, "no memory to read the JSON text");
        return NULL;
    }
    if (!json)
        api_fail(err, API_MALFORMED, where,
                 "the JSON text cannot be read at line %d, column %d: %s", error.line, error.column,
                 error.text);
    return json;
}
