/* SPDX-License-Identifier: MIT */
#include "api/deflate/huffman.h"

#include <stdlib.h>
#include <string.h>

/* ---- lengths -------------------------------------------------------------------------------- */

/* A symbol, or two nodes that are joined. */
struct node {
    uint32_t count;
    int symbol, parent;
};

enum { NODES_MAX = 2 * API_CODE_SYMBOLS };

static int node_compare(const void *a, const void *b)
{
    const struct node *one = a, *other = b;

    return one->count != other->count ? (one->count > other->count) - (one->count < other->count)
                                      : one->symbol - other->symbol;
}

/* The least node that has no parent: leaves are in order, and so are those that were joined. */
static int least_take(const struct node *nodes, int leaves, int *leaf, int *joined, int end)
{
    if (*leaf < leaves && (*joined >= end || nodes[*leaf].count <= nodes[*joined].count))
        return (*leaf)++;
    return (*joined)++;
}

/* How many leaves are how deep, in a tree that grows over them. */
static void depths_count(struct node *nodes, int leaves, int at_depth[NODES_MAX])
{
    int leaf = 0, joined = leaves, depth[NODES_MAX] = {0};

    for (int end = leaves; end < 2 * leaves - 1; end++) {
        const int a = least_take(nodes, leaves, &leaf, &joined, end);
        const int b = least_take(nodes, leaves, &leaf, &joined, end);
        nodes[end].count = nodes[a].count + nodes[b].count;
        nodes[a].parent = nodes[b].parent = end;
    }
    for (int i = 2 * leaves - 3; i >= 0; i--) {
        depth[i] = depth[nodes[i].parent] + 1;
        at_depth[depth[i]] += i < leaves;
    }
}

/* Codes that are too long become `longest`; for the room that they take then, others grow. */
static void depths_limit(int at_depth[NODES_MAX], int longest)
{
    uint32_t taken = 0;

    for (int depth = longest + 1; depth < NODES_MAX; depth++) {
        at_depth[longest] += at_depth[depth];
        at_depth[depth] = 0;
    }
    for (int depth = 1; depth <= longest; depth++)
        taken += (uint32_t)at_depth[depth] << (longest - depth);
    for (; taken > 1U << longest; taken--) {
        int depth = longest - 1;
        while (at_depth[depth] == 0)
            depth--;
        at_depth[longest]--;
        at_depth[depth]--;
        at_depth[depth + 1] += 2;
    }
}

static void lengths_make(struct api_code *code, const uint32_t *counts, int longest)
{
    struct node nodes[NODES_MAX];
    int leaves = 0, at_depth[NODES_MAX] = {0}, depth = longest;

    for (int i = 0; i < code->symbols; i++)
        if (counts[i] > 0)
            nodes[leaves++] = (struct node){counts[i], i, 0};
    qsort(nodes, (size_t)leaves, sizeof(*nodes), node_compare);
    if (leaves > 1)
        depths_count(nodes, leaves, at_depth);
    else
        at_depth[1] = leaves;
    depths_limit(at_depth, longest);
    for (int i = 0; i < leaves; i++) {
        while (at_depth[depth] == 0)
            depth--;
        at_depth[depth]--;
        code->length[nodes[i].symbol] = (unsigned char)depth;
    }
}

/* ---- bits ----------------------------------------------------------------------------------- */

static uint16_t turned(uint32_t bits, int count)
{
    uint32_t other = 0;

    for (int i = 0; i < count; i++)
        other |= (bits >> i & 1) << (count - 1 - i);
    return (uint16_t)other;
}

/* RFC 1951, 3.2.2. */
void api_code_make(struct api_code *code, const uint32_t *counts, int longest)
{
    uint32_t next[API_CODE_BITS + 2] = {0}, of_length[API_CODE_BITS + 1] = {0};

    memset(code->length, 0, sizeof(code->length));
    lengths_make(code, counts, longest);
    for (int i = 0; i < code->symbols; i++)
        of_length[code->length[i]] += code->length[i] > 0;
    for (int length = 1; length <= longest; length++)
        next[length + 1] = (next[length] + of_length[length]) << 1;
    for (int i = 0; i < code->symbols; i++)
        if (code->length[i] > 0)
            code->bits[i] = turned(next[code->length[i]]++, code->length[i]);
}
