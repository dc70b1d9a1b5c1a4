/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/errors.h"
#include "posenc/position_ids.h"

void pe_ids_kinds_fill(const int64_t *tokens, size_t count, int64_t image_token,
                       int64_t video_token, unsigned char *kinds)
{
    for (size_t i = 0; i < count; i++)
        kinds[i] = (unsigned char)(tokens[i] < 0              ? PE_IDS_TEXT
                                   : tokens[i] == image_token ? PE_IDS_IMAGE
                                   : tokens[i] == video_token ? PE_IDS_VIDEO
                                                              : PE_IDS_TEXT);
}

enum pe_status pe_ids_mask_fill(const int64_t *lengths, size_t rows, size_t tokens, bool left,
                                unsigned char *mask, struct pe_error *err)
{
    for (size_t row = 0; row < rows; row++) {
        if (lengths[row] < 0 || (uint64_t)lengths[row] > tokens)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:lengths",
                           "a length is 0 to %zu, got %lld", tokens, (long long)lengths[row]);
        const size_t length = (size_t)lengths[row];
        unsigned char *at = mask + row * tokens;
        memset(at, 0, tokens);
        memset(at + (left ? tokens - length : 0), 1, length);
    }
    return PE_OK;
}
