/* SPDX-License-Identifier: MIT */
#include "tests/core/scheme_fixture.h"

static void scheme_try(const struct request *request, struct opened *out, struct pe_error *err)
{
    const struct pe_encoding *encoding = pe_encoding_find(request->encoding);
    struct pe_params params;

    if (pe_params_parse(&params, request->encoding, request->text, err))
        return;
    if (!pe_scheme_open(&out->scheme, encoding, &params, NULL, err)) {
        if (request->learned)
            pe_scheme_give(out->scheme, pe_encoding_view(encoding, "table") ? "table" : "weights",
                           request->learned, NULL, err);
        if (!err->status)
            pe_scheme_prepare(out->scheme, NULL, err);
    }
    pe_params_free(&params);
}

static void view_try(const struct request *request, struct opened *out, struct pe_error *err)
{
    const struct pe_encoding *encoding = pe_encoding_find(request->encoding);
    const struct pe_view_type *type = pe_encoding_view(encoding, request->view);
    const char *text = request->view_text;
    struct pe_params params;
    char name[64], value[8000];

    if (!type) {
        pe_fail(err, PE_INVALID, "", "%s has no %s", request->encoding, request->view);
        return;
    }
    pe_params_init(&params, type->info.params, type->info.params_count);
    for (int used; !err->status && sscanf(text, " %63[^=]=%7999s%n", name, value, &used) == 2;
         text += used) {
        const int index = pe_params_find(&params, name);
        if (index < 0)
            pe_fail(err, PE_INVALID, "", "%s has no %s", request->view, name);
        else
            pe_params_set_text(&params, (size_t)index, value, err);
    }
    if (!err->status && !pe_params_finish(&params, err))
        pe_view_new(&out->view, out->scheme, type, &params, request->dtype, NULL, err);
    pe_params_free(&params);
}

enum pe_status request_try(const struct request *request, struct opened *out, struct pe_error *err)
{
    *out = (struct opened){0};
    scheme_try(request, out, err);
    if (!err->status && request->view)
        view_try(request, out, err);
    return err->status;
}

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

struct opened request_open(const struct request *request)
{
    struct pe_error err = {0};
    struct opened opened;

    ck_assert_msg(!request_try(request, &opened, &err), "%s %s %s %s: %s at '%s'",
                  request->encoding, request->text, or_nothing(request->view),
                  or_nothing(request->view_text), err.detail, err.where);
    return opened;
}

void opened_free(struct opened *opened)
{
    pe_view_free(opened->view);
    pe_scheme_free(opened->scheme);
}

void request_refused(const struct request *request, enum pe_status status, const char *where)
{
    struct pe_error err = {0};
    struct opened opened;
    char place[sizeof(err.where)];

    snprintf(place, sizeof(place), "%s%s", *where && !strchr(where, ':') ? "parameter:" : "",
             where);
    request_try(request, &opened, &err);
    ck_assert_msg(err.status == status && strcmp(err.where, place) == 0,
                  "%s %s %s %s: %s at '%s': %s", request->encoding, request->text,
                  or_nothing(request->view), or_nothing(request->view_text),
                  pe_status_code(err.status), err.where, err.detail);
    opened_free(&opened);
}

struct pe_scheme *scheme_new(const char *encoding, const char *text)
{
    return request_open(&(const struct request){.encoding = encoding, .text = text}).scheme;
}

void rows_fill(const struct pe_view *view, size_t output, size_t begin, size_t end, void *out)
{
    struct pe_error err = {0};

    ck_assert_msg(!pe_view_fill(view, output, begin, end, out, NULL, &err), "%s", err.detail);
}

void refusals_check(const char *encoding, const struct refused *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        request_refused(&(const struct request){.encoding = encoding, .text = cases[i].text},
                        cases[i].status, cases[i].where);
}
