/* SPDX-License-Identifier: MIT */

/* Runs a rotary kernel on the inputs of a golden file, without posenc:
 *
 *   posenc golden config.json -o golden.safetensors
 *   golden golden.safetensors mine.safetensors [PREFIX]
 *   posenc check mine.safetensors golden.safetensors
 *
 * Put the kernel to be tested in the place of `rotate`. PREFIX is that of one kind of layers, where
 * the file has several: "full_attention.". */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One head of one token: x[width], of which the first 2 * pairs elements rotate. */
static void rotate(float *x, size_t pairs, int interleaved, int64_t position, const float *inv_freq,
                   float factor)
{
    for (size_t i = 0; i < pairs; i++) {
        float *a = &x[interleaved ? 2 * i : i], *b = &x[interleaved ? 2 * i + 1 : i + pairs];
        const float angle = (float)position * inv_freq[i];
        const float c = cosf(angle) * factor, s = sinf(angle) * factor, first = *a;
        *a = first * c - *b * s;
        *b = *b * c + first * s;
    }
}

static char *file; /* 8 bytes: the length of the header; the header, JSON; the elements */
static char *data; /* the elements */

/* The elements of a tensor, and its shape. The header is as posenc writes it. */
static void *tensor(const char *prefix, const char *name, size_t shape[3])
{
    char key[256];
    size_t begin;

    snprintf(key, sizeof(key), "\"%s%s\":{", prefix, name);
    const char *at = strstr(file + 8, key), *axes = at ? strstr(at, "\"shape\":[") : NULL;
    if (!axes || sscanf(strstr(axes, "offsets\":["), "offsets\":[%zu", &begin) != 1) {
        fprintf(stderr, "the file has no %s%s\n", prefix, name);
        exit(1);
    }
    sscanf(axes, "\"shape\":[%zu,%zu,%zu", &shape[0], &shape[1], &shape[2]);
    return data + begin;
}

int main(int argc, char **argv)
{
    const char *prefix = argc > 3 ? argv[3] : "";
    size_t size[3], pairs[3], length = 0;
    FILE *in = argc > 2 ? fopen(argv[1], "rb") : NULL, *out = in ? fopen(argv[2], "wb") : NULL;
    char kind[256], header[256] = "";

    if (!out || !(file = calloc(1, 4 << 20)) || fread(file, 1, (4 << 20) - 1, in) < 8)
        return fprintf(stderr, "usage: golden GOLDEN MINE [PREFIX]\n"), 2;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | (unsigned char)file[i];
    data = file + 8 + length;
    snprintf(kind, sizeof(kind), "\\\"prefix\\\":\\\"%s\\\"", prefix);
    const char *about = strstr(file + 8, kind); /* the description, in the metadata */
    const int interleaved =
        about && strncmp(strstr(about, "layout\\\":\\\""), "layout\\\":\\\"i", 12) == 0;
    const float *inv_freq = tensor(prefix, "inv_freq", pairs);
    double factor;
    memcpy(&factor, tensor(prefix, "attention_factor", size), sizeof(factor));
    const int64_t *positions = tensor(prefix, "positions", size);
    float *q = tensor(prefix, "q", size); /* tokens, heads, width */
    for (size_t row = 0; row < size[0] * size[1]; row++)
        rotate(q + row * size[2], pairs[0], interleaved, positions[row / size[1]], inv_freq,
               (float)factor);
    const uint64_t bytes = size[0] * size[1] * size[2] * sizeof(*q);
    const uint64_t written = (uint64_t)snprintf(
        header, sizeof(header),
        "{\"%sq_rotated\":{\"dtype\":\"F32\",\"shape\":[%zu,%zu,%zu],\"data_offsets\":[0,%" PRIu64
        "]}}",
        prefix, size[0], size[1], size[2], bytes);
    fwrite(&written, 8, 1, out);
    fwrite(header, 1, written, out);
    fwrite(q, 1, bytes, out);
    return fclose(out) != 0;
}
