/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENGINES_CHANGE_H
#define CORE_ENGINES_CHANGE_H

/* A config with the changes of a rule, and where the keys of a rule are in a config. */

#include "core/config/reading.h"
#include "core/engines/measured.h"

/* 5: the config has rope_parameters; else 4. */
int pe_engine_form_of(const struct pe_config_scope *scope);

/* Where a rule's path leads in a config. */
struct pe_engine_place {
    const struct pe_config_node *object;   /* that has the key, or would have it; NULL: none */
    const char *key;                       /* the last one of the path */
    const struct pe_config_member *member; /* NULL: the config lacks the key */
};

struct pe_engine_place pe_engine_place_find(const struct pe_config_scope *scope,
                                            const struct pe_engine_change *change);

/* Does a change alter the config? */
bool pe_engine_change_matters(const struct pe_config_scope *scope,
                              const struct pe_engine_change *change);

/* A copy of a config with the changes but the one at `without` (SIZE_MAX: all of them), which the
 * caller frees; its memory is charged to the work. PE_OUT_OF_MEMORY, PE_TOO_LARGE. */
enum pe_status pe_engine_change_apply(struct pe_config **changed, const struct pe_config *config,
                                      const struct pe_config_scope *scope,
                                      const struct pe_engine_change *const *changes, size_t count,
                                      size_t without, struct pe_work *work, struct pe_error *err);

#endif
