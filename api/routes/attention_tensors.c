/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/arguments/places.h"
#include "api/routes/attention_asked.h"

#define EPSILON_USUAL 1e-6

/* ---- tensors --------------------------------------------------------------------------------- */

enum owner { ANY, ENCODING, ABSOLUTE };

static bool holds_numbers(const struct attention_asked *asked, const char *name)
{
    const struct api_numbers *all[] = {&asked->positions, &asked->key_positions, &asked->ends,
                                       &asked->key_ends};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i]->tensor && strcmp(all[i]->tensor, name) == 0)
            return true;
    return false;
}

static enum pe_status tensor_take(struct attention_asked *asked, const struct api_tensor *tensor,
                                  struct pe_error *err)
{
    struct pe_attention_spec *spec = &asked->spec;
    const struct {
        const char *name;
        struct pe_tensor *tensor;
        enum owner owner;
    } known[] = {{"q", &spec->q, ENCODING},
                 {"k", &spec->k, ENCODING},
                 {"v", &spec->v, ENCODING},
                 {"mask", &spec->mask, ANY},
                 {"bias", &spec->bias, ANY},
                 {"sinks", &spec->sinks, ANY},
                 {"q_norm", &spec->q_norm, ANY},
                 {"k_norm", &spec->k_norm, ANY},
                 {"rel_k", &spec->rel_k, ENCODING},
                 {"rel_v", &spec->rel_v, ENCODING},
                 {"w_r", &spec->w_r, ENCODING},
                 {"pos_bias_u", &spec->pos_bias_u, ENCODING},
                 {"pos_bias_v", &spec->pos_bias_v, ENCODING},
                 {"pos_key", &spec->pos_key, ENCODING},
                 {"pos_query", &spec->pos_query, ENCODING},
                 {"weights", &asked->weights, ENCODING},
                 {"x", &asked->absolute.x, ABSOLUTE},
                 {"p", &asked->absolute.p, ABSOLUTE},
                 {"w_q", &asked->absolute.w_q, ABSOLUTE},
                 {"w_k", &asked->absolute.w_k, ABSOLUTE},
                 {"w_v", &asked->absolute.w_v, ABSOLUTE}};
    const size_t count = sizeof(known) / sizeof(known[0]);
    char where[sizeof(err->where)];
    size_t i = 0;

    while (i < count && strcmp(known[i].name, tensor->name) != 0)
        i++;
    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    if (i == count)
        return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                       "attention knows no tensor '%.60s'; it takes q, k, v, mask, bias, sinks, "
                       "q_norm, k_norm, rel_k, rel_v, w_r, pos_bias_u, pos_bias_v, pos_key, "
                       "pos_query, weights; absolute x, p, w_q, w_k, w_v",
                       tensor->name);
    if (tensor->tensor.rank == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s has no dimensions", tensor->name);
    if (known[i].owner == (asked->is_absolute ? ENCODING : ABSOLUTE))
        return pe_fail(err, PE_CONFLICT, where,
                       asked->is_absolute ? "%s has no part in absolute, which takes x, p, w_q, "
                                            "w_k and w_v"
                                          : "%s belongs to the encoding absolute",
                       known[i].name);
    *known[i].tensor = tensor->tensor;
    return PE_OK;
}

/* Of the norm, once it is known whether there are weights. */
static enum pe_status norm_read(struct attention_asked *asked, struct pe_error *err)
{
    struct pe_attention_spec *spec = &asked->spec;
    const bool weighs = spec->q_norm.rank > 0 || spec->k_norm.rank > 0;
    const double epsilon = attention_number(asked, "norm_epsilon", EPSILON_USUAL);
    const double offset = attention_number(asked, "norm_offset", 0);

    spec->norm = (enum pe_attention_norm)attention_number(asked, "norm",
                                                          weighs ? PE_NORM_BEFORE : PE_NORM_NONE);
    if (spec->norm == PE_NORM_NONE && (epsilon != EPSILON_USUAL || offset != 0))
        return pe_fail(err, PE_CONFLICT,
                       offset != 0 ? "parameter:norm_offset" : "parameter:norm_epsilon",
                       "%s is of a norm, and there is none: post q_norm and k_norm, or say norm",
                       offset != 0 ? "norm_offset" : "norm_epsilon");
    if (spec->norm == PE_NORM_NONE)
        return PE_OK;
    if (offset != 0 && !weighs)
        return pe_fail(err, PE_CONFLICT, "parameter:norm_offset",
                       "norm_offset is added to q_norm and k_norm, which are not posted");
    spec->norm_epsilon = epsilon;
    spec->norm_offset = offset;
    return PE_OK;
}

/* Components are terms of q k, and nothing that is not a sum of them has a part there. */
static enum pe_status components_check(const struct attention_asked *asked, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &asked->spec;

    if (!asked->splits || (spec->softcap == 0 && spec->bias.rank == 0 && spec->sinks.rank == 0 &&
                           spec->norm == PE_NORM_NONE))
        return PE_OK;
    return pe_fail(err, PE_CONFLICT, "parameter:outputs",
                   "components are the four terms of q k; softcap, bias, sinks and norms belong "
                   "to their sum");
}

enum pe_status attention_tensors_read(struct attention_asked *asked, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &asked->spec;
    char where[sizeof(err->where)];

    for (size_t i = 0; i < asked->request->tensors_count; i++)
        if (!holds_numbers(asked, asked->request->tensors[i].name) &&
            tensor_take(asked, &asked->request->tensors[i], err))
            return err->status;
    if (norm_read(asked, err) || components_check(asked, err))
        return err->status;
    if (asked->is_absolute || (spec->q.rank == 4 && spec->k.rank == 4))
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%s", spec->q.rank == 4 ? "k" : "q");
    return pe_fail(err, spec->q.rank && spec->k.rank ? PE_SHAPE_MISMATCH : PE_MISSING, where,
                   "attention needs q [batch, heads, queries, d] and k [batch, heads, keys, d]");
}

/* ---- positions ------------------------------------------------------------------------------- */

static enum pe_status positions_fit(struct attention_asked *asked,
                                    const struct api_numbers *numbers,
                                    const struct pe_tensor *tensor, const char *name,
                                    size_t axes_count, struct pe_positions *positions,
                                    struct pe_error *err)
{
    const struct api_places places = {.axes_count = axes_count, .numbers = *numbers, .step = 1};
    const struct pe_axes axes = {tensor->shape[0], tensor->shape[1], tensor->shape[2], 1,
                                 tensor->shape[3]};

    return numbers->given ? api_places_fit(asked->request, &places, &axes, name, positions, err)
                          : PE_OK;
}

enum pe_status attention_positions_read(struct attention_asked *asked, size_t axes_count,
                                        struct pe_error *err)
{
    struct pe_attention_spec *spec = &asked->spec;

    return positions_fit(asked, &asked->positions, &spec->q, "q", axes_count, &spec->positions,
                         err) ||
                   positions_fit(asked, &asked->key_positions, &spec->k, "k", axes_count,
                                 &spec->key_positions, err)
               ? err->status
               : PE_OK;
}
