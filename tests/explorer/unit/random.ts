// SPDX-License-Identifier: MIT
// Numbers that are the same in every run.

export function random(seed: number): () => number {
    let state = seed >>> 0;
    return () => {
        state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
        return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
    };
}
