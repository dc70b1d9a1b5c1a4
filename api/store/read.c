/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/memory/json_parse.h"
#include "api/store/disk.h"

/* Reading versions. Whatever the files say is checked: others may have written or damaged them. */

enum { TEXT_MAX = 4096 };

/* ---- versions in memory --------------------------------------------------------------------- */

void api_stored_table_drop(const struct api_stored_table *shared)
{
    struct api_stored_table *table = (struct api_stored_table *)shared;

    if (!table || atomic_fetch_sub(&table->users, 1) > 1)
        return;
    api_memory_give(table->memory, table->tensor.data, table->room);
    api_memory_unpin(table->memory, table->size);
    free(table);
}

/* A version of a tensor's dtype and shape, whose elements are yet to be filled in. */
static enum api_status table_new(struct api_stored_table **out, struct api_memory *memory,
                                 const char *name, const struct pe_tensor *tensor,
                                 struct api_error *err)
{
    struct api_stored_table *table = calloc(1, sizeof(*table));
    size_t elements, size;

    *out = NULL;
    if (!table || !pe_shape_elements(tensor->shape, tensor->rank, &elements) ||
        !pe_size_multiply(elements, pe_dtype_info(tensor->dtype)->size, &size)) {
        free(table);
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the table %s", name);
    }
    if (!api_memory_pin(memory, size)) {
        free(table);
        return api_fail(err, API_BUSY, "",
                        "the table %s needs %zu bytes of --memory-budget, which others hold", name,
                        size);
    }
    snprintf(table->name, sizeof(table->name), "%s", name);
    table->tensor = *tensor;
    table->size = size;
    table->memory = memory;
    table->tensor.data = api_memory_take(memory, size, &table->room);
    if (!table->tensor.data) {
        api_memory_unpin(memory, size);
        free(table);
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the table %s", name);
    }
    atomic_init(&table->users, 1);
    *out = table;
    return API_OK;
}

static void elements_digest(struct api_stored_table *table)
{
    unsigned char digest[crypto_hash_sha256_BYTES];

    _Static_assert(sizeof(table->sha256) == 2 * sizeof(digest) + 1, "two digits a byte");
    crypto_hash_sha256(digest, table->tensor.data, table->size);
    sodium_bin2hex(table->sha256, sizeof(table->sha256), digest, sizeof(digest));
}

enum api_status api_stored_table_copy(struct api_stored_table **table, struct api_memory *memory,
                                      const char *name, const struct pe_tensor *tensor,
                                      struct api_error *err)
{
    if (table_new(table, memory, name, tensor, err))
        return api_failed(err);
    memcpy((*table)->tensor.data, tensor->data, (*table)->size);
    elements_digest(*table);
    return API_OK;
}

/* ---- files ---------------------------------------------------------------------------------- */

static bool bytes_read(int file, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        const ssize_t got = read(file, at, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

/* Opens a file of a version; -1: it is not there, or not a plain file. */
static int file_open(const char *folder, const char *name, uint64_t version, const char *file,
                     uint64_t *size)
{
    char path[4096];
    struct stat status;
    int handle;

    if (snprintf(path, sizeof(path), "%s/%s/%" PRIu64 "/%s", folder, name, version, file) >=
        (int)sizeof(path))
        return -1;
    handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (handle < 0)
        return -1;
    if (fstat(handle, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(handle);
        return -1;
    }
    *size = (uint64_t)status.st_size;
    return handle;
}

static bool shape_read(const json_t *json, struct pe_tensor *tensor)
{
    tensor->rank = 2;
    for (size_t i = 0; i < 2; i++) {
        const json_t *length = json_array_get(json, i);
        if (!json_is_integer(length) || json_integer_value(length) < 1)
            return false;
        tensor->shape[i] = (size_t)json_integer_value(length);
    }
    return json_array_size(json) == 2;
}

/* Reads dtype, shape and SHA-256 of the elements from meta.json. */
static bool meta_read(const char *folder, const char *name, uint64_t version,
                      struct pe_tensor *tensor, char *sha256)
{
    uint64_t size = 0;
    const int file = file_open(folder, name, version, "meta.json", &size);
    struct api_error ignored = {0};
    char text[TEXT_MAX];
    const char *sum, *dtype;
    bool good = false;
    json_t *json;

    if (file < 0)
        return false;
    if (size <= TEXT_MAX && bytes_read(file, text, size) &&
        (json = api_json_parse(text, size, "", &ignored))) {
        sum = json_string_value(json_object_get(json, "sha256"));
        dtype = json_string_value(json_object_get(json, "dtype"));
        good = sum && strlen(sum) == API_SHA256_TEXT - 1 && dtype &&
               pe_dtype_find(dtype, &tensor->dtype) && pe_dtype_is_float(tensor->dtype) &&
               shape_read(json_object_get(json, "shape"), tensor);
        if (good)
            strcpy(sha256, sum);
        json_decref(json);
    }
    close(file);
    return good;
}

/* Does the header of a safetensors file say the same as meta.json? Leaves the file at the
 * elements. */
static bool header_agrees(int file, uint64_t size, const struct api_stored_table *table)
{
    unsigned char length_bytes[8];
    struct pe_tensor tensor = {0};
    struct api_error ignored = {0};
    uint64_t length = 0;
    char text[TEXT_MAX];
    const char *dtype;
    json_t *json, *entry;
    bool good;

    if (!bytes_read(file, length_bytes, sizeof(length_bytes)))
        return false;
    for (size_t i = 8; i-- > 0;)
        length = length << 8 | length_bytes[i];
    if (length > TEXT_MAX || size != 8 + length + table->size || !bytes_read(file, text, length))
        return false;
    json = api_json_parse(text, length, "", &ignored);
    entry = json_object_get(json, "table");
    dtype = json_string_value(json_object_get(entry, "dtype"));
    good = dtype && strcmp(dtype, pe_dtype_info(table->tensor.dtype)->safetensors) == 0 &&
           shape_read(json_object_get(entry, "shape"), &tensor) &&
           memcmp(tensor.shape, table->tensor.shape, 2 * sizeof(*tensor.shape)) == 0;
    json_decref(json);
    return good;
}

static bool elements_read(const char *folder, struct api_stored_table *table, const char *sha256)
{
    uint64_t size = 0;
    const int file = file_open(folder, table->name, table->version, "table.safetensors", &size);
    bool good;

    if (file < 0)
        return false;
    good = header_agrees(file, size, table) && bytes_read(file, table->tensor.data, table->size);
    close(file);
    if (!good)
        return false;
    elements_digest(table);
    return strcmp(table->sha256, sha256) == 0;
}

/* Is the file of elements as long as meta.json says? Asked before memory is taken for them. */
static bool size_is_plausible(const char *folder, const char *name, uint64_t version,
                              const struct pe_tensor *tensor)
{
    uint64_t size = 0;
    const int file = file_open(folder, name, version, "table.safetensors", &size);
    size_t elements, bytes;

    if (file >= 0)
        close(file);
    return file >= 0 && pe_shape_elements(tensor->shape, 2, &elements) &&
           pe_size_multiply(elements, pe_dtype_info(tensor->dtype)->size, &bytes) && bytes < size;
}

enum api_status api_disk_read(const char *folder, struct api_memory *memory, const char *name,
                              uint64_t version, struct api_stored_table **out,
                              struct api_error *err)
{
    struct pe_tensor tensor = {0};
    char sha256[API_SHA256_TEXT];
    struct api_stored_table *table;
    struct pe_error fault = {0};

    *out = NULL;
    if (!meta_read(folder, name, version, &tensor, sha256) ||
        !size_is_plausible(folder, name, version, &tensor))
        return api_fail(err, API_INTERNAL, "parameter:table",
                        "version %" PRIu64 " of the table %s is damaged on disk", version, name);
    if (table_new(&table, memory, name, &tensor, err))
        return api_failed(err);
    table->version = version;
    if (elements_read(folder, table, sha256) &&
        pe_table_check(&table->tensor, "", NULL, &fault) == PE_OK) {
        *out = table;
        return API_OK;
    }
    api_stored_table_drop(table);
    return api_fail(err, API_INTERNAL, "parameter:table",
                    "version %" PRIu64 " of the table %s is damaged on disk", version, name);
}
