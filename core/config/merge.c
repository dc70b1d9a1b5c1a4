/* SPDX-License-Identifier: MIT */
#include "core/config/tree.h"

/* A copy of a config with the values of a patch, as RFC 7396 merges them: an object of the patch is
 * merged with that of the config, null removes a member, any other value replaces one. */

enum pe_status pe_config_value_copy(const struct pe_config_value *value,
                                    struct pe_config_node *into, const char *key,
                                    struct pe_error *err)
{
    struct pe_config_node *inner;

    if (value->kind == PE_CONFIG_OBJECT)
        return pe_config_set_object(into, key, &inner, err)
                   ? err->status
                   : pe_config_merge(value->as.node, NULL, inner, err);
    if (value->kind != PE_CONFIG_LIST)
        return pe_config_scalar_set(into, key, value, err);
    if (pe_config_set_list(into, key, &inner, err))
        return err->status;
    for (const struct pe_config_item *at = value->as.node->first_item; at; at = at->next)
        if (pe_config_value_copy(&at->value, inner, NULL, err))
            return err->status;
    return PE_OK;
}

/* member: of the patch; old: of the config, or NULL. */
static enum pe_status member_merge(const struct pe_config_member *old,
                                   const struct pe_config_member *member,
                                   struct pe_config_node *into, struct pe_error *err)
{
    const struct pe_config_node *object = pe_config_object(member);
    struct pe_config_node *inner;

    if (member->value.kind == PE_CONFIG_NULL)
        return PE_OK;
    if (!object)
        return pe_config_value_copy(&member->value, into, member->name.text, err);
    return pe_config_set_object(into, member->name.text, &inner, err)
               ? err->status
               : pe_config_merge(old ? pe_config_object(old) : NULL, object, inner, err);
}

enum pe_status pe_config_merge(const struct pe_config_node *from,
                               const struct pe_config_node *patch, struct pe_config_node *into,
                               struct pe_error *err)
{
    for (const struct pe_config_member *at = from ? from->first : NULL; at; at = at->next) {
        const struct pe_config_member *member = pe_config_member(patch, at->name.text);
        if (member ? member_merge(at, member, into, err)
                   : pe_config_value_copy(&at->value, into, at->name.text, err))
            return err->status;
    }
    for (const struct pe_config_member *at = patch ? patch->first : NULL; at; at = at->next)
        if (!pe_config_member(from, at->name.text) && member_merge(NULL, at, into, err))
            return err->status;
    return PE_OK;
}
