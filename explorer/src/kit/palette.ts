// SPDX-License-Identifier: MIT
// Colours of values as in the pictures of the API (api/pictures/canvas.c): blue below zero and red
// above it, and viridis for magnitudes. A test compares both.

type Stops = [number, number, number][];

const STOPS: Record<"rdbu" | "viridis", Stops> = {
    rdbu: [
        [13, 55, 104],
        [42, 108, 172],
        [90, 159, 203],
        [169, 207, 228],
        [247, 246, 244],
        [244, 183, 159],
        [220, 106, 88],
        [181, 38, 58],
        [122, 12, 34],
    ],
    viridis: [
        [68, 1, 84],
        [72, 40, 120],
        [62, 73, 137],
        [49, 104, 142],
        [38, 130, 142],
        [31, 158, 137],
        [53, 183, 121],
        [110, 206, 88],
        [181, 222, 43],
        [253, 231, 37],
    ],
};

export type Palette = keyof typeof STOPS;

/** The last colour: their number is odd, so that zero has the one in the middle. */
export const LAST = 254;

const made: Partial<Record<Palette, Uint32Array>> = {};

/** The colours as pixels of an ImageData, little-endian. */
export const colours = (palette: Palette): Uint32Array =>
    (made[palette] ??= between(STOPS[palette]));

function between(stops: Stops): Uint32Array {
    const steps = stops.length - 1;
    return Uint32Array.from({ length: LAST + 1 }, (_, i) => {
        const left = Math.min(Math.floor((i * steps) / LAST), steps - 1),
            share = i * steps - left * LAST;
        const [r, g, b] = [0, 1, 2].map((part) =>
            Math.floor(
                (stops[left][part] * (LAST - share) + stops[left + 1][part] * share + LAST / 2) /
                    LAST,
            ),
        );
        return (255 << 24) | (b << 16) | (g << 8) | r;
    });
}

/** A pixel for each value between the ends of the colours; clear where there is no number. */
export function shades(
    values: ArrayLike<number>,
    count: number,
    low: number,
    high: number,
    palette: Palette,
): Uint32Array {
    const colour = colours(palette),
        range = high - low,
        out = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
        const share = range > 0 ? (values[i] - low) / range : 0.5;
        out[i] = Number.isFinite(values[i])
            ? colour[Math.floor(Math.max(0, Math.min(1, share)) * LAST + 0.5)]
            : 0;
    }
    return out;
}
