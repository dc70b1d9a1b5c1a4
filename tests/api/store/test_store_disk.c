/* SPDX-License-Identifier: MIT */
#include "tests/api/store_fixture.h"
#include "tests/check_main.h"

/* Reading tables from disk, damage, and the limits of versions and memory. */

/* With any byte of the files changed, a file cut anywhere, or bytes behind its end, no other table
 * is read. */
TEST(test_damage)
{
    static const char *const files[] = {"a/1/meta.json", "a/1/table.safetensors"};
    char whole[4096];
    size_t cases = 0, refused = 0;

    folder_make();
    struct api *api = stored_make();
    ck_assert_int_eq(put(api, "a", 2, 1, NULL), 201);
    ck_assert_int_eq(put(api, "b", 2, 1, NULL), 201);
    for (size_t f = 0; f < 2; f++) {
        FILE *file = fopen(file_path(files[f]), "r");
        const size_t size = fread(whole, 1, sizeof(whole), file);
        fclose(file);
        for (size_t at = 0; at < 2 * size; at++, cases++) {
            file = fopen(file_path(files[f]), "w");
            whole[at % size] ^= at < size ? 0x11 : 0;
            fwrite(whole, 1, at < size ? size : at - size, file);
            whole[at % size] ^= at < size ? 0x11 : 0;
            fclose(file);
            OWNED_API other = reader_make();
            const int status = status_of(other, "GET", "/v1/encodings/a/table?length=2", NULL);
            ck_assert_msg(status == 200 || status == 500, "%zu of %s: %d", at, files[f], status);
            ck_assert_int_eq(reported, status == 500);
            refused += status == 500;
            if (status == 200) { /* bytes that are not read: a name, blanks */
                OWNED_ANSWER answer =
                    call(other, "GET", "/v1/encodings/a/table?length=2", NULL, NULL);
                ck_assert_double_eq(member_number(&answer, "tensors.table.data.1.1"), 4);
            }
            ck_assert_int_eq(status_of(other, "GET", "/v1/encodings/b/table?length=2", NULL), 200);
        }
        for (size_t more = 1; more <= 9; more++, cases++) { /* bytes behind the end */
            file = fopen(file_path(files[f]), "w");
            fwrite(whole, 1, size, file);
            fwrite("xxxxxxxxx", 1, more, file);
            fclose(file);
            OWNED_API other = reader_make();
            ck_assert_int_eq(status_of(other, "GET", "/v1/encodings/a/table?length=2", NULL), 500);
            refused++;
        }
        file = fopen(file_path(files[f]), "w");
        fwrite(whole, 1, size, file);
        fclose(file);
    }
    printf("%zu damaged files, %zu of them refused\n", cases, refused);
    ck_assert_uint_gt(refused, cases * 3 / 4);
    api_free(api);

    /* A PUT replaces it. */
    file_put("a/1/meta.json", "{}");
    api = stored_make();
    struct answer answer = call(api, "GET", "/v1/encodings/a", NULL, NULL);
    ck_assert(json_is_true(member(&answer, "damaged")));
    answer_free(&answer);
    ck_assert_int_eq(put(api, "a", 2, 5, NULL), 201);
    ck_assert_int_eq(status_of(api, "GET", "/v1/encodings/a/table?length=2", NULL), 200);
    api_free(api);
    folder_remove();
}

static void fifo_make(const char *path)
{
    ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void folder_in_place(const char *path)
{
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void loop_make(const char *path)
{
    ck_assert_int_eq(symlink(path, path), 0);
}

static void nothing_make(const char *path)
{
    (void)path;
}

/* What is no plain file is damage, which is reported once: a reader neither waits nor tries again.
 */
TEST(test_no_plain_file)
{
    static void (*const makes[])(const char *) = {fifo_make, folder_in_place, loop_make,
                                                  nothing_make};
    static const char *const files[] = {"a/1/meta.json", "a/1/table.safetensors"};

    for (size_t i = 0; i < 8; i++) {
        folder_make();
        api_free(stored_make());
        struct api *api = stored_make();
        ck_assert_int_eq(put(api, "a", 2, 1, NULL), 201);
        ck_assert_int_eq(unlink(file_path(files[i % 2])), 0);
        makes[i / 2](file_path(files[i % 2]));
        OWNED_API reader = reader_make();
        ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings/a/table?length=2", NULL), 500);
        OWNED_ANSWER entry = call(reader, "GET", "/v1/encodings/a", NULL, NULL);
        ck_assert(json_is_true(member(&entry, "damaged")));
        ck_assert_int_eq(reported, 1);
        api_free(api);
        folder_remove();
    }
}

/* Other processes store and delete in the folder; half-written tables are ignored. */
TEST(test_scan)
{
    folder_make();
    struct api *writer = stored_make(), *reader = reader_make();

    ck_assert_int_eq(put(writer, "a", 2, 1, NULL), 201);
    ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings/a/table?length=2", NULL), 404);
    api_scan(reader);
    ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings/a/table?length=2", NULL), 200);
    ck_assert_int_eq(put(writer, "a", 3, 1, NULL), 200);
    api_scan(reader);
    ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings/a/table?length=3", NULL), 200);
    ck_assert_int_eq(status_of(writer, "DELETE", "/v1/encodings/a", NULL), 204);
    api_scan(reader);
    ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings/a/table?length=2", NULL), 404);
    ck_assert_int_eq(mkdir(file_path("half"), 0755) | mkdir(file_path("half/.new"), 0755), 0);
    file_put("half/.new/table.safetensors", "half");
    api_scan(reader);
    ck_assert_int_eq(reported, 0);
    ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings/half", NULL), 404);
    api_free(writer);
    api_free(reader);
    ck_assert_int_eq(access(file_path("half/.new"), F_OK), 0);
    api_free(stored_make());
    ck_assert_int_ne(access(file_path("half"), F_OK), 0); /* the next writer removes it */
    folder_remove();
}

/* The latest version of a, by its entry, its table and its deletion. */
static void version_check(struct api *api, double version)
{
    char target[64];
    OWNED_ANSWER entry = call(api, "GET", "/v1/encodings/a", NULL, NULL);

    ck_assert_double_eq(member_number(&entry, "version"), version);
    snprintf(target, sizeof(target), "/v1/encodings/a/table?length=2&version=%.0f", version);
    ck_assert_int_eq(status_of(api, "GET", target, NULL), 200);
    ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/a", NULL), 204);
    ck_assert_int_eq(status_of(api, "GET", "/v1/encodings/a", NULL), 404);
}

/* The smallest and largest version numbers, and numbers beyond: a number never wraps. */
TEST(test_largest_version)
{
    static const struct {
        const char *part;
        int status;   /* of the next PUT */
        double taken; /* its version */
        bool reported;
    } parts[] = {
        {"1", 200, 2, false},
        {"9007199254740990", 200, 0x1p53 - 1, false},
        {"9007199254740991", 507, 0, false},
        {"9007199254740992", 201, 1, true},
        {"9223372036854775807", 201, 1, true},
        {"18446744073709551615", 201, 1, true},
        {"18446744073709551616", 201, 1, true},
        {"99999999999999999999999999", 201, 1, true},
        {"1.deleted", 201, 2, false},
        {"9007199254740990.deleted", 201, 0x1p53 - 1, false},
        {"9007199254740991.deleted", 507, 0, false},
        {"18446744073709551615.deleted", 201, 1, true},
        {"99999999999999999999999999.deleted", 201, 1, true},
        {"0", 201, 1, false},
        {"01", 201, 1, false},
        {"-1", 201, 1, false},
        {"1x", 201, 1, false},
        {"18446744073709551615x", 201, 1, false},
    };
    char target[64], path[128];

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        folder_make();
        struct api *api = stored_make();
        ck_assert_int_eq(put(api, "a", 2, 1, NULL), 201);
        snprintf(path, sizeof(path), "%s", file_path("a/1"));
        snprintf(target, sizeof(target), "a/%s", parts[i].part);
        ck_assert_int_eq(rename(path, file_path(target)), 0);
        api_free(api);
        api = stored_make();
        ck_assert_msg(reported == parts[i].reported, "%s: reported %d", parts[i].part, reported);
        for (int k = 0; k < 3; k++)
            api_scan(api);
        ck_assert_int_eq(reported, parts[i].reported); /* once */
        const int status = put(api, "a", 2, 7, NULL);
        ck_assert_msg(status == parts[i].status, "%s: %d", parts[i].part, status);
        if (status != 507)
            version_check(api, parts[i].taken);
        api_free(api);
        folder_remove();
    }
}

static mode_t mode_of(const char *path)
{
    struct stat status;

    ck_assert_int_eq(stat(path, &status), 0);
    return status.st_mode & 07777;
}

/* Only the owner of the process can read the files of the store, with any umask. */
TEST(test_modes)
{
    static const mode_t masks[] = {0, 022, 077};
    static const struct {
        const char *path;
        mode_t mode;
    } parts[] = {{"a", 0700},
                 {"a/1", 0700},
                 {"a/1/table.safetensors", 0600},
                 {"a/1/meta.json", 0600},
                 {"a/2", 0700},
                 {"a/2/table.safetensors", 0600},
                 {"gone/1.deleted", 0700},
                 {".writer", 0600}};

    for (size_t m = 0; m < sizeof(masks) / sizeof(masks[0]); m++) {
        const mode_t before = umask(masks[m]);
        folder_make();
        struct api *api = stored_make();
        ck_assert_int_eq(put(api, "a", 2, 1, NULL), 201);
        ck_assert_int_eq(put(api, "a", 2, 2, NULL), 200);
        ck_assert_int_eq(put(api, "gone", 2, 2, NULL), 201);
        ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/gone", NULL), 204);
        umask(before);
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            ck_assert_msg(mode_of(file_path(parts[i].path)) == parts[i].mode, "%s is %04o",
                          parts[i].path, mode_of(file_path(parts[i].path)));
        api_free(api);
        folder_remove();
    }
}

/* Stored tables reduce the budget, up to half of it. */
TEST(test_budget)
{
    struct api_settings settings = settings_make();
    char name[8];
    int status = 201;
    size_t stored = 0;

    folder_make();
    settings.tables = folder;
    settings.anonymous_writes = true;
    settings.limits.memory_budget = 1 << 16;
    struct api *api = api_make(&settings);
    for (; status == 201; stored++) {
        snprintf(name, sizeof(name), "n%zu", stored);
        status = put(api, name, 200, (float)stored, NULL);
    }
    const struct api_state state = api_state_read(api);
    ck_assert_int_eq(status, 507);
    ck_assert_uint_eq(stored - 1, (1 << 15) / 1600);
    ck_assert_uint_eq(state.tables_size, (stored - 1) * 1600);
    ck_assert_uint_eq(state.memory_budget, (1 << 16) - state.tables_size);
    ck_assert_uint_eq(state.memory_held, 0);
    ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/n0", NULL), 204);
    ck_assert_int_eq(put(api, name, 200, 1, NULL), 201);
    api_free(api);
    folder_remove();
}
