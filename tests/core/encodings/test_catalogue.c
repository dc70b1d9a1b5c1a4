/* SPDX-License-Identifier: MIT */

/* Properties of all encodings, asserted of every view in the catalogue: a new encoding is tested
 * without a test of its own. */

#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

#define EACH_DTYPE(dtype)                                                                          \
    enum pe_dtype dtype = PE_F64;                                                                  \
    dtype <= PE_BF16;                                                                              \
    dtype++

static size_t compared;

static bool equal(const void *a, const void *b, size_t size)
{
    compared++;
    return memcmp(a, b, size) == 0;
}

/* ---- the catalogue --------------------------------------------------------------------------- */

enum { TEXT_MAX = 200, ROWS = 200, WIDTH = 6 };

static const char *const places[] = {
    "length=70",
    "length=150 start=5",
    "length=70 start=-3.5 step=0.75",
    "length=9 start=-9007199254740991 step=70000000000001",
    "positions=5,0,7..9,3",
    "length=33 part=complex",
    "length=33 start=0.5 part=sin duplicate=true",
    "length=33 side=k",
    "query_length=7 key_length=9",
    "query_length=7 key_length=40 query_start=-5",
    "query_length=7 key_length=40 query_start=9007199254740000 causal=true",
    "max_offset=90 min_offset=-7",
    "width=5 height=7",
    "width=5 height=7 part=complex",
    "positions=1,2,0.5;5,-3,9",
    "positions=1,2;5,-3;4,4",
    "shape=5,3,2",
    "coordinates=0,0,0,1,0.5,2,-1,0,9",
};

static bool encoding_takes(const struct pe_encoding *encoding, const char *name)
{
    const struct pe_encoding_info *info = pe_encoding_info(encoding);

    for (size_t i = 0; i < info->params_count; i++)
        if (strcmp(info->params[i].name, name) == 0)
            return true;
    return false;
}

static bool request_takes(const struct request *request, const char *name)
{
    const struct pe_encoding *encoding = pe_encoding_find(request->encoding);
    const struct pe_view_info *info = pe_view_info(pe_encoding_view(encoding, request->view));

    for (size_t i = 0; i < info->params_count; i++)
        if (strcmp(info->params[i].name, name) == 0)
            return true;
    return false;
}

/* Appends an example's pairs of the encoding, or those of the view; dim is multiplied by `times`.
 */
static void pairs_take(char *out, const char *example, const struct pe_encoding *encoding,
                       bool of_encoding, size_t times)
{
    char copy[TEXT_MAX], name[64], *rest = copy;
    size_t used = strlen(out);

    snprintf(copy, sizeof(copy), "%s", example ? example : "");
    for (char *pair; (pair = strsep(&rest, "&"));) {
        if (sscanf(pair, "%63[^=]", name) != 1 || encoding_takes(encoding, name) != of_encoding)
            continue;
        if (strcmp(name, "dim") == 0)
            used += (size_t)snprintf(out + used, TEXT_MAX - used, " dim=%zu",
                                     (size_t)atoi(pair + 4) * times);
        else
            used += (size_t)snprintf(out + used, TEXT_MAX - used, " %s", pair);
    }
}

static bool takes_all(const struct request *request, const char *text)
{
    char name[64];

    for (int used; sscanf(text, " %63[^=]=%*s%n", name, &used) == 1; text += used)
        if (!request_takes(request, name))
            return false;
    return true;
}

static bool opens(const struct request *request)
{
    struct pe_error err = {0};
    struct opened opened;
    const bool yes = !request_try(request, &opened, &err);

    opened_free(&opened);
    return yes;
}

/* One view with its example and with each text of `places` that it takes. */
static size_t view_each(struct request *request, void (*check)(const struct request *))
{
    const struct pe_encoding *encoding = pe_encoding_find(request->encoding);
    const struct pe_view_info *info = pe_view_info(pe_encoding_view(encoding, request->view));
    size_t checked = 0;

    for (size_t times = 1; times <= 3; times += 2) {
        char text[TEXT_MAX] = "", own[TEXT_MAX] = "";
        pairs_take(text, pe_encoding_info(encoding)->example, encoding, true, times);
        pairs_take(text, info->example, encoding, true, times);
        pairs_take(own, info->example, encoding, false, 1);
        request->text = text;
        request->view_text = own;
        ck_assert_msg(times > 1 || opens(request), "%s %s: its example is refused",
                      request->encoding, request->view);
        for (size_t i = 0; i <= sizeof(places) / sizeof(places[0]); i++) {
            request->view_text = i == 0 ? own : places[i - 1];
            if (takes_all(request, request->view_text) && opens(request)) {
                check(request);
                checked++;
            }
        }
    }
    return checked;
}

/* Calls `check` with the example of each view in the catalogue, and with more rows, columns and
 * positions where the view takes them. Returns how often. */
static size_t catalogue_each(void (*check)(const struct request *request))
{
    static double values[ROWS * WIDTH];
    const struct pe_tensor table = {
        .dtype = PE_F64, .rank = 2, .shape = {ROWS, WIDTH}, .data = values};
    const struct pe_encoding *encoding;
    const struct pe_view_type *type;
    size_t checked = 0;

    for (size_t i = 0; i < ROWS * WIDTH; i++)
        values[i] = ldexp((double)(i * 7919 % 1009) - 500, -9) / 3;
    for (size_t e = 0; (encoding = pe_encoding_at(e)); e++)
        for (size_t v = 0; (type = pe_encoding_view_at(encoding, v)); v++) {
            const bool learned = pe_encoding_has(encoding, PE_KIND_LEARNED);
            struct request request = {.encoding = pe_encoding_info(encoding)->name,
                                      .view = pe_view_info(type)->name,
                                      .learned = learned ? &table : NULL};
            checked += view_each(&request, check);
        }
    return checked;
}

/* All rows of an output by one call; to be freed. *row: bytes of a row. */
static char *output_fill(const struct pe_view *view, size_t index, size_t *row)
{
    const struct pe_output *output = pe_view_output(view, index);
    char *data;

    *row = output->row_elements * pe_dtype_info(output->dtype)->size;
    data = malloc(output->rows * *row + 1);
    data[output->rows * *row] = 0x5a;
    rows_fill(view, index, 0, output->rows, data);
    ck_assert_int_eq(data[output->rows * *row], 0x5a);
    return data;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Rows one by one, from the last to the first, and pieces of 1, 2, 3 ... rows have the same bytes.
 */
static void pieces_check(const struct request *request)
{
    for (EACH_DTYPE(dtype)) {
        struct request varied = *request;
        varied.dtype = dtype;
        OWNED_OPENED opened = request_open(&varied);
        const struct pe_output *output;
        for (size_t index = 0; (output = pe_view_output(opened.view, index)); index++) {
            const size_t rows = output->rows;
            size_t size;
            char *whole = output_fill(opened.view, index, &size), *pieces = malloc(rows * size + 1);
            for (size_t row = rows; row-- > 0;)
                rows_fill(opened.view, index, row, row + 1, pieces + row * size);
            ck_assert_msg(equal(whole, pieces, rows * size), "%s %s %s: rows alone",
                          request->encoding, request->view, request->view_text);
            memset(pieces, 0x5a, rows * size);
            for (size_t row = 0, piece = 1; row < rows; row += piece++)
                rows_fill(opened.view, index, row, row + piece < rows ? row + piece : rows,
                          pieces + row * size);
            ck_assert_msg(equal(whole, pieces, rows * size), "%s %s %s: pieces", request->encoding,
                          request->view, request->view_text);
            free(whole);
            free(pieces);
        }
    }
}

TEST(pieces_are_the_whole)
{
    const size_t views = catalogue_each(pieces_check);

    printf("pieces: %zu views, %zu comparisons\n", views, compared);
    ck_assert_uint_gt(views, 200);
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* True where a double is half-way between two neighbours of a dtype: rounding the real number
 * directly may then give either. */
static bool is_between(double value, double rounded, enum pe_dtype dtype)
{
    unsigned char bytes[8];
    double other = value + (value - rounded), back;

    pe_from_f64(bytes, dtype, &other, 1);
    pe_to_f64(&back, bytes, dtype, 1);
    return back == other;
}

/* Analyses may depend on the dtype, or have an error bound. */
static bool is_analysis(const struct request *request)
{
    const struct pe_encoding *encoding = pe_encoding_find(request->encoding);

    return pe_view_info(pe_encoding_view(encoding, request->view))->group != NULL;
}

/* Values in the other dtypes are those in f64, rounded. */
static void rounding_check(const struct request *request)
{
    struct request varied = *request;
    varied.dtype = PE_F64;
    if (is_analysis(request))
        return;
    OWNED_OPENED exact = request_open(&varied);
    const struct pe_output *output;
    size_t size;

    for (enum pe_dtype dtype = PE_F32; dtype <= PE_BF16; dtype++) {
        varied.dtype = dtype;
        OWNED_OPENED opened = request_open(&varied);
        for (size_t index = 0; (output = pe_view_output(opened.view, index)); index++) {
            if (output->dtype != dtype)
                continue; /* indices, and outputs that are always f64 */
            OWNED_MEMORY char *data = output_fill(opened.view, index, &size);
            OWNED_MEMORY char *doubles = output_fill(exact.view, index, &size);
            for (size_t i = 0; i < output->rows * output->row_elements; i++, compared++) {
                const double value = ((double *)doubles)[i];
                double got, rounded;
                unsigned char bytes[8];
                pe_from_f64(bytes, dtype, &value, 1);
                pe_to_f64(&rounded, bytes, dtype, 1);
                pe_to_f64(&got, data + i * pe_dtype_info(dtype)->size, dtype, 1);
                if ((got == rounded && signbit(got) == signbit(rounded)) ||
                    (isnan(got) && isnan(rounded)) || is_between(value, rounded, dtype))
                    continue;
                ck_abort_msg("%s %s %s %s %s [%zu]: %a, but %a in f64", request->encoding,
                             request->text, request->view, request->view_text,
                             pe_dtype_info(dtype)->name, i, got, value);
            }
        }
    }
}

TEST(dtypes_are_one_number_rounded)
{
    catalogue_each(rounding_check);
    printf("rounding: %zu elements\n", compared);
    ck_assert_uint_gt(compared, 100000);
}

/* ---- positions ------------------------------------------------------------------------------- */

/* True where rows can be listed by position. */
static bool takes_positions(const struct request *request)
{
    return !is_analysis(request) && request_takes(request, "length") &&
           request_takes(request, "positions");
}

/* Row i of the view with `text` is row `from` + i of the request, in every output. */
static void rows_compare(const struct request *request, const char *text, size_t from)
{
    struct request other = *request;
    other.view_text = text;
    struct opened part = request_open(&other), whole = request_open(request);
    const struct pe_output *output;

    for (size_t index = 0; (output = pe_view_output(part.view, index)); index++) {
        const struct pe_output *all = pe_view_output(whole.view, index);
        size_t size;
        OWNED_MEMORY char *got = output_fill(part.view, index, &size);
        OWNED_MEMORY char *want = output_fill(whole.view, index, &size);
        ck_assert_uint_le(from + output->rows, all->rows);
        ck_assert_msg(equal(got, want + from * size, output->rows * size), "%s %s %s, but %s",
                      request->encoding, request->view, text, request->view_text);
    }
    opened_free(&part);
    opened_free(&whole);
}

static void positions_check(const struct request *request)
{
    struct request varied = *request;

    if (!takes_positions(request))
        return;
    for (EACH_DTYPE(dtype)) {
        varied.dtype = dtype;
        varied.view_text = "length=15";
        rows_compare(&varied, "length=4 start=7", 7);
        rows_compare(&varied, "positions=3,4,5", 3);
        rows_compare(&varied, "positions=3..9,10,11", 3);
        varied.view_text = "positions=2,5,8,11";
        rows_compare(&varied, "length=4 start=2 step=3", 0);
        rows_compare(&varied, "positions=8,11", 2);
    }
}

TEST(a_row_is_that_of_its_position)
{
    catalogue_each(positions_check);
    printf("positions: %zu comparisons\n", compared);
    ck_assert_uint_gt(compared, 1000);
}

/* ---- biases ---------------------------------------------------------------------------------- */

/* [heads,] queries, keys: an element depends on the distance, and is masked for later keys. */
static void distance_check(const struct request *request)
{
    enum { QUERIES = 7, KEYS = 11, START = 3 };
    struct request varied = *request;
    struct pe_error err;

    if (strcmp(request->view, "bias") != 0)
        return;
    for (EACH_DTYPE(dtype)) {
        varied.dtype = dtype;
        varied.view_text = "query_length=7 key_length=11 query_start=3";
        OWNED_OPENED all = request_open(&varied);
        varied.view_text = "query_length=7 key_length=11 query_start=3 causal=true";
        OWNED_OPENED masked = {0}; /* buckets alone are not masked */
        err = (struct pe_error){0};
        if (request_takes(request, "causal"))
            request_try(&varied, &masked, &err);
        const struct pe_output *output = pe_view_output(all.view, 0);
        const size_t one = pe_dtype_info(output->dtype)->size;
        const size_t elements = output->rows * output->row_elements;
        size_t size;
        OWNED_MEMORY char *data = output_fill(all.view, 0, &size);
        OWNED_MEMORY char *ahead = masked.view ? output_fill(masked.view, 0, &size) : NULL;
        ck_assert_uint_eq(elements % (QUERIES * KEYS), 0);
        for (size_t i = 0; i < elements; i++) {
            const size_t query = i / KEYS % QUERIES, key = i % KEYS;
            double value = 0;
            if (query > 0 && key > 0)
                ck_assert(equal(data + i * one, data + (i - KEYS - 1) * one, one));
            if (ahead && key > query + START)
                pe_to_f64(&value, ahead + i * one, dtype, 1);
            ck_assert(!ahead || key <= query + START || value == -INFINITY);
            ck_assert(!ahead || key > query + START || equal(ahead + i * one, data + i * one, one));
        }
    }
}

TEST(a_bias_is_that_of_its_distance)
{
    catalogue_each(distance_check);
    printf("distances: %zu comparisons\n", compared);
    ck_assert_uint_gt(compared, 10000);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static bool is_list(const struct request *request, const char *name)
{
    const struct pe_encoding_info *info = pe_encoding_info(pe_encoding_find(request->encoding));
    size_t i = 0;

    while (strcmp(info->params[i].name, name) != 0)
        i++;
    return info->params[i].type == PE_NUMBERS || info->params[i].type == PE_RANGES;
}

/* An unknown name, and each parameter of an example given twice, are refused. */
static void parameters_check(const struct request *request)
{
    struct request alone = {.encoding = request->encoding, .learned = request->learned};
    char text[400], name[64], value[200], where[100];
    const char *rest = request->text;

    snprintf(text, sizeof(text), "%s nonsense=1", request->text);
    alone.text = text;
    request_refused(&alone, PE_UNKNOWN_PARAMETER, "");
    for (int used; sscanf(rest, " %63[^=]=%199s%n", name, value, &used) == 2; rest += used) {
        if (is_list(request, name))
            continue; /* repeated lists are joined */
        snprintf(where, sizeof(where), "parameter:%s", name);
        snprintf(text, sizeof(text), "%s %s=%s1", request->text, name, value);
        struct pe_error err = {0};
        struct opened opened;
        request_try(&alone, &opened, &err);
        ck_assert_msg(err.status && strcmp(err.where, where) == 0, "%s: %s at '%s'", text,
                      err.detail, err.where);
        opened_free(&opened);
        compared++;
    }
}

TEST(unknown_and_repeated_parameters_are_refused)
{
    catalogue_each(parameters_check);
    ck_assert_uint_gt(compared, 200);
}
