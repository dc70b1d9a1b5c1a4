/* SPDX-License-Identifier: MIT */
#include "tests/api/store_fixture.h"
#include "tests/check_main.h"

/* What is read back from disk, what is wrong with it, and how much of it there may be. */

/* Every byte of both files changed, and both cut anywhere: never another table, never a crash. */
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
            OWNED_API other = stored_make();
            const int status = status_of(other, "GET", "/v1/encodings/a/table?length=2", NULL);
            ck_assert_msg(status == 200 || status == 500, "%zu of %s: %d", at, files[f], status);
            ck_assert_int_eq(told, status == 500);
            refused += status == 500;
            if (status == 200) { /* what is not looked at: a name, blanks */
                OWNED_ANSWER answer =
                    call(other, "GET", "/v1/encodings/a/table?length=2", NULL, NULL);
                ck_assert_double_eq(member_number(&answer, "tensors.table.data.1.1"), 4);
            }
            ck_assert_int_eq(status_of(other, "GET", "/v1/encodings/b/table?length=2", NULL), 200);
        }
        file = fopen(file_path(files[f]), "w");
        fwrite(whole, 1, size, file);
        fclose(file);
    }
    printf("%zu damaged files, %zu of them refused\n", cases, refused);
    ck_assert_uint_gt(refused, cases * 3 / 4);
    api_free(api);

    /* A PUT mends it. */
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

/* Others store and delete in the folder; half-written things are nothing. */
TEST(test_scan)
{
    folder_make();
    struct api *writer = stored_make(), *reader = stored_make();

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
    ck_assert_int_eq(told, 0);
    ck_assert_int_eq(status_of(reader, "GET", "/v1/encodings/half", NULL), 404);
    api_free(writer);
    ck_assert_int_eq(access(file_path("half/.new"), F_OK), 0);
    api_tend(reader);
    ck_assert_int_ne(access(file_path("half"), F_OK), 0); /* the next writer clears it away */
    api_free(reader);
    folder_remove();
}

/* What is stored makes the budget less, up to half of it. */
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
