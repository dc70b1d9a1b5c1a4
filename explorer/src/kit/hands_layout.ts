// SPDX-License-Identifier: MIT
// Where hands stand: over a logarithmic axis, as large as there is room; or decade by decade.
import { s } from "../dom";
import { short, whole } from "../numbers";
import { t } from "../words";

export interface Hand {
    /** Radians a position. */
    frequency: number;
    /** Positions a turn, now and before anything was stretched. */
    wavelength: number;
    before: number;
}

/** Slowed or not, to the last bits of a division. */
export const stretched = ({ wavelength, before }: Hand): boolean =>
    Number.isFinite(before) && Math.abs(wavelength / before - 1) > 1e-9;

export interface Laid {
    height: number;
    radius: number;
    places: { x: number; y: number }[];
    /** Axis, curves and names. */
    behind: SVGElement[];
    /** Moves the end of the context. */
    edge(context: number): void;
}

const RADII = [16, 14, 12, 10, 8, 6, 5, 4],
    ROOM = 156,
    GAP = 2.5; // px; of all rows together
const DOTS = 34,
    TOP = 104,
    PAD = 16;

export const power = (exponent: number): string =>
    exponent < 6
        ? whole(10 ** exponent)
        : exponent < 9
          ? t(
                `${whole(10 ** (exponent - 6))} million`,
                exponent > 7 ? "1 亿" : `${short(10 ** (exponent - 4))} 万`,
            )
          : t(`${whole(10 ** (exponent - 9))} billion`, `${whole(10 ** (exponent - 8))} 亿`);

/** From left to right into the first row with room. */
function rows(xs: number[], radius: number): { row: number[]; count: number } {
    const ends: number[] = [],
        row: number[] = [];
    for (const i of xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b])) {
        let at = ends.findIndex((end) => end + 2 * radius + GAP <= xs[i]);
        if (at < 0) at = ends.length;
        ends[at] = xs[i];
        row[i] = at;
    }
    return { row, count: ends.length };
}

const scaleOf = (hands: Hand[], width: number) => {
    const logs = hands
        .flatMap(({ wavelength, before }) => [wavelength, before])
        .filter(Number.isFinite)
        .map(Math.log10);
    const low = Math.min(...logs) - 0.06,
        high = Math.max(...logs, low + 1) + 0.06;
    return {
        low,
        high,
        x: (wave: number) =>
            PAD +
            Math.max(0, Math.min(1, (Math.log10(wave) - low) / (high - low))) * (width - 2 * PAD),
    };
};

const text = (x: number, y: number, anchor: string, words: string) =>
    s("text", { x, y, "text-anchor": anchor }, words);

function axis(
    { low, high, x }: ReturnType<typeof scaleOf>,
    width: number,
    bottom: number,
): SVGElement[] {
    const decades = Array.from(
        { length: Math.floor(high) - Math.ceil(low) + 1 },
        (_, i) => i + Math.ceil(low),
    );
    const room = (width - 2 * PAD) / (high - low),
        every = room < 72 ? 2 : 1;
    return [
        ...decades.map((one) =>
            s("line.grid", { x1: x(10 ** one), x2: x(10 ** one), y1: DOTS + 8, y2: bottom }),
        ),
        ...decades
            .filter((one) => one % every === 0)
            .map((one) => text(x(10 ** one), bottom + 18, "middle", power(one))),
        text(0, bottom + 38, "start", t("positions for one turn", "转一圈所需的位置数")),
    ];
}

function wide(hands: Hand[], width: number, names: [string, string]): Laid {
    const scale = scaleOf(hands, width),
        xs = hands.map(({ wavelength }) => scale.x(wavelength));
    const radius =
        RADII.find((one) => rows(xs, one).count * (2 * one + GAP) <= ROOM) ?? RADII.at(-1)!;
    const { row, count } = rows(xs, radius),
        step = 2 * radius + GAP + 3;
    const places = xs.map((x, i) => ({ x, y: TOP + 24 + radius + row[i] * step }));
    const bottom = TOP + 24 + count * step + 10;
    const shade = s("rect.beyond", { y: DOTS + 8, height: bottom - DOTS - 8 });
    const line = s("line.edge", { y1: DOTS + 8, y2: bottom });
    const name = s("text.name", { y: bottom + 38 }, t("context", "上下文"));
    const dots = hands.map((hand) =>
        s(`circle.${stretched(hand) ? "slow" : "turn"}.dot`, {
            cx: scale.x(hand.before),
            cy: DOTS - 6,
            r: Math.min(2.6, radius / 2),
        }),
    );
    const curves = hands.map((hand, i) => {
        const a = scale.x(hand.before),
            { x, y } = places[i];
        return s(`path.${stretched(hand) ? "slow" : "turn"}.curve`, {
            d: `M${a} ${DOTS} C${a} ${TOP - 20} ${x} ${TOP - 30} ${x} ${y - radius}`,
        });
    });
    return {
        height: bottom + 46,
        radius,
        places,
        behind: [
            shade,
            ...axis(scale, width, bottom),
            line,
            ...curves,
            ...dots,
            text(0, 14, "start", names[0]),
            text(0, TOP + 12, "start", names[1]),
            name,
        ],
        edge(context) {
            const x = scale.x(context);
            for (const [end, value] of [
                ["x1", x],
                ["x2", x],
            ] as const)
                line.setAttribute(end, `${value}`);
            shade.setAttribute("x", `${x}`);
            shade.setAttribute("width", `${Math.max(0, width - x)}`);
            name.setAttribute("x", `${Math.max(190, Math.min(x - 5, width - 170))}`);
            name.textContent = `↑ ${t("context", "上下文")} ${whole(context)}`;
        },
    };
}

/** A line of words for each decade, hands under it. */
function narrow(hands: Hand[], width: number, names: [string, string]): Laid {
    const radius = 14,
        step = 2 * radius + 6,
        columns = Math.floor(width / step);
    const decade = ({ wavelength }: Hand) =>
        Number.isFinite(wavelength) ? Math.floor(Math.log10(wavelength)) : 99;
    const places: Laid["places"] = [],
        behind: SVGElement[] = [text(0, 14, "start", names[1])];
    let y = 26;
    for (const one of [...new Set(hands.map(decade))].sort((a, b) => a - b)) {
        const members = hands
            .map((_, i) => i)
            .filter((i) => decade(hands[i]) === one)
            .sort((a, b) => hands[a].wavelength - hands[b].wavelength);
        behind.push(
            s("line.grid", { x1: 0, x2: width, y1: y, y2: y }),
            text(
                0,
                y + 16,
                "start",
                one === 99
                    ? t("never", "从不转动")
                    : t(
                          `${power(one)} to ${power(one + 1)} positions a turn`,
                          `${power(one)} 至 ${power(one + 1)} 个位置一圈`,
                      ),
            ),
        );
        y += 24;
        members.forEach((i, k) => {
            places[i] = {
                x: radius + 2 + (k % columns) * step,
                y: y + radius + 2 + Math.floor(k / columns) * step,
            };
        });
        y += Math.ceil(members.length / columns) * step + 8;
    }
    return { height: y, radius, places, behind, edge: () => {} };
}

export const laid = (
    hands: Hand[],
    width: number,
    names: [string, string],
    isWide: boolean,
): Laid => (isWide ? wide : narrow)(hands, width, names);
