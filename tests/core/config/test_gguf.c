/* SPDX-License-Identifier: MIT */

/* The head of a GGUF file in memory that ends where the file does: the next byte is in a page that
 * cannot be read, so that one element too many ends the program, sanitizer or not. */

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/config/gguf_file.h"
#include "tests/check_main.h"

enum { FILE_MAX = 4096, F32 = 0, F16 = 1, ALIGNED = 32 };

static unsigned char written[FILE_MAX];
static size_t size;

/* ---- a file ---------------------------------------------------------------------------------- */

static void bytes_add(const void *bytes, size_t count)
{
    ck_assert_uint_le(size + count, FILE_MAX);
    memcpy(written + size, bytes, count);
    size += count;
}

static void whole_add(uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        bytes_add(&(unsigned char){(unsigned char)(value >> (8 * i))}, 1);
}

static void text_add(const char *text)
{
    whole_add(strlen(text), 8);
    bytes_add(text, strlen(text));
}

static void head_add(uint64_t tensors, uint64_t keys)
{
    size = 0;
    bytes_add("GGUF", 4);
    whole_add(3, 4);
    whole_add(tensors, 8);
    whole_add(keys, 8);
}

static void tensor_add(const char *name, uint64_t count, uint32_t type, uint64_t offset)
{
    text_add(name);
    whole_add(1, 4);
    whole_add(count, 8);
    whole_add(type, 4);
    whole_add(offset, 8);
}

/* The bytes before an unreadable page. */
static const unsigned char *at_the_end(const unsigned char *bytes, size_t count)
{
    static unsigned char *pages;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (FILE_MAX / page + 1) * page;

    if (!pages) {
        pages = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert(pages != MAP_FAILED);
        ck_assert_int_eq(mprotect(pages + room, page, PROT_NONE), 0);
    }
    return memcpy(pages + room - count, bytes, count);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static enum pe_status ignore(void *context, struct pe_gguf_text key,
                             const struct pe_gguf_value *value, struct pe_error *err)
{
    (void)context, (void)key, (void)value, (void)err;
    return PE_OK;
}

static struct pe_gguf opened(const unsigned char *bytes, size_t count)
{
    struct pe_error err = {0};
    struct pe_gguf file;

    ck_assert(!pe_gguf_open(&file, bytes, count, &err));
    ck_assert_msg(!pe_gguf_keys(&file, ignore, NULL, NULL, &err), "%s", err.detail);
    return file;
}

static double sum_of(const struct pe_gguf_tensor *tensor)
{
    const struct pe_gguf_value numbers = {
        .type = PE_GGUF_F32, .is_array = true, .count = tensor->count, .at = tensor->at};
    double sum = 0;

    for (uint64_t i = 0; i < tensor->count; i++) {
        struct pe_config_value number;
        ck_assert(pe_gguf_number(&numbers, i, &number));
        sum += number.as.number;
    }
    return sum;
}

/* A tensor of `count` numbers at `offset`, of data that have `there` of them: it is read where all
 * its numbers are there, and is not read where its begin or its end lies behind them. */
static void tensor_check(uint64_t count, uint64_t offset, size_t there)
{
    const bool fits = offset <= 4 * there && count <= there - offset / 4 && offset % 4 == 0;
    struct pe_gguf_tensor tensor;
    bool whole;

    head_add(2, 0);
    tensor_add("other", 1, F16, 7);
    tensor_add("factors", count, F32, offset);
    while (size % ALIGNED)
        whole_add(0, 1);
    for (size_t i = 0; i < there; i++) {
        const float number = (float)(i + 1);
        bytes_add(&number, sizeof(number));
    }
    const struct pe_gguf file = opened(at_the_end(written, size), size);
    ck_assert(pe_gguf_tensor(&file, "factors", &tensor, &whole) && whole);
    ck_assert(tensor.is_list && tensor.count == count);
    ck_assert_msg((tensor.at != NULL) == fits, "%llu numbers from byte %llu of %zu numbers: %sread",
                  (unsigned long long)count, (unsigned long long)offset, there,
                  tensor.at ? "" : "not ");
    if (tensor.at) {
        const double first = (double)(offset / 4) + 1, last = first + (double)count - 1;
        ck_assert_double_eq(sum_of(&tensor), (first + last) * (double)count / 2);
    }
}

TEST(tensors_within_the_data)
{
    static const uint64_t far[] = {UINT64_MAX, UINT64_MAX - 3, UINT64_MAX / 4, UINT64_C(1) << 62};

    for (size_t there = 0; there <= 12; there++)
        for (uint64_t begin = 0; begin <= there + 1; begin++)
            for (uint64_t count = 0; count <= there + 1; count++)
                tensor_check(count, 4 * begin, there);
    for (size_t i = 0; i < COUNT_OF(far); i++) {
        tensor_check(far[i], 4, 8);
        tensor_check(1, far[i] & ~UINT64_C(3), 8);
        tensor_check(far[i], far[i] & ~UINT64_C(3), 8);
    }
}

/* Another tensor that comes before or behind it, of other types and ranks, moves the data. */
TEST(tensor_of_its_name)
{
    for (size_t place = 0; place < 4; place++) {
        struct pe_gguf_tensor tensor;
        bool whole;
        char name[20];

        head_add(4, 0);
        for (size_t i = 0; i < 4; i++) {
            snprintf(name, sizeof(name), "tensor%.*zu", (int)i, i);
            tensor_add(i == place ? "factors" : name, 2, i == place ? F32 : F16, 4 * i);
        }
        while (size % ALIGNED)
            whole_add(0, 1);
        for (size_t i = 0; i < 5; i++) {
            const float number = (float)(10 * i);
            bytes_add(&number, sizeof(number));
        }
        const struct pe_gguf file = opened(at_the_end(written, size), size);
        ck_assert(pe_gguf_tensor(&file, "factors", &tensor, &whole) && whole && tensor.at);
        ck_assert_double_eq(sum_of(&tensor), (double)(10 * place + 10 * (place + 1)));
        ck_assert(!pe_gguf_tensor(&file, "factor", &tensor, &whole) && whole);
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

struct seen {
    size_t keys;
    double sum;
};

static enum pe_status note(void *context, struct pe_gguf_text key,
                           const struct pe_gguf_value *value, struct pe_error *err)
{
    struct pe_config_value number;
    struct seen *seen = context;

    (void)key, (void)err;
    seen->keys++;
    for (uint64_t i = 0; i < (value->is_array ? value->count : 1); i++)
        if (pe_gguf_number(value, i, &number))
            seen->sum += number.kind == PE_CONFIG_INTEGER ? (double)number.as.integer
                         : number.kind == PE_CONFIG_BOOL  ? number.as.truth
                                                          : number.as.number;
    return PE_OK;
}

/* A key of each type of number, a text, and arrays of all of them, each number being 1. */
static void keys_add(void)
{
    static const unsigned char one_f32[] = {0, 0, 0x80, 0x3f},
                               one_f64[] = {0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

    head_add(0, 2 * (COUNT_OF(sizes) - 1));
    for (size_t is_array = 0; is_array < 2; is_array++)
        for (uint32_t type = 0; type < PE_GGUF_TYPES; type++) {
            if (type == PE_GGUF_ARRAY)
                continue;
            text_add("key");
            whole_add(is_array ? PE_GGUF_ARRAY : type, 4);
            if (is_array) {
                whole_add(type, 4);
                whole_add(3, 8);
            }
            for (size_t i = 0; i < (is_array ? 3 : 1); i++)
                if (type == PE_GGUF_STRING)
                    text_add("1");
                else if (type == PE_GGUF_F32)
                    bytes_add(one_f32, sizeof(one_f32));
                else if (type == PE_GGUF_F64)
                    bytes_add(one_f64, sizeof(one_f64));
                else
                    whole_add(1, sizes[type]);
        }
}

/* Whole it is read, and every number of it; cut anywhere it is refused. */
TEST(keys_cut_anywhere)
{
    enum { TYPES = PE_GGUF_TYPES - 1 };

    keys_add();
    for (size_t cut = 24; cut <= size; cut++) {
        struct seen seen = {0};
        struct pe_error err = {0};
        struct pe_gguf file;

        ck_assert(!pe_gguf_open(&file, at_the_end(written, cut), cut, &err));
        const enum pe_status status = pe_gguf_keys(&file, note, &seen, NULL, &err);
        ck_assert_msg((status == PE_OK) == (cut == size), "cut at %zu of %zu: %s", cut, size,
                      err.detail);
        if (cut == size) {
            ck_assert_uint_eq(seen.keys, 2 * TYPES);
            ck_assert_double_eq(seen.sum, (TYPES - 1) * (1 + 3));
        }
    }
}

/* A file of one key, an array without its elements. */
static void array_add(uint32_t type, uint64_t count)
{
    head_add(0, 1);
    text_add("key");
    whole_add(PE_GGUF_ARRAY, 4);
    whole_add(type, 4);
    whole_add(count, 8);
}

/* Arrays whose count is one too large, or so large that its bytes overflow. */
TEST(arrays_past_the_end)
{
    static const uint64_t counts[] = {2,
                                      3,
                                      1 << 20,
                                      UINT64_MAX,
                                      UINT64_C(1) << 61,
                                      (UINT64_C(1) << 61) + 2,
                                      (UINT64_C(1) << 62) + 2};
    static const uint32_t types[] = {PE_GGUF_U64, PE_GGUF_F64, PE_GGUF_U32, PE_GGUF_STRING};

    for (size_t i = 0; i < COUNT_OF(counts) * COUNT_OF(types); i++) {
        const uint64_t count = counts[i / COUNT_OF(types)];
        const uint32_t type = types[i % COUNT_OF(types)];
        struct pe_error err = {0};
        struct pe_gguf file;

        array_add(type, count);
        whole_add(0, 8);
        if (type != PE_GGUF_U32)
            whole_add(0, 8);
        ck_assert(!pe_gguf_open(&file, at_the_end(written, size), size, &err));
        const enum pe_status status = pe_gguf_keys(&file, ignore, NULL, NULL, &err);
        ck_assert_msg((status == PE_OK) == (count == 2), "%llu of type %u: %s",
                      (unsigned long long)count, type, err.detail);
    }
}

/* A key may have as many bytes as the format says, and no more. */
TEST(longest_key)
{
    enum { LONGEST = 65535 };
    static unsigned char bytes[LONGEST + 100];

    for (size_t length = LONGEST - 1; length <= LONGEST + 1; length++) {
        struct pe_error err = {0};
        struct pe_gguf file;
        head_add(0, 1);
        whole_add(length, 8);
        memcpy(bytes, written, size);
        memset(bytes + size, 'x', length);
        const size_t before = size;
        whole_add(PE_GGUF_U8, 4);
        whole_add(1, 1);
        memcpy(bytes + before + length, written + before, size - before);
        ck_assert(!pe_gguf_open(&file, bytes, size + length, &err));
        ck_assert_int_eq(pe_gguf_keys(&file, ignore, NULL, NULL, &err),
                         length <= LONGEST ? PE_OK : PE_INVALID);
    }
}

/* Operations counted for an array of zeros, or of empty texts. */
static uint64_t work_of(uint32_t type, size_t count)
{
    struct pe_error err = {0};
    struct pe_work *work;
    struct pe_gguf file;

    array_add(type, count);
    OWNED_MEMORY unsigned char *bytes = calloc(size + count * 8, 1);
    memcpy(bytes, written, size);
    ck_assert(!pe_work_new(&work, NULL, &err));
    ck_assert(!pe_gguf_open(&file, bytes, size + count * 8, &err));
    ck_assert(!pe_gguf_keys(&file, ignore, NULL, work, &err));
    const uint64_t operations = pe_work_operations(work);
    pe_work_free(work);
    return operations;
}

/* Elements of an array are counted, some nanoseconds each. */
TEST(work_grows_with_arrays)
{
    enum { MANY = 1 << 14, COST_MAX = 100 };

    for (uint32_t type = 0; type < PE_GGUF_TYPES; type++) {
        if (type == PE_GGUF_ARRAY)
            continue;
        const uint64_t few = work_of(type, MANY), many = work_of(type, 2 * MANY);
        ck_assert_msg(many >= few + MANY && many <= few + (uint64_t)COST_MAX * MANY,
                      "arrays of type %u: %llu and %llu", type, (unsigned long long)few,
                      (unsigned long long)many);
    }
}
