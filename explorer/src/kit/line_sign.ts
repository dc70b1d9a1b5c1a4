// SPDX-License-Identifier: MIT
// A line as it is drawn, before its name in a legend.
import { h } from "../dom";

/** The lengths of a broken line as a background. */
function stripes(dash: number[]): string {
    const ends = dash.map((_, i) => dash.slice(0, i + 1).reduce((sum, one) => sum + one));
    const parts = ends.map(
        (end, i) => `${i % 2 ? "transparent" : "currentcolor"} ${ends[i - 1] ?? 0}px ${end}px`,
    );
    return `repeating-linear-gradient(90deg, ${parts.join(", ")})`;
}

/** `dash`: lengths of lines and gaps by turns, in pixels; `dots`: points alone. Without both the line
 * is whole. `colour`: a token of style/tokens.css, else that of the text. */
export function lineSign(line: { dash?: number[]; dots?: boolean; colour?: string }): HTMLElement {
    const { dash, dots, colour } = line,
        sign = h("i", { class: dash ? "dashed" : dots ? "dotted" : undefined });
    if (colour) sign.style.color = `var(--${colour})`;
    if (dash) sign.style.backgroundImage = stripes(dash);
    return sign;
}
