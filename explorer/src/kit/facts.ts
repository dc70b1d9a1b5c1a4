// SPDX-License-Identifier: MIT
// A few numbers with what they mean, beside a picture.
import { h } from "../dom";
import "../style/facts.css";

export interface Fact {
    name: string;
    value: string;
    /** Where the number comes from, in a sentence. */
    source?: string;
}

export function facts(list: Fact[]): HTMLElement {
    return h(
        "dl.facts",
        {},
        ...list.map((one) =>
            h(
                "div",
                {},
                h("dt", {}, one.name),
                h("dd", {}, one.value),
                one.source && h("dd.source", {}, one.source),
            ),
        ),
    );
}
