/* SPDX-License-Identifier: MIT */
#include "api/routes/page.h"

#include <string.h>

static const char style[] =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:2em auto;padding:0 1em}"
    "pre{background:#f4f4f4;padding:.7em;overflow:auto}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}pre{background:#222}"
    "a{color:#8bf}}";

static const char *escaped(char character)
{
    switch (character) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

void api_page_text(struct api_text *page, const char *text)
{
    while (*text) {
        const size_t plain = strcspn(text, "<>&\"");

        api_text_add(page, text, plain);
        text += plain;
        if (*text)
            api_text_put(page, escaped(*text++));
    }
}

void api_page_put(struct api_text *page, const char *markup, const char *text)
{
    const char *at = strstr(markup, "%s");

    if (!at) {
        api_text_put(page, markup);
        return;
    }
    api_text_add(page, markup, (size_t)(at - markup));
    api_page_text(page, text);
    api_page_put(page, at + 2, text);
}

void api_page_begin(struct api_text *page, const char *title)
{
    api_text_put(page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                       "<meta name=\"viewport\" content=\"width=device-width\"><title>");
    api_page_text(page, title);
    api_text_put(page, "</title><style>");
    api_text_put(page, style);
    api_page_put(page, "</style></head><body>\n<h1>%s</h1>\n", title);
}

enum pe_status api_page_end(struct api_text *page, struct api_request *request,
                            struct api_result *result, struct pe_error *err)
{
    api_text_put(page, "</body></html>\n");
    result->kind = API_MEDIA;
    result->media_type = "text/html; charset=utf-8";
    result->policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                     "frame-ancestors 'none'";
    result->size = page->size;
    result->bytes = api_text_take(page, request->arena);
    return result->bytes ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the page");
}
