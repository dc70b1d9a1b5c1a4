/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/formats/formats.h"
#include "api/numbers/text.h"
#include "api/response/blocks.h"

/* https://github.com/huggingface/safetensors: a little-endian length of 8 bytes, a JSON object
 * padded with blanks to a multiple of 8, the data. */

/* Metadata are strings: parameters as their JSON text, the encoding's name by itself. */
static json_t *metadata_make(const struct api_request *request, const struct api_result *result)
{
    json_t *metadata = json_object();
    const char *name;
    json_t *value;

    for (size_t i = 0; metadata && i < request->passed_metadata_count; i++)
        json_object_set_new(metadata, request->passed_metadata[i].name,
                            json_string(request->passed_metadata[i].value));
    if (metadata && result->attention) {
        struct api_text text = {0};
        api_text_json(&text, result->attention, true);
        if (text.failed || json_object_set_new(metadata, "attention", json_string(text.bytes))) {
            json_decref(metadata);
            metadata = NULL;
        }
        api_text_free(&text);
    }
    if (!metadata || !result->encoding)
        return metadata;
    json_object_foreach(result->encoding, name, value)
    {
        char key[80];
        struct api_text text = {0};

        snprintf(key, sizeof(key), "posenc.%.64s", strcmp(name, "name") == 0 ? "encoding" : name);
        if (json_is_string(value))
            api_text_put(&text, json_string_value(value));
        else
            api_text_json(&text, value, true);
        /* A list as in a query: without its brackets. */
        if (json_is_array(value) && text.size > 1) {
            text.bytes[text.size - 1] = '\0';
            memmove(text.bytes, text.bytes + 1, text.size - 1);
        }
        if (text.failed || json_object_set_new(metadata, key, json_string(text.bytes))) {
            api_text_free(&text);
            json_decref(metadata);
            return NULL;
        }
        api_text_free(&text);
    }
    return metadata;
}

/* {"dtype": "F32", "shape": [4, 64], "data_offsets": [0, 1024]} */
static json_t *tensor_make(const struct pe_output *output, uint64_t begin)
{
    size_t shape[PE_RANK_MAX + 1];
    const unsigned rank = api_output_shape(output, shape);
    json_t *axes = json_array();

    for (unsigned axis = 0; axes && axis < rank; axis++)
        json_array_append_new(axes, json_integer((json_int_t)shape[axis]));
    return json_pack("{ss so s[II]}", "dtype", pe_dtype_info(output->dtype)->safetensors, "shape",
                     axes, "data_offsets", (json_int_t)begin,
                     (json_int_t)(begin + api_output_size(output)));
}

static json_t *header_make(const struct api_request *request, const struct api_result *result)
{
    json_t *header = json_object(), *metadata = metadata_make(request, result);
    uint64_t offset = 0;

    if (!metadata) {
        json_decref(header);
        return NULL;
    }
    if (json_object_size(metadata) > 0)
        json_object_set_new(header, "__metadata__", metadata);
    else
        json_decref(metadata);
    for (size_t i = 0; header && i < result->outputs_count; i++) {
        json_object_set_new(header, result->outputs[i].name,
                            tensor_make(&result->outputs[i], offset));
        offset += api_output_size(&result->outputs[i]);
    }
    return header;
}

static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    static const char blanks[] = "        ";
    struct api_text text = {0};
    json_t *header = header_make(request, result);
    unsigned char *prefix;
    uint64_t length;
    size_t size;

    if (!header)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    api_text_add(&text, blanks, 8);
    api_text_json(&text, header, false);
    json_decref(header);
    api_text_add(&text, blanks, (8 - (text.size & 7)) & 7);
    size = text.size;
    prefix = (unsigned char *)api_text_take(&text, request->arena);
    if (!prefix)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    length = size - 8;
    for (size_t i = 0; i < 8; i++)
        prefix[i] = (unsigned char)(length >> (8 * i));
    return api_blocks_render(request, result, prefix, size, response, err);
}

const struct api_format api_format_safetensors = {
    .name = "safetensors",
    .media_type = "application/x-safetensors",
    .extension = "safetensors",
    .binary = true,
    .is_file = true,
    .render = render,
};
