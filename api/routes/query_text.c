/* SPDX-License-Identifier: MIT */
#include "api/routes/query_text.h"

#include "api/response/result.h"

#include <string.h>

#include "api/numbers/print.h"

/* Unreserved in RFC 3986, and the colon of "tensor:NAME". */
static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:";

static void name_put(struct api_text *url, const char *name)
{
    const bool first = !url->bytes || !memchr(url->bytes, '?', url->size);

    api_text_print(url, "%c%s=", first ? '?' : '&', name);
}

static void number_put(struct api_text *url, double number)
{
    char digits[API_NUMBER_MAX], *plus;

    api_double_print(digits, number);
    /* A plus is a space in a query, and 1e30 means 1e+30. */
    if ((plus = strchr(digits, '+')))
        memmove(plus, plus + 1, strlen(plus));
    api_text_put(url, digits);
}

static void list_put(struct api_text *url, const struct pe_value *value, size_t most)
{
    const size_t columns = value->rows > 0 ? value->list_count / value->rows : value->list_count;

    for (size_t i = 0; i < value->list_count && url->size <= most; i++) {
        api_text_put(url, i == 0 ? "" : i % columns == 0 ? ";" : ",");
        number_put(url, pe_value_at(value, i));
    }
}

static void text_put(struct api_text *url, const char *text)
{
    for (; *text; text++) {
        const size_t known = strspn(text, plain);
        api_text_add(url, text, known);
        text += known;
        if (!*text)
            return;
        api_text_print(url, "%%%02X", (unsigned char)*text);
    }
}

static void value_put(struct api_text *url, const struct pe_param *param,
                      const struct pe_value *value, size_t most)
{
    char choice[64];

    if (param->type == PE_CHOICE) {
        pe_choice_name(param, (size_t)value->number, choice, sizeof(choice));
        api_text_put(url, choice);
    } else if (param->type == PE_BOOLEAN) {
        api_text_put(url, value->number != 0 ? "true" : "false");
    } else if (param->type == PE_TEXT) {
        text_put(url, value->text);
    } else if (param->type == PE_NUMBERS || param->type == PE_RANGES) {
        list_put(url, value, most);
    } else {
        number_put(url, value->number);
    }
}

bool api_query_text_put(struct api_text *url, const struct pe_params *params, size_t most)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct pe_value *value = &params->values[i];
        if (!value->given)
            continue;
        if (params->list[i].type == PE_TEXT && !value->text)
            return false;
        name_put(url, params->list[i].name);
        value_put(url, &params->list[i], value, most);
    }
    return url->size <= most;
}

void api_query_text_pair(struct api_text *url, const char *name, const char *value)
{
    name_put(url, name);
    api_text_put(url, value);
}

/* A longer one is of no use to most clients. */
enum { URL_MAX = 2000 };

enum pe_status api_query_text_url(struct api_request *request, const char *path,
                                  const struct pe_params *const *sets, size_t count,
                                  enum pe_dtype dtype, const char **out, struct pe_error *err)
{
    struct api_text url = {0};

    api_text_put(&url, path);
    for (size_t i = 0; i < count; i++)
        if (!api_query_text_put(&url, sets[i], URL_MAX)) {
            api_text_free(&url);
            return PE_OK;
        }
    if (dtype != PE_F32)
        api_query_text_pair(&url, "dtype", pe_dtype_info(dtype)->name);
    api_query_text_pair(&url, "format", request->format->name);
    *out = api_text_take(&url, request->arena);
    return *out ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
}
