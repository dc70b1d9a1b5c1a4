/* SPDX-License-Identifier: MIT */
#include "api/routes/view_plot.h"

#include <string.h>

/* The parameters that make a view small. */
static const char *const sizes[] = {"pool", "rows", "columns"};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

enum pe_status api_view_new(struct api_request *request, const struct pe_scheme *scheme,
                            const struct pe_view_type *type, const struct pe_params *params,
                            enum pe_dtype dtype, struct pe_view **view, struct pe_error *err)
{
    struct pe_params lent = *params;

    for (size_t i = 0; i < lent.count; i++)
        lent.values[i].lent = true;
    return pe_view_new(view, scheme, type, &lent, dtype, request->work, err);
}

/* Without what makes it small. */
static struct pe_params params_plain(const struct pe_params *params)
{
    struct pe_params plain = *params;

    for (size_t i = 0; i < SIZES; i++) {
        const int at = pe_params_find(params, sizes[i]);
        if (at >= 0)
            plain.values[at] = (struct pe_value){0};
    }
    return plain;
}

/* The least and the greatest of a matrix are two. */
static bool is_doubled(const struct pe_params *params)
{
    const int pool = pe_params_find(params, "pool");
    char how[8] = "";

    if (pool >= 0 && params->values[pool].given)
        pe_choice_name(&params->list[pool], (size_t)params->values[pool].number, how, sizeof(how));
    return strcmp(how, "minmax") == 0;
}

/* A matrix is pooled to the pixels that there are for it, or to two matrices. False: it has no more
 * than those. */
static bool params_pool(struct pe_params *params, struct api_plot *plot, struct pe_error *err)
{
    const int pool = pe_params_find(params, "pool");
    bool fits;

    if (plot->mark == API_HEATMAP && is_doubled(params))
        api_plot_cells(plot, 2 * plot->matrices);
    fits = plot->rows <= plot->cells_high && plot->columns <= plot->cells_wide;
    if (plot->mark != API_HEATMAP || pool < 0 || (fits && !params->values[pool].given))
        return false;
    if (!params->values[pool].given)
        pe_params_set_text(params, (size_t)pool, "mean", err);
    pe_params_infer(params, "rows", (double)plot->cells_high, err);
    pe_params_infer(params, "columns", (double)plot->cells_wide, err);
    return true;
}

static bool is_pooled(const struct pe_params *params)
{
    const int pool = pe_params_find(params, "pool");

    return pool >= 0 && params->values[pool].given;
}

enum pe_status api_view_plot(struct api_request *request, const struct pe_scheme *scheme,
                             const struct pe_view_type *type, struct pe_params *params,
                             enum pe_dtype dtype, struct api_plot *plot, struct pe_view **view,
                             struct pe_error *err)
{
    const struct pe_params without = params_plain(params);
    struct pe_view *plain = NULL;

    if (dtype == PE_U8)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "parameter:dtype",
                       "a picture is of numbers and not of u8; leave dtype out");
    if (!api_view_new(request, scheme, type, &without, dtype, &plain, err))
        api_plot_choose(plot, plain, err);
    pe_view_free(plain);
    if (!err->status && plot->mark != API_HEATMAP && is_pooled(params))
        pe_fail(err, PE_CONFLICT, "parameter:pool",
                "pool goes with a heat map; leave it out, or give plot=heatmap");
    if (err->status || !params_pool(params, plot, err) || err->status)
        return err->status;
    pe_view_free(*view);
    *view = NULL;
    return api_view_new(request, scheme, type, params, dtype, view, err);
}
