// SPDX-License-Identifier: MIT
// A sentence cut so that a person can read it in a matrix: Chinese by characters, all else by
// words.

const MOST = 24,
    CHINESE = /\p{Script=Han}/u;

export function tokens(text: string): string[] {
    const pieces = text.match(/\p{Script=Han}|[^\s\p{Script=Han}]+/gu) ?? [];
    return (pieces.length ? pieces : ["…"]).slice(0, MOST);
}

/** The same words in another order; equal to the first one only where there is no other. */
export function shuffled(words: string[]): string {
    const order = [...words];
    for (let i = order.length - 1; i > 0; i--) {
        const j = Math.floor(Math.random() * (i + 1));
        [order[i], order[j]] = [order[j], order[i]];
    }
    return order.join(words.every((one) => CHINESE.test(one)) ? "" : " ");
}
