// SPDX-License-Identifier: MIT
// What is drawn, as lines of text: calls of canvases, and shapes of SVG.

/** Runs in a page before its scripts: every canvas keeps what is drawn on it until it is emptied.
 * `textsOf` has its texts with their places in pixels, `drawnOn` all of it as lines. */
export function drawingsKept() {
    const { width } = Object.getOwnPropertyDescriptors(HTMLCanvasElement.prototype),
        context = CanvasRenderingContext2D.prototype,
        kept = new WeakMap();
    const of = (canvas) => {
        if (!kept.has(canvas)) kept.set(canvas, { texts: [], marks: [], path: [] });
        return kept.get(canvas);
    };
    Object.defineProperty(HTMLCanvasElement.prototype, "width", {
        ...width,
        set(value) {
            kept.delete(this); // which empties the canvas
            width.set.call(this, value);
        },
    });
    /** `note` has what is to be kept, before the call itself. */
    const before = (name, note) => {
        const call = context[name];
        context[name] = function (...given) {
            note.call(this, of(this.canvas), ...given);
            return call.apply(this, given);
        };
    };
    const point = (kind) => (one, x, y, size) => one.path.push({ kind, x, y, size });
    const pen = ({ strokeStyle, lineWidth, globalAlpha }, dash) =>
        `stroke ${strokeStyle} ${lineWidth}${dash.length ? ` dashed ${dash}` : ""}${
            globalAlpha < 1 ? ` alpha ${globalAlpha}` : ""
        }`;
    const brush = ({ fillStyle, globalAlpha }) =>
        `fill ${fillStyle}${globalAlpha < 1 ? ` alpha ${globalAlpha}` : ""}`;
    const box = (x, y, wide, high) => [
        { kind: "box from", x, y },
        { kind: "box to", x: x + wide, y: y + high },
    ];
    before("beginPath", (one) => {
        one.path = [];
    });
    before("moveTo", point("move"));
    before("lineTo", point("line"));
    before("arc", point("dot"));
    before("rect", (one, ...given) => one.path.push(...box(...given)));
    before("clip", (one) => one.marks.push({ how: "clip", path: one.path }));
    before("stroke", function (one) {
        one.marks.push({ how: pen(this, this.getLineDash()), path: one.path });
    });
    before("fill", function (one) {
        one.marks.push({ how: brush(this), path: one.path });
    });
    before("fillRect", function (one, ...given) {
        one.marks.push({ how: brush(this), path: box(...given) });
    });
    before("strokeRect", function (one, ...given) {
        one.marks.push({ how: pen(this, this.getLineDash()), path: box(...given) });
    });
    before("putImageData", (one, { data }) => {
        let digest = 0x811c9dc5;
        for (const word of new Uint32Array(data.buffer))
            digest = Math.imul(digest ^ word ^ (word >>> 15), 0x01000193) >>> 0;
        one.digest = digest.toString(16);
    });
    before("drawImage", function (one, image, ...at) {
        const { width, height } = image,
            smooth = this.imageSmoothingEnabled ? ", smooth" : "";
        one.marks.push({
            how: `image of ${height} rows, ${width} columns, ${of(image).digest}${smooth}`,
            path: box(...at),
        });
    });
    before("fillText", function (one, text, x, y, most) {
        const transform = this.getTransform(),
            place = transform.transformPoint({ x, y });
        one.texts.push({
            text,
            x: place.x,
            y: place.y,
            align: this.textAlign,
            font: this.font,
            turned: transform.b !== 0,
            how: `${this.fillStyle} ${this.font.split(",")[0]}, ${this.textAlign}${
                transform.b ? `, turned ${transform.b}` : ""
            }${most ? `, at most ${most.toFixed(1)}` : ""}`,
        });
    });
    // As wide on every machine, whatever fonts it has.
    context.measureText = (text) => ({ width: 7.2 * text.length });

    globalThis.textsOf = (canvas) => of(canvas).texts;
    globalThis.drawnOn = (canvas) => {
        const { texts, marks, digest } = of(canvas),
            lines = digest ? [`${canvas.height} rows, ${canvas.width} columns, ${digest}`] : [],
            joined = [];
        // Dots of one curve, and boxes of one colour, are as many calls.
        for (const { how, path } of marks)
            if (joined.at(-1)?.how === how && /^(dot|box)/.test(path[0]?.kind))
                joined.at(-1).path.push(...path);
            else joined.push({ how, path: [...path] });
        for (const { how, path } of joined) {
            const kinds = [...new Set(path.map(({ kind }) => kind))].map(
                (name) => `${path.filter(({ kind }) => kind === name).length} ${name}`,
            );
            lines.push(
                [
                    how,
                    kinds.join(" "),
                    globalThis.extentOf(
                        "x",
                        path.map(({ x }) => x),
                    ),
                    globalThis.extentOf(
                        "y",
                        path.map(({ y }) => y),
                    ),
                    ...[...new Set(path.map(({ size }) => size))]
                        .filter(Boolean)
                        .map((r) => `r ${r}`),
                ].join(" | "),
            );
        }
        for (const how of new Set(texts.map((one) => one.how)))
            lines.push(
                `${how}: ${texts
                    .filter((one) => one.how === how)
                    .map(({ text, x, y }) => `${text} at ${x.toFixed()},${y.toFixed()}`)
                    .join(" ")}`,
            );
        return lines;
    };
    /** Ends of a list and its mean by place, which is another one in another order. */
    globalThis.extentOf = (name, list) => {
        const short = (value) => `${+value.toFixed(1)}`,
            ends = [Math.min(...list), Math.max(...list)].map(short);
        if (ends[0] === ends[1]) return `${name} ${ends[0]}`;
        const mean = list.reduce((sum, value, i) => sum + value * (i + 1), 0);
        return `${name} ${ends[0]} to ${ends[1]} ~${short((2 * mean) / (list.length * (list.length + 1)))}`;
    };
    const NUMBERS = /-?\d+(\.\d+)?(e-?\d+)?/g;
    /** The numbers and words of shapes of one kind: where they stand, how they are drawn. */
    globalThis.shapesOf = (shapes) => {
        const words = new Set(),
            numbers = {};
        for (const one of shapes)
            for (const { name, value } of one.attributes) {
                if (name === "class" || name.startsWith("aria-") || name.startsWith("data-"))
                    continue;
                const found = value.match(NUMBERS) ?? [];
                if (name !== "style" && found.length)
                    found.forEach((text, i) => {
                        const key = found.length > 1 ? `${name}${i % 2 ? " y" : " x"}` : name;
                        (numbers[key] ??= []).push(+text);
                    });
                else words.add(`${name}=${value}`);
            }
        return [
            ...Object.entries(numbers).map(([name, list]) => globalThis.extentOf(name, list)),
            ...words,
        ].join(" | ");
    };
}
