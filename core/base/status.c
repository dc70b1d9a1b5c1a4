/* SPDX-License-Identifier: MIT */
#include "posenc/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

const char *pe_status_code(enum pe_status status)
{
    static const char *const codes[] = {
#define X(name, code, title) [PE_##name] = code,
        PE_STATUS_MAP(X)
#undef X
    };
    assert((size_t)status < sizeof(codes) / sizeof(codes[0]));
    return codes[status];
}

const char *pe_status_title(enum pe_status status)
{
    static const char *const titles[] = {
#define X(name, code, title) [PE_##name] = title,
        PE_STATUS_MAP(X)
#undef X
    };
    assert((size_t)status < sizeof(titles) / sizeof(titles[0]));
    return titles[status];
}

enum pe_status pe_fail(struct pe_error *err, enum pe_status status, const char *where,
                       const char *format, ...)
{
    assert(status != PE_OK);
    if (err->status != PE_OK)
        return err->status;

    va_list args;
    va_start(args, format);
    err->status = status;
    snprintf(err->where, sizeof(err->where), "%s", where);
    vsnprintf(err->detail, sizeof(err->detail), format, args);
    va_end(args);
    return status;
}
