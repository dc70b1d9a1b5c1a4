/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/analysis_fixture.h"
#include "tests/core/relations_fixture.h"
#include "tests/core/view_fixture.h"

/* Relations that hold of biases and of buckets, over random parameters. */

static struct text random_bias(size_t kind, const char **name)
{
    static const char *const names[] = {"alibi", "kerple-log", "kerple-power", "sandwich", "t5"};
    struct text text;

    *name = names[kind];
    switch (kind) {
    case 0:
        snprintf(text.at, sizeof(text.at), "heads=%zu alibi_bias_max=%.17g", random_whole(1, 12),
                 random_between(1, 16));
        break;
    case 3:
        snprintf(text.at, sizeof(text.at), "heads=%zu dim=%zu base=%.17g", random_whole(1, 3),
                 2 * random_whole(1, 16), exp(random_between(0.1, 16)));
        break;
    case 4:
        snprintf(text.at, sizeof(text.at), "num_buckets=%zu max_distance=%zu bidirectional=%zu",
                 4 * random_whole(1, 16), random_whole(64, 500), random_whole(0, 1));
        break;
    default:
        snprintf(text.at, sizeof(text.at), "heads=%zu p=%.17g a=%.17g", random_whole(1, 4),
                 random_between(0.1, 2), random_between(0.1, 3));
        break;
    }
    return text;
}

/* skewed relative = naive gather: a bias or bucket of a query and a key is that of their distance
 */
TEST(skewed_is_gathered)
{
    size_t checked = 0;

    relations_begin("skewed relative = naive gather");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        const size_t queries = random_whole(1, 24), keys = random_whole(1, 40);
        const double start = (double)random_whole(0, 60) - 20;
        const enum pe_dtype dtype = (enum pe_dtype)(i / 5 % 4);
        const char *name;
        const struct text text = random_bias(i % 5, &name);
        char view[160], decay[120];
        snprintf(view, sizeof(view), "query_length=%zu key_length=%zu query_start=%.0f", queries,
                 keys, start);
        snprintf(decay, sizeof(decay), "min_offset=%.0f max_offset=%.0f",
                 -start - (double)queries + 1, (double)keys - 1 - start);
        OWNED_VIEWED bias = viewed_new(name, text.at, "bias", view, NULL, dtype);
        struct analysed a = analysed_new(name, text.at, "decay", decay, dtype);
        const size_t offsets = queries + keys - 1, size = pe_dtype_info(bias.output->dtype)->size;
        for (size_t k = 0; k < bias.count; k++, checked++) {
            const size_t key = k % keys, query = k / keys % queries, head = k / keys / queries;
            double got;
            pe_to_f64(&got, (char *)bias.data + k * size, bias.output->dtype, 1);
            ck_assert_double_eq(got, a.outputs[0][head * offsets + key + (queries - 1 - query)]);
        }
        analysed_free(&a);
    }
    printf("%zu elements\n", checked);
    ck_assert_uint_gt(checked, 100 * RELATION_CASES);
}

/* Where heads have numbers of their own, each head is the bias of one head with its number. */
TEST(heads_are_alone)
{
    static const char *const texts[][2] = {
        {"alibi", "slopes"},         {"kerple-log", "a=0.5 p"},   {"kerple-log", "p=0.5 a"},
        {"kerple-power", "a=0.5 p"}, {"kerple-power", "p=0.5 a"}, {"sandwich", "dim=20 scales"}};
    static const char *const numbers[] = {"1", "1.5", "2"};
    const char *view = "query_length=7 key_length=9 causal=true";

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char text[60];
        snprintf(text, sizeof(text), "heads=3 %s=1,1.5,2", texts[i][1]);
        OWNED_VIEWED all = viewed_new(texts[i][0], text, "bias", view, NULL, PE_F32);
        ck_assert(all.output->shape[0] == 3 && all.count == 3 * 7 * 9);
        for (size_t head = 0; head < 3; head++) {
            snprintf(text, sizeof(text), "heads=1 %s=%s", texts[i][1], numbers[head]);
            OWNED_VIEWED one = viewed_new(texts[i][0], text, "bias", view, NULL, PE_F32);
            ck_assert_mem_eq(one.data, (float *)all.data + head * 63, 63 * sizeof(float));
        }
    }
}
