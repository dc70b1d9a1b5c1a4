/* SPDX-License-Identifier: MIT */
#include "api/formats/formats.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/formats/reader.h"
#include "api/request/head.h"

#define FORMAT(media_type, name) &api_format_##name,
#define READER(media_type, name)
const struct api_format *const api_formats[] = {
#include "api/formats/formats.def"
    NULL,
};
#undef FORMAT
#undef READER

#define FORMAT(media_type, name)
#define READER(media_type, name) &api_reader_##name,
const struct api_reader *const api_readers[] = {
#include "api/formats/formats.def"
    NULL,
};
#undef FORMAT
#undef READER

const struct api_format *api_format_find(const char *name)
{
    for (const struct api_format *const *format = api_formats; *format; format++)
        if (strcmp((*format)->name, name) == 0)
            return *format;
    return NULL;
}

enum pe_status api_format_elements_check(const struct api_request *request, uint64_t elements,
                                         struct pe_error *err)
{
    const uint64_t most = request->settings->limits.json_elements_max;
    const struct api_format *format = request->format;

    if (elements <= most || format->binary)
        return PE_OK;
    return pe_fail(err, PE_TOO_LARGE, "",
                   "a %s answer has at most %llu elements, the value of "
                   "--json-elements-max; ask for format=npy, safetensors or raw",
                   format == &api_format_json ? "JSON" : format->name, (unsigned long long)most);
}

/* ---- helpers of readers --------------------------------------------------------------------- */

enum pe_status api_reader_tensors(struct api_request *request, size_t count, struct pe_error *err)
{
    const uint64_t max = request->settings->limits.tensors_max;

    if (count > max)
        return pe_fail(err, PE_TOO_LARGE, "",
                       "the request has %zu tensors, the limit is %llu (--tensors-max)", count,
                       (unsigned long long)max);
    request->tensors = api_arena_take(request->arena, (count + 1) * sizeof(*request->tensors));
    if (!request->tensors)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu tensors", count);
    request->tensors_count = 0;
    return PE_OK;
}

const char *api_reader_dtypes(void)
{
    static const char names[] =
#define X(name, text, size, safetensors, npy, aliases) ", " text
        PE_DTYPE_MAP(X)
#undef X
        ;

    return names + 2; /* behind the first comma */
}

enum pe_status api_reader_size(const char *name, const struct pe_tensor *tensor, size_t *elements,
                               size_t *size, struct pe_error *err)
{
    char where[sizeof(err->where)];

    if (pe_shape_elements(tensor->shape, tensor->rank, elements) &&
        pe_size_multiply(*elements, pe_dtype_info(tensor->dtype)->size, size))
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, api_tensor_where(name, where, sizeof(where)),
                   "the shape of %.60s has more elements than can be addressed", name);
}

const char *api_tensor_where(const char *name, char *out, size_t size)
{
    snprintf(out, size, "tensor:%.80s", name);
    return out;
}

const char *api_reader_tensor_name(const struct api_request *request)
{
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, "tensor") == 0 && request->query[i].value[0])
            return request->query[i].value;
    return "x";
}

/* ---- recognising bodies --------------------------------------------------------------------- */

/* The first bytes of files that have no reader. */
static const struct {
    const char *bytes;
    size_t size;
    const char *description;
} foreign[] = {
    {"PK\x03\x04", 4,
     "a zip file, as npz and PyTorch's .pt are; send one array with numpy.save, or tensors with "
     "safetensors' save_file"},
    {"PK\x05\x06", 4, "an empty zip file, as npz and PyTorch's .pt are"},
    {"\x80\x02", 2, "a pickle, which is never read; use safetensors' save_file or numpy.save"},
    {"\x80\x03", 2, "a pickle, which is never read; use safetensors' save_file or numpy.save"},
    {"\x80\x04", 2, "a pickle, which is never read; use safetensors' save_file or numpy.save"},
    {"\x80\x05", 2, "a pickle, which is never read; use safetensors' save_file or numpy.save"},
    {"\x89HDF\r\n", 6, "an HDF5 file; use safetensors' save_file or numpy.save"},
    {"\x1f\x8b", 2, "compressed with gzip; say so with Content-Encoding: gzip"},
    {"\x28\xb5\x2f\xfd", 4, "compressed with zstd; say so with Content-Encoding: zstd"},
    {"ARROW1", 6, "an Arrow file; use safetensors' save_file or numpy.save"},
    {"PAR1", 4, "a Parquet file; use safetensors' save_file or numpy.save"},
    {"\x89PNG", 4, "an image"},
    {"<", 1, "HTML or XML"},
    {"--", 2, "a form with files (curl -F); send the file itself: curl --data-binary @file"},
    {"\xef\xbb\xbf{", 4, "JSON behind a byte order mark; send it without"},
    {"[", 1, "a JSON array; send an object: {\"tensors\": {\"q\": {\"data\": [...]}}}"},
    {"'{", 2, "JSON in quotes; the shell has left them"},
};

static const char *foreign_name(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (size >= foreign[i].size && memcmp(bytes, foreign[i].bytes, foreign[i].size) == 0)
            return foreign[i].description;
    return NULL;
}

/* a=b&c=d */
static bool is_form(const unsigned char *bytes, size_t size)
{
    size_t name = 0;

    while (name < size && (isalnum(bytes[name]) || bytes[name] == '_' || bytes[name] == '-'))
        name++;
    return name > 0 && name < size && bytes[name] == '=';
}

static const struct api_reader *sniffed(const unsigned char *bytes, size_t size)
{
    for (const struct api_reader *const *at = api_readers; *at; at++)
        if ((*at)->sniff && (*at)->sniff(bytes, size))
            return *at;
    return NULL;
}

static const struct api_reader *typed(const char *type)
{
    for (const struct api_reader *const *at = api_readers; *at; at++)
        if (strcmp((*at)->media_type, type) == 0 ||
            (api_type_is_json(type) && api_type_is_json((*at)->media_type)))
            return *at;
    return NULL;
}

static enum pe_status unrecognised(const struct api_request *request, struct pe_error *err)
{
    const char *type = request->content_type;
    const char *found = foreign_name(request->body, request->body_size);

    if (found && (*request->body != '<' || api_type_is_open(type)))
        return pe_fail(err, PE_UNKNOWN_FORMAT, "header:Content-Type",
                       "the body is %s; JSON, npy, safetensors and raw bytes are read", found);
    if (is_form(request->body, request->body_size))
        return pe_fail(err, PE_UNKNOWN_FORMAT, "header:Content-Type",
                       "the fields of a form are not read; send them in the query, or as JSON "
                       "(curl --json '{...}'), and files with curl --data-binary @file");
    return pe_fail(err, PE_UNKNOWN_FORMAT, "header:Content-Type",
                   "a body%s%.60s%s cannot be read; send JSON (curl --json), or npy or "
                   "safetensors (curl --data-binary @file), or raw bytes with Tensor-Dtype and "
                   "Tensor-Shape",
                   *type ? " of type '" : " whose first bytes say nothing", type, *type ? "'" : "");
}

enum pe_status api_reader_find(const struct api_request *request, const struct api_reader **reader,
                               struct pe_error *err)
{
    const char *type = request->content_type;
    const bool open = api_type_is_open(type);
    const int described = open ? api_raw_described(request) : 0;

    *reader = open && described < 2 ? sniffed(request->body, request->body_size) : NULL;
    if (!*reader && described > 0)
        *reader = &api_reader_raw;
    if (!*reader && (!open || !foreign_name(request->body, request->body_size)))
        *reader = typed(type);
    return *reader ? PE_OK : unrecognised(request, err);
}

/* Can curl -d have sent the body, which drops line ends and zero bytes? */
static bool is_stripped(const struct api_request *request)
{
    static const char dropped[] = {'\0', '\n', '\r'};

    for (size_t i = 0; i < sizeof(dropped); i++)
        if (memchr(request->body, dropped[i], request->body_size))
            return false;
    return strcmp(request->content_type, "application/x-www-form-urlencoded") == 0;
}

void api_reader_advise(const struct api_request *request, struct pe_error *err)
{
    const size_t used = strlen(err->detail), left = sizeof(err->detail) - used;
    const char *type = request->content_type;
    const char *found = foreign_name(request->body, request->body_size);
    const struct api_reader *other = sniffed(request->body, request->body_size);

    if (err->status != PE_MALFORMED || strstr(err->detail, "byte order mark"))
        return;
    if (is_stripped(request) && !api_type_is_json(request->reader->media_type))
        snprintf(err->detail + used, left,
                 "; curl -d drops line ends and zeros of a file, --data-binary @file sends all");
    else if (found && !(api_type_is_json(request->reader->media_type) && *request->body == '['))
        snprintf(err->detail + used, left, "; the body is %s", found);
    else if (other && other != request->reader)
        snprintf(err->detail + used, left, "; the body looks like %s, and Content-Type says %.40s",
                 other->name, type);
}
