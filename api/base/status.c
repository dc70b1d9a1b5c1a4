/* SPDX-License-Identifier: MIT */
#include "api/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/locale.h"

const char *api_status_code(enum api_status status)
{
    static const char *const codes[] = {
#define X(name, code, title) code,
        API_STATUS_MAP(X)
#undef X
    };
    return codes[status];
}

const char *api_status_title(enum api_status status)
{
    static const char *const titles[] = {
#define X(name, code, title) title,
        API_STATUS_MAP(X)
#undef X
    };
    return titles[status];
}

enum api_status api_fail(struct api_error *err, enum api_status status, const char *where,
                         const char *format, ...)
{
    assert(status != API_OK);
    if (api_failed(err))
        return err->status;

    va_list args;
    va_start(args, format);
    err->status = status;
    snprintf(err->where, sizeof(err->where), "%s", where);
    api_vprint(err->detail, sizeof(err->detail), format, args);
    va_end(args);
    return status;
}

/* No default: a status that the core gains does not compile until it is one of ours. Work that was
 * cancelled has nobody who waits for it, or was late. */
static enum api_status status_of(enum pe_status status)
{
    switch (status) {
    case PE_OK:
        return API_OK;
    case PE_MALFORMED:
        return API_MALFORMED;
    case PE_MISSING:
        return API_MISSING;
    case PE_UNKNOWN_PARAMETER:
        return API_UNKNOWN_PARAMETER;
    case PE_INVALID:
        return API_INVALID;
    case PE_OUT_OF_RANGE:
        return API_OUT_OF_RANGE;
    case PE_CONFLICT:
        return API_CONFLICT;
    case PE_SHAPE_MISMATCH:
        return API_SHAPE_MISMATCH;
    case PE_UNSUPPORTED:
        return API_UNSUPPORTED;
    case PE_NOT_FOUND:
        return API_NOT_FOUND;
    case PE_TOO_LARGE:
        return API_TOO_LARGE;
    case PE_CANCELLED:
        return API_BUSY;
    case PE_OUT_OF_MEMORY:
        return API_OUT_OF_MEMORY;
    case PE_INTERNAL:
        return API_INTERNAL;
    }
    return API_INTERNAL;
}

enum api_status api_failed(struct api_error *err)
{
    if (err->status || !err->core.status)
        return err->status;
    err->status = status_of(err->core.status);
    memcpy(err->where, err->core.where, sizeof(err->where));
    memcpy(err->detail, err->core.detail, sizeof(err->detail));
    return err->status;
}
