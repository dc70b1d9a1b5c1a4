/* SPDX-License-Identifier: MIT */

#include "api/base/compiler.h"
#include "server/server.h"

/* The files that the Makefile writes to build/explorer; without node all but docs.html are empty.
 */
#define FILE_EMBED(name, file)                                                                     \
    API_EMBED(srv_##name, EXPLORER "/" file)                                                       \
    API_EMBED(srv_##name##_gzip, EXPLORER "/" file ".gz")
#define FILE_OF(name, path, media_type)                                                            \
    {                                                                                              \
        path, media_type, srv_##name, srv_##name##_end, srv_##name##_gzip, srv_##name##_gzip_end   \
    }

FILE_EMBED(page_html, "index.html")
FILE_EMBED(page_script, "explorer.js")
FILE_EMBED(page_shared_script, "shared.js")
FILE_EMBED(page_second_script, "second.js")
FILE_EMBED(page_style, "explorer.css")
FILE_EMBED(page_icon, "icon.svg")
FILE_EMBED(docs_html, "docs.html")
FILE_EMBED(docs_script, "docs.js")
FILE_EMBED(docs_style, "docs.css")

static const struct api_file files[] = {
    FILE_OF(page_html, "/", "text/html; charset=utf-8"),
    FILE_OF(page_script, "/explorer.js", "text/javascript; charset=utf-8"),
    FILE_OF(page_shared_script, "/shared.js", "text/javascript; charset=utf-8"),
    FILE_OF(page_second_script, "/second.js", "text/javascript; charset=utf-8"),
    FILE_OF(page_style, "/explorer.css", "text/css; charset=utf-8"),
    FILE_OF(page_icon, "/icon.svg", "image/svg+xml"),
    FILE_OF(docs_html, "/docs", "text/html; charset=utf-8"),
    FILE_OF(docs_script, "/docs.js", "text/javascript; charset=utf-8"),
    FILE_OF(docs_style, "/docs.css", "text/css; charset=utf-8"),
    {0},
};

const struct api_file *srv_page_files(void)
{
    return files;
}
