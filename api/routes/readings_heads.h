/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_READINGS_HEADS_H
#define API_ROUTES_READINGS_HEADS_H

/* A cell of a cache, before and after its rotation: one head of one layer and of one batch row. */

#include "api/routes/engine_caches.h"
#include "api/routes/readings.h"

struct api_cell {
    const struct api_tensor *before, *after;
    const struct api_row_places *places;
    struct api_heads heads;
    size_t head_dim;
    struct api_grain grain;
    double *changes, *squares; /* [head_dim]: of each element, over the tokens that are chosen */
};

/* Room for the samples of a cell: [rows, pairs] each. */
struct api_cell_room {
    double *cos, *sin, *weight;
};

/* Where the tokens of a cell lie; cells are counted by PE_KV_BATCH. */
struct api_heads api_cell_heads(const struct pe_kv_axes *axes, size_t cell);

/* Rooms of the arena of `readings`, whose rows are chosen. */
enum pe_status api_cell_room_take(const struct api_readings *readings, size_t head_dim,
                                  struct api_cell_room *room, struct pe_error *err);
enum pe_status api_cell_take(const struct api_readings *readings, struct api_cell *cell,
                             struct pe_error *err);

/* Looks at the elements of the tokens that are chosen. PE_INVALID: one is not finite. Any thread
 * for cells of its own. */
enum pe_status api_cell_look(const struct api_readings *readings, struct api_cell *cell,
                             struct pe_error *err);
/* Is there nothing but zeros? */
bool api_cell_is_empty(const struct api_cell *cell);
/* Does more than noise change behind a width? */
bool api_cell_changes_behind(const struct api_cell *cell, size_t width);
/* How much of it rotates: what is expected, or what is seen. 0: a last element that has no other
 * one to turn with has changed. */
size_t api_cell_width(const struct api_cell *cell, const struct pe_scheme *expected);

/* A sample of the cell in one layout, of so many pairs. Any thread for rooms of its own. */
void api_cell_read(const struct api_readings *readings, const struct api_cell *cell, bool half,
                   size_t pairs, const struct api_cell_room *room, struct api_tokens *tokens,
                   struct pe_sample *sample);

/* How many tokens have an element that is not the same before and after, of all of them, and the
 * first one: none of those that do not rotate has. Any thread. */
enum pe_status api_cell_compare(const struct api_cell *cell, size_t tokens, struct pe_work *work,
                                struct pe_bad_rows *bad, struct pe_error *err);

#endif
