/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENGINES_MEASURED_H
#define CORE_ENGINES_MEASURED_H

/* The measured data, and the rules by which a config is judged that was not measured itself. */

#include "posenc/engines.h"

/* A change of a config after which posenc reads it as an engine does. */
struct pe_engine_change {
    const char *path; /* relative to the part about text; "rope" is the rope object */
    enum {
        PE_CHANGE_DROP,   /* takes the key away */
        PE_CHANGE_NUMBER, /* sets it to a number */
        PE_CHANGE_TRUTH,  /* to number != 0 */
        PE_CHANGE_TEXT,   /* to a text */
        PE_CHANGE_COPY,   /* to the value of the key `text` beside it */
    } kind;
    double number;
    const char *text;
};

/* What an engine did with a config of a model type that has one of the rope objects below. */
struct pe_engine_outcome {
    enum pe_engine_verdict verdict;
    const struct pe_engine_difference *difference; /* DIFFERS */
    const char *message;                           /* RAISES, ABSENT, UNMEASURED */
    const char *key; /* RAISES: the key without which it does not; NULL: unknown */
    const struct pe_engine_change *changes; /* DIFFERS: the rule */
    size_t changes_count;                   /* 0: no rule explains what was measured */
};

/* A rope object that model types were given. */
struct pe_engine_part {
    const char *rope_type;   /* "none": the config has no key about rotation */
    const char *name;        /* "full": with all keys of the type; "bare": with the fewest */
    const char *const *keys; /* beside the type and the base; ends with NULL */
};

/* NULL past the last one. */
const struct pe_engine_part *pe_engine_part_at(size_t index);

/* The outcomes of a model type in a form, by pe_engine_outcome_get; NULL: it was not measured. */
struct pe_engine_rules;
const struct pe_engine_rules *pe_engine_rules_find(const struct pe_engine *engine,
                                                   const char *model_type, int form);
/* False: the engine was not given a config with this part. */
bool pe_engine_outcome_get(const struct pe_engine_rules *rules, size_t part,
                           struct pe_engine_outcome *outcome);
/* The path of the index-th key, from 0, without which the engine raises for a config of this rope
 * type, and what it raises; NULL past the last one. As that of a change; "rope.KEY" may be in the
 * rope object of a type of layers. */
const char *pe_engine_need_at(const struct pe_engine_rules *rules, const char *rope_type,
                              size_t index, const char **message);
/* What is otherwise where the context is longer than factor × original_max_position_embeddings;
 * NULL: nothing. */
const char *pe_engine_beyond(const struct pe_engine_rules *rules, const char *rope_type);
/* What the engine does with a head_dim that is not hidden_size / num_attention_heads: SAME: reads
 * it, DIFFERS: computes the width of a head, RAISES: *message; UNMEASURED. */
enum pe_engine_verdict pe_engine_head_dim(const struct pe_engine_rules *rules, double head_dim,
                                          const char **message);
/* Does the engine lack this class of a config's `architectures`? */
bool pe_engine_lacks_class(const struct pe_engine *engine, const char *architecture);
/* The index-th key, from 0, of rope objects of this type whose effect the measurement of the engine
 * does not show; NULL past the last one. */
const char *pe_engine_unseen_at(const struct pe_engine *engine, const char *rope_type,
                                size_t index);
/* The name of the measured config. */
const char *pe_engine_rules_row(const struct pe_engine_rules *rules);

#endif
