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

/* ---- numbers of views ------------------------------------------------------------------------ */

struct viewed viewed_new(const char *encoding, const char *text, const char *name,
                         const char *view_text, const struct pe_tensor *weights,
                         enum pe_dtype dtype)
{
    const struct request request = {encoding, text, name, view_text, dtype, weights};
    struct viewed viewed = {.opened = request_open(&request)};

    viewed.output = pe_view_output(viewed.opened.view, 0);
    viewed.count = viewed.output->rows * viewed.output->row_elements;
    viewed.data = malloc(viewed.count * 8 + 1);
    rows_fill(viewed.opened.view, 0, 0, viewed.output->rows, viewed.data);
    return viewed;
}

void viewed_free(struct viewed *viewed)
{
    free(viewed->data);
    opened_free(&viewed->opened);
}

void analysed_free(struct analysed *a)
{
    for (size_t i = 0; i < PE_OUTPUTS_MAX; i++)
        free(a->outputs[i]);
    opened_free(&a->opened);
}

struct analysed analysed_new(const char *encoding, const char *text, const char *name,
                             const char *view_text, enum pe_dtype dtype)
{
    const struct request request = {
        .encoding = encoding, .text = text, .view = name, .view_text = view_text, .dtype = dtype};
    struct analysed a = {.opened = request_open(&request)};
    const struct pe_output *output;

    for (size_t i = 0; (output = pe_view_output(a.opened.view, i)); i++) {
        const size_t row_size = output->row_elements * pe_dtype_info(output->dtype)->size;
        OWNED_MEMORY char *bytes = malloc(output->rows * row_size + 1);
        for (size_t row = output->rows; row-- > 0;)
            rows_fill(a.opened.view, i, row, row + 1, bytes + row * row_size);
        a.counts[i] = output->rows * output->row_elements;
        a.outputs[i] = malloc((a.counts[i] + 1) * sizeof(double));
        pe_to_f64(a.outputs[i], bytes, output->dtype, a.counts[i]);
    }
    return a;
}

void expect_analysis_refused(const char *encoding, const char *text, const char *name,
                             const char *view_text, enum pe_status status, const char *where)
{
    request_refused(&(const struct request){.encoding = encoding,
                                            .text = text,
                                            .view = name,
                                            .view_text = view_text,
                                            .dtype = PE_F32},
                    status, where);
}

/* ---- rotations ------------------------------------------------------------------------------- */

struct pe_rotation *rotation_new(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                 struct pe_pool *pool)
{
    struct pe_rotation *rotation;
    struct pe_error err = {0};

    ck_assert_msg(!pe_rotation_new(&rotation, spec, dtype, pool, NULL, &err), "%s", err.detail);
    return rotation;
}
