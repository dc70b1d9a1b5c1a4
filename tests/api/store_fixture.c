/* SPDX-License-Identifier: MIT */
#include "tests/api/store_fixture.h"

char folder[64];
int reported;

void folder_make(void)
{
    snprintf(folder, sizeof(folder), "/tmp/posenc-tables-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void folder_remove(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

char *file_path(const char *rest)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, rest);
    return path;
}

void file_put(const char *rest, const char *text)
{
    FILE *file = fopen(file_path(rest), "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void log_count(void *context, const char *text)
{
    (void)context;
    reported += strstr(text, " of the table ") != NULL;
}

static struct api *service_make(bool writes)
{
    struct api_settings settings = settings_make();

    settings.tables = folder;
    settings.anonymous_writes = writes;
    settings.host.log = log_count;
    reported = 0;
    return api_make(&settings);
}

struct api *stored_make(void)
{
    return service_make(true);
}

struct api *reader_make(void)
{
    return service_make(false);
}

size_t file_make(char *out, size_t rows, float first)
{
    const size_t length =
        (size_t)sprintf(out + 8,
                        "{\"e\":{\"dtype\":\"F32\",\"shape\":[%zu,2],\"data_offsets\":"
                        "[0,%zu]}}",
                        rows, 8 * rows);

    memset(out, 0, 8);
    out[0] = (char)length;
    for (size_t i = 0; i < 2 * rows; i++) {
        const float value = first + (float)i;
        memcpy(out + 8 + length + 4 * i, &value, 4);
    }
    return 8 + length + 8 * rows;
}

int put(struct api *api, const char *name, size_t rows, float first, const char *headers)
{
    char body[4096], target[128];
    const size_t size = file_make(body, rows, first);

    snprintf(target, sizeof(target), "/v1/encodings/%s", name);
    struct answer answer = call_bytes(api, "PUT", target, headers, body, size);
    const int status = answer.status;
    answer_free(&answer);
    return status;
}

int status_of(struct api *api, const char *method, const char *target, const char *headers)
{
    struct answer answer = call(api, method, target, headers, NULL);
    const int status = answer.status;

    answer_free(&answer);
    return status;
}
