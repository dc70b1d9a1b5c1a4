// SPDX-License-Identifier: MIT
// Colours of values: blue and red about zero, and from dark to light for sizes. Stops are those of
// the API's own pictures (RdBu of ColorBrewer; viridis), so that both look alike.

type Stops = [number, number, number][];

const STOPS: Record<"rdbu" | "viridis", Stops> = {
  rdbu: [[5, 48, 97], [33, 102, 172], [67, 147, 195], [146, 197, 222], [209, 229, 240],
    [247, 247, 247], [253, 219, 199], [244, 165, 130], [214, 96, 77], [178, 24, 43], [103, 0, 31]],
  viridis: [[68, 1, 84], [71, 39, 117], [62, 74, 137], [49, 104, 142], [38, 130, 142],
    [31, 158, 137], [53, 183, 121], [109, 205, 89], [180, 222, 44], [253, 231, 37]],
};

export type Palette = keyof typeof STOPS;

const made: Partial<Record<Palette, Uint32Array>> = {};

/** 256 colours as pixels of an ImageData, little-endian. */
export const colours = (palette: Palette): Uint32Array => made[palette] ??= between(STOPS[palette]);

function between(stops: Stops): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const at = i / 255 * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
    const [r, g, b] = [0, 1, 2].map((k) =>
      Math.round(stops[low][k] + (at - low) * (stops[low + 1][k] - stops[low][k])));
    return 255 << 24 | b << 16 | g << 8 | r;
  });
}
