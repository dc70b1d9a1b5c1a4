/* SPDX-License-Identifier: MIT */
#ifndef POSENC_POSENC_H
#define POSENC_POSENC_H

/* libposenc: positional encodings for Transformers, exact. Linux.
 *
 *   struct pe_error err = {0};
 *   struct pe_params params = {0};
 *   struct pe_scheme *scheme = NULL;
 *
 *   if (!pe_params_parse(&params, "rope", "dim=128 base=500000", &err) &&
 *       !pe_scheme_new(&scheme, pe_encoding_find("rope"), &params, NULL, &err))
 *       ... views of it, rotations and attention with it ...
 *   pe_scheme_free(scheme);
 *   pe_params_free(&params);
 *
 * Every function that can fail returns an enum pe_status and describes the failure in the caller's
 * struct pe_error. No wrong argument ends the process, except NULL for a required pointer. Without
 * memory they return PE_OUT_OF_MEMORY. *_new sets its result to NULL on failure, and *_free accepts
 * NULL (except pe_params_free, which takes a struct).
 *
 * Structs that a program fills in begin as zeros: pe_error, pe_positions, pe_job, and every spec,
 * sample, comparison and limits; pe_params too, unless pe_params_init or pe_params_parse comes
 * first. Structs that can grow begin with their size, set by sizeof. RN(x) in comments is x rounded
 * once, to the nearest number of the dtype, ties to even. Numbers in text have a point in any
 * locale. The library starts threads only in pools, changes no global state of the process, and
 * prints nothing.
 *
 * Schemes, views, rotations and attentions are immutable once made: any number of threads may fill,
 * rotate and read through one at a time. */

#include "posenc/attention.h"
#include "posenc/common.h"
#include "posenc/comparison.h"
#include "posenc/config.h"
#include "posenc/diagnosis.h"
#include "posenc/dtype.h"
#include "posenc/encodings.h"
#include "posenc/engine_caches.h"
#include "posenc/engines.h"
#include "posenc/extension.h"
#include "posenc/golden.h"
#include "posenc/layers.h"
#include "posenc/layouts.h"
#include "posenc/parameters.h"
#include "posenc/pool.h"
#include "posenc/position_ids.h"
#include "posenc/probe.h"
#include "posenc/rotation.h"
#include "posenc/schemes.h"
#include "posenc/status.h"
#include "posenc/tolerance.h"
#include "posenc/views.h"
#include "posenc/work.h"

#endif
