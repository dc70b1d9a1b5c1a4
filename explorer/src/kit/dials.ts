// SPDX-License-Identifier: MIT
// Unit circles, one a pair, with a query and a key as hands that can be dragged.
import { h, s } from "../dom";
import { t } from "../words";
import { lineSign } from "./line_sign";

export interface Dials {
    element: HTMLElement;
    /** Pairs side by side: x and y of each. */
    draw(query: ArrayLike<number>, key: ArrayLike<number>): void;
}

type Which = "q" | "k";

interface Dial {
    element: SVGElement;
    point(q: [number, number], k: [number, number]): void;
}

const DASH: Partial<Record<Which, number[]>> = { k: [5, 3] };
const STEP = 5; // degrees that an arrow key turns by

const degrees = (x: number, y: number) => (Math.atan2(y, x) * 180) / Math.PI;

function hand(which: Which, name: string): SVGGElement {
    return s(
        "g.hand",
        {
            "data-hand": which,
            tabindex: 0,
            role: "slider",
            "aria-label": name,
            "aria-valuemin": -180,
            "aria-valuemax": 180,
        },
        s("line", {
            x1: 0,
            y1: 0,
            x2: 0,
            y2: 0,
            "stroke-dasharray": DASH[which]?.join(" "),
        }),
        s("circle.grip", { r: 12 }),
        s("circle.tip", { r: 5 }),
    );
}

function aim(group: SVGGElement, [x, y]: [number, number]): void {
    const [line, ...circles] = [...group.children];
    line.setAttribute("x2", `${x * 90}`);
    line.setAttribute("y2", `${-y * 90}`);
    for (const circle of circles) {
        circle.setAttribute("cx", `${x * 90}`);
        circle.setAttribute("cy", `${-y * 90}`);
    }
    group.setAttribute("aria-valuenow", `${Math.round(degrees(x, y))}`);
    group.setAttribute("aria-valuetext", `${Math.round(degrees(x, y))}°`);
}

/** The arc from the key to the query, the shorter way. */
function arc(q: [number, number], k: [number, number]): string {
    const large = 0,
        sweep = k[0] * q[1] - k[1] * q[0] > 0 ? 0 : 1;
    const [a, b] = [k, q].map(([x, y]) => {
        const size = Math.hypot(x, y) || 1;
        return `${(x / size) * 34} ${(-y / size) * 34}`;
    });
    return `M${a}A34 34 0 ${large} ${sweep} ${b}`;
}

/** `turned`: a hand was turned by as many degrees. */
function dial(pair: number, turned: (which: Which, by: number) => void): Dial {
    const q = hand("q", t(`query, pair ${pair}`, `查询，第 ${pair} 对`));
    const k = hand("k", t(`key, pair ${pair}`, `键，第 ${pair} 对`)),
        between = s("path.between");
    const root = s(
        "svg.dial",
        { viewBox: "-110 -110 220 220" },
        s("circle.rim", { r: 90 }),
        between,
        k,
        q,
    );
    let held: { which: Which; angle: number } | undefined;

    function angle(event: PointerEvent): number {
        const box = root.getBoundingClientRect();
        return degrees(
            event.clientX - box.left - box.width / 2,
            box.top + box.height / 2 - event.clientY,
        );
    }

    for (const group of [q, k]) {
        const which = group.dataset.hand as Which;
        group.addEventListener("pointerdown", (event) => {
            held = { which, angle: angle(event) };
            group.setPointerCapture(event.pointerId);
        });
        group.addEventListener("pointermove", (event) => {
            if (held?.which !== which) return;
            turned(which, angle(event) - held.angle);
            held.angle = angle(event);
        });
        group.addEventListener("pointerup", () => (held = undefined));
        group.addEventListener("keydown", (event) => {
            const by = { ArrowLeft: STEP, ArrowUp: STEP, ArrowRight: -STEP, ArrowDown: -STEP }[
                event.key
            ];
            if (!by) return;
            event.preventDefault();
            turned(which, by);
        });
    }
    return {
        element: root,
        point(query, key) {
            aim(q, query);
            aim(k, key);
            between.setAttribute("d", arc(query, key));
        },
    };
}

/** Which hand is which: names are said once, beside all dials. */
export function handLegend(): HTMLElement {
    const one = (which: Which, words: string) =>
        h("li", { "data-hand": which }, lineSign({ dash: DASH[which] }), words);
    return h(
        "ul.legend.ofhands",
        {},
        one("q", t("query q at m", "查询 q，位置 m")),
        one("k", t("key k at n", "键 k，位置 n")),
    );
}

/** `turn`: the query or the key was turned by as many degrees, in each pair. */
export function dials(turn: (which: Which, by: number) => void): Dials {
    const element = h("div.dials");
    let all: Dial[] = [];
    return {
        element,
        draw(query, key) {
            if (all.length !== query.length / 2) {
                all = Array.from({ length: query.length / 2 }, (_, pair) => dial(pair, turn));
                element.replaceChildren(
                    ...all.map((one, pair) =>
                        h(
                            "figure",
                            {},
                            one.element,
                            h("figcaption", {}, t(`pair ${pair}`, `第 ${pair} 对`)),
                        ),
                    ),
                );
            }
            all.forEach((one, i) =>
                one.point([query[2 * i], query[2 * i + 1]], [key[2 * i], key[2 * i + 1]]),
            );
        },
    };
}
