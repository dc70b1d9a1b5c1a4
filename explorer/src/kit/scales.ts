// SPDX-License-Identifier: MIT
// Numbers on an axis: linear or by powers of ten, with ticks that people count by.

export interface Scale {
    /** Of the values at both ends. */
    low: number;
    high: number;
    log: boolean;
    /** Pixels of both ends. */
    ends: [number, number];
    /** The pixel of a value; NaN where it has none. */
    at(value: number): number;
    /** The value of a pixel. */
    from(pixel: number): number;
}

/** A step of 1, 2 or 5 times a power of ten that is at least so long. */
function stepOf(least: number): number {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].find((times) => times * power >= least * 0.999)! * power;
}

/** Smallest and largest of what can be shown. */
export function extent(lists: ArrayLike<number>[], log: boolean): [number, number] {
    let low = Infinity,
        high = -Infinity;
    for (const list of lists)
        for (let i = 0; i < list.length; i++) {
            const value = Number(list[i]);
            if (!Number.isFinite(value) || (log && value <= 0)) continue;
            low = Math.min(low, value);
            high = Math.max(high, value);
        }
    return low > high ? [log ? 1 : 0, log ? 10 : 1] : [low, high];
}

/** `roomy`: a tenth more than the values at both ends, or up to the next powers of ten. */
function padded([low, high]: [number, number], log: boolean): [number, number] {
    if (log) return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high * 1.0001))];
    const step = stepOf((high - low || Math.abs(high) || 1) / 8);
    const [first, last] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
    return [first, last > first ? last : first + step];
}

export function scaleOf(
    lists: ArrayLike<number>[],
    log = false,
    ends: [number, number],
    range?: [number, number],
    roomy = false,
): Scale {
    const found = range ?? extent(lists, log),
        [low, high] = range || !roomy ? found : padded(found, log);
    const inside = (value: number) => (log ? Math.log10(value) : value);
    const first = inside(low),
        span = inside(high) - first || 1,
        [begin, end] = ends;
    return {
        low,
        high,
        log,
        ends,
        at: (value) =>
            log && !(value > 0) ? NaN : begin + ((inside(value) - first) / span) * (end - begin),
        from(pixel) {
            const value = first + ((pixel - begin) / (end - begin)) * span;
            return log ? 10 ** value : value;
        },
    };
}

/** Values with a tick, at least so many pixels apart. */
export function ticksOf(scale: Scale, apart: number): number[] {
    const { low, high, log, ends } = scale;
    const most = Math.max(2, Math.floor(Math.abs(ends[1] - ends[0]) / apart)),
        ticks: number[] = [];
    if (log) {
        const from = Math.ceil(Math.log10(low) - 1e-9),
            to = Math.floor(Math.log10(high) + 1e-9);
        const decade = Math.abs(ends[1] - ends[0]) / (Math.log10(high) - Math.log10(low) || 1);
        const every = Math.max(1, Math.ceil(apart / decade));
        for (let power = from; power <= to; power += every) ticks.push(+`1e${power}`);
        if (ticks.length > 1) return ticks;
        ticks.length = 0;
    }
    const step = stepOf((high - low || 1) / most),
        begin = Math.ceil(low / step - 1e-9);
    for (let i = begin; i * step <= high + step * 1e-9; i++)
        ticks.push(+(i * step).toPrecision(12));
    // On a logarithmic axis they come closer and closer.
    return ticks.reduce(
        (kept: number[], tick) =>
            !kept.length || Math.abs(scale.at(tick) - scale.at(kept.at(-1)!)) >= apart
                ? [...kept, tick]
                : kept,
        [],
    );
}
