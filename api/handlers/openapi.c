/* SPDX-License-Identifier: MIT */
#include "api/handlers/handler.h"

/* The files themselves, put into the object by the assembler: no tool at build time, no copy of the
 * text in C. openapi.json is made of openapi.yaml by tools/openapi.py; a test compares them.
 */
#define EMBED(name, file)                                                                          \
    extern const char name[], name##_end[];                                                        \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #name "\n"                                                                  \
            ".hidden " #name "\n" #name ":\n"                                                      \
            ".incbin \"" file "\"\n"                                                               \
            ".global " #name "_end\n"                                                              \
            ".hidden " #name "_end\n" #name "_end:\n"                                              \
            ".byte 0\n"                                                                            \
            ".popsection\n");

EMBED(api_openapi_yaml_text, "openapi.yaml")
EMBED(api_openapi_json_text, "openapi.json")

enum api_status api_handle_openapi_yaml(struct api_request *request, struct api_response *response,
                                        struct api_result **result, struct api_error *err)
{
    (void)request, (void)result, (void)err;
    api_response_header(response, "Cache-Control", "public, max-age=60");
    api_respond_bytes(response, "application/yaml", api_openapi_yaml_text,
                      (size_t)(api_openapi_yaml_text_end - api_openapi_yaml_text));
    return API_OK;
}

enum api_status api_handle_openapi_json(struct api_request *request, struct api_response *response,
                                        struct api_result **result, struct api_error *err)
{
    (void)request, (void)result, (void)err;
    api_response_header(response, "Cache-Control", "public, max-age=60");
    api_respond_bytes(response, "application/json", api_openapi_json_text,
                      (size_t)(api_openapi_json_text_end - api_openapi_json_text));
    return API_OK;
}
