/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api/codings/coding.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/request.h"

/* What the first byte asks for. */
enum {
    STORING = 1,        /* the service with a store and a cache */
    UNKNOWN_LENGTH = 2, /* as if the body were chunked */
    CODED = 4 + 8,      /* the body is put into the coding of this number, 0: none */
    QUICKLY = 16,       /* api_finish_if_quick first */
    LEAVES = 32,        /* the client leaves in the middle */
    CANCELS = 64,       /* or while the answer is made */
    TWICE = 128,        /* cut otherwise and otherwise finished, the answer is the same */
};

struct asked {
    struct request_text text;
    const unsigned char *body; /* coded */
    size_t size;
};

static struct fuzz_answer ask(const struct asked *asked, unsigned flags, uint32_t seed)
{
    struct api *api = fuzz_service(flags & STORING);
    struct api_head head = asked->text.head;
    struct api_intake *intake;
    struct api_response *response;
    size_t fed = 0;

    head.content_length =
        flags & UNKNOWN_LENGTH && asked->size > 0 ? API_LENGTH_UNKNOWN : asked->size;
    response = api_begin(api, &head, &intake);
    while (!response && fed < asked->size) {
        const size_t piece = fuzz_piece(&seed, asked->size - fed);
        response = api_feed(intake, asked->body + fed, piece);
        if (response)
            api_intake_free(intake);
        fed += piece;
        if (!response && flags & LEAVES && fed > asked->size / 2) {
            api_intake_free(intake);
            return (struct fuzz_answer){0};
        }
    }
    if (!response && flags & CANCELS)
        api_intake_cancel(intake);
    if (!response && flags & QUICKLY && api_intake_cost(intake) == API_COST_MAYBE_QUICK)
        response = api_finish_if_quick(intake);
    return fuzz_answer_take(response ? response : api_finish(intake));
}

/* Has an answer that changes by itself, or changes the next one. */
static bool is_volatile(const struct api_head *head, unsigned flags)
{
    return flags & (STORING | LEAVES | CANCELS) || strcmp(head->path, "/metrics") == 0;
}

static unsigned char *encode(struct asked *asked, const struct api_coding *coding)
{
    const size_t room = coding->piece_max(asked->size);
    const size_t space_size = coding->workspace(asked->size);
    unsigned char *code = malloc(room + 2 * API_CODING_ENDS_MAX), *space = malloc(space_size);
    size_t used = coding->head ? coding->head(code) : 0;

    used += coding->piece(asked->body, asked->size, code + used, room, space, space_size);
    free(space);
    if (coding->tail)
        used += coding->tail(code + used, coding->sum(asked->body, asked->size), asked->size);
    request_text_field(&asked->text, "Content-Encoding", coding->name);
    asked->body = code;
    asked->size = used;
    return code;
}

/* A byte of flags, one that makes the sizes of pieces, and a request as text. */
void fuzz_api(const uint8_t *data, size_t size)
{
    const unsigned flags = fuzz_byte(&data, &size), seed = fuzz_byte(&data, &size);
    struct asked asked = {0};
    unsigned char *code = NULL;

    request_text_read(&asked.text, data, size);
    request_text_field(&asked.text, "X-Request-Id", "1");
    asked.body = asked.text.body;
    asked.size = asked.text.body_size;
    if (flags & CODED && asked.size > 0)
        code = encode(&asked, api_codings[(flags & CODED) / 4 - 1]);
    const struct fuzz_answer first = ask(&asked, flags, seed);
    if (flags & TWICE && !is_volatile(&asked.text.head, flags)) {
        const struct fuzz_answer second = ask(&asked, flags ^ QUICKLY, seed ? 0 : 99);
        FUZZ_CHECK(first.status == second.status && first.hash == second.hash);
    }
    if (!(flags & STORING))
        FUZZ_CHECK(api_state_read(fuzz_service(false)).memory_held == 0);
    free(code);
    request_text_free(&asked.text);
}
