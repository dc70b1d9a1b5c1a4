/* SPDX-License-Identifier: MIT */

/* Properties that all encodings have, each asserted of every view in the catalogue. */

#include "tests/check_main.h"
#include "tests/core/catalogue_fixture.h"

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

/* ---- pieces ---------------------------------------------------------------------------------- */

/* A row alone, from the last to the first, and pieces of 1, 2, 3 ... rows. */
static void pieces_check(const struct request *request)
{
    for (EACH_DTYPE(dtype)) {
        struct request asked = *request;
        asked.dtype = dtype;
        OWNED_OPENED opened = request_open(&asked);
        const struct pe_output *output;
        for (size_t index = 0; (output = pe_view_output(opened.view, index)); index++) {
            const size_t rows = output->rows;
            size_t size;
            char *whole = output_whole(opened.view, index, &size),
                 *pieces = malloc(rows * size + 1);
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
    const size_t views = catalogue_walk(pieces_check);

    printf("pieces: %zu views, %zu comparisons\n", views, compared);
    ck_assert_uint_gt(views, 200);
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* Is a double half-way between two neighbours of a dtype? Where the real number was rounded to it
 * first, nothing follows from it. */
static bool is_between(double value, double rounded, enum pe_dtype dtype)
{
    unsigned char bytes[8];
    double other = value + (value - rounded), back;

    pe_from_f64(bytes, dtype, &other, 1);
    pe_to_f64(&back, bytes, dtype, 1);
    return back == other;
}

/* Analyses may tell about a dtype, or keep to a bound. */
static bool is_analysis(const struct request *request)
{
    const struct pe_encoding *encoding = pe_encoding_find(request->encoding);

    return pe_view_info(pe_encoding_view(encoding, request->view))->group != NULL;
}

/* Values in the other dtypes are those in f64, rounded. */
static void rounding_check(const struct request *request)
{
    struct request asked = *request;
    asked.dtype = PE_F64;
    if (is_analysis(request))
        return;
    OWNED_OPENED exact = request_open(&asked);
    const struct pe_output *output;
    size_t size;

    for (enum pe_dtype dtype = PE_F32; dtype <= PE_BF16; dtype++) {
        asked.dtype = dtype;
        OWNED_OPENED opened = request_open(&asked);
        for (size_t index = 0; (output = pe_view_output(opened.view, index)); index++) {
            if (output->dtype != dtype)
                continue; /* indices, and what is told in f64 alone */
            OWNED_MEMORY char *data = output_whole(opened.view, index, &size);
            OWNED_MEMORY char *doubles = output_whole(exact.view, index, &size);
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
    catalogue_walk(rounding_check);
    printf("rounding: %zu elements\n", compared);
    ck_assert_uint_gt(compared, 100000);
}

/* ---- positions ------------------------------------------------------------------------------- */

/* Do rows stand at positions that can be listed, too? */
static bool stands_at_positions(const struct request *request)
{
    return !is_analysis(request) && request_takes(request, "length") &&
           request_takes(request, "positions");
}

/* Row i of the one is row `from` + i of the other, in every output. */
static void rows_compare(const struct request *request, const char *text, size_t from)
{
    struct request other = *request;
    other.view_text = text;
    struct opened part = request_open(&other), whole = request_open(request);
    const struct pe_output *output;

    for (size_t index = 0; (output = pe_view_output(part.view, index)); index++) {
        const struct pe_output *all = pe_view_output(whole.view, index);
        size_t size;
        OWNED_MEMORY char *got = output_whole(part.view, index, &size);
        OWNED_MEMORY char *want = output_whole(whole.view, index, &size);
        ck_assert_uint_le(from + output->rows, all->rows);
        ck_assert_msg(equal(got, want + from * size, output->rows * size), "%s %s %s, but %s",
                      request->encoding, request->view, text, request->view_text);
    }
    opened_free(&part);
    opened_free(&whole);
}

static void positions_check(const struct request *request)
{
    struct request asked = *request;

    if (!stands_at_positions(request))
        return;
    for (EACH_DTYPE(dtype)) {
        asked.dtype = dtype;
        asked.view_text = "length=15";
        rows_compare(&asked, "length=4 start=7", 7);
        rows_compare(&asked, "positions=3,4,5", 3);
        rows_compare(&asked, "positions=3..9,10,11", 3);
        asked.view_text = "positions=2,5,8,11";
        rows_compare(&asked, "length=4 start=2 step=3", 0);
        rows_compare(&asked, "positions=8,11", 2);
    }
}

TEST(a_row_is_that_of_its_position)
{
    catalogue_walk(positions_check);
    printf("positions: %zu comparisons\n", compared);
    ck_assert_uint_gt(compared, 1000);
}

/* ---- biases ---------------------------------------------------------------------------------- */

/* [heads,] queries, keys: an element is that of its distance, and masked where that is ahead. */
static void distance_check(const struct request *request)
{
    enum { QUERIES = 7, KEYS = 11, START = 3 };
    struct request asked = *request;
    struct pe_error err;

    if (strcmp(request->view, "bias") != 0)
        return;
    for (EACH_DTYPE(dtype)) {
        asked.dtype = dtype;
        asked.view_text = "query_length=7 key_length=11 query_start=3";
        OWNED_OPENED all = request_open(&asked);
        asked.view_text = "query_length=7 key_length=11 query_start=3 causal=true";
        OWNED_OPENED masked = {0}; /* buckets alone are not masked */
        err = (struct pe_error){0};
        if (request_takes(request, "causal"))
            request_try(&asked, &masked, &err);
        const struct pe_output *output = pe_view_output(all.view, 0);
        const size_t one = pe_dtype_info(output->dtype)->size;
        const size_t elements = output->rows * output->row_elements;
        size_t size;
        OWNED_MEMORY char *data = output_whole(all.view, 0, &size);
        OWNED_MEMORY char *ahead = masked.view ? output_whole(masked.view, 0, &size) : NULL;
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
    catalogue_walk(distance_check);
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

/* A name that there is not, and each parameter of an example with another value besides. */
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
            continue; /* joined */
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

TEST(what_cannot_be_meant_is_refused)
{
    catalogue_walk(parameters_check);
    ck_assert_uint_gt(compared, 200);
}
