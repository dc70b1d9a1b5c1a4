/* SPDX-License-Identifier: MIT */
#ifndef POSENC_PARAMETERS_H
#define POSENC_PARAMETERS_H

#include "posenc/status.h"

/* Parameters as data: a list of descriptions, and values for it that are set from text, numbers and
 * lists with the same checks and the same errors. Encodings and views have such lists; a program
 * may have lists of its own. */

struct pe_work;

enum pe_param_type {
    PE_NUMBER,
    PE_INTEGER,
    PE_BOOLEAN,
    PE_CHOICE,  /* one of `choices`; the value is its index */
    PE_NUMBERS, /* a list: 1,2.5,3 */
    PE_RANGES,  /* a list with inclusive ranges: 0,5,7..9,-3..-1 */
    PE_TEXT,    /* free text, for the layer that looks it up: the name of a table */
};

/* The description of one parameter. */
struct pe_param {
    const char *name;
    const char *aliases; /* "rope_theta,theta"; reports have the name */
    enum pe_param_type type;
    double min, max; /* inclusive; of each element of a list; both 0: any finite number */
    bool above_min;  /* min itself is excluded */
    bool required;
    bool nested;             /* a list may consist of lists of equal length: 0,1;2..3 */
    const char *fallback;    /* default, as text; NULL: none */
    const char *choices;     /* "interleaved,concatenated", aliases after '=': "half=neox" */
    const char *unit;        /* "positions", "elements"; NULL: a plain number */
    const char *doc;         /* one sentence */
    const void *reserved[2]; /* for later versions: NULL */
};

/* A run of consecutive integers in a list: they begin with `first` and end before element `end`. */
struct pe_segment {
    double first;
    size_t end;
};

/* The value of one parameter; pe_params_free frees it. */
struct pe_value {
    bool given;   /* by the caller; else the default, if there is one, is in `number` */
    bool present; /* given, or has a default */
    bool lent;    /* the list is the caller's, see pe_params_lend_list */
    bool range;   /* `list` is NULL: the list is stored as ranges, see `segments` */
    double
        number; /* numbers, integers, booleans (0, 1), choices (index from 0), begin of a range */
    double *list;
    size_t list_count;
    size_t rows; /* of a list of lists; 0: a flat list */
    char *text;
    /* Of a list stored as ranges: its runs of integers. NULL: it is one run of list_count integers
     * from `number` on. */
    struct pe_segment *segments;
    size_t segments_count;
};

enum {
    PE_PARAMS_MAX = 32,
    /* Elements of a list, ranges expanded: far more than any use needs. */
    PE_PARAM_LIST_MAX = 1 << 24
};

/* Values for a list of descriptions. One thread at a time may set them, any number may read.
 * Zeroed, it has no parameters and can be freed. */
struct pe_params {
    const struct pe_param *list; /* not owned */
    size_t count;
    struct pe_work *work; /* charged for lists and text; NULL: none. Set after pe_params_init */
    struct pe_value values[PE_PARAMS_MAX];
};

PE_DECLARATIONS_BEGIN

/* Makes every value absent. `list` is not copied and must outlive the values; entries after the
 * first PE_PARAMS_MAX are ignored. Earlier values of `params` are overwritten, not freed. */
PE_API void pe_params_init(struct pe_params *params, const struct pe_param *list, size_t count);
/* Frees lists and text and zeroes `params`. */
PE_API void pe_params_free(struct pe_params *params);

/* The index of a name or alias, or -1. */
PE_API int pe_params_find(const struct pe_params *params, const char *name);

/* Each checks one value and sets it; text and lists are copied. Long ranges of a text are stored as
 * ranges: pe_value_at and pe_value_expand read both forms. A list given twice is joined; another
 * parameter given twice with different values is PE_CONFLICT. PE_INVALID: another type, no integer,
 * no such choice. PE_OUT_OF_RANGE, PE_SHAPE_MISMATCH (rows of several lengths), PE_TOO_LARGE (over
 * 2^24 elements), PE_OUT_OF_MEMORY; `where` of an error is "parameter:NAME". PE_UNKNOWN_PARAMETER
 * for an invalid index. */
PE_API enum pe_status pe_params_set_text(struct pe_params *params, size_t index, const char *text,
                                         struct pe_error *err);
PE_API enum pe_status pe_params_set_number(struct pe_params *params, size_t index, double number,
                                           struct pe_error *err);
PE_API enum pe_status pe_params_set_list(struct pe_params *params, size_t index, const double *list,
                                         size_t count, struct pe_error *err);
/* A list of lists: `rows` times `columns` numbers. */
PE_API enum pe_status pe_params_set_rows(struct pe_params *params, size_t index, const double *list,
                                         size_t rows, size_t columns, struct pe_error *err);
/* Sets a list of lists (rows 0: a flat one, of `columns` numbers) by reference; it is copied only
 * if it is joined to another. It must not change, and must outlive these values, copies of them by
 * pe_params_set_value, and the views made with either. Schemes copy it. */
PE_API enum pe_status pe_params_lend_list(struct pe_params *params, size_t index,
                                          const double *list, size_t rows, size_t columns,
                                          struct pe_error *err);
/* Sets a number by its name. Does nothing if a value is given already or the list has no such
 * parameter. */
PE_API enum pe_status pe_params_infer(struct pe_params *params, const char *name, double number,
                                      struct pe_error *err);
/* Copies a value of another set; a list set by reference stays a reference. `param` is its
 * description there, of the same type as here. */
PE_API enum pe_status pe_params_set_value(struct pe_params *params, size_t index,
                                          const struct pe_param *param,
                                          const struct pe_value *value, struct pe_error *err);
/* Sets "name=value" pairs separated by white space or '&'. PE_UNKNOWN_PARAMETER for a name,
 * PE_MALFORMED for one without a value, else as above. Pairs before the failure stay set. */
PE_API enum pe_status pe_params_set_pairs(struct pe_params *params, const char *text,
                                          struct pe_error *err);

/* Fills in defaults, which do not count as given. PE_MISSING where a required one is absent. */
PE_API enum pe_status pe_params_finish(struct pe_params *params, struct pe_error *err);

/* Values by name or alias: NULL, NAN, NULL and false where the list has no such name; the last
 * three also where no value is set. Pointers are valid until the value is set again or freed. */
PE_API const struct pe_value *pe_param_value(const struct pe_params *params, const char *name);
PE_API double pe_param_number(const struct pe_params *params, const char *name);
PE_API const char *pe_param_text(const struct pe_params *params, const char *name);
PE_API bool pe_param_given(const struct pe_params *params, const char *name);

/* An element of a list, which may be stored as a range; 0 past the last one. */
PE_API double pe_value_at(const struct pe_value *value, size_t index);
/* Writes the list_count elements of a list to `out`. The cost is counted in `work`, which may be
 * NULL; PE_CANCELLED. */
PE_API enum pe_status pe_value_expand(const struct pe_value *value, double *out,
                                      struct pe_work *work, struct pe_error *err);
/* The number of elements of a text of ranges, four for "0,7..9", without expanding them; rows are
 * included. PE_PARAM_LIST_MAX + 1: more than a list may have. In malformed text the elements before
 * the error are counted. */
PE_API size_t pe_ranges_count(const char *text);

/* Writes the main spelling of a choice ("half" for neox) and returns its length, as snprintf does.
 * `index` is the value's number; "" and 0 past the last choice. */
PE_API size_t pe_choice_name(const struct pe_param *param, size_t index, char *out, size_t size);

PE_DECLARATIONS_END

#endif
