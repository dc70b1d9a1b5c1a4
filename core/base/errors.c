/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/text.h"

const char *pe_status_code(enum pe_status status)
{
    static const char *const codes[] = {
#define X(name, code, title) [PE_##name] = code,
        PE_STATUS_MAP(X)
#undef X
    };
    return (size_t)status < sizeof(codes) / sizeof(codes[0]) ? codes[status] : "";
}

const char *pe_status_title(enum pe_status status)
{
    static const char *const titles[] = {
#define X(name, code, title) [PE_##name] = title,
        PE_STATUS_MAP(X)
#undef X
    };
    return (size_t)status < sizeof(titles) / sizeof(titles[0]) ? titles[status] : "";
}

enum pe_status pe_fail(struct pe_error *err, enum pe_status status, const char *where,
                       const char *format, ...)
{
    if (err->status != PE_OK)
        return err->status;

    va_list args;
    va_start(args, format);
    err->status = status != PE_OK ? status : PE_INTERNAL;
    snprintf(err->where, sizeof(err->where), "%s", where);
    pe_text_vprint(err->detail, sizeof(err->detail), format, args);
    va_end(args);
    return err->status;
}

enum pe_status pe_no_memory(struct pe_error *err, const char *purpose)
{
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %s", purpose);
}

/* Larger than any struct: a size that was never set is refused before that much is read. */
enum { STRUCT_SIZE_MAX = 1 << 16 };

enum pe_status pe_struct_read(void *ours, size_t our_size, const void *theirs, struct pe_error *err)
{
    const unsigned char *bytes = theirs;
    size_t their_size;

    memcpy(&their_size, theirs, sizeof(their_size));
    if (their_size < sizeof(their_size) || their_size > STRUCT_SIZE_MAX)
        return pe_fail(err, PE_INVALID, "",
                       "the size of a struct is not set; begin it with sizeof");
    for (size_t i = our_size; i < their_size; i++)
        if (bytes[i] != 0)
            return pe_fail(err, PE_INVALID, "",
                           "a struct has a member set that this version of the library lacks");
    memset(ours, 0, our_size);
    memcpy(ours, theirs, their_size < our_size ? their_size : our_size);
    memcpy(ours, &our_size, sizeof(our_size)); /* the copy is valid input too */
    return PE_OK;
}

const char *pe_version(void)
{
    return PE_VERSION;
}
