/* SPDX-License-Identifier: MIT */
#include "api/routes/handler.h"

static enum pe_status dtypes_open(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    result->kind = API_REPORT;
    result->cache_control = "public, max-age=60";
    return api_bind(request, NULL, 0, "", err);
}

static enum pe_status dtypes_tell(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    (void)request;
    result->report = json_object();
    for (enum pe_dtype dtype = 0; dtype < PE_DTYPES; dtype++)
        json_object_set_new(result->report, pe_dtype_info(dtype)->name,
                            json_integer((json_int_t)pe_dtype_info(dtype)->size));
    return err->status;
}

const struct api_handler api_handler_dtypes = {dtypes_open, dtypes_tell};
