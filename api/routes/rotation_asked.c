/* SPDX-License-Identifier: MIT */
#include "api/routes/rotation_asked.h"

#include "api/config/config.h"
#include "api/routes/engine_caches.h"

static const struct pe_param params_list[] = {
    {.name = "axes",
     .type = PE_CHOICE,
     .choices = "bhsd,bshd,thd,shd,hsd,bsd,sd",
     .doc = "The axes of the tensors; without h, d is heads * dim."},
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .required = true,
     .doc = API_LAYOUT_DOC},
    {.name = "output_layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .doc = "The layout of the pairs in the answer; the same if absent."},
    {.name = "inverse", .type = PE_BOOLEAN, .fallback = "false", .doc = "Undo a rotation."},
    {.name = "apply_attention_factor",
     .type = PE_BOOLEAN,
     .fallback = "true",
     .doc = "Multiply by the scheme's attention factor."},
    API_PARAM_CACHE,
};

static const char own[] = "encoding from_encoding to_encoding tensors positions delta cu_seqlens "
                          "tensor tables dtype " API_CONFIG_OWN;

static enum pe_status rotary_check(const struct pe_encoding *encoding, const char *where,
                                   struct pe_error *err)
{
    if (pe_encoding_has(encoding, PE_KIND_ROTARY))
        return PE_OK;
    return pe_fail(err, PE_UNSUPPORTED, where,
                   "%s is not rotary and rotates nothing; a rotary encoding such as rope does",
                   pe_encoding_info(encoding)->name);
}

/* One encoding to rotate by; or two, one to undo and one to rotate by instead. */
static enum pe_status encodings_read(struct api_request *request, struct rotation_asked *asked,
                                     struct pe_error *err)
{
    if (!api_function_posted(request, "from_encoding") &&
        !api_function_posted(request, "to_encoding")) {
        if (api_function_encoding(request, NULL, &asked->encoding, &asked->encoding_params,
                                  &asked->params, err))
            return err->status;
        asked->config = request->config;
        return rotary_check(asked->encoding, "parameter:encoding", err);
    }
    if (api_function_posted(request, "encoding"))
        return pe_fail(err, PE_CONFLICT, "parameter:encoding",
                       "from_encoding and to_encoding take the place of encoding");
    if (api_function_encoding_at(request, "from_encoding", &asked->from, &asked->from_params,
                                 &asked->params, &asked->from_config, err) ||
        rotary_check(asked->from, "parameter:from_encoding", err) ||
        api_function_encoding_at(request, "to_encoding", &asked->encoding, &asked->encoding_params,
                                 &asked->params, &asked->config, err))
        return err->status;
    return rotary_check(asked->encoding, "parameter:to_encoding", err);
}

/* cos and sin among the tensors are the table, as an engine keeps them too. */
static enum pe_status tables_read(struct api_request *request, struct rotation_asked *asked,
                                  struct pe_error *err)
{
    const struct api_tensor *cos, *sin;

    if (api_engine_cache_replace(request, &asked->params, err))
        return err->status;
    cos = api_request_tensor(request, "cos");
    sin = api_request_tensor(request, "sin");
    asked->spec.cos = cos ? &cos->tensor : NULL;
    asked->spec.sin = sin ? &sin->tensor : NULL;
    if (!cos && !sin)
        return PE_OK;
    if (asked->from)
        return pe_fail(err, PE_CONFLICT, "parameter:from_encoding",
                       "cos and sin take the place of one encoding, not of two");
    return cos && cos->tensor.rank == 2 ? pe_params_infer(&asked->encoding_params, "rotary_dim",
                                                          (double)(2 * cos->tensor.shape[1]), err)
                                        : PE_OK; /* and refused when the rotation is made */
}

static void spec_set(struct rotation_asked *asked)
{
    const struct pe_value *output_layout = pe_param_value(&asked->params, "output_layout");

    asked->spec.layout = (enum pe_layout)pe_param_number(&asked->params, "layout");
    asked->spec.output_layout =
        output_layout->present ? (enum pe_layout)output_layout->number : asked->spec.layout;
    asked->spec.inverse = pe_param_number(&asked->params, "inverse") != 0;
    asked->spec.without_attention_factor =
        pe_param_number(&asked->params, "apply_attention_factor") == 0;
    asked->spec.is_delta = asked->places.is_delta;
    asked->spec.size = sizeof(asked->spec);
    asked->undo_spec = asked->spec;
    asked->undo_spec.output_layout = asked->spec.layout;
    asked->undo_spec.inverse = true;
}

/* A model's config tells of one encoding. */
static enum pe_status config_read(struct api_request *request, struct rotation_asked *asked,
                                  struct pe_error *err)
{
    if (asked->from && api_function_posted(request, "config"))
        return pe_fail(err, PE_CONFLICT, "parameter:config",
                       "config tells of one encoding; leave out from_encoding and to_encoding");
    return api_config_fill(asked->config, asked->encoding, &asked->encoding_params, err) ||
                   api_config_layout(asked->config, &asked->params, err)
               ? err->status
               : PE_OK;
}

enum pe_status rotation_asked_read(struct api_request *request, struct rotation_asked *asked,
                                   struct pe_error *err)
{
    struct pe_params *sets[] = {&asked->params, &asked->places_params, &asked->answer_params,
                                &asked->encoding_params};

    pe_params_init(&asked->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_places_params(&asked->places_params);
    api_answer_params(request, &asked->answer_params);
    if (api_function_start(request, "", err) || api_config_open(request, err) ||
        encodings_read(request, asked, err))
        return err->status;
    /* Parameters at the top level belong to a single encoding; with two they are refused. */
    if (api_bind(request, sets, asked->from ? 3 : 4, own, err) ||
        (!asked->from && api_posted_frequencies(request, &asked->encoding_params, err)) ||
        config_read(request, asked, err) || pe_params_finish(&asked->params, err) ||
        api_places_read(request, &asked->places_params, &asked->places, err) ||
        tables_read(request, asked, err))
        return err->status;
    spec_set(asked);
    if (asked->from && (asked->spec.inverse || asked->spec.is_delta))
        return pe_fail(err, PE_CONFLICT,
                       asked->spec.is_delta ? "parameter:delta" : "parameter:inverse",
                       "from_encoding is undone and to_encoding applied where the tokens stand; "
                       "leave out delta and inverse");
    return PE_OK;
}
