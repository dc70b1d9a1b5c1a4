/* SPDX-License-Identifier: MIT */
#ifndef API_ARGUMENTS_TABLE_USE_H
#define API_ARGUMENTS_TABLE_USE_H

#include "api/request/request.h"
#include "api/store/store.h"

/* Encodings by their names, which may be those of stored tables; and learned tables in requests,
 * stored ones and posted ones. */

/* The built-in encoding of a name; or, where a table is stored under it, the encoding that looks
 * rows up, and *stored the name (NULL: built in). PE_NOT_FOUND. */
enum pe_status api_encoding_named(struct api_request *request, const char *name,
                                  const struct pe_encoding **encoding, const char **stored,
                                  struct pe_error *err);

/* The encoding that the name of a stored table stands for. */
const struct pe_encoding *api_stored_encoding(void);

/* By the path and the query, is the request certain to depend on the stored tables? */
bool api_stored_is_named(const struct api_request *request);

/* Sets the parameter that names the table; stored NULL: nothing to set. */
enum pe_status api_stored_name_set(struct pe_params *params, const char *stored,
                                   struct pe_error *err);

/* Is this posted tensor the table of an encoding with these parameters, table=tensor:NAME? */
bool api_table_is_posted(const struct pe_params *params, const char *tensor);

/* Gives a scheme the table that its parameters name, held as long as the request is; *table is it
 * where it is a stored one, else NULL. Does nothing for an encoding without one. */
enum pe_status api_table_give(struct api_request *request, struct pe_scheme *scheme,
                              const struct api_stored_table **table, struct pe_error *err);

/* Stored tables as posted tensors, copied: tables=weights:my-t5,rel_k:my-keys. */
enum pe_status api_tables_lend(struct api_request *request, struct pe_error *err);

#endif
