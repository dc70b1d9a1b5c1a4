/* SPDX-License-Identifier: MIT */
#include "api/routes/config_links.h"

#include <string.h>

#include "api/numbers/text.h"
#include "api/request/request.h"
#include "api/routes/query_text.h"

/* A view of the scheme, with what the view cannot do without as in its example. */
static json_t *link_make(struct api_request *request, const struct pe_scheme *scheme,
                         const struct pe_view_info *view)
{
    struct api_text text = {0};
    json_t *link;

    api_text_print(&text, "%s/v1/encodings/%s/%s", request->settings->base_path,
                   pe_encoding_info(pe_scheme_encoding(scheme))->name, view->name);
    /* None of a config is text. */
    api_query_text_put(&text, pe_scheme_params(scheme), SIZE_MAX);
    if (view->example && !text.failed)
        api_text_print(&text, "%c%s", memchr(text.bytes, '?', text.size) ? '&' : '?',
                       view->example);
    link = text.failed ? NULL : json_stringn(text.bytes, text.size);
    api_text_free(&text);
    return link;
}

json_t *api_config_links(struct api_request *request, const struct pe_scheme *scheme)
{
    const struct pe_view_type *type;
    json_t *links = json_object();

    for (size_t i = 0; (type = pe_encoding_view_at(pe_scheme_encoding(scheme), i)); i++) {
        const struct pe_view_info *view = pe_view_info(type);
        if (!view->group &&
            json_object_set_new(links, view->name, link_make(request, scheme, view))) {
            json_decref(links);
            return NULL;
        }
    }
    return links;
}
