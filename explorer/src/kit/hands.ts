// SPDX-License-Identifier: MIT
// Pairs as turning hands over a logarithmic axis of their wavelengths: as trained above, as they
// are now below, curves between. On a narrow screen the hands stand decade by decade.
import { h, s } from "../dom";
import { short, whole } from "../numbers";
import { t } from "../words";
import { laid, stretched, type Hand, type Laid } from "./hands_layout";
import "../style/hands.css";

export interface Hands {
    element: HTMLElement;
    /** Draws other hands; `names` stand above the two rows. */
    set(hands: Hand[], names: [string, string]): void;
    /** Hands that never finish a turn within it fade. */
    context(length: number): void;
    /** Turns the hands; `speed`: positions since the last picture. A hand too fast to be seen blurs.
     * */
    turn(position: number, speed: number): void;
}

const WIDE = 540,
    BLUR = 1.2; // px; radians a picture

export function said(hand: Hand, pair: number, context: number, position: number): string[] {
    const turns = context / hand.wavelength,
        angle = (position * hand.frequency) % (2 * Math.PI);
    return [
        t(`pair ${pair}`, `维度对 ${pair}`),
        Number.isFinite(hand.wavelength)
            ? t(
                  `one turn in ${short(hand.wavelength, 6)} positions`,
                  `每 ${short(hand.wavelength, 6)} 个位置转一圈`,
              )
            : t("does not turn", "不转动"),
        ...(stretched(hand)
            ? [t(`as trained: ${short(hand.before, 6)}`, `训练时：${short(hand.before, 6)}`)]
            : []),
        t(`${short(turns, 3)} turns in the context`, `上下文内转 ${short(turns, 3)} 圈`),
        t(
            `at ${whole(position)}: ${Math.round((angle * 180) / Math.PI)}°`,
            `位置 ${whole(position)}：${Math.round((angle * 180) / Math.PI)}°`,
        ),
    ];
}

class Drawing implements Hands {
    element = h("div.hands", {
        tabindex: 0,
        role: "slider",
        "aria-valuemin": 0,
        "aria-valuenow": 0,
    });
    private svg = s("svg", { "aria-hidden": "true" });
    private tip = h("div.tip", { hidden: true });
    private hands: Hand[] = [];
    private names: [string, string] = ["", ""];
    private length = 1;
    private position = 0;
    private at = -1;
    private width = 0;
    private laid?: Laid;
    private lines: SVGElement[] = [];
    private groups: SVGElement[] = [];
    private blurred: boolean[] = [];

    constructor() {
        this.element.append(this.svg, this.tip);
        new ResizeObserver(() => this.element.clientWidth !== this.width && this.draw()).observe(
            this.element,
        );
        this.element.addEventListener("keydown", (event) => this.key(event));
        this.element.addEventListener(
            "focus",
            () => this.element.matches(":focus-visible") && this.point(Math.max(0, this.at)),
        );
        this.element.addEventListener("blur", () => this.point(-1));
        this.svg.addEventListener("pointermove", (event) => this.near(event));
        this.svg.addEventListener("pointerdown", (event) => this.near(event));
        this.svg.addEventListener("pointerleave", () => this.point(-1));
    }

    set(hands: Hand[], names: [string, string]): void {
        this.hands = hands;
        this.names = names;
        this.element.setAttribute("aria-valuemax", `${hands.length - 1}`);
        this.at = Math.min(this.at, hands.length - 1);
        this.tell();
        this.element.setAttribute(
            "aria-label",
            t(
                `${hands.length} pairs as turning hands, over the positions that one turn takes`,
                `${hands.length} 个维度对，如转动的指针，按转一圈的位置数排列`,
            ),
        );
        this.draw();
    }

    context(length: number): void {
        this.length = length;
        if (this.hands.length) this.tell();
        this.fade();
    }

    turn(position: number, speed: number): void {
        this.position = position;
        for (let i = 0; i < this.lines.length; i++)
            this.hand(i, Math.abs(this.hands[i].frequency * speed) > BLUR);
        if (this.at >= 0) this.tell();
    }

    private hand(i: number, blurred: boolean): void {
        if (blurred !== this.blurred[i]) {
            this.blurred[i] = blurred;
            this.groups[i].classList.toggle("fast", blurred);
        }
        if (blurred) return;
        const degrees =
            (((this.position * this.hands[i].frequency) % (2 * Math.PI)) * 180) / Math.PI;
        this.lines[i].setAttribute("transform", `rotate(${degrees.toFixed(1)})`);
    }

    private draw(): void {
        const width = (this.width = this.element.clientWidth);
        if (!width || !this.hands.length) return;
        this.laid = laid(this.hands, width, this.names, width >= WIDE);
        const { height, radius, places, behind } = this.laid;
        this.lines = [];
        this.blurred = [];
        this.groups = this.hands.map((hand, i) => {
            const line = s("line", { y2: -(radius - 2.5) });
            this.lines.push(line);
            return s(
                "g",
                {
                    class: `hand ${stretched(hand) ? "slow" : "turn"}`,
                    transform: `translate(${places[i].x} ${places[i].y})`,
                },
                s("circle", { r: radius }),
                line,
            );
        });
        this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        this.svg.setAttribute("height", `${height}`);
        this.svg.replaceChildren(...behind, ...this.groups);
        this.fade();
        this.turn(this.position, 0);
    }

    /** Where the context ends, and what does not turn once before. */
    private fade(): void {
        if (!this.laid) return;
        this.laid.edge(this.length);
        this.hands.forEach(({ wavelength }, i) =>
            this.groups[i].classList.toggle("still", wavelength > this.length),
        );
    }

    private key(event: KeyboardEvent): void {
        const last = this.hands.length - 1,
            to = (
                {
                    ArrowLeft: this.at - 1,
                    ArrowDown: this.at - 1,
                    ArrowRight: this.at + 1,
                    ArrowUp: this.at + 1,
                    PageDown: this.at - 10,
                    PageUp: this.at + 10,
                    Home: 0,
                    End: last,
                } as Record<string, number>
            )[event.key];
        if (to === undefined) return;
        event.preventDefault();
        this.point(Math.max(0, Math.min(last, to)));
    }

    private near(event: PointerEvent): void {
        if (!this.laid) return;
        const box = this.svg.getBoundingClientRect(),
            x = event.clientX - box.left,
            y = event.clientY - box.top;
        const far = this.laid.places.map((place) => Math.hypot(place.x - x, place.y - y));
        const nearest = far.indexOf(Math.min(...far));
        this.point(far[nearest] < this.laid.radius + 8 ? nearest : -1);
    }

    private point(pair: number): void {
        this.groups[this.at]?.classList.remove("here");
        this.at = pair;
        this.tip.hidden = pair < 0;
        if (pair < 0 || !this.laid) return;
        this.groups[pair].classList.add("here");
        this.tell();
        const { x, y } = this.laid.places[pair],
            half = this.tip.offsetWidth / 2;
        const left = Math.max(half, Math.min(this.element.clientWidth - half, x));
        this.tip.style.left = `${left}px`;
        this.tip.style.top = `${y - this.laid.radius - 8}px`;
    }

    /** Of the pair that is pointed at, else of the first. */
    private tell(): void {
        const pair = Math.max(0, this.at),
            words = said(this.hands[pair], pair, this.length, this.position);
        this.tip.replaceChildren(...words.map((one, i) => h(i ? "span" : "b", {}, one)));
        this.element.setAttribute("aria-valuenow", `${pair}`);
        this.element.setAttribute("aria-valuetext", words.slice(0, -1).join(", "));
    }
}

export const hands = (): Hands => new Drawing();
