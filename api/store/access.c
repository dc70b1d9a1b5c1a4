/* SPDX-License-Identifier: MIT */
#include "api/store/access.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef unsigned char digest[crypto_hash_sha256_BYTES];

struct api_access {
    char *file;
    pthread_mutex_t lock;
    digest *digests;
    size_t count;
};

enum api_status api_access_new(struct api_access **out, const char *file, struct api_error *err)
{
    struct api_access *access = calloc(1, sizeof(*access));

    *out = NULL;
    if (!access || (file && !(access->file = strdup(file)))) {
        free(access);
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the tokens");
    }
    access->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    *out = access;
    return api_access_reload(access, err);
}

void api_access_free(struct api_access *access)
{
    if (!access)
        return;
    pthread_mutex_destroy(&access->lock);
    free(access->digests);
    free(access->file);
    free(access);
}

/* One token a line, blanks around it left out. */
static bool tokens_read(FILE *file, digest **digests, size_t *count)
{
    char *line = NULL;
    size_t room = 0;
    bool good = true;

    while (good && getline(&line, &room, file) >= 0) {
        char *token = line + strspn(line, " \t\r\n");
        size_t length = strlen(token);
        while (length > 0 && strchr(" \t\r\n", token[length - 1]))
            length--;
        if (length == 0)
            continue;
        digest *more = realloc(*digests, (*count + 1) * sizeof(*more));
        good = more;
        if (!more)
            continue;
        *digests = more;
        crypto_hash_sha256(more[(*count)++], (const unsigned char *)token, length);
    }
    if (line)
        sodium_memzero(line, room);
    free(line);
    return good && !ferror(file);
}

enum api_status api_access_reload(struct api_access *access, struct api_error *err)
{
    digest *digests = NULL, *old;
    size_t count = 0;
    FILE *file;
    bool good;

    if (!access->file)
        return API_OK;
    file = fopen(access->file, "re");
    good = file && tokens_read(file, &digests, &count);
    if (file)
        fclose(file);
    if (!good) {
        free(digests);
        return api_fail(err, API_INVALID, "", "--token-file: %.200s cannot be read", access->file);
    }
    pthread_mutex_lock(&access->lock);
    old = access->digests;
    access->digests = digests;
    access->count = count;
    pthread_mutex_unlock(&access->lock);
    free(old);
    return API_OK;
}

/* Compares with every token to its end, so that the time taken tells nothing of them. */
static bool is_listed(const struct api_access *access, const digest shown)
{
    bool any = false;

    for (size_t i = 0; i < access->count; i++)
        any |= sodium_memcmp(access->digests[i], shown, sizeof(digest)) == 0;
    return any;
}

bool api_access_allows(struct api_access *access, const char *field)
{
    digest shown;
    size_t length;
    bool allowed;

    if (!field || strncasecmp(field, "Bearer ", 7) != 0)
        return false;
    field += 7 + strspn(field + 7, " ");
    length = strcspn(field, " \t");
    crypto_hash_sha256(shown, (const unsigned char *)field, length);
    pthread_mutex_lock(&access->lock);
    allowed = length > 0 && is_listed(access, shown);
    pthread_mutex_unlock(&access->lock);
    return allowed;
}
