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

enum pe_status api_access_new(struct api_access **out, const char *file, struct pe_error *err)
{
    struct api_access *access = calloc(1, sizeof(*access));

    *out = NULL;
    if (!access || (file && !(access->file = strdup(file)))) {
        free(access);
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the tokens");
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

struct tokens {
    digest *digests;
    size_t count;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_visible(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] >= 127)
            return false;
    return true;
}

/* Adds the token of a line, if it has one. The refusal contains no character of the line, because
 * it is logged. */
static enum pe_status line_read(struct tokens *tokens, const char *line, size_t length,
                                const char *file, size_t number, struct pe_error *err)
{
    digest *more;

    while (length > 0 && is_blank(line[length - 1]))
        length--;
    for (; length > 0 && is_blank(*line); length--)
        line++;
    if (length == 0 || *line == '#')
        return PE_OK;
    if (!is_visible(line, length))
        return pe_fail(err, PE_INVALID, "",
                       "--token-file: line %zu of %.200s is no token: a token is of visible ASCII "
                       "characters, without a blank inside; comments begin the line with #",
                       number, file);
    more = realloc(tokens->digests, (tokens->count + 1) * sizeof(*more));
    if (!more)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the tokens");
    tokens->digests = more;
    crypto_hash_sha256(more[tokens->count++], (const unsigned char *)line, length);
    return PE_OK;
}

static enum pe_status tokens_read(struct tokens *tokens, FILE *file, const char *name,
                                  struct pe_error *err)
{
    char *line = NULL;
    size_t capacity = 0, number = 0;
    ssize_t length;

    while (!err->status && (length = getline(&line, &capacity, file)) >= 0)
        line_read(tokens, line, (size_t)length, name, ++number, err);
    if (line)
        sodium_memzero(line, capacity);
    free(line);
    if (!err->status && !feof(file))
        pe_fail(err, PE_INVALID, "", "--token-file: %.200s cannot be read", name);
    return err->status;
}

enum pe_status api_access_reload(struct api_access *access, struct pe_error *err)
{
    struct tokens tokens = {0};
    digest *old;
    FILE *file;

    if (!access->file)
        return PE_OK;
    file = fopen(access->file, "re");
    if (!file)
        return pe_fail(err, PE_INVALID, "", "--token-file: %.200s cannot be read", access->file);
    tokens_read(&tokens, file, access->file, err);
    fclose(file);
    if (err->status) {
        free(tokens.digests);
        return err->status;
    }
    pthread_mutex_lock(&access->lock);
    old = access->digests;
    access->digests = tokens.digests;
    access->count = tokens.count;
    pthread_mutex_unlock(&access->lock);
    free(old);
    return PE_OK;
}

/* Compares with every token completely, in constant time. */
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
