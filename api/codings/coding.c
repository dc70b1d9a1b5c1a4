/* SPDX-License-Identifier: MIT */
#include "api/codings/coding.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/request/head.h"

const struct api_coding *const api_codings[] = {
#define CODING(name, symbol) &api_coding_##symbol,
#include "api/codings/codings.def"
#undef CODING
    NULL,
};

const char api_codings_text[] =
#define CODING(name, symbol) name ", "
#include "api/codings/codings.def"
#undef CODING
    "identity";

static bool is_named(const char *token, size_t length, const char *name)
{
    return name && strlen(name) == length && strncasecmp(token, name, length) == 0;
}

/* The coding of a Content-Encoding field. False: several, or an unknown one. */
static bool field_read(const char *field, const struct api_coding **coding)
{
    struct api_element token, other;

    *coding = NULL;
    if (!api_list_next(&field, &token))
        return true;
    if (api_list_next(&field, &other) ||
        token.begin + token.name_size + strspn(token.begin + token.name_size, " \t") != token.end)
        return false;
    if (is_named(token.begin, token.name_size, "identity"))
        return true;
    for (const struct api_coding *const *at = api_codings; *at; at++)
        if (is_named(token.begin, token.name_size, (*at)->name) ||
            is_named(token.begin, token.name_size, (*at)->alias)) {
            *coding = *at;
            return true;
        }
    return false;
}

enum pe_status api_coding_find(const struct api_head *head, const struct api_coding **coding,
                               struct pe_error *err)
{
    const char *field = NULL;

    *coding = NULL;
    for (size_t i = 0; i < head->fields_count; i++) {
        if (strcasecmp(head->fields[i].name, "Content-Encoding") != 0)
            continue;
        /* Two fields of this name are a list of two codings (RFC 9110, 5.3). */
        if (field || !field_read(head->fields[i].value, coding))
            return pe_fail(err, PE_UNKNOWN_FORMAT, "header:Content-Encoding",
                           "a body has one coding of %s; got '%.40s'", api_codings_text,
                           head->fields[i].value);
        field = head->fields[i].value;
    }
    return PE_OK;
}

/* The quality of a name in Accept-Encoding, in thousandths; -1: absent. */
static int quality(const char *field, const char *name, const char *alias)
{
    struct api_element token;

    while (api_list_next(&field, &token))
        if (is_named(token.begin, token.name_size, name) ||
            is_named(token.begin, token.name_size, alias))
            return api_quality_of(&token);
    return -1;
}

/* RFC 9110, 12.5.3. If the field does not mention identity, a plain answer is acceptable, and every
 * coding that it mentions is preferred. */
void api_coding_choose(const char *field, const struct api_coding **coding, bool *plain_refused)
{
    const int any = field ? quality(field, "*", NULL) : -1;
    const int identity = field ? quality(field, "identity", NULL) : -1;
    int most = 0;

    *coding = NULL;
    *plain_refused = identity == 0 || (identity < 0 && any == 0);
    for (const struct api_coding *const *at = api_codings; field && *at; at++) {
        const int named = quality(field, (*at)->name, (*at)->alias);
        const int q = named >= 0 ? named : any;
        if (q > most) {
            most = q;
            *coding = *at;
        }
    }
    if (identity > most)
        *coding = NULL;
}

bool api_coding_is_accepted(const char *field, const char *name)
{
    const int named = field ? quality(field, name, NULL) : -1;

    return named > 0 || (named < 0 && field && quality(field, "*", NULL) > 0);
}

/* ---- memory of decoders --------------------------------------------------------------------- */

struct piece {
    size_t size; /* of the header and the bytes */
    alignas(max_align_t) unsigned char bytes[];
};

void *api_decoder_take(struct pe_work *work, size_t count, size_t size)
{
    struct piece *piece;
    size_t total;

    if (__builtin_mul_overflow(count, size, &total) ||
        __builtin_add_overflow(total, sizeof(*piece), &total) || !pe_work_reserve(work, total))
        return NULL;
    piece = malloc(total);
    if (!piece) {
        pe_work_release(work, total);
        return NULL;
    }
    piece->size = total;
    return piece->bytes;
}

void api_decoder_give(struct pe_work *work, void *bytes)
{
    struct piece *piece;

    if (!bytes)
        return;
    piece = (struct piece *)((unsigned char *)bytes - offsetof(struct piece, bytes));
    pe_work_release(work, piece->size);
    free(piece);
}
