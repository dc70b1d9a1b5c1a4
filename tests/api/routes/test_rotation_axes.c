/* SPDX-License-Identifier: MIT */

/* POST /v1/rotation and views where a position has several coordinates. */

#include <math.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

static unsigned long cases;

static struct answer ask(struct api *api, const char *path, const char *body, int status)
{
    struct answer answer = call(api, "POST", path, "Content-Type: application/json", body);

    ck_assert_msg(answer.status == status, "%s: %d %.400s", body, answer.status,
                  (char *)answer.body);
    cases++;
    return answer;
}

static struct answer rotate(struct api *api, const char *rest)
{
    char body[2000];

    snprintf(body, sizeof(body), "{'axes':'bhsd','layout':'half',%s}", rest);
    return ask(api, "/v1/rotation", body, 200);
}

static void refuse(struct api *api, const char *rest, const char *code, const char *where)
{
    char body[2000];

    snprintf(body, sizeof(body), "{'axes':'bhsd','layout':'half',%s}", rest);
    OWNED_ANSWER answer = ask(api, "/v1/rotation", body, 422);
    ck_assert_str_eq(member_text(&answer, "code"), code);
    const json_t *error = json_array_get(member(&answer, "errors"), 0);
    const json_t *pointer = json_object_get(error, "pointer");
    const char *place = json_string_value(pointer ? pointer : json_object_get(error, "parameter"));
    ck_assert_msg(place && strcmp(place, where) == 0, "%s: at %s", rest, place);
}

/* Two requests that say one thing. */
static void alike(struct api *api, const char *one, const char *other)
{
    OWNED_ANSWER a = rotate(api, one), b = rotate(api, other);

    members_same(&a, "tensors", &b, "tensors");
}

#define TENSOR(data) "'tensors':{'q':{'shape':[2,1,2,6],'dtype':'f64','data':[" data "]}}"
#define MROPE        "'encoding':{'name':'mrope','mrope_section':[1,1,1]}"
#define Q            TENSOR(ONES "," ONES)
#define ONES         "1,1,1,1,1,1,1,1,1,1,1,1"
#define PLACES       "[[0,1],[2,3],[4,5]]"

static void expect_pair(const struct answer *answer, size_t batch, size_t token, size_t pair,
                        double position)
{
    const double angle = position * pow(10000, -(double)pair / 3);
    char path[64];

    snprintf(path, sizeof(path), "tensors.q.data.%zu.0.%zu.%zu", batch, token, pair);
    ck_assert(fabs(member_number(answer, path) - (cos(angle) - sin(angle))) < 1e-14);
    snprintf(path, sizeof(path), "tensors.q.data.%zu.0.%zu.%zu", batch, token, pair + 3);
    ck_assert(fabs(member_number(answer, path) - (cos(angle) + sin(angle))) < 1e-14);
}

TEST(test_rotation)
{
    static const char places[] = MROPE ",'positions':" PLACES "," Q;
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER a = rotate(api, places);
    OWNED_ANSWER b =
        rotate(api, MROPE ",'positions':[[[0,1],[7,7]],[[2,3],[8,8]],[[4,5],[9,9]]]," Q);

    for (size_t i = 0; i < 2 * 2 * 3; i++) {
        const double place = (double)(2 * (i % 3) + i / 3 % 2);
        expect_pair(&a, i / 6, i / 3 % 2, i % 3, place);
        expect_pair(&b, i / 6, i / 3 % 2, i % 3, i < 6 ? place : (double)(7 + i % 3));
    }
    /* Batch rows, as one for all and one each; as a tensor; again. */
    alike(api, places, MROPE ",'positions':[[[0,1]],[[2,3]],[[4,5]]]," Q);
    alike(api, places, MROPE ",'positions':[[[0,1],[0,1]],[[2,3],[2,3]],[[4,5],[4,5]]]," Q);
    alike(api, places,
          MROPE ",'positions':'tensor:p','tensors':{'p':{'dtype':'i64','data':[[[0,1]],[[2,3]],"
                "[[4,5]]]},'q':{'shape':[2,1,2,6],'dtype':'f64','data':[" ONES "," ONES "]}}");
    alike(api, places, places);
}

TEST(test_relations)
{
    static const char text[] = "'encoding':'rope','positions':[4,9]," Q;
    OWNED_API api = api_make(NULL);

    alike(api, text, MROPE ",'positions':[[4,9],[4,9],[4,9]]," Q);
    alike(api, text, MROPE ",'positions':[4,9]," Q);
    alike(api, text, MROPE ",'start':4,'step':5," Q);
    /* A distance of several coordinates. */
    alike(api, MROPE ",'positions':" PLACES "," Q, MROPE ",'delta':" PLACES "," Q);
    /* From one order of pairs to another, and back to where it began. */
    OWNED_ANSWER a =
        rotate(api, "'from_encoding':{'name':'mrope','mrope_section':[1,1,1]},'to_encoding':{"
                    "'name':'mrope','mrope_section':[3,0,0]},'positions':[[2,2],[2,2],[2,2]]," Q);
    ck_assert(fabs(member_number(&a, "tensors.q.data.0.0.0.0") - 1) < 1e-15);
}

TEST(test_views)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER a = ask(api, "/v1/encodings/mrope/table",
                         "{'dim':6,'mrope_section':[1,1,1],'positions':" PLACES "}", 200);
    struct answer b = call(
        api, "GET", "/v1/encodings/mrope/table?dim=6&mrope_section=1,1,1&positions=0,1;2,3;4,5",
        NULL, NULL);

    members_same(&a, "tensors", &b, "tensors");
    ck_assert(fabs(member_number(&b, "tensors.cos.data.1.0") - cos(1)) < 1e-7);
    ck_assert(fabs(member_number(&b, "tensors.cos.data.1.1") - cos(3 * pow(10000, -1.0 / 3))) <
              1e-7);
    answer_free(&a);
    answer_free(&b);
    /* Six numbers in two rows or in six are not one answer, nor one entity tag. */
    a = call(api, "GET",
             "/v1/encodings/mrope/table?dim=6&mrope_section=1,1,1&positions=0,1,2,3,4,5", NULL,
             NULL);
    ck_assert_uint_eq(json_array_size(member(&a, "tensors.cos.data")), 6);
    answer_free(&a);
    a = call(api, "GET", "/v1/encodings/mrope/frequencies?dim=6&mrope_section=0,2,1", NULL, NULL);
    ck_assert_int_eq(json_integer_value(member(&a, "tensors.axes.data.0")), 1);
    ck_assert_int_eq(json_integer_value(member(&a, "tensors.axes.data.2")), 2);
    cases += 3;
}

TEST(test_refusals)
{
    static const char shape[] = "shape-mismatch", invalid[] = "invalid-parameter";
    OWNED_API api = api_make(NULL);

    refuse(api, MROPE ",'positions':[[0,1],[2,3]]," Q, shape, "/positions");
    refuse(api, MROPE ",'positions':[[0,1],[2,3],[4,5],[6,7]]," Q, shape, "/positions");
    refuse(api, MROPE ",'positions':[[0],[2],[4]]," Q, shape, "/positions");
    refuse(api, MROPE ",'positions':[[0,1],[2],[4,5]]," Q, shape, "/positions");
    refuse(api, MROPE ",'positions':[[0,1],2,[4,5]]," Q, shape, "/positions");
    refuse(api, MROPE ",'positions':[[0,1],[2,'x'],[4,5]]," Q, invalid, "/positions");
    refuse(api, MROPE ",'positions':[[[[0,1]]]]," Q, invalid, "/positions");
    refuse(api,
           MROPE ",'positions':[[[0,1],[0,1],[0,1]],[[0,1],[0,1],[0,1]],[[0,1],[0,1],[0,1]]]," Q,
           shape, "/positions");
    refuse(api, "'encoding':'rope','positions':[[[0,1]],[[2,3]],[[4,5]]]," Q, shape, "/positions");
    refuse(api,
           "'from_encoding':'rope','to_encoding':{'name':'mrope','mrope_section':[1,1,1]},'"
           "positions':" PLACES "," Q,
           shape, "positions");
    refuse(api, "'encoding':'mrope','positions':" PLACES "," Q, "missing-parameter",
           "mrope_section");
}

CHECK_WAY(.cases = &cases);
