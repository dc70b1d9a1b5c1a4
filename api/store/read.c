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

#include "api/base/system.h"
#include "api/base/wraps.h"
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

/* How a reading ended. READ_LATER: it cannot be done now; errno says why. */
enum reading { READ_WHOLE, READ_DAMAGED, READ_LATER };

static enum reading bytes_read(int file, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        const ssize_t got = read(file, at, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? READ_DAMAGED : READ_LATER;
        at += got;
        size -= (size_t)got;
    }
    return READ_WHOLE;
}

/* Opens a file of a version. READ_DAMAGED: it is not there, or not a plain file. */
static enum reading file_open(const char *folder, const char *name, uint64_t version,
                              const char *file, int *handle, struct api_file_id *id)
{
    char path[API_DISK_PATH], part[32];
    struct stat status;

    snprintf(part, sizeof(part), "%" PRIu64, version);
    if (!api_disk_path(path, folder, name, part, file))
        return READ_DAMAGED;
    *handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*handle < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO
                   ? READ_DAMAGED
                   : READ_LATER;
    const bool told = fstat(*handle, &status) == 0;
    if (told && S_ISREG(status.st_mode)) {
        *id = api_file_id_of(&status);
        return READ_WHOLE;
    }
    const int number = errno;
    close(*handle);
    errno = number;
    return told ? READ_DAMAGED : READ_LATER;
}

/* Parses a text of a version. */
static enum reading text_parse(const char *text, size_t size, json_t **json)
{
    struct api_error err = {0};

    *json = api_json_parse(text, size, "", &err);
    if (*json)
        return READ_WHOLE;
    errno = ENOMEM;
    return api_failed(&err) == API_OUT_OF_MEMORY ? READ_LATER : READ_DAMAGED;
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

static bool meta_take(const json_t *json, struct pe_tensor *tensor, char *sha256)
{
    const char *sum = json_string_value(json_object_get(json, "sha256"));
    const char *dtype = json_string_value(json_object_get(json, "dtype"));

    if (!sum || strlen(sum) != API_SHA256_TEXT - 1 || !dtype ||
        !pe_dtype_find(dtype, &tensor->dtype) || !pe_dtype_is_float(tensor->dtype) ||
        !shape_read(json_object_get(json, "shape"), tensor))
        return false;
    strcpy(sha256, sum);
    return true;
}

/* Reads dtype, shape and SHA-256 of the elements from meta.json. */
static enum reading meta_read(const char *folder, const char *name, uint64_t version,
                              struct pe_tensor *tensor, char *sha256)
{
    struct api_file_id id;
    char text[TEXT_MAX];
    int file;
    enum reading reading = file_open(folder, name, version, "meta.json", &file, &id);
    json_t *json = NULL;

    if (reading)
        return reading;
    reading = id.size <= TEXT_MAX ? bytes_read(file, text, id.size) : READ_DAMAGED;
    close(file);
    if (reading == READ_WHOLE)
        reading = text_parse(text, id.size, &json);
    if (reading == READ_WHOLE && !meta_take(json, tensor, sha256))
        reading = READ_DAMAGED;
    json_decref(json);
    return reading;
}

/* Does the header of a safetensors file say the same as meta.json? Leaves the file at the
 * elements. */
API_WRAPS("counts down past 0")
static enum reading header_read(int file, uint64_t size, const struct api_stored_table *table)
{
    unsigned char length_bytes[8];
    struct pe_tensor tensor = {0};
    uint64_t length = 0;
    char text[TEXT_MAX];
    const char *dtype;
    json_t *json, *entry;
    enum reading reading = bytes_read(file, length_bytes, sizeof(length_bytes));

    if (reading)
        return reading;
    for (size_t i = 8; i-- > 0;)
        length = length << 8 | length_bytes[i];
    if (length > TEXT_MAX || size != 8 + length + table->size)
        return READ_DAMAGED;
    reading = bytes_read(file, text, length);
    if (reading || (reading = text_parse(text, length, &json)))
        return reading;
    entry = json_object_get(json, "table");
    dtype = json_string_value(json_object_get(entry, "dtype"));
    if (!dtype || strcmp(dtype, pe_dtype_info(table->tensor.dtype)->safetensors) != 0 ||
        !shape_read(json_object_get(entry, "shape"), &tensor) ||
        memcmp(tensor.shape, table->tensor.shape, 2 * sizeof(*tensor.shape)) != 0)
        reading = READ_DAMAGED;
    json_decref(json);
    return reading;
}

/* Are the elements those whose digest is `sha256`, and finite? checked: a file that was found to be
 * so before. */
static enum reading elements_check(struct api_stored_table *table, const char *sha256,
                                   const struct api_checked *checked)
{
    struct pe_error fault = {0};

    if (checked && strcmp(checked->sha256, sha256) == 0 &&
        memcmp(&checked->file, &table->file, sizeof(table->file)) == 0) {
        strcpy(table->sha256, sha256);
        return READ_WHOLE;
    }
    elements_digest(table);
    return strcmp(table->sha256, sha256) == 0 &&
                   pe_table_check(&table->tensor, "", NULL, &fault) == PE_OK
               ? READ_WHOLE
               : READ_DAMAGED;
}

static enum reading elements_read(const char *folder, struct api_stored_table *table,
                                  const char *sha256, const struct api_checked *checked)
{
    int file;
    enum reading reading =
        file_open(folder, table->name, table->version, "table.safetensors", &file, &table->file);

    if (reading)
        return reading;
    reading = header_read(file, table->file.size, table);
    if (reading == READ_WHOLE)
        reading = bytes_read(file, table->tensor.data, table->size);
    close(file);
    return reading ? reading : elements_check(table, sha256, checked);
}

/* Is the file of elements as long as meta.json says? Asked before memory is taken for them. */
static enum reading size_check(const char *folder, const char *name, uint64_t version,
                               const struct pe_tensor *tensor)
{
    struct api_file_id id;
    size_t elements, bytes;
    int file;
    const enum reading reading = file_open(folder, name, version, "table.safetensors", &file, &id);

    if (reading)
        return reading;
    close(file);
    return pe_shape_elements(tensor->shape, 2, &elements) &&
                   pe_size_multiply(elements, pe_dtype_info(tensor->dtype)->size, &bytes) &&
                   bytes < id.size
               ? READ_WHOLE
               : READ_DAMAGED;
}

static enum api_status reading_tell(enum reading reading, const char *name, uint64_t version,
                                    struct api_error *err)
{
    char reason[128];
    const char *why = api_errno_text(errno, reason, sizeof(reason));

    if (reading == READ_LATER)
        return api_fail(err, API_BUSY, "",
                        "version %" PRIu64 " of the table %s cannot be read now: %s", version, name,
                        why);
    return api_fail(err, API_INTERNAL, "parameter:table",
                    "version %" PRIu64 " of the table %s is damaged on disk", version, name);
}

enum api_status api_disk_read(const char *folder, struct api_memory *memory, const char *name,
                              uint64_t version, const struct api_checked *checked,
                              struct api_stored_table **out, struct api_error *err)
{
    struct pe_tensor tensor = {0};
    char sha256[API_SHA256_TEXT];
    struct api_stored_table *table;
    enum reading reading = meta_read(folder, name, version, &tensor, sha256);

    *out = NULL;
    if (reading == READ_WHOLE)
        reading = size_check(folder, name, version, &tensor);
    if (reading)
        return reading_tell(reading, name, version, err);
    if (table_new(&table, memory, name, &tensor, err))
        return api_failed(err);
    table->version = version;
    reading = elements_read(folder, table, sha256, checked);
    if (reading == READ_WHOLE) {
        *out = table;
        return API_OK;
    }
    reading_tell(reading, name, version, err);
    api_stored_table_drop(table);
    return api_failed(err);
}
