/* SPDX-License-Identifier: MIT */
#include "core/config/gguf_file.h"

#include <string.h>

#include "core/base/errors.h"

/* Parses the head of a GGUF file without copying. Every length is checked against the bytes left
 * before it is used. */

enum {
    HEAD_SIZE = 24,            /* magic, version, two counts */
    KEY_MAX = 65535,           /* bytes, by the format */
    KEY_LEAST = 8 + 1 + 4 + 1, /* of a key and its value */
    INFO_LEAST = 8 + 4 + 4 + 8,
    RANK_MAX = 4,
    ALIGNMENT = 32,        /* unless general.alignment says otherwise */
    TENSORS_MAX = 1 << 18, /* that are searched: 10 ms; files have some thousands */
};

/* Approximate nanoseconds of a key, and of a text and of a number in an array. */
enum { KEY_COST = 60, TEXT_COST = 4, NUMBER_COST = 2, TEXTS = 1 << 12 };

/* Bytes of a type; 0: variable. */
static const unsigned char sizes[PE_GGUF_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* The position of the parser; `at` never passes the end. */
struct cursor {
    const unsigned char *at, *end;
};

/* Little-endian; the caller has checked that `size` bytes are left. */
static uint64_t integer_read(const unsigned char *at, size_t size)
{
    uint64_t value = 0;

    while (size > 0)
        value = value << 8 | at[--size];
    return value;
}

static bool take(struct cursor *cursor, uint64_t size, const unsigned char **at)
{
    if (size > (uint64_t)(cursor->end - cursor->at))
        return false;
    *at = cursor->at;
    cursor->at += size;
    return true;
}

static bool integer_take(struct cursor *cursor, size_t size, uint64_t *value)
{
    const unsigned char *at;

    if (!take(cursor, size, &at))
        return false;
    *value = integer_read(at, size);
    return true;
}

static bool text_take(struct cursor *cursor, struct pe_gguf_text *text)
{
    const unsigned char *at;
    uint64_t size;

    if (!integer_take(cursor, 8, &size) || !take(cursor, size, &at))
        return false;
    *text = (struct pe_gguf_text){(const char *)at, (size_t)size};
    return true;
}

bool pe_gguf_text_is(struct pe_gguf_text text, const char *is)
{
    return strlen(is) == text.size && memcmp(text.at, is, text.size) == 0;
}

/* ---- the first bytes ------------------------------------------------------------------------- */

enum pe_status pe_gguf_open(struct pe_gguf *file, const void *bytes, size_t size,
                            struct pe_error *err)
{
    const unsigned char *head = bytes;
    uint64_t version;

    if (size < HEAD_SIZE || memcmp(head, "GGUF", 4) != 0)
        return pe_fail(err, PE_INVALID, "config",
                       "a GGUF file begins with GGUF and has 24 bytes at least, these are %zu",
                       size);
    version = integer_read(head + 4, 4);
    if (version != 2 && version != 3)
        return pe_fail(err, PE_INVALID, "config",
                       "GGUF versions 2 and 3 are read, little-endian; this is version %llu%s",
                       (unsigned long long)version,
                       version > 0xffff ? ", or written big-endian" : "");
    *file = (struct pe_gguf){.bytes = bytes,
                             .size = size,
                             .tensors = integer_read(head + 8, 8),
                             .keys = integer_read(head + 16, 8),
                             .metadata = HEAD_SIZE,
                             .alignment = ALIGNMENT};
    return PE_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Skips the elements of an array of texts. */
static bool texts_skip(struct cursor *cursor, uint64_t count, struct pe_work *work,
                       struct pe_error *err)
{
    struct pe_gguf_text text;

    for (uint64_t i = 0; i < count; i++)
        if (!text_take(cursor, &text) ||
            (i % TEXTS == TEXTS - 1 && pe_work_spend(work, TEXTS * TEXT_COST, err)))
            return false;
    return true;
}

static bool array_take(struct cursor *cursor, struct pe_gguf_value *value, struct pe_work *work,
                       struct pe_error *err)
{
    uint64_t type, count;

    if (!integer_take(cursor, 4, &type) || !integer_take(cursor, 8, &count))
        return false;
    if (type >= PE_GGUF_TYPES || type == PE_GGUF_ARRAY) {
        pe_fail(err, PE_INVALID, "config", "a GGUF array of type %llu is not read",
                (unsigned long long)type);
        return false;
    }
    *value = (struct pe_gguf_value){
        .type = (enum pe_gguf_type)type, .is_array = true, .count = count, .at = cursor->at};
    if (type == PE_GGUF_STRING)
        return texts_skip(cursor, count, work, err);
    return count <= (uint64_t)(cursor->end - cursor->at) / sizes[type] &&
           take(cursor, count * sizes[type], &value->at) &&
           !pe_work_spend(work, count * NUMBER_COST, err);
}

/* False: the bytes end first, or err has the reason. */
static bool value_take(struct cursor *cursor, struct pe_gguf_value *value, struct pe_work *work,
                       struct pe_error *err)
{
    uint64_t type;

    if (!integer_take(cursor, 4, &type))
        return false;
    if (type >= PE_GGUF_TYPES) {
        pe_fail(err, PE_INVALID, "config", "a GGUF value has no type %llu",
                (unsigned long long)type);
        return false;
    }
    *value = (struct pe_gguf_value){.type = (enum pe_gguf_type)type};
    if (type == PE_GGUF_ARRAY)
        return array_take(cursor, value, work, err);
    if (type == PE_GGUF_STRING)
        return text_take(cursor, &value->text);
    return take(cursor, sizes[type], &value->at);
}

/* Keys are reported to people and become names of JSON. */
static bool is_plain(struct pe_gguf_text key)
{
    for (size_t i = 0; i < key.size; i++)
        if (key.at[i] < '!' || key.at[i] > '~')
            return false;
    return key.size > 0 && key.size <= KEY_MAX;
}

static enum pe_status cut_fail(uint64_t key, uint64_t keys, struct pe_error *err)
{
    return pe_fail(err, PE_INVALID, "config",
                   "the GGUF file ends within its metadata, at key %llu of %llu; send more of it",
                   (unsigned long long)(key + 1), (unsigned long long)keys);
}

static void alignment_read(struct pe_gguf *file, struct pe_gguf_text key,
                           const struct pe_gguf_value *value)
{
    if (pe_gguf_text_is(key, "general.alignment") && value->type == PE_GGUF_U32 && !value->is_array)
        file->alignment = (size_t)integer_read(value->at, 4);
}

enum pe_status pe_gguf_keys(struct pe_gguf *file,
                            enum pe_status (*each)(void *context, struct pe_gguf_text key,
                                                   const struct pe_gguf_value *value,
                                                   struct pe_error *err),
                            void *context, struct pe_work *work, struct pe_error *err)
{
    struct cursor cursor = {file->bytes + file->metadata, file->bytes + file->size};

    if (file->keys > (file->size - file->metadata) / KEY_LEAST)
        return cut_fail((file->size - file->metadata) / KEY_LEAST, file->keys, err);
    for (uint64_t i = 0; i < file->keys; i++) {
        struct pe_gguf_value value;
        struct pe_gguf_text key;
        if (pe_work_spend(work, KEY_COST, err))
            return err->status;
        if (!text_take(&cursor, &key))
            return cut_fail(i, file->keys, err);
        if (!is_plain(key))
            return pe_fail(err, PE_INVALID, "config", "key %llu of the GGUF file is no plain text",
                           (unsigned long long)(i + 1));
        if (!value_take(&cursor, &value, work, err))
            return err->status ? err->status : cut_fail(i, file->keys, err);
        alignment_read(file, key, &value);
        if (each(context, key, &value, err))
            return err->status;
    }
    file->infos = (size_t)(cursor.at - file->bytes);
    return PE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* The dtype of a type of ggml, as ggml.h numbers them; false: a type that is not read. */
static bool dtype_find(uint64_t type, enum pe_dtype *dtype)
{
    static const struct {
        uint64_t type;
        enum pe_dtype dtype;
    } rows[] = {{0, PE_F32}, {1, PE_F16}, {28, PE_F64}, {30, PE_BF16}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].type == type) {
            *dtype = rows[i].dtype;
            return true;
        }
    return false;
}

static bool info_take(struct cursor *cursor, struct pe_gguf_tensor *tensor)
{
    uint64_t rank, type;

    if (!text_take(cursor, &tensor->name) || !integer_take(cursor, 4, &rank) || rank > RANK_MAX)
        return false;
    for (uint64_t axis = 0; axis < rank; axis++)
        if (!integer_take(cursor, 8, &tensor->count))
            return false;
    if (!integer_take(cursor, 4, &type) || !integer_take(cursor, 8, &tensor->offset))
        return false;
    tensor->is_list = rank == 1 && dtype_find(type, &tensor->dtype);
    return true;
}

/* Sets tensor->at. The data begin after the list of tensors, so the rest of it is skipped. */
static void data_find(const struct pe_gguf *file, struct cursor cursor, uint64_t left,
                      struct pe_gguf_tensor *tensor)
{
    struct pe_gguf_tensor other;
    size_t begin, size;

    if (left > TENSORS_MAX)
        return;
    for (; left > 0; left--)
        if (!info_take(&cursor, &other))
            return;
    begin = (size_t)(cursor.at - file->bytes);
    if (file->alignment == 0 || begin > SIZE_MAX - file->alignment)
        return;
    begin = (begin + file->alignment - 1) / file->alignment * file->alignment;
    size = begin < file->size ? file->size - begin : 0;
    if (tensor->offset <= size &&
        tensor->count <= (size - tensor->offset) / pe_dtype_info(tensor->dtype)->size)
        tensor->at = file->bytes + begin + tensor->offset;
}

bool pe_gguf_tensor(const struct pe_gguf *file, const char *name, struct pe_gguf_tensor *tensor,
                    bool *complete)
{
    struct cursor cursor = {file->bytes + file->infos, file->bytes + file->size};

    *complete = true;
    for (uint64_t i = 0; i < file->tensors; i++) {
        *tensor = (struct pe_gguf_tensor){0};
        if (i == TENSORS_MAX || (uint64_t)(cursor.end - cursor.at) < INFO_LEAST ||
            !info_take(&cursor, tensor)) {
            *complete = false;
            return false;
        }
        if (!pe_gguf_text_is(tensor->name, name))
            continue;
        if (tensor->is_list)
            data_find(file, cursor, file->tensors - i - 1, tensor);
        return true;
    }
    return false;
}

/* ---- numbers --------------------------------------------------------------------------------- */

double pe_gguf_factor(const struct pe_gguf_tensor *tensor, uint64_t index)
{
    const size_t size = pe_dtype_info(tensor->dtype)->size;
    _Alignas(double) unsigned char bytes[sizeof(double)];
    double number;

    memcpy(bytes, tensor->at + index * size, size);
    pe_to_f64(&number, bytes, tensor->dtype, 1);
    return number;
}

static double real_read(const unsigned char *at, size_t size)
{
    const uint64_t bits = integer_read(at, size);
    const uint32_t low = (uint32_t)bits;
    double wide;
    float narrow;

    if (size == sizeof(narrow)) {
        memcpy(&narrow, &low, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

static bool is_signed(enum pe_gguf_type type)
{
    return type == PE_GGUF_I8 || type == PE_GGUF_I16 || type == PE_GGUF_I32 || type == PE_GGUF_I64;
}

bool pe_gguf_number(const struct pe_gguf_value *value, uint64_t index,
                    struct pe_config_value *number)
{
    const size_t size = sizes[value->type];
    const unsigned char *at;
    uint64_t bits;

    if (size == 0)
        return false;
    at = value->at + (value->is_array ? index * size : 0);
    *number = (struct pe_config_value){.kind = PE_CONFIG_NUMBER};
    if (value->type == PE_GGUF_F32 || value->type == PE_GGUF_F64) {
        number->as.number = real_read(at, size);
        return true;
    }
    bits = integer_read(at, size);
    if (value->type == PE_GGUF_BOOL) {
        *number = (struct pe_config_value){PE_CONFIG_BOOL, {.truth = bits != 0}};
        return true;
    }
    if (is_signed(value->type) && size < 8 && bits >> (8 * size - 1))
        bits |= ~(uint64_t)0 << (8 * size);
    if (value->type == PE_GGUF_U64 && bits > INT64_MAX) {
        number->as.number = (double)bits;
        return true;
    }
    *number = (struct pe_config_value){PE_CONFIG_INTEGER, {.integer = (int64_t)bits}};
    return true;
}
