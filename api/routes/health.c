/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "api/numbers/text.h"
#include "api/response/problem.h"
#include "api/response/response.h"
#include "api/routes/handler.h"

/* A probe negotiates nothing and has no headers for pages of other origins. */
static enum pe_status probe_answer(struct api_result *result, const char *text)
{
    result->kind = API_MEDIA;
    result->bare = true;
    result->cache_control = "no-store";
    result->media_type = "application/json";
    result->bytes = text;
    result->size = strlen(text);
    return PE_OK;
}

static enum pe_status livez_open(struct api_request *request, struct api_result *result,
                                 struct pe_error *err)
{
    (void)request, (void)err;
    return probe_answer(result, "{\"status\":\"live\"}\n");
}

const struct api_handler api_handler_livez = {livez_open, NULL};

static enum pe_status readyz_open(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    const struct api_host *host = &request->settings->host;

    if (host->ready && !host->ready(host->context))
        return pe_fail(err, PE_BUSY, "", "the server takes no new requests: it is about to end");
    return probe_answer(result, "{\"status\":\"ready\"}\n");
}

const struct api_handler api_handler_readyz = {readyz_open, NULL};

static void text_append(void *sink, const char *text)
{
    api_text_put(sink, text);
}

static void problems_print(struct api_text *text, struct api *api)
{
    api_text_put(text, "# HELP posenc_problems_total Problem documents sent, by code.\n"
                       "# TYPE posenc_problems_total counter\n");
    for (int status = PE_OK + 1; status < API_PROBLEMS; status++)
        api_text_print(text, "posenc_problems_total{code=\"%s\"} %" PRIu64 "\n",
                       pe_status_code(status),
                       atomic_load_explicit(&api->problems[status], memory_order_relaxed));
    api_text_print(text,
                   "# HELP posenc_not_modified_total Views that the client had already.\n"
                   "# TYPE posenc_not_modified_total counter\n"
                   "posenc_not_modified_total %" PRIu64 "\n",
                   atomic_load_explicit(&api->not_modified, memory_order_relaxed));
}

/* The build, and how many values were taken without a proof of their rounding. */
static void core_print(struct api_text *text, const struct api *api)
{
    api_text_print(
        text,
        "# HELP posenc_build_info What runs here.\n"
        "# TYPE posenc_build_info gauge\n"
        "posenc_build_info{version=\"%s\",revision=\"%s\",isa=\"%s\"} 1\n"
        "# HELP posenc_exact_undecided_total Values whose rounding 1280 bits left open.\n"
        "# TYPE posenc_exact_undecided_total counter\n"
        "posenc_exact_undecided_total %lu\n",
        pe_version(), api->revision, pe_isa_name(), pe_exact_undecided());
}

static enum pe_status metrics_open(struct api_request *request, struct api_result *result,
                                   struct pe_error *err)
{
    (void)request;
    result->kind = API_MEDIA;
    result->cache_control = "no-store";
    result->media_type = "text/plain; version=0.0.4; charset=utf-8";
    return err->status;
}

static enum pe_status metrics_make(struct api_request *request, struct api_result *result,
                                   struct pe_error *err)
{
    const struct api_host *host = &request->settings->host;
    struct api_text text = {0};

    if (host->metrics)
        host->metrics(host->context, text_append, &text);
    problems_print(&text, request->api);
    core_print(&text, request->api);
    result->size = text.size;
    result->bytes = api_text_take(&text, request->arena);
    return result->bytes ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the metrics");
}

const struct api_handler api_handler_metrics = {metrics_open, metrics_make};
