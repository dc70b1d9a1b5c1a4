/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/sanitizer.h"
#include "core/base/text.h"
#include "core/base/work.h"
#include "core/engines/change.h"
#include "core/engines/measured.h"
#include "core/engines/rotation.h"

/* Judges a config for an engine: finds the measured rule of its model type, form and rope type,
 * reads the config as the rule says, and compares that reading with the true one. */

enum { CHANGES_MAX = 16, FINDINGS_MAX = 64, TEXT_SIZE = 1000, LENGTHS_MAX = 2 };
enum { READINGS = 24 };     /* of a config, at most, for a judgement */
enum { UNKNOWN_MAX = 2 };   /* keys that were not given, of which each costs readings */
enum { PART_OF_HEADS = 0 }; /* default full, with which another head_dim was measured */

struct pe_lint {
    struct pe_config_memory memory;
    enum pe_engine_verdict verdict;
    const char *reason; /* NULL: none */
    int form;
    struct pe_lint_finding findings[FINDINGS_MAX];
    size_t count;
    bool lacks_text; /* there was no memory for one */
};

/* A judgement while it is made. */
struct judgement {
    struct pe_lint *lint;
    const struct pe_config *config;
    struct pe_config_scope scope;
    const struct pe_engine *engine;
    const struct pe_engine_rules *rules;
    const char *rope_type;            /* "none": the config has no key about rotation */
    size_t part;                      /* whose keys are nearest to the config's */
    struct pe_engine_outcome outcome; /* of that part */
    const struct pe_engine_change *changes[CHANGES_MAX]; /* those that alter the config */
    size_t parts[CHANGES_MAX];                           /* where each was measured */
    size_t changes_count;
    bool is_head_ignored;         /* the engine computes the width of a head in place of head_dim */
    struct pe_engine_model model; /* the true reading */
    struct pe_error *err;
};

/* ---- texts ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static const char *print(struct pe_lint *lint,
                                                               const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;
    const char *copy;

    va_start(args, format);
    pe_text_vprint(text, sizeof(text), format, args);
    va_end(args);
    copy = pe_config_copy(&lint->memory, text);
    lint->lacks_text |= !copy;
    return copy ? copy : "";
}

static enum pe_status texts_check(const struct pe_lint *lint, struct pe_error *err)
{
    return err->status || !lint->lacks_text ? err->status
                                            : pe_no_memory(err, "the texts of a judgement");
}

/* Appends ", text" to a list. */
static const char *joined(struct pe_lint *lint, const char *list, const char *text)
{
    return !*list ? text : !*text ? list : print(lint, "%s, %s", list, text);
}

static bool lists(const char *list, const char *text)
{
    const size_t size = strlen(text);

    for (const char *at = strstr(list, text); at; at = strstr(at + 1, text))
        if ((at == list || at[-1] == ' ') && (!at[size] || at[size] == ','))
            return true;
    return false;
}

/* ---- the rope type --------------------------------------------------------------------------- */

static const char *own_type(const struct pe_config_node *rope)
{
    const struct pe_config_member *member = pe_config_member(rope, "rope_type");

    return pe_config_text(member ? member : pe_config_member(rope, "type"));
}

/* Older names. */
static const char *usual_name(const char *rope_type)
{
    if (strcmp(rope_type, "su") == 0)
        return "longrope";
    return strcmp(rope_type, "mrope") == 0 ? "default" : rope_type;
}

/* The rope type of the layers that have one beside default. */
static const char *type_of_layers(const struct pe_config_node *rope)
{
    for (const struct pe_config_member *at = rope->first; at; at = at->next) {
        const char *type = own_type(pe_config_object(at));
        if (type && strcmp(type, "default") != 0)
            return usual_name(type);
    }
    return "default";
}

static bool is_rotation_key(const char *key)
{
    static const char *const keys[] = {
        "rope_theta", "rotary_emb_base", "partial_rotary_factor", "rotary_pct",
        "rope_base",  "rotary_base",     "rope_scaling",          NULL};

    return pe_config_lists(keys, key);
}

static bool has_rotation_key(const struct pe_config_node *text)
{
    for (const struct pe_config_member *at = text->first; at; at = at->next)
        if (at->value.kind != PE_CONFIG_NULL && is_rotation_key(at->name.text))
            return true;
    return false;
}

static const char *rope_type_of(const struct pe_config_scope *scope)
{
    const char *type = own_type(scope->rope);

    if (type)
        return usual_name(type);
    if (scope->rope && scope->rope->count > 0)
        return type_of_layers(scope->rope);
    return has_rotation_key(scope->text) ? "default" : "none";
}

/* ---- which part of the measurement ----------------------------------------------------------- */

/* Has the config this key of a rope object, or of one for a type of layers? */
static bool has_key(const struct pe_config_scope *scope, const char *key)
{
    if (pe_config_member(scope->rope, key))
        return true;
    for (const struct pe_config_member *at = scope->rope ? scope->rope->first : NULL; at;
         at = at->next)
        if (pe_config_member(pe_config_object(at), key))
            return true;
    return strcmp(key, "partial_rotary_factor") == 0 && pe_config_member(scope->text, key);
}

/* Keys of the part that the config has, less those that only one of them has. */
static int nearness(const struct pe_config_scope *scope, const struct pe_engine_part *part)
{
    int found = 0;

    for (const char *const *key = part->keys; *key; key++)
        found += has_key(scope, *key) ? 2 : -1;
    return found;
}

static bool has_part_key(const struct pe_engine_part *part, const char *key)
{
    return pe_config_lists(part->keys, key);
}

/* KEY of "rope.KEY"; NULL: the key is beside the rope object. */
static const char *key_of_rope(const char *path)
{
    return strncmp(path, "rope.", 5) == 0 ? path + 5 : NULL;
}

/* Has the part all keys without which the engine raises? */
static bool has_needs(const struct judgement *judgement, const struct pe_engine_part *part)
{
    const char *path, *key, *message;

    for (size_t i = 0;
         (path = pe_engine_need_at(judgement->rules, judgement->rope_type, i, &message)); i++) {
        key = key_of_rope(path);
        /* Each part was tried with the type, the base, and the keys beside the rope object. */
        if (key && strcmp(key, "type") != 0 && strcmp(key, "rope_theta") != 0 &&
            !has_part_key(part, key))
            return false;
    }
    return true;
}

/* The nearest of the parts of the rope type that have the keys which the engine needs; SIZE_MAX:
 * none was measured. */
static size_t part_find(const struct judgement *judgement)
{
    const struct pe_engine_part *part;
    struct pe_engine_outcome outcome;
    size_t nearest = SIZE_MAX;
    int best = 0;

    for (size_t i = 0; (part = pe_engine_part_at(i)); i++) {
        const int found = nearness(&judgement->scope, part);
        if (strcmp(part->rope_type, judgement->rope_type) == 0 &&
            pe_engine_outcome_get(judgement->rules, i, &outcome) && has_needs(judgement, part) &&
            (nearest == SIZE_MAX || found > best)) {
            nearest = i;
            best = found;
        }
    }
    return nearest;
}

static const char *last_of(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? dot + 1 : path;
}

/* A key whose change holds whatever the other keys are, and which only this part gave. The part of
 * the head that rotates does not depend on the rope type. */
static bool is_own_key(const struct judgement *judgement, size_t other,
                       const struct pe_engine_change *change)
{
    const char *key = last_of(change->path);

    if (change->kind == PE_CHANGE_TRUTH) /* what an engine does where the key is absent or false */
        return true;
    return has_part_key(pe_engine_part_at(other), key) &&
           !has_part_key(pe_engine_part_at(judgement->part), key) &&
           has_key(&judgement->scope, key);
}

static void change_add(struct judgement *judgement, size_t part,
                       const struct pe_engine_change *change)
{
    if (judgement->changes_count == CHANGES_MAX ||
        !pe_engine_change_matters(&judgement->scope, change))
        return;
    judgement->parts[judgement->changes_count] = part;
    judgement->changes[judgement->changes_count++] = change;
}

static const struct pe_engine_change without_head_dim = {.path = "head_dim",
                                                         .kind = PE_CHANGE_DROP};

/* The changes of the nearest part, and those of keys that only others have. */
static void changes_collect(struct judgement *judgement)
{
    const struct pe_engine_part *part;
    struct pe_engine_outcome outcome;

    for (size_t i = 0; i < judgement->outcome.changes_count; i++)
        change_add(judgement, judgement->part, &judgement->outcome.changes[i]);
    if (judgement->is_head_ignored)
        change_add(judgement, PART_OF_HEADS, &without_head_dim);
    for (size_t at = 0; (part = pe_engine_part_at(at)); at++) {
        if (!pe_engine_outcome_get(judgement->rules, at, &outcome) || at == judgement->part ||
            (strcmp(part->rope_type, judgement->rope_type) != 0 &&
             strcmp(part->name, "partial") != 0))
            continue;
        for (size_t i = 0; i < outcome.changes_count; i++)
            if (is_own_key(judgement, at, &outcome.changes[i]))
                change_add(judgement, at, &outcome.changes[i]);
    }
}

/* ---- the width of a head --------------------------------------------------------------------- */

static double number_beside(const struct judgement *judgement, const char *key)
{
    const struct pe_config_member *member = pe_config_member(judgement->scope.text, key);

    return member ? pe_config_number(&member->value) : 0;
}

/* Is head_dim not hidden_size / num_attention_heads? An engine may read either. */
static bool is_head_apart(const struct judgement *judgement)
{
    const double head = number_beside(judgement, "head_dim"),
                 count = number_beside(judgement, "num_attention_heads"),
                 hidden = number_beside(judgement, "hidden_size");

    return head > 0 && count > 0 && hidden > 0 && head * count != hidden;
}

/* Is rotary_dim not partial_rotary_factor * head_dim? */
static bool is_part_apart(const struct judgement *judgement)
{
    static const char key[] = "partial_rotary_factor";
    const struct pe_config_member *in_rope = pe_config_member(judgement->scope.rope, key);
    const double part = in_rope ? pe_config_number(&in_rope->value) : number_beside(judgement, key),
                 width = number_beside(judgement, "rotary_dim"),
                 given = number_beside(judgement, "head_dim"),
                 count = number_beside(judgement, "num_attention_heads"),
                 head =
                     given > 0 ? given : number_beside(judgement, "hidden_size") / fmax(count, 1);

    return part > 0 && width > 0 && head > 0 && fabs(part * head - width) >= 1;
}

/* ---- findings -------------------------------------------------------------------------------- */

static const char *doc_of(const char *wanted)
{
    const char *code, *doc;

    for (size_t i = 0; (code = pe_engine_code_at(i, &doc)); i++)
        if (strcmp(code, wanted) == 0)
            return doc;
    return "";
}

/* ": 9 of 32 pairs, 0.9 rad at position 4095, 18 layers" */
static const char *size_print(struct pe_lint *lint, const struct pe_lint_finding *finding)
{
    const char *radians = finding->radians >= 1000 ? print(lint, "%.0f", finding->radians)
                                                   : print(lint, "%.3g", finding->radians);
    const char *pairs = finding->pairs
                            ? print(lint, ": %zu of %zu pairs, %s rad at position %lld",
                                    finding->pairs, finding->of, radians, (long long)finding->at)
                            : "";
    const char *layers = finding->layers ? print(lint, ", %zu layer%s", finding->layers,
                                                 finding->layers == 1 ? "" : "s")
                                         : "";

    return print(lint, "%s%s%s%s", pairs, layers, *finding->layer_types ? " of " : "",
                 finding->layer_types);
}

static bool is_like(const struct pe_lint_finding *a, const struct pe_lint_finding *b)
{
    return strcmp(a->code, b->code) == 0 && strcmp(a->keys, b->keys) == 0 && a->pairs == b->pairs &&
           a->of == b->of && a->radians == b->radians && a->length == b->length;
}

/* Adds a finding, or its layers to an equal one. */
static void finding_add(struct pe_lint *lint, const struct pe_lint_finding *finding)
{
    for (size_t i = 0; i < lint->count; i++) {
        struct pe_lint_finding *old = &lint->findings[i];
        if (!is_like(old, finding))
            continue;
        old->layers += finding->layers;
        if (!lists(old->layer_types, finding->layer_types))
            old->layer_types = joined(lint, old->layer_types, finding->layer_types);
        return;
    }
    if (lint->count < FINDINGS_MAX)
        lint->findings[lint->count++] = *finding;
}

static void messages_print(struct pe_lint *lint)
{
    for (size_t i = 0; i < lint->count; i++) {
        struct pe_lint_finding *finding = &lint->findings[i];
        const char *code = doc_of(finding->code);
        if (finding->message)
            continue;
        finding->message = print(lint, "%s%s%s%s%s%s%s", finding->keys, *finding->keys ? ": " : "",
                                 *finding->reads ? "the engine reads " : "", finding->reads,
                                 *finding->reads ? ": " : "", code, size_print(lint, finding));
    }
}

static void difference_take(struct pe_lint_finding *finding,
                            const struct pe_engine_difference *difference)
{
    finding->code = difference->code;
    finding->pairs = difference->pairs;
    finding->of = difference->of;
    finding->radians = difference->radians;
    finding->at = difference->at;
    finding->length = difference->length;
}

static void evidence_of(const struct judgement *judgement, struct pe_lint_finding *finding,
                        size_t at)
{
    const struct pe_engine_part *part = pe_engine_part_at(at);
    struct pe_engine_outcome outcome;

    pe_engine_outcome_get(judgement->rules, at, &outcome);
    finding->row = pe_engine_rules_row(judgement->rules);
    finding->rope = print(judgement->lint, "%s %s", part->rope_type, part->name);
    finding->measured = outcome.difference;
}

/* The measurement that the first change, or the verdict, is from. */
static void evidence_put(const struct judgement *judgement, struct pe_lint_finding *finding)
{
    evidence_of(judgement, finding,
                judgement->changes_count > 0 ? judgement->parts[0] : judgement->part);
}

/* ---- one reading against another ------------------------------------------------------------- */

struct differences {
    struct pe_engine_difference found[FINDINGS_MAX]; /* code NULL: the layers agree */
    size_t count, differing;
};

static enum pe_status models_compare(const struct judgement *judgement,
                                     const struct pe_config *changed,
                                     struct differences *differences)
{
    const struct pe_engine_model *ours = &judgement->model;
    struct pe_engine_model theirs;

    *differences = (struct differences){.count = ours->count};
    if (pe_engine_model_read(&theirs, changed, ours, &judgement->lint->memory, judgement->err) ==
        PE_OK)
        for (size_t i = 0; i < ours->count && i < FINDINGS_MAX; i++) {
            const struct pe_engine_layers *layers = &ours->layers[i],
                                          *other = pe_engine_layers_match(layers, &theirs);
            if (other && pe_engine_layers_differ(ours, layers, other, &differences->found[i]))
                differences->differing++;
        }
    pe_engine_model_release(&theirs);
    return judgement->err->status;
}

/* Compares with all changes but one; SIZE_MAX: all. *refused: posenc does not read that config. */
static enum pe_status changes_compare(const struct judgement *judgement, size_t without,
                                      struct differences *differences, bool *refused)
{
    struct pe_config *changed;
    struct pe_error *err = judgement->err;

    *refused = false;
    if (pe_engine_change_apply(&changed, judgement->config, &judgement->scope, judgement->changes,
                               judgement->changes_count, without, judgement->lint->memory.work,
                               err))
        return err->status;
    models_compare(judgement, changed, differences);
    pe_config_free(changed);
    if (err->status == PE_OK || pe_work_failed(judgement->lint->memory.work, err))
        return err->status;
    *refused = true;
    *err = (struct pe_error){0};
    return PE_OK;
}

static bool is_same(const struct differences *a, const struct differences *b)
{
    for (size_t i = 0; i < a->count && i < FINDINGS_MAX; i++) {
        const struct pe_engine_difference *one = &a->found[i], *other = &b->found[i];
        if (!one->code != !other->code)
            return false;
        if (one->code && (strcmp(one->code, other->code) != 0 || one->pairs != other->pairs ||
                          one->radians != other->radians || !one->also != !other->also))
            return false;
    }
    return true;
}

/* Takes changes away without which the result is the same. */
PE_WRAPS("counts down past 0")
static enum pe_status changes_reduce(struct judgement *judgement,
                                     const struct differences *differences)
{
    for (size_t i = judgement->changes_count; i-- > 0 && judgement->changes_count > 1;) {
        struct differences fewer;
        bool refused;
        if (changes_compare(judgement, i, &fewer, &refused))
            return judgement->err->status;
        if (refused || !is_same(differences, &fewer))
            continue;
        judgement->changes_count--;
        memmove(&judgement->changes[i], &judgement->changes[i + 1],
                (judgement->changes_count - i) * sizeof(judgement->changes[0]));
        memmove(&judgement->parts[i], &judgement->parts[i + 1],
                (judgement->changes_count - i) * sizeof(judgement->parts[0]));
    }
    return PE_OK;
}

/* ---- keys and what is read instead ----------------------------------------------------------- */

/* "rope_theta=10000", or "no truncate". */
static const char *change_print(struct pe_lint *lint, const struct pe_engine_change *change,
                                const char *key)
{
    switch (change->kind) {
    case PE_CHANGE_DROP:
        return print(lint, "no %s", key);
    case PE_CHANGE_NUMBER:
        return print(lint, "%s=%.10g", key, change->number);
    case PE_CHANGE_TRUTH:
        return print(lint, "%s=%s", key, change->number != 0 ? "true" : "false");
    case PE_CHANGE_TEXT:
    case PE_CHANGE_COPY:
        return print(lint, "%s=%s", key, change->text);
    }
    return "";
}

/* The path of the key, or of the object that it is absent from. */
static void keys_put(const struct judgement *judgement, struct pe_lint_finding *finding)
{
    struct pe_lint *lint = judgement->lint;
    char path[PE_CONFIG_PATH_SIZE];

    for (size_t i = 0; i < judgement->changes_count; i++) {
        const struct pe_engine_place place =
            pe_engine_place_find(&judgement->scope, judgement->changes[i]);
        const char *name = place.member ? place.member->name.text : place.key;
        finding->reads =
            joined(lint, finding->reads, change_print(lint, judgement->changes[i], name));
        if (place.member)
            finding->keys =
                joined(lint, finding->keys,
                       print(lint, "%s", pe_config_path(place.member, path, sizeof(path))));
    }
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static enum pe_status verdict_set(struct judgement *judgement, enum pe_engine_verdict verdict,
                                  const char *reason)
{
    judgement->lint->verdict = verdict;
    judgement->lint->reason = reason;
    return judgement->err->status;
}

static enum pe_status unmeasured(struct judgement *judgement, const char *reason)
{
    return verdict_set(judgement, PE_ENGINE_UNMEASURED, reason);
}

/* A difference that no rule explains may be one of the measured config alone. */
static enum pe_status unexplained(struct judgement *judgement)
{
    const struct pe_engine_part *part = pe_engine_part_at(judgement->part);

    return unmeasured(judgement,
                      print(judgement->lint,
                            "%s with a measured config of this model type (%s, rope object %s %s), "
                            "and no key explains it",
                            doc_of(judgement->outcome.difference->code),
                            pe_engine_rules_row(judgement->rules), part->rope_type, part->name));
}

/* The key that the engine needs and the config lacks; NULL: none. */
static const char *lacked(const struct judgement *judgement, const char **message)
{
    const char *path, *key;

    for (size_t i = 0;
         (path = pe_engine_need_at(judgement->rules, judgement->rope_type, i, message)); i++) {
        key = key_of_rope(path);
        if (key ? !has_key(&judgement->scope, key) : !pe_config_member(judgement->scope.text, path))
            return key ? key : path;
    }
    return NULL;
}

static enum pe_status raises_without(struct judgement *judgement, const char *key,
                                     const char *message)
{
    struct pe_lint_finding finding = {.code = "raises", .keys = "", .reads = "", .layer_types = ""};

    evidence_put(judgement, &finding);
    finding.message =
        print(judgement->lint, "no %s: the engine refuses the config: %s", key, message);
    finding_add(judgement->lint, &finding);
    return verdict_set(judgement, PE_ENGINE_RAISES, NULL);
}

static enum pe_status refusal_add(struct judgement *judgement, struct pe_lint_finding *finding,
                                  const char *message)
{
    finding->message = print(judgement->lint, "%s%sthe engine refuses the config: %s",
                             finding->keys, *finding->keys ? ": " : "", message);
    finding_add(judgement->lint, finding);
    return verdict_set(judgement, PE_ENGINE_RAISES, NULL);
}

static enum pe_status raises(struct judgement *judgement)
{
    struct pe_lint_finding finding = {.code = "raises", .reads = "", .layer_types = ""};
    const struct pe_engine_change change = {.path = judgement->outcome.key};
    char path[PE_CONFIG_PATH_SIZE];

    finding.keys = "";
    if (judgement->outcome.key) {
        const struct pe_engine_place place = pe_engine_place_find(&judgement->scope, &change);
        if (!place.member)
            return unmeasured(judgement, print(judgement->lint,
                                               "the engine was only given configs with %s, for "
                                               "which it raises: %s",
                                               place.key, judgement->outcome.message));
        finding.keys =
            print(judgement->lint, "%s", pe_config_path(place.member, path, sizeof(path)));
    }
    evidence_put(judgement, &finding);
    return refusal_add(judgement, &finding, judgement->outcome.message);
}

/* For the value of a key beside the rope object. */
static enum pe_status raises_for(struct judgement *judgement, const char *key, const char *message)
{
    struct pe_lint_finding finding = {.code = "raises", .reads = "", .layer_types = ""};
    const struct pe_config_member *member = pe_config_member(judgement->scope.text, key);
    char path[PE_CONFIG_PATH_SIZE];

    finding.keys = print(judgement->lint, "%s", pe_config_path(member, path, sizeof(path)));
    evidence_of(judgement, &finding, PART_OF_HEADS);
    return refusal_add(judgement, &finding, message);
}

/* Did the engine rotate a config with this key, of this rope type, as posenc reads it or by a rule?
 */
static bool is_known(const struct judgement *judgement, const char *key)
{
    const struct pe_engine_part *part;
    struct pe_engine_outcome outcome;

    for (size_t i = 0; i < judgement->changes_count; i++)
        if (strcmp(last_of(judgement->changes[i]->path), key) == 0)
            return true;
    for (size_t i = 0; (part = pe_engine_part_at(i)); i++)
        if (has_part_key(part, key) &&
            (strcmp(part->rope_type, judgement->rope_type) == 0 ||
             strcmp(part->name, "partial") == 0) &&
            pe_engine_outcome_get(judgement->rules, i, &outcome) &&
            (outcome.verdict == PE_ENGINE_SAME || outcome.changes_count > 0))
            return true;
    return false;
}

/* A key of the rope object that is read and that the engine was not given; NULL: none. */
static const char *unknown_key(const struct judgement *judgement,
                               const struct pe_config_reading *reading,
                               const struct pe_config_node *rope)
{
    static const char *const always[] = {"rope_theta",
                                         "rope_type",
                                         "type",
                                         "max_position_embeddings",
                                         "mrope_interleaved",
                                         "mrope_section",
                                         "llama_4_scaling_beta",
                                         NULL};

    for (const struct pe_config_member *at = rope ? rope->first : NULL; at; at = at->next)
        if (!pe_config_object(at) && at->value.kind != PE_CONFIG_NULL &&
            !pe_config_lists(always, at->name.text) && reading->read[at->number] &&
            !is_known(judgement, at->name.text))
            return at->name.text;
    return NULL;
}

/* The same of the rope objects of every type of layers, of the config or a changed one; *key NULL:
 * none. The key is of the judgement's memory. */
static enum pe_status unknown_find(const struct judgement *judgement,
                                   const struct pe_config *config, const char **key)
{
    const char *type = pe_config_layer_type(config, 0);
    struct pe_config_scope scope = pe_config_scope_of(config);
    struct pe_config_reading *reading = NULL;
    struct pe_params params = {0};

    *key = NULL;
    scope.rope = pe_config_rope(&scope);
    if (!pe_config_read(&reading, config, type, false, judgement->err) &&
        !pe_config_fill(reading, &params, judgement->err)) {
        *key = unknown_key(judgement, reading, scope.rope);
        for (const struct pe_config_member *at = scope.rope ? scope.rope->first : NULL; at && !*key;
             at = at->next)
            *key = unknown_key(judgement, reading, pe_config_object(at));
    }
    if (*key)
        *key = print(judgement->lint, "%s", *key);
    pe_params_free(&params);
    pe_config_reading_free(reading);
    return judgement->err->status;
}

/* The part of the head that rotates, of which the nearest part has no measurement. It is as posenc
 * reads it where the engine reads it so without scaling, and no measured rope type with it rotates
 * another width. */
static bool has_unknown_part_of_head(const struct judgement *judgement)
{
    static const char key[] = "partial_rotary_factor";
    const struct pe_engine_part *part;
    struct pe_engine_outcome outcome;
    bool known = false;

    if (!has_key(&judgement->scope, key) || has_part_key(pe_engine_part_at(judgement->part), key))
        return false;
    for (size_t i = 0; i < judgement->changes_count; i++)
        if (strcmp(last_of(judgement->changes[i]->path), key) == 0)
            return false;
    for (size_t i = 0; (part = pe_engine_part_at(i)); i++) {
        if (!has_part_key(part, key) || !pe_engine_outcome_get(judgement->rules, i, &outcome))
            continue;
        if (strcmp(part->rope_type, "default") == 0)
            known = outcome.verdict == PE_ENGINE_SAME;
        else if (outcome.verdict == PE_ENGINE_DIFFERS &&
                 strcmp(outcome.difference->code, "width") == 0)
            return true;
    }
    return !known;
}

static enum pe_status part_of_head(struct judgement *judgement)
{
    return unmeasured(judgement, "the engine was not given a config of this rope type with "
                                 "partial_rotary_factor");
}

static enum pe_status not_given(struct judgement *judgement, const char *key)
{
    return unmeasured(judgement,
                      print(judgement->lint, "the engine was not given a config with %s", key));
}

static enum pe_status same(struct judgement *judgement)
{
    const char *key;

    if (has_unknown_part_of_head(judgement))
        return part_of_head(judgement);
    if (unknown_find(judgement, judgement->config, &key))
        return judgement->err->status;
    return key ? not_given(judgement, key) : verdict_set(judgement, PE_ENGINE_SAME, NULL);
}

/* Likewise of the config with the changes. */
static enum pe_status unknown_in_changed(const struct judgement *judgement, const char **key)
{
    struct pe_config *changed;

    if (pe_engine_change_apply(&changed, judgement->config, &judgement->scope, judgement->changes,
                               judgement->changes_count, SIZE_MAX, judgement->lint->memory.work,
                               judgement->err))
        return judgement->err->status;
    unknown_find(judgement, changed, key);
    pe_config_free(changed);
    return judgement->err->status;
}

/* Are the differences the same without the key that is dropped, too? The change stays. */
static enum pe_status is_idle(struct judgement *judgement, const struct pe_engine_change *drop,
                              const struct differences *differences, bool *idle)
{
    const size_t before = judgement->changes_count;
    struct differences without;
    bool refused;

    *idle = false;
    change_add(judgement, judgement->part, drop);
    if (judgement->changes_count == before) /* it is in an object for a type of layers */
        return PE_OK;
    if (changes_compare(judgement, SIZE_MAX, &without, &refused))
        return judgement->err->status;
    *idle = !refused && is_same(differences, &without);
    return PE_OK;
}

/* A key that the engine was not given, without which the reading with the changes is another one;
 * *key NULL: none. */
static enum pe_status unknown_that_matters(struct judgement *judgement,
                                           const struct differences *differences, const char **key)
{
    struct pe_engine_change drops[UNKNOWN_MAX];
    const size_t before = judgement->changes_count;
    bool idle = true;

    for (size_t i = 0; idle; i++) {
        if (unknown_in_changed(judgement, key) || !*key || i == UNKNOWN_MAX)
            break;
        drops[i] = (struct pe_engine_change){.path = print(judgement->lint, "rope.%s", *key),
                                             .kind = PE_CHANGE_DROP};
        if (is_idle(judgement, &drops[i], differences, &idle))
            break;
    }
    judgement->changes_count = before;
    return judgement->err->status;
}

static enum pe_status findings_make(struct judgement *judgement,
                                    const struct differences *differences)
{
    for (size_t i = 0; i < differences->count && i < FINDINGS_MAX; i++) {
        const struct pe_engine_layers *layers = &judgement->model.layers[i];
        struct pe_lint_finding finding = {.keys = "", .reads = ""};
        if (!differences->found[i].code)
            continue;
        difference_take(&finding, &differences->found[i]);
        finding.layers = layers->count;
        finding.layer_types =
            layers->layer_type && judgement->model.count > 1 ? layers->layer_type : "";
        finding.layer_types = print(judgement->lint, "%s", finding.layer_types);
        keys_put(judgement, &finding);
        evidence_put(judgement, &finding);
        finding_add(judgement->lint, &finding);
    }
    messages_print(judgement->lint);
    return verdict_set(judgement, PE_ENGINE_DIFFERS, NULL);
}

/* A key of the config's rope object whose effect the measurement does not show; NULL: none. */
static const char *unseen_key(const struct judgement *judgement)
{
    const char *key;

    for (size_t i = 0; (key = pe_engine_unseen_at(judgement->engine, judgement->rope_type, i)); i++)
        if (has_key(&judgement->scope, key))
            return key;
    return NULL;
}

/* A key of the rope object that a change sets, for what the engine does where the key is absent:
 * the config has the key, and the engine was given no such config; NULL: none. */
static const char *key_beyond_rule(const struct judgement *judgement)
{
    static const char *const given[] = {"rope_theta", "rope_type", "type", NULL};

    for (size_t i = 0; i < judgement->changes_count; i++) {
        const struct pe_engine_change *change = judgement->changes[i];
        const char *key = key_of_rope(change->path);
        if (key && change->kind == PE_CHANGE_NUMBER && !pe_config_lists(given, key) &&
            !has_part_key(pe_engine_part_at(judgement->parts[i]), key) &&
            has_key(&judgement->scope, key))
            return key;
    }
    return NULL;
}

static enum pe_status differs(struct judgement *judgement)
{
    struct differences differences;
    const char *key;
    bool refused;

    key = unseen_key(judgement);
    if (key)
        return unmeasured(judgement, print(judgement->lint,
                                           "the measurement does not show what the engine does "
                                           "with %s",
                                           key));
    if (judgement->outcome.verdict == PE_ENGINE_DIFFERS && judgement->outcome.changes_count == 0)
        return unexplained(judgement);
    changes_collect(judgement);
    if (judgement->changes_count == 0)
        return same(judgement);
    if (has_unknown_part_of_head(judgement))
        return part_of_head(judgement);
    key = key_beyond_rule(judgement);
    if (key)
        return unmeasured(judgement, print(judgement->lint,
                                           "the engine was not given a config with %s beside these "
                                           "keys, and reads some of them otherwise",
                                           key));
    if (changes_compare(judgement, SIZE_MAX, &differences, &refused))
        return judgement->err->status;
    if (refused)
        return unmeasured(judgement, "the config is not one that posenc reads once the keys are "
                                     "taken away that the engine does not read");
    if (differences.differing == 0)
        return same(judgement);
    if (unknown_that_matters(judgement, &differences, &key))
        return judgement->err->status;
    if (key)
        return not_given(judgement, key);
    return changes_reduce(judgement, &differences) ? judgement->err->status
                                                   : findings_make(judgement, &differences);
}

/* ---- a judgement ----------------------------------------------------------------------------- */

/* "mistral3", or "mistral3/ministral3" where the part about text has a type of its own; NULL: there
 * is no model_type. */
static const char *model_key(const struct judgement *judgement)
{
    const struct pe_config_scope *scope = &judgement->scope;
    const char *outer = pe_config_text(pe_config_member(scope->top, "model_type"));
    const char *inner = pe_config_text(pe_config_member(scope->text, "model_type"));

    return outer && inner && scope->text != scope->top
               ? print(judgement->lint, "%.60s/%.60s", outer, inner)
               : outer;
}

/* Counts the classes of an object's `architectures`, and those that the engine lacks. */
static void classes_count(const struct judgement *judgement, const struct pe_config_node *object,
                          size_t *count, size_t *lacking)
{
    const struct pe_config_member *member = pe_config_member(object, "architectures");
    const struct pe_config_node *list =
        member && member->value.kind == PE_CONFIG_LIST ? member->value.as.node : NULL;

    for (const struct pe_config_item *at = list ? list->first_item : NULL; at; at = at->next) {
        ++*count;
        if (at->value.kind == PE_CONFIG_TEXT)
            *lacking += pe_engine_lacks_class(judgement->engine, at->value.as.text);
    }
}

/* Does the engine lack each class that the config names? An engine may take that of the part about
 * text. */
static bool lacks_classes(const struct judgement *judgement)
{
    const struct pe_config_scope *scope = &judgement->scope;
    size_t count = 0, lacking = 0;

    classes_count(judgement, scope->top, &count, &lacking);
    if (scope->text != scope->top)
        classes_count(judgement, scope->text, &count, &lacking);
    return count > 0 && lacking == count;
}

static bool reaches_beyond(const struct pe_engine_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->layers[i].reach > 0 &&
            model->layers[i].context > (1 + 1e-9) * model->layers[i].reach) /* of rounding */
            return true;
    return false;
}

static enum pe_status beyond(struct judgement *judgement, const char *message)
{
    return unmeasured(judgement,
                      print(judgement->lint,
                            "max_position_embeddings is more than factor * "
                            "original_max_position_embeddings; measured with such a config: %s",
                            message));
}

/* Of a config that the engine runs but for the width of a head. */
static enum pe_status width_judge(struct judgement *judgement)
{
    const char *refusal, *limit = pe_engine_beyond(judgement->rules, judgement->rope_type);

    if (is_part_apart(judgement))
        return unmeasured(judgement, "rotary_dim is not partial_rotary_factor * head_dim, and the "
                                     "engine was not given such a config");
    if (is_head_apart(judgement))
        switch (
            pe_engine_head_dim(judgement->rules, number_beside(judgement, "head_dim"), &refusal)) {
        case PE_ENGINE_RAISES:
            return raises_for(judgement, "head_dim", refusal);
        case PE_ENGINE_DIFFERS:
            judgement->is_head_ignored = true;
            break;
        case PE_ENGINE_SAME:
            break;
        default:
            return unmeasured(judgement, "head_dim is not hidden_size / num_attention_heads, and "
                                         "the engine was not given such a config");
        }
    return limit && reaches_beyond(&judgement->model) ? beyond(judgement, limit)
                                                      : differs(judgement);
}

static enum pe_status without_rules(struct judgement *judgement, const char *model_type)
{
    struct pe_lint *lint = judgement->lint;
    const int other = lint->form == 4 ? 5 : 4;

    if (pe_engine_rules_find(judgement->engine, model_type, other))
        return unmeasured(judgement, print(lint,
                                           "there are rules of the model_type %s in the form of "
                                           "transformers %d, and none in that of transformers %d",
                                           model_type, other, lint->form));
    return unmeasured(judgement,
                      print(lint,
                            "no config of the model_type %s was given to the engine in the form "
                            "of transformers %d",
                            model_type, lint->form));
}

static enum pe_status judge(struct judgement *judgement)
{
    const char *model_type = model_key(judgement), *key, *message;
    struct pe_lint *lint = judgement->lint;

    if (!model_type)
        return unmeasured(judgement, "the config has no model_type");
    if (lacks_classes(judgement))
        return verdict_set(judgement, PE_ENGINE_ABSENT, "the engine has no such model");
    judgement->rules = pe_engine_rules_find(judgement->engine, model_type, lint->form);
    if (!judgement->rules)
        return without_rules(judgement, model_type);
    judgement->part = part_find(judgement);
    if (judgement->part == SIZE_MAX)
        return unmeasured(judgement, print(lint,
                                           "the engine was not given a config with the rope "
                                           "type %.60s",
                                           judgement->rope_type));
    pe_engine_outcome_get(judgement->rules, judgement->part, &judgement->outcome);
    key = lacked(judgement, &message);
    if (key)
        return raises_without(judgement, key, message);
    switch (judgement->outcome.verdict) {
    case PE_ENGINE_RAISES:
        return raises(judgement);
    case PE_ENGINE_ABSENT:
    case PE_ENGINE_UNMEASURED:
        return verdict_set(judgement, judgement->outcome.verdict, judgement->outcome.message);
    default:
        return width_judge(judgement);
    }
}

static enum pe_status lint_new(struct pe_lint **lint, struct pe_work *work, struct pe_error *err)
{
    *lint = calloc(1, sizeof(**lint));
    if (!*lint)
        return pe_no_memory(err, "a judgement of a config");
    (*lint)->memory.work = work;
    return PE_OK;
}

enum pe_status pe_lint_engine(struct pe_lint **lint, const struct pe_config *config,
                              const struct pe_engine *engine, struct pe_work *work,
                              struct pe_error *err)
{
    struct judgement judgement = {.config = config, .engine = engine, .err = err};

    if (lint_new(lint, work, err))
        return err->status;
    if (config->models)
        return pe_fail(err, PE_UNSUPPORTED, "config",
                       "a GGUF file is llama.cpp's own; engines are measured with config.json");
    judgement.lint = *lint;
    judgement.scope = pe_config_scope_of(config);
    judgement.scope.rope = pe_config_rope(&judgement.scope);
    judgement.rope_type = rope_type_of(&judgement.scope);
    (*lint)->form = pe_engine_form_of(&judgement.scope);
    if (!pe_engine_model_read(&judgement.model, config, NULL, &(*lint)->memory, err))
        judge(&judgement);
    pe_engine_model_release(&judgement.model);
    return texts_check(*lint, err);
}

/* ---- two configs ----------------------------------------------------------------------------- */

/* The layers of one config that are compared with those of another, and named in findings. */
struct compared {
    const struct pe_engine_layers *own, *other, *named;
};

static void against_add(struct pe_lint *lint, const struct pe_engine_layers *named,
                        const char *code, const char *message, bool is_note)
{
    const struct pe_lint_finding finding = {
        .code = code,
        .message = message,
        .keys = "",
        .reads = "",
        .layer_types = named->layer_type ? print(lint, "%s", named->layer_type) : "",
        .layers = named->count,
        .is_note = is_note,
    };

    finding_add(lint, &finding);
    lint->verdict = is_note ? lint->verdict : PE_ENGINE_DIFFERS;
}

static void limits_compare(struct pe_lint *lint, const struct compared *layers)
{
    const struct pe_engine_layers *own = layers->own, *other = layers->other;

    if (own->window != other->window)
        against_add(lint, layers->named, "window",
                    print(lint, "%s: %lld here, %lld there (0: all keys are visible)",
                          doc_of("window"), (long long)own->window, (long long)other->window),
                    false);
    if (own->context > 0 && other->context > 0 && own->context != other->context)
        against_add(lint, layers->named, "context",
                    print(lint, "%s: %.0f here, %.0f there", doc_of("context"), own->context,
                          other->context),
                    true);
}

static void layers_compare(struct pe_lint *lint, const struct pe_engine_model *ours,
                           const struct compared *layers)
{
    struct pe_lint_finding finding = {.keys = "", .reads = ""};
    struct pe_engine_difference difference;

    if (!pe_engine_layers_differ(ours, layers->own, layers->other, &difference))
        return;
    difference_take(&finding, &difference);
    finding.layers = layers->named->count;
    finding.layer_types =
        layers->named->layer_type ? print(lint, "%s", layers->named->layer_type) : "";
    finding_add(lint, &finding);
    lint->verdict = PE_ENGINE_DIFFERS;
}

/* Layers of two kinds, of which the fewer are named. */
static struct compared compared_of(const struct pe_engine_layers *own,
                                   const struct pe_engine_layers *other)
{
    return (struct compared){own, other, own->count > 0 && own->count < other->count ? own : other};
}

/* Each kind of layers of either config is compared with one of the other; both have layers. */
static void models_against(struct pe_lint *lint, const struct pe_engine_model *ours,
                           const struct pe_engine_model *theirs, bool with_limits)
{
    for (size_t i = 0; i < theirs->count + ours->count; i++) {
        const bool is_theirs = i < theirs->count;
        const struct pe_engine_layers *one =
            is_theirs ? &theirs->layers[i] : &ours->layers[i - theirs->count];
        const struct pe_engine_layers *match =
            pe_engine_layers_match(one, is_theirs ? ours : theirs);
        const struct compared layers =
            is_theirs ? compared_of(match, one) : compared_of(one, match);
        if (!is_theirs && pe_engine_layers_match(match, ours) == one)
            continue; /* compared already */
        layers_compare(lint, ours, &layers);
        if (with_limits)
            limits_compare(lint, &layers);
    }
}

/* Reads both configs at the lengths of a model, and compares what they rotate. */
static enum pe_status against_at(struct pe_lint *lint, const struct pe_config *config,
                                 const struct pe_config *other,
                                 const struct pe_engine_model *lengths, struct pe_error *err)
{
    struct pe_engine_model ours = {0}, theirs = {0};

    if (!pe_engine_model_read(&ours, config, lengths, &lint->memory, err) &&
        !pe_engine_model_read(&theirs, other, lengths, &lint->memory, err))
        models_against(lint, &ours, &theirs, false);
    pe_engine_model_release(&theirs);
    pe_engine_model_release(&ours);
    return err->status;
}

enum pe_status pe_lint_against(struct pe_lint **lint, const struct pe_config *config,
                               const struct pe_config *other, struct pe_work *work,
                               struct pe_error *err)
{
    struct pe_engine_model ours = {0}, theirs = {0};

    if (lint_new(lint, work, err))
        return err->status;
    if (!pe_engine_model_read(&ours, config, NULL, &(*lint)->memory, err) &&
        !pe_engine_model_read(&theirs, other, &ours, &(*lint)->memory, err))
        models_against(*lint, &ours, &theirs, true);
    /* The other config may change its frequencies at another length. */
    if (!err->status && (*lint)->verdict == PE_ENGINE_SAME &&
        pe_engine_lengths_differ(&theirs, &ours)) {
        pe_engine_lengths_set(&theirs);
        against_at(*lint, config, other, &theirs, err);
    }
    messages_print(*lint);
    pe_engine_model_release(&theirs);
    pe_engine_model_release(&ours);
    return texts_check(*lint, err);
}

/* ---- the result ------------------------------------------------------------------------------ */

void pe_lint_free(struct pe_lint *lint)
{
    if (!lint)
        return;
    pe_config_memory_free(&lint->memory);
    free(lint);
}

enum pe_engine_verdict pe_lint_verdict(const struct pe_lint *lint)
{
    return lint->verdict;
}

const char *pe_lint_reason(const struct pe_lint *lint)
{
    return lint->reason;
}

int pe_lint_form(const struct pe_lint *lint)
{
    return lint->form;
}

const struct pe_lint_finding *pe_lint_finding(const struct pe_lint *lint, size_t index)
{
    return index < lint->count ? &lint->findings[index] : NULL;
}

double pe_lint_work(const struct pe_config *config)
{
    return READINGS * pe_config_read_work(config);
}
