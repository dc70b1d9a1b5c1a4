/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/resource.h>
#include <time.h>

#include "api/memory/budget.h"
#include "api/request/request.h"
#include "tests/api/store_fixture.h"
#include "tests/check_main.h"

/* Stored tables while descriptors, memory or the disk fail, and how often tables are hashed. This
 * program replaces functions of the C library, so that folders fail on request. */

static const char *failing; /* the end of the path of a folder that cannot be opened */
static int failing_number;
static int failing_reads; /* readdir fails after so many entries; 0: never */
static bool interrupts;   /* each other read and write is interrupted, the others do a few bytes */
static size_t interrupted;
static size_t hashed; /* SHA-256 calls for more bytes than a token has */

DIR *opendir(const char *path)
{
    const size_t length = strlen(path), end = failing ? strlen(failing) : 0;

    if (failing && length >= end && strcmp(path + length - end, failing) == 0) {
        errno = failing_number;
        return NULL;
    }
    return ((__typeof__(&opendir))dlsym(RTLD_NEXT, "opendir"))(path);
}

struct dirent *readdir(DIR *list)
{
    if (failing_reads > 0 && --failing_reads == 0) {
        errno = EIO;
        return NULL;
    }
    return ((__typeof__(&readdir))dlsym(RTLD_NEXT, "readdir"))(list);
}

/* The size of this call; 0: it is interrupted. */
static size_t part_of(size_t size)
{
    static bool turn;

    if (!interrupts)
        return size;
    turn = !turn;
    interrupted += turn;
    errno = turn ? EINTR : errno;
    return turn ? 0 : size < 7 ? size : 7;
}

ssize_t read(int file, void *bytes, size_t size)
{
    const size_t part = part_of(size);

    return size > 0 && part == 0 ? -1
                                 : ((__typeof__(&read))dlsym(RTLD_NEXT, "read"))(file, bytes, part);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    const size_t part = part_of(size);

    return size > 0 && part == 0
               ? -1
               : ((__typeof__(&write))dlsym(RTLD_NEXT, "write"))(file, bytes, part);
}

int crypto_hash_sha256(unsigned char *out, const unsigned char *in, unsigned long long size)
{
    hashed += size >= 16;
    return ((__typeof__(&crypto_hash_sha256))dlsym(RTLD_NEXT, "crypto_hash_sha256"))(out, in, size);
}

static void pause_wait(void)
{
    usleep(600000); /* the first pause before a name is read again */
}

/* Waits for the first half of a second of the clock. */
static void half_second_wait(void)
{
    struct timespec now;

    for (;;) {
        clock_gettime(CLOCK_REALTIME, &now);
        if (now.tv_nsec < 500000000)
            break;
        usleep((useconds_t)(1000000 - now.tv_nsec / 1000));
    }
}

/* Lets no descriptor be opened; 0: ends that. Returns the limit before. */
static void descriptors_limit(bool none)
{
    static rlim_t usual;
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    usual = none ? limit.rlim_cur : usual;
    limit.rlim_cur = none ? 0 : usual;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The number of tables in the list; -1: it is refused. */
static int listed(struct api *api)
{
    struct answer list = call(api, "GET", "/v1/encodings", NULL, NULL);
    const int count = list.status == 200 ? (int)json_array_size(member(&list, "tables")) : -1;

    if (list.status != 200) {
        ck_assert_int_eq(list.status, 503);
        ck_assert_str_eq(answer_header(&list, "Retry-After"), "1");
    }
    answer_free(&list);
    return count;
}

static int rows_status(struct api *api, const char *name, int rows)
{
    char target[96];

    snprintf(target, sizeof(target), "/v1/encodings/%s/table?length=%d", name, rows);
    return status_of(api, "GET", target, NULL);
}

TEST(test_descriptors)
{
    folder_make();
    struct api *writer = stored_make(), *reader = reader_make();
    ck_assert_int_eq(put(writer, "a", 2, 1, NULL), 201);
    api_scan(reader);
    ck_assert_int_eq(put(writer, "a", 3, 2, NULL), 200);
    ck_assert_int_eq(put(writer, "b", 2, 1, NULL), 201);

    descriptors_limit(true);
    api_scan(reader);
    api_scan(reader);
    const int reader_a = rows_status(reader, "a", 2), reader_b = rows_status(reader, "b", 2),
              older = status_of(writer, "GET", "/v1/encodings/a/table?length=1&version=1", NULL),
              putting = put(writer, "a", 2, 3, NULL),
              deleting = status_of(writer, "DELETE", "/v1/encodings/a", NULL),
              writer_a = rows_status(writer, "a", 3);
    struct api *late = reader_make();
    const int late_a = rows_status(late, "a", 3), late_list = listed(late),
              reader_list = listed(reader);
    descriptors_limit(false);

    ck_assert_int_eq(reader_a, 200);
    ck_assert_int_eq(reader_b, 503);
    ck_assert_int_eq(older, 503);
    ck_assert_int_eq(putting, 503);
    ck_assert_int_eq(deleting, 503);
    ck_assert_int_eq(writer_a, 200);
    ck_assert_int_eq(late_a, 503);
    ck_assert_int_eq(late_list, -1);
    ck_assert_int_eq(reader_list, 1);
    ck_assert_int_eq(status_of(late, "GET", "/v1/encodings?family=rotary", NULL), 200);
    pause_wait();
    api_scan(reader);
    api_scan(late);
    ck_assert_int_eq(rows_status(reader, "a", 3), 200);
    ck_assert_int_eq(rows_status(reader, "b", 2), 200);
    ck_assert_int_eq(rows_status(reader, "c", 2), 404);
    ck_assert_int_eq(rows_status(late, "a", 3), 200);
    ck_assert_int_eq(listed(late), 2);
    ck_assert_int_eq(status_of(writer, "GET", "/v1/encodings/a/table?length=2&version=1", NULL),
                     200);
    pause_wait();
    ck_assert_int_eq(put(writer, "a", 2, 3, NULL), 200);
    ck_assert_uint_eq(api_state_read(writer).tables_waiting, 0);
    api_free(late);
    api_free(reader);
    api_free(writer);
    folder_remove();
}

/* A call that a signal interrupts is made again, and one that did a part goes on behind it: every
 * table is stored and read as without signals. */
TEST(test_interrupted_calls)
{
    folder_make();
    interrupts = true;
    struct api *writer = stored_make();
    const int putting = put(writer, "a", 40, 1, NULL), again = put(writer, "a", 30, 2, NULL);
    const size_t before = interrupted;
    struct api *reader = reader_make();
    const int latest = rows_status(reader, "a", 30),
              older = status_of(reader, "GET", "/v1/encodings/a/table?length=40&version=1", NULL);
    interrupts = false;

    ck_assert_int_eq(putting, 201);
    ck_assert_int_eq(again, 200);
    ck_assert_uint_gt(before, 40);
    ck_assert_uint_gt(interrupted, before + 40);
    ck_assert_int_eq(latest, 200);
    ck_assert_int_eq(older, 200);
    ck_assert_uint_eq(api_state_read(reader).tables_damaged, 0);
    ck_assert_uint_eq(api_state_read(reader).tables_waiting, 0);
    api_free(reader);
    api_free(writer);
    folder_remove();
}

/* While the folder of one name cannot be read, the others are served, and that one is neither
 * damaged nor gone. */
TEST(test_folder_of_a_name)
{
    static const int numbers[] = {EMFILE, ENFILE, ENOMEM, EIO, EACCES};

    folder_make();
    struct api *writer = stored_make();
    ck_assert_int_eq(put(writer, "a", 2, 1, NULL), 201);
    ck_assert_int_eq(put(writer, "b", 2, 1, NULL), 201);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        failing = "/a";
        failing_number = numbers[i];
        struct api *reader = reader_make();
        api_scan(reader);
        ck_assert_int_eq(reported, 1);
        ck_assert_int_eq(rows_status(reader, "a", 2), 503);
        ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings/a", NULL), 503);
        ck_assert_int_eq(rows_status(reader, "b", 2), 200);
        ck_assert_int_eq(rows_status(reader, "c", 2), 404);
        ck_assert_uint_eq(api_state_read(reader).tables_waiting, 1);
        struct answer list = call(reader, "GET", "/v1/encodings", NULL, NULL);
        ck_assert(json_is_true(member(&list, "tables.0.waits")));
        ck_assert_uint_eq(json_array_size(member(&list, "tables.0.versions")), 0);
        ck_assert_ptr_null(member(&list, "tables.0.version"));
        ck_assert_str_eq(member_text(&list, "tables.1.name"), "b");
        answer_free(&list);
        ck_assert_int_eq(put(writer, "a", 2, 2, NULL), 503);
        ck_assert_int_eq(status_of(writer, "DELETE", "/v1/encodings/a", NULL), 503);
        ck_assert_int_eq(rows_status(writer, "a", 2), 200);
        failing = NULL;
        api_reload(reader);
        ck_assert_int_eq(rows_status(reader, "a", 2), 200);
        ck_assert_uint_eq(api_state_read(reader).tables_waiting, 0);
        api_free(reader);
    }
    ck_assert_int_ne(access(file_path("a/1"), F_OK), -1);
    api_free(writer);
    folder_remove();
}

/* A list of names or versions that cannot be read to its end is not used. */
TEST(test_half_a_list)
{
    folder_make();
    struct api *writer = stored_make();
    ck_assert_int_eq(put(writer, "a", 2, 1, NULL), 201);
    for (int version = 2; version < 8; version++)
        ck_assert_int_eq(put(writer, "a", 2, (float)version, NULL), 200);
    for (int entries = 1; entries < 14; entries++) {
        struct api *reader = reader_make();
        failing_reads = entries;
        struct api *late = reader_make();
        ck_assert_int_ne(listed(late), 0);
        api_free(late);
        failing_reads = entries;
        api_scan(reader);
        ck_assert_int_eq(listed(reader), 1);
        failing_reads = entries;
        ck_assert_int_ne(status_of(writer, "DELETE", "/v1/encodings/a", "If-Match: \"no\""), 204);
        failing_reads = 0;
        ck_assert_int_eq(rows_status(reader, "a", 2), 200);
        ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings/a/table?length=1&version=7", NULL),
                         200);
        api_free(reader);
    }
    api_free(writer);
    folder_remove();
}

TEST(test_budget_is_short)
{
    struct api_settings settings = settings_make();

    folder_make();
    struct api *writer = stored_make();
    ck_assert_int_eq(put(writer, "a", 300, 1, NULL), 201);
    settings.tables = folder;
    settings.limits.memory_budget = 1 << 20;
    struct api *reader = api_make(&settings);
    ck_assert_int_eq(put(writer, "a", 400, 2, NULL), 200);
    ck_assert_int_eq(put(writer, "b", 400, 2, NULL), 201);
    const uint64_t others = (1 << 20) - 2400 - 1000;
    ck_assert(api_memory_reserve(reader->memory, others));
    api_scan(reader);
    api_memory_release(reader->memory, others);
    ck_assert_int_eq(rows_status(reader, "a", 300), 200);
    ck_assert_int_eq(rows_status(reader, "b", 1), 503);
    ck_assert_uint_eq(api_state_read(reader).tables_damaged, 0);
    ck_assert_uint_eq(api_state_read(reader).tables_waiting, 2);
    struct answer answer = call(reader, "GET", "/v1/encodings", NULL, NULL);
    ck_assert(json_is_true(member(&answer, "tables.1.waits")));
    answer_free(&answer);
    pause_wait();
    api_scan(reader);
    ck_assert_int_eq(rows_status(reader, "a", 400), 200);
    ck_assert_int_eq(rows_status(reader, "b", 400), 200);
    api_free(reader);
    api_free(writer);
    folder_remove();
}

/* An older version is read for each request, and hashed unless its file was found undamaged. */
TEST(test_hashed_once)
{
    enum { VERSIONS = 70 }; /* more than are remembered */
    char target[160];

    folder_make();
    struct api *api = stored_make();
    ck_assert_int_eq(put(api, "a", 8, 1, NULL), 201);
    snprintf(target, sizeof(target), "cd %s/a && for i in $(seq 2 %d); do cp -r 1 $i; done", folder,
             VERSIONS);
    ck_assert_int_eq(system(target), 0);
    api_scan(api);
    hashed = 0;
    for (int version = 1; version < VERSIONS; version++)
        for (int length = 1; length <= 3; length++) {
            snprintf(target, sizeof(target), "/v1/encodings/a/table?length=%d&version=%d", length,
                     version);
            ck_assert_int_eq(status_of(api, "GET", target, NULL), 200);
        }
    ck_assert_uint_eq(hashed, VERSIONS - 1);
    ck_assert_int_eq(status_of(api, "GET", "/v1/encodings/a/table?length=4&version=1", NULL), 200);
    ck_assert_uint_eq(hashed, VERSIONS);

    /* One byte is changed, and the times are restored, in the second in which it was found
     * undamaged: only nanoseconds of the change differ. */
    struct stat before;
    const char *path = file_path("a/1/table.safetensors");
    const int file = open(path, O_RDWR);
    half_second_wait();
    fchmod(file, 0644);
    ck_assert_int_eq(status_of(api, "GET", "/v1/encodings/a/table?length=5&version=1", NULL), 200);
    ck_assert_int_eq(fstat(file, &before), 0);
    usleep(20000); /* the clock of files has ticks */
    ck_assert_int_eq(pwrite(file, "x", 1, before.st_size - 2), 1);
    futimens(file, (struct timespec[]){before.st_atim, before.st_mtim});
    close(file);
    ck_assert_int_eq(status_of(api, "GET", "/v1/encodings/a/table?length=6&version=1", NULL), 500);
    api_free(api);
    folder_remove();
}
