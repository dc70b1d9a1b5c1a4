/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>

#include "tests/api/store_fixture.h"
#include "tests/check_main.h"

/* Several services on one folder, as several processes are: one writes and the others read; and the
 * files that a killed writer leaves behind. */

static void shell(const char *line)
{
    char command[512];

    snprintf(command, sizeof(command), "cd %s && %s", folder, line);
    ck_assert_int_eq(system(command), 0);
}

/* The names in a folder below the tables, in order, each followed by a blank. */
static void listing_expect(const char *rest, const char *expected)
{
    struct dirent **entries;
    char names[512] = "";
    const int count = scandir(file_path(rest), &entries, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
            strcat(strcat(names, entries[i]->d_name), " ");
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    ck_assert_str_eq(names, expected);
}

static double first_of(struct api *api, const char *target)
{
    struct answer answer = call(api, "GET", target, NULL, NULL);
    ck_assert_msg(answer.status == 200, "%s: %d %s", target, answer.status, (char *)answer.body);
    const double value = json_number_value(member(&answer, "tensors.table.data.0.0"));
    answer_free(&answer);
    return value;
}

/* A second writer does not start; the sentence names the folder and the way to read it. */
static void start_refused(const char *sentence)
{
    struct api_settings settings = settings_make();
    struct pe_error err = {0};
    struct api *api;

    settings.tables = folder;
    settings.anonymous_writes = true;
    ck_assert_int_eq(api_new(&api, &settings, &err), PE_INVALID);
    ck_assert_ptr_null(api);
    ck_assert_msg(strstr(err.detail, sentence) && strstr(err.detail, folder) &&
                      strstr(err.detail, "to only read, start without --token-file"),
                  "%s", err.detail);
}

TEST(test_one_writes)
{
    folder_make();
    struct api *writer = stored_make(), *reader = reader_make();
    start_refused("another process writes to");
    ck_assert_int_eq(put(writer, "a", 2, 1, NULL), 201);
    struct answer answer = call(reader, "DELETE", "/v1/encodings/a", NULL, NULL);
    ck_assert_int_eq(answer.status, 403);
    ck_assert_str_eq(member_text(&answer, "code"), "writes-disabled");
    answer_free(&answer);
    ck_assert_int_eq(put(reader, "a", 2, 77, NULL), 403);
    api_scan(reader);
    ck_assert_double_eq(first_of(reader, "/v1/encodings/a/table?length=1"), 1);

    /* The next writer begins with the tables that the last one stored. */
    ck_assert_int_eq(put(writer, "a", 2, 5, NULL), 200);
    api_free(writer);
    writer = stored_make();
    ck_assert_double_eq(first_of(writer, "/v1/encodings/a/table?length=1"), 5);
    ck_assert_int_eq(put(writer, "a", 2, 6, "If-None-Match: *"), 412);
    ck_assert_int_eq(put(writer, "a", 2, 6, NULL), 200);
    listing_expect("a", "1 2 3 ");
    api_free(writer);
    api_free(reader);
    folder_remove();
}

static void *free_soon(void *api)
{
    usleep(300000);
    api_free(api);
    return NULL;
}

/* A writer that ends within a second is waited for, as at a restart. */
TEST(test_restart)
{
    pthread_t thread;

    folder_make();
    struct api *first = stored_make();
    ck_assert_int_eq(put(first, "a", 2, 1, NULL), 201);
    ck_assert_int_eq(pthread_create(&thread, NULL, free_soon, first), 0);
    struct api *second = stored_make();
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(put(second, "a", 2, 2, NULL), 200);
    api_free(second);
    folder_remove();
}

/* A folder whose lock file cannot be opened is not written to. */
TEST(test_no_lock)
{
    folder_make();
    shell("mkdir .writer");
    start_refused("cannot be locked for writing: ");
    struct api *reader = reader_make();
    ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings", NULL), 200);
    api_free(reader);
    folder_remove();
}

TEST(test_child_of_a_writer)
{
    int status;

    folder_make();
    struct api *api = stored_make();
    const pid_t child = fork();
    if (child == 0)
        _exit(put(api, "a", 2, 1, NULL) == 403 ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(put(api, "a", 2, 1, NULL), 201);
    api_free(api);
    folder_remove();
}

TEST(test_one_mark_a_name)
{
    folder_make();
    struct api *api = stored_make();
    for (int turn = 0; turn < 5; turn++) {
        ck_assert_int_eq(put(api, "a", 2, 1, NULL), 201);
        ck_assert_int_eq(put(api, "a", 2, 2, NULL), 200);
        ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/a", NULL), 204);
    }
    listing_expect("a", "10.deleted ");
    listing_expect("a/10.deleted", "");
    api_free(api);
    folder_remove();
}

/* The files left at any moment of a kill -9, by this release or an older one. */
TEST(test_left_by_a_kill)
{
    folder_make();
    struct api *api = stored_make();
    for (int version = 1; version <= 3; version++)
        ck_assert_int_eq(put(api, "a", 2, (float)version, NULL), version == 1 ? 201 : 200);
    ck_assert_int_eq(put(api, "b", 2, 7, NULL), 201);
    ck_assert_int_eq(put(api, "c", 2, 8, NULL), 201);
    shell("mkdir -p d/.new-1 a/.new a/1.deleted a/3.deleted && touch d/.new-1/meta.json "
          "a/.new/meta.json "
          "a/3.deleted/meta.json a/1.deleted/table.safetensors && rm a/2/meta.json");
    shell("mv b/1 b/1.deleted");
    struct api *reader = reader_make();
    for (int name = 'a'; name <= 'd'; name++) {
        char target[64];
        snprintf(target, sizeof(target), "/v1/encodings/%c/table?length=1", name);
        ck_assert_int_eq(status_of(reader, "GET", target, NULL), name == 'c' ? 200 : 404);
    }
    ck_assert_int_eq(reported, 0);
    api_free(reader);
    api_free(api);
    api = stored_make();
    listing_expect("", ".writer a b c ");
    listing_expect("a", "3.deleted ");
    listing_expect("a/3.deleted", "");
    listing_expect("b/1.deleted", "");
    ck_assert_int_eq(put(api, "a", 2, 9, NULL), 201);
    ck_assert_int_eq(put(api, "b", 2, 9, NULL), 201);
    listing_expect("a", "3.deleted 4 ");
    listing_expect("b", "1.deleted 2 ");
    api_free(api);
    folder_remove();
}

/* A version that a reader has read, and its writer removed and wrote again under its number. */
TEST(test_version_taken_back)
{
    folder_make();
    struct api *api = stored_make(), *reader = reader_make();
    ck_assert_int_eq(put(api, "a", 2, 1, NULL), 201);
    ck_assert_int_eq(put(api, "b", 2, 2, NULL), 201);
    api_scan(reader);
    shell("rm -r a/1 && cp -r b/1 a/1");
    api_scan(reader);
    ck_assert_double_eq(first_of(reader, "/v1/encodings/a/table?length=1"), 2);

    /* A table stays in memory if its file is damaged later. */
    shell("echo > a/1/table.safetensors");
    api_scan(reader);
    api_scan(reader);
    ck_assert_int_eq(reported, 1);
    ck_assert_double_eq(first_of(reader, "/v1/encodings/a/table?length=1"), 2);
    api_free(api);
    api_free(reader);
    folder_remove();
}
