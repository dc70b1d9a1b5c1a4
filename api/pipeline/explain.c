/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/handlers/handler.h"
#include "api/pipeline/stages.h"

/* Turns a shortage that no retry can cure into 413. */
static void shortage_explain(const struct api_intake *intake, struct api_error *err)
{
    if (api_failed(err) != API_OUT_OF_MEMORY || !api_arena_over_budget(intake->request.arena))
        return;
    *err = (struct api_error){0};
    api_fail(err, API_TOO_LARGE, "",
             "the request needs more memory than the service may take, %llu bytes, the value of "
             "--memory-budget",
             (unsigned long long)intake->request.settings->limits.memory_budget);
}

/* A missing length is most often an unquoted &, which ended the shell's command. */
static void quotes_advise(const struct api_intake *intake, struct api_error *err)
{
    const size_t used = strlen(err->detail);

    if (api_failed(err) == API_MISSING && strcmp(err->where, "parameter:length") == 0 &&
        strcmp(intake->request.method, "GET") == 0)
        snprintf(err->detail + used, sizeof(err->detail) - used,
                 "; quote the URL, the shell eats what follows &");
}

/* Work that has ended fails in many places; report one reason: the timeout. */
static void ending_explain(const struct api_intake *intake, struct api_error *err)
{
    if (!api_failed(err) || !pe_work_ended(intake->request.work))
        return;
    *err = (struct api_error){0};
    api_fail(err, API_BUSY, "", "the answer was not begun within --request-timeout");
}

void api_error_explain(const struct api_intake *intake, struct api_error *err)
{
    shortage_explain(intake, err);
    ending_explain(intake, err);
    quotes_advise(intake, err);
}
