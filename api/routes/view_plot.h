/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_VIEW_PLOT_H
#define API_ROUTES_VIEW_PLOT_H

#include "api/pictures/plot.h"

/* Opens a view with its parameters, whose lists are not copied: they stay as long as the view. */
enum pe_status api_view_new(struct api_request *request, const struct pe_scheme *scheme,
                            const struct pe_view_type *type, const struct pe_params *params,
                            enum pe_dtype dtype, struct pe_view **view, struct pe_error *err);

/* Chooses how an open view is drawn. Where it is to be smaller for that, *view is opened anew, and
 * the parameters say so. */
enum pe_status api_view_plot(struct api_request *request, const struct pe_scheme *scheme,
                             const struct pe_view_type *type, struct pe_params *params,
                             enum pe_dtype dtype, struct api_plot *plot, struct pe_view **view,
                             struct pe_error *err);

#endif
