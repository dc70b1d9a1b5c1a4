/* SPDX-License-Identifier: MIT */
#include "core/views/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/least.h"
#include "core/base/once.h"
#include "core/views/pooling.h"
#include "core/views/view.h"

/* Outputs that are pooled have a plan. Values that become bytes are made once, all of them, because
 * the scale is that from the least to the greatest. */

struct part {
    struct pe_output output;
    char name[24];            /* of the output, where it has one of its own */
    size_t from;              /* the output of the view's type that it is made of */
    struct pe_pool_plan plan; /* pooling PE_POOL_NONE: as the type has it */
    enum pe_dtype dtype;      /* before values become bytes */
    char *values;             /* of that dtype; NULL: they are not made */
    size_t size;              /* bytes that they take, where they become bytes */
};

struct pe_picture {
    size_t parts_count;
    struct part parts[PE_OUTPUTS_MAX];
    struct pe_output outputs[PE_OUTPUTS_MAX]; /* of the parts: callers read them in a row */
    bool bytes;
    struct pe_once once; /* of the values and their scale, where there are bytes */
    double scale, offset;
};

bool pe_picture_is_asked(const struct pe_params *params, enum pe_dtype dtype)
{
    static const char *const names[] = {"pool", "rows", "columns"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (pe_params_find(params, names[i]) >= 0 && pe_param_given(params, names[i]))
            return true;
    return dtype == PE_U8;
}

/* ---- outputs -------------------------------------------------------------------------------- */

static size_t at_most(const struct pe_params *params, const char *name, size_t there)
{
    const double asked = pe_param_number(params, name);

    return isnan(asked) ? there : pe_least(pe_count(asked), there);
}

/* The last two dimensions are a matrix that is pooled. */
static void output_pool(struct part *part, struct pe_output *output, const struct pe_params *params,
                        enum pe_pooling pooling)
{
    size_t *shape = &output->shape[output->rank - 2];
    struct pe_pool_plan *plan = &part->plan;

    *plan = (struct pe_pool_plan){.pooling = pooling,
                                  .depth = output->is_complex ? 2 : 1,
                                  .from_rows = shape[0],
                                  .from_columns = shape[1],
                                  .rows = at_most(params, "rows", shape[0]),
                                  .columns = at_most(params, "columns", shape[1]),
                                  .from_dtype = output->dtype,
                                  .dtype = output->dtype};
    if (pooling == PE_POOL_MEAN && !pe_dtype_is_float(plan->dtype))
        plan->dtype = PE_F32;
    output->dtype = plan->dtype;
    output->element_work = pe_pool_cost(plan, output->element_work);
    output->rows = shape[0] > 0 ? output->rows / shape[0] * plan->rows : output->rows;
    output->row_elements = pe_pool_width(plan);
    shape[0] = plan->rows;
    shape[1] = plan->columns;
}

static enum pe_pooling pooling_of(const struct pe_params *params)
{
    return pe_params_find(params, "pool") >= 0 && pe_param_given(params, "pool")
               ? PE_POOL_MEAN + (enum pe_pooling)pe_param_number(params, "pool")
               : PE_POOL_NONE;
}

/* One output of the view's type becomes one of the picture, or two. */
static enum pe_status parts_add(struct pe_picture *picture, const struct pe_view *view, size_t from,
                                const struct pe_params *params, struct pe_error *err)
{
    const struct pe_output *original = &view->outputs[from];
    const enum pe_pooling pooling = original->rank > 1 ? pooling_of(params) : PE_POOL_NONE;
    const bool both = pooling == PE_POOL_MINMAX;

    for (int i = 0; i < (both ? 2 : 1); i++) {
        if (picture->parts_count == PE_OUTPUTS_MAX)
            return pe_fail(err, PE_UNSUPPORTED, "parameter:pool",
                           "the view has too many outputs for minmax; ask for min, then for max");
        struct part *part = &picture->parts[picture->parts_count];
        struct pe_output *output = &picture->outputs[picture->parts_count++];
        part->from = from;
        *output = *original;
        if (both) {
            snprintf(part->name, sizeof(part->name), "%s_%s", original->name, i ? "max" : "min");
            output->name = part->name;
        }
        if (pooling != PE_POOL_NONE)
            output_pool(part, output, params, !both ? pooling : i ? PE_POOL_MAX : PE_POOL_MIN);
        part->dtype = output->dtype;
    }
    return PE_OK;
}

static enum pe_status bytes_open(struct pe_picture *picture, struct pe_error *err)
{
    size_t left = PE_PICTURE_BYTES_MAX;

    for (size_t i = 0; i < picture->parts_count; i++) {
        struct pe_output *output = &picture->outputs[i];
        if (!pe_dtype_is_float(output->dtype))
            continue;
        if (output->row_elements > 0 && output->rows > left / output->row_elements)
            return pe_fail(err, PE_TOO_LARGE, "parameter:dtype",
                           "at most %zu values become u8; pool them into fewer rows and columns",
                           PE_PICTURE_BYTES_MAX);
        left -= output->rows * output->row_elements;
        picture->parts[i].size =
            output->rows * output->row_elements * pe_dtype_info(output->dtype)->size;
        output->dtype = PE_U8;
    }
    if (!pe_once_init(&picture->once))
        return pe_no_memory(err, "a picture");
    picture->bytes = true;
    return PE_OK;
}

static enum pe_status params_check(const struct pe_view *view, const struct pe_params *params,
                                   struct pe_error *err)
{
    const bool pools = pooling_of(params) != PE_POOL_NONE;

    if (!pools && pe_picture_is_asked(params, PE_F32))
        return pe_fail(err, PE_CONFLICT,
                       pe_param_given(params, "rows") ? "parameter:rows" : "parameter:columns",
                       "rows and columns go with pool, which says what they are made of: mean, "
                       "min, max or minmax");
    if (pools && view->outputs[0].rank < 2)
        return pe_fail(err, PE_UNSUPPORTED, "parameter:pool",
                       "%s is a list here and no matrix, and is not pooled", view->outputs[0].name);
    return PE_OK;
}

enum pe_status pe_picture_new(struct pe_picture **out, const struct pe_view *view,
                              const struct pe_params *params, bool bytes, struct pe_error *err)
{
    struct pe_picture *picture;

    *out = NULL;
    if (params_check(view, params, err))
        return err->status;
    picture = calloc(1, sizeof(*picture));
    if (!picture)
        return pe_no_memory(err, "a picture");
    for (size_t i = 0; i < view->outputs_count; i++)
        if (parts_add(picture, view, i, params, err))
            break;
    if (err->status || (bytes && bytes_open(picture, err))) {
        pe_picture_free(picture);
        return err->status;
    }
    *out = picture;
    return PE_OK;
}

void pe_picture_free(struct pe_picture *picture)
{
    if (!picture)
        return;
    for (size_t i = 0; i < picture->parts_count; i++)
        free(picture->parts[i].values);
    if (picture->bytes)
        pe_once_destroy(&picture->once);
    free(picture);
}

/* ---- values --------------------------------------------------------------------------------- */

/* Rows of an output in its own dtype, before they become bytes. */
static enum pe_status part_fill(const struct pe_view *view, const struct part *part,
                                size_t row_begin, size_t row_end, char *out, struct pe_work *work,
                                struct pe_error *err)
{
    return part->plan.pooling == PE_POOL_NONE
               ? view->type->fill(view, part->from, row_begin, row_end, out, work, err)
               : pe_pool_fill(&part->plan, view, part->from, row_begin, row_end, out, work, err);
}

enum { CHUNK = 512 }; /* numbers that are converted at once */

/* Widens [least, most] by the finite values. */
static void values_bound(const struct part *part, size_t count, double *least, double *most)
{
    const size_t size = pe_dtype_info(part->dtype)->size;
    double numbers[CHUNK];

    for (size_t i = 0; i < count; i += CHUNK) {
        const size_t some = pe_least(CHUNK, count - i);
        pe_to_f64(numbers, part->values + i * size, part->dtype, some);
        for (size_t j = 0; j < some; j++) {
            const bool finite = isfinite(numbers[j]);
            *least = finite && numbers[j] < *least ? numbers[j] : *least;
            *most = finite && numbers[j] > *most ? numbers[j] : *most;
        }
    }
}

static enum pe_status values_make(const struct pe_view *view, struct part *part, size_t rows,
                                  struct pe_work *work, struct pe_error *err)
{
    if (!part->values)
        part->values = malloc(part->size + 1);
    if (!part->values)
        return pe_no_memory(err, "the values of a picture");
    return rows > 0 ? part_fill(view, part, 0, rows, part->values, work, err) : PE_OK;
}

struct making {
    const struct pe_view *view;
};

static enum pe_status scale_make(void *thing, struct pe_work *work, struct pe_error *err)
{
    const struct pe_view *view = ((const struct making *)thing)->view;
    struct pe_picture *picture = view->picture;
    double least = INFINITY, most = -INFINITY;

    for (size_t i = 0; i < picture->parts_count; i++) {
        const struct pe_output *output = &picture->outputs[i];
        if (output->dtype != PE_U8)
            continue;
        if (values_make(view, &picture->parts[i], output->rows, work, err))
            return err->status;
        values_bound(&picture->parts[i], output->rows * output->row_elements, &least, &most);
    }
    picture->offset = least <= most ? least : 0;
    picture->scale = least < most ? most / 255 - least / 255 : 0;
    return PE_OK;
}

/* What is infinite lies at an end of the scale: pe_from_f64 takes care of it, and of NaN. */
static void bytes_write(const struct pe_picture *picture, size_t index, size_t row_begin,
                        size_t row_end, unsigned char *out)
{
    const struct part *part = &picture->parts[index];
    const size_t size = pe_dtype_info(part->dtype)->size;
    const size_t width = picture->outputs[index].row_elements;
    const size_t count = (row_end - row_begin) * width;
    const char *from = part->values + row_begin * width * size;
    const double scale = picture->scale > 0 ? picture->scale : 1;
    double numbers[CHUNK];

    for (size_t i = 0; i < count; i += CHUNK) {
        const size_t some = pe_least(CHUNK, count - i);
        pe_to_f64(numbers, from + i * size, part->dtype, some);
        for (size_t j = 0; j < some; j++)
            numbers[j] = (numbers[j] - picture->offset) / scale;
        pe_from_f64(out + i, PE_U8, numbers, some);
    }
}

enum pe_status pe_picture_fill(const struct pe_view *view, size_t output, size_t row_begin,
                               size_t row_end, void *out, struct pe_work *work,
                               struct pe_error *err)
{
    struct pe_picture *picture = view->picture;

    if (picture->outputs[output].dtype != PE_U8)
        return part_fill(view, &picture->parts[output], row_begin, row_end, out, work, err);
    if (pe_once(&picture->once, scale_make, &(struct making){view}, work, err))
        return err->status;
    bytes_write(picture, output, row_begin, row_end, out);
    return PE_OK;
}

bool pe_picture_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar)
{
    struct pe_picture *picture = view->picture;

    if (!picture || !picture->bytes || index > 1 ||
        pe_once(&picture->once, scale_make, &(struct making){view}, view->work,
                &(struct pe_error){0}))
        return false;
    *scalar = index == 0 ? (struct pe_scalar){"scale", picture->scale}
                         : (struct pe_scalar){"offset", picture->offset};
    return true;
}

const struct pe_output *pe_picture_output(const struct pe_picture *picture, size_t index)
{
    return index < picture->parts_count ? &picture->outputs[index] : NULL;
}

size_t pe_picture_memory(const struct pe_picture *picture)
{
    size_t sum = 0;

    for (size_t i = 0; picture && i < picture->parts_count; i++)
        sum += picture->parts[i].size;
    return sum;
}
