/* SPDX-License-Identifier: MIT */

/* clients/js/module.c as a program of this machine: the calls that client.js makes of the module,
 * beside posenc/service.h. */

#include "tests/check_main.h"

#define export_name(name) used /* a machine of WebAssembly alone exports by name */
#include "clients/js/module.c"
#undef export_name

#define BODY_MAX 4096

struct answer {
    char text[BODY_MAX], body[BODY_MAX];
    size_t size;
    bool broken;
};

static char *text_put(const char *text)
{
    char *own = posenc_alloc(strlen(text) + 1);

    return memcpy(own, text, strlen(text));
}

static void module_start(const char *settings)
{
    char *text = text_put(settings), *wrong;

    pe_service_free(service);
    service = NULL;
    wrong = posenc_start(text);
    ck_assert_msg(!wrong, "%s", wrong);
    posenc_free(text);
}

/* A request whose body goes in pieces of `piece` bytes. */
static struct answer request_answer(const char *head, const char *body, size_t piece)
{
    size_t length = strlen(body), size;
    char *text = text_put(head), *fields;
    struct pe_request *request = posenc_begin(text, (double)length);
    struct answer answer = {0};
    const void *bytes;

    ck_assert_ptr_nonnull(request);
    posenc_free(text);
    for (size_t at = 0; at < length; at += piece) {
        size = length - at < piece ? length - at : piece;
        if (!posenc_feed(request, body + at, size))
            break;
    }
    fields = posenc_finish(request);
    ck_assert_uint_lt(strlen(fields), sizeof(answer.text));
    strcpy(answer.text, fields);
    posenc_free(fields);
    while ((bytes = posenc_next(request))) {
        size = posenc_size();
        ck_assert_uint_gt(size, 0);
        ck_assert_uint_lt(answer.size + size, sizeof(answer.body));
        memcpy(answer.body + answer.size, bytes, size);
        answer.size += size;
    }
    answer.broken = posenc_size() > 0;
    posenc_end(request);
    return answer;
}

/* The value of a field, whatever the case of its name. */
static bool field_is(const struct answer *answer, const char *name, const char *value)
{
    char text[BODY_MAX], *rest = text;
    struct pe_field field;

    strcpy(text, answer->text);
    strsep(&rest, "\n");
    while (field_cut(&rest, &field))
        if (strcasecmp(field.name, name) == 0)
            return strcmp(field.value, value) == 0;
    return false;
}

TEST(room_is_zeros)
{
    for (size_t size = 1; size < 4096; size = 2 * size + 1) {
        unsigned char *bytes = posenc_alloc(size);

        for (size_t i = 0; i < size; i++)
            ck_assert_uint_eq(bytes[i], 0);
        memset(bytes, 0xff, size);
        posenc_free(bytes);
    }
}

TEST(a_get_has_its_status_fields_and_bytes)
{
    module_start("");
    const struct answer answer = request_answer("GET /v1/encodings/index/table?length=3\n"
                                                "Accept: application/x-npy\nX-Other: a: b\n",
                                                "", 1);

    ck_assert_int_eq(strncmp(answer.text, "200\n", 4), 0);
    ck_assert(field_is(&answer, "content-type", "application/x-npy"));
    ck_assert(!answer.broken);
    ck_assert_uint_eq(answer.size % 4, 0);
    ck_assert_int_eq(memcmp(answer.body, "\x93NUMPY", 6), 0);
    const float expected[] = {0, 1, 2};

    ck_assert_int_eq(
        memcmp(answer.body + answer.size - sizeof(expected), expected, sizeof(expected)), 0);
}

TEST(a_body_is_the_same_in_any_pieces)
{
    static const char body[] = "{\"a\":{\"name\":\"rope\",\"dim\":8},"
                               "\"b\":{\"name\":\"rope\",\"dim\":8,\"base\":500},\"length\":4}";
    const char *head = "POST /v1/comparison\nContent-Type: application/json\n";

    module_start("");
    const struct answer whole = request_answer(head, body, sizeof(body));

    ck_assert_msg(strncmp(whole.text, "200\n", 4) == 0, "%s%s", whole.text, whole.body);
    ck_assert_ptr_nonnull(strstr(whole.body, "max_abs"));
    for (size_t piece = 1; piece < sizeof(body); piece += 7) {
        const struct answer other = request_answer(head, body, piece);

        ck_assert_str_eq(other.body, whole.body);
    }
}

TEST(a_refused_body_takes_no_more_bytes)
{
    module_start("body-max: 1KiB\n");
    char *text = text_put("POST /v1/config\nContent-Type: application/json\n");
    struct pe_request *request = posenc_begin(text, 1e6);

    ck_assert_int_eq(posenc_feed(request, "{", 1), 0);
    char *fields = posenc_finish(request);

    ck_assert_int_eq(strncmp(fields, "413\n", 4), 0);
    posenc_free(fields);
    posenc_end(request);
    posenc_free(text);
}

/* Each piece is taken until the limit is passed. */
TEST(a_body_takes_bytes_up_to_its_limit)
{
    static const char head[] = "POST /v1/config\nContent-Type: application/json\n";
    char blanks[2000];

    memset(blanks, ' ', sizeof(blanks));
    module_start("json-body-max: 1KiB\n");
    for (int is_long = 0; is_long < 2; is_long++) {
        char *text = text_put(head);
        struct pe_request *request = posenc_begin(text, is_long ? sizeof(blanks) : 10);

        ck_assert_int_eq(posenc_feed(request, blanks, is_long ? 1000 : 10), !is_long);
        posenc_end(request);
        posenc_free(text);
    }
}

TEST(settings_are_kept)
{
    module_start("threads: 1\ndim-max: 8\n");
    const struct answer refused =
        request_answer("GET /v1/encodings/rope/table?dim=16&length=2\n", "", 1);

    ck_assert_int_ne(strncmp(refused.text, "200\n", 4), 0);
}
