/* SPDX-License-Identifier: MIT */

/* The tree of a config's values, which the rules read. */

#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

/* Each of many keys of one object is found again. */
TEST(test_many_members)
{
    enum { MEMBERS = 20000 };
    char key[20];

    for (int i = 0; i < MEMBERS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert(!pe_config_set_integer(top, key, i, &err));
    }
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_int_eq(pe_config_member(top, key)->value.as.integer, i);
    }
    ck_assert_ptr_null(pe_config_member(top, "k"));
    ck_assert_ptr_null(pe_config_member(top, "k20000"));
}

static void values_add(struct pe_config_node *node, const char *order, double last)
{
    struct pe_config_node *list;

    for (; *order; order++) {
        const char key[] = {*order, '\0'};
        ck_assert(!pe_config_set_list(node, key, &list, &err));
        ck_assert(!pe_config_set_null(list, NULL, &err));
        ck_assert(!pe_config_set_bool(list, NULL, true, &err));
        ck_assert(!pe_config_set_text(list, NULL, "text", &err));
        ck_assert(!pe_config_set_integer(list, NULL, 1, &err));
        ck_assert(!pe_config_set_number(list, NULL, last, &err));
    }
}

/* Objects are equal whatever the order of their keys; lists are not. */
TEST(test_equal)
{
    static const struct {
        const char *order;
        double last;
        bool equal;
    } table[] = {{"abc", 2, true}, {"cab", 2, true},   {"abd", 2, false},
                 {"ab", 2, false}, {"abcd", 2, false}, {"abc", 3, false}};

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const char key[] = {(char)('0' + i), '\0'};
        values_add(object(top, key), table[i].order, table[i].last);
        ck_assert_int_eq(
            pe_config_equal(&pe_config_member(top, "0")->value, &pe_config_member(top, key)->value),
            table[i].equal);
    }
}

CHECK_WAY(.before = begin, .after = end);
