/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_TENSORS_H
#define COMMAND_TENSORS_H

/* Tensors of npy and safetensors files as members of a JSON body, in base64. */

#include "command/command.h"

/* Reads the one tensor of a file, or its tensor `which` (NULL: there is one), into
 * tensors[name]. CMD_DONE, or a sentence was printed. */
enum cmd_exit cmd_tensor_read(const char *path, const char *which, const char *name,
                              json_t *tensors);

#endif
