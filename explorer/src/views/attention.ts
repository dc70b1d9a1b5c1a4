// SPDX-License-Identifier: MIT
// A sentence with and without position: what is shuffled, what a scheme changes, and biases as
// matrices.
import { post, type Ask, type Tensor } from "../api";
import { h } from "../dom";
import { choice, renew, select } from "../kit/controls";
import { heatmap, type Heat } from "../kit/heatmap";
import { Work } from "../kit/work";
import { short } from "../numbers";
import type { App, Mounted } from "../view";
import { t } from "../words";
import { biases } from "./attention/biases";
import { SENTENCE_HEADS } from "./limits";
import { shuffled, tokens } from "./attention/tokens";

const DIM = 16,
    HEADS = SENTENCE_HEADS,
    SCALE = 0.15;

type Tensors = Record<string, Tensor>;

interface Choice {
    words: string[];
    encoding: string;
    causal: boolean;
    head: number;
}

function chosen(app: App): Choice {
    const { text, encoding = "rope", causal, head } = app.state.params;
    return {
        words: tokens(text ?? t("the dog bit the man and the man ran", "狗咬了人然后人跑了")),
        encoding,
        causal: causal === "true",
        head: Math.min(Math.max(0, +(head ?? 0) || 0), HEADS - 1),
    };
}

/** The vectors of the words themselves stand before those of their positions. */
const embedded = (words: string[]): Ask =>
    post("/v1/embedding", {
        encoding: "sinusoidal",
        tokens: words,
        dim: DIM,
        seed: 1,
        merge_mode: "concat",
    });

const added = (words: string[]): Ask =>
    post("/v1/embedding", { encoding: "sinusoidal", tokens: words, dim: DIM, seed: 1 });

/** Each row's first columns. */
function cut(tensor: Tensor, columns: number): number[] {
    const width = tensor.shape.at(-1)!;
    return Array.from(tensor.data as Float32Array).filter((_, i) => i % width < columns);
}

function attention(app: App, encoding: string, vectors: number[]): Ask {
    const { words, causal } = chosen(app),
        heads = encoding === "alibi" ? HEADS : 1;
    const tensor = {
        dtype: "f32",
        shape: [1, heads, words.length, DIM],
        data: Array.from({ length: heads }, () => vectors).flat(),
    };
    return post("/v1/attention", {
        encoding: encoding === "rope" ? { name: "rope", base: 100 } : encoding,
        ...(encoding === "rope" ? { layout: "half" } : {}),
        outputs: "weights",
        scale: SCALE,
        causal,
        tensors: { q: tensor, k: tensor },
    });
}

interface Answers {
    without: Tensor;
    with: Tensor;
    ask: Ask;
}

async function ask(app: App, words: string[], signal: AbortSignal): Promise<Answers> {
    const { encoding } = chosen(app),
        absolute = encoding === "sinusoidal";
    const plain = cut((await app.api.ask<Tensors>(embedded(words), signal)).x, DIM);
    const vectors = absolute
        ? cut((await app.api.ask<Tensors>(added(words), signal)).x, DIM)
        : plain;
    const own = attention(app, absolute ? "none" : encoding, vectors);
    const [without, placed] = await Promise.all([
        app.api.ask<Tensors>(attention(app, "none", plain), signal),
        app.api.ask<Tensors>(own, signal),
    ]);
    return { without: without.weights, with: placed.weights, ask: own };
}

/** The matrix of one head. */
function matrix(tensor: Tensor, head: number): Float32Array {
    const [, heads, rows, columns] = tensor.shape,
        own = Math.min(head, heads - 1);
    return (tensor.data as Float32Array).subarray(own * rows * columns, (own + 1) * rows * columns);
}

function heat(words: string[], values: ArrayLike<number>, more: Partial<Heat>): Heat {
    return {
        rows: words.length,
        columns: words.length,
        values,
        low: 0,
        high: 1,
        palette: "viridis",
        aspect: 1,
        rowName: t("query", "查询"),
        columnName: t("key", "键"),
        valueName: t("weight", "权重"),
        rowAt: (row) => row,
        columnAt: (column) => column,
        names: words,
        label: "",
        ...more,
    };
}

/** What the words say of two equal ones: their rows are alike where nothing tells places apart. */
function sentence(words: string[], without: Float32Array, placed: Float32Array): Node {
    const second = words.findIndex((one, i) => words.indexOf(one) < i),
        first = words.indexOf(words[second]);
    const apart = (values: Float32Array) =>
        Math.max(
            ...words.map((_, i) =>
                Math.abs(values[first * words.length + i] - values[second * words.length + i]),
            ),
        );
    if (second < 0)
        return h(
            "p.verdict",
            {},
            t(
                "Use a word twice, and see whether attention can tell its places apart.",
                "让一个词出现两次，看注意力能否区分它的两个位置。",
            ),
        );
    return h(
        "p.verdict",
        {},
        t("The first two ", "前两个“"),
        h("b", {}, words[second]),
        t(" attend with weights that differ by ", "”的注意力权重相差 "),
        h("em", {}, short(apart(without), 2)),
        t(" without position, and by ", "（无位置），加入位置后相差 "),
        h("em", {}, short(apart(placed), 2)),
        t(" with it.", "。"),
    );
}

interface Panel {
    element: HTMLElement;
    draw(heat: Heat): void;
}

function panel(name: string, words: () => string[]): Panel {
    const told = h("p.cell");
    let shown: Heat | undefined;
    const map = heatmap((row, column) => {
        if (shown)
            told.textContent =
                `${words()[row]} → ${words()[column]}: ` +
                short(Number(shown.values[row * shown.columns + column]), 5);
    });
    return {
        element: h("section.panel", {}, h("h2", {}, name), map.element, told),
        draw(next) {
            shown = next;
            map.draw(next);
        },
    };
}

function controls(app: App): HTMLElement[] {
    const { words, encoding, causal, head } = chosen(app);
    const heads = Object.fromEntries(Array.from({ length: HEADS }, (_, i) => [i, `${i + 1}`]));
    const box = h("input", {
        type: "text",
        "aria-label": t("sentence", "句子"),
        maxlength: 200,
        value: app.state.params.text ?? words.join(t(" ", "")),
        onchange: () => app.go({ text: box.value }, "push"),
    });
    return [
        h("label.sentence", {}, h("span", {}, t("sentence", "句子")), box),
        h(
            "button.chip",
            { type: "button", onclick: () => app.go({ text: shuffled(words) }, "push") },
            t("shuffle", "打乱"),
        ),
        choice(
            t("position by", "位置来自"),
            { sinusoidal: t("sinusoidal", "正弦"), rope: "RoPE", alibi: "ALiBi" },
            encoding,
            (encoding) => app.go({ encoding, head: undefined }, "push"),
        ),
        choice(
            t("looks", "可见"),
            { false: t("both ways", "双向"), true: t("back only", "仅向前文") },
            `${causal}`,
            (causal) => app.go({ causal: causal === "true" ? causal : undefined }, "push"),
        ),
        ...(encoding === "alibi"
            ? [select(t("head", "头"), heads, `${head}`, (head) => app.go({ head }))]
            : []),
    ];
}

export function mount(stage: HTMLElement, app: App): Mounted {
    const knobs = h("div.controls"),
        said = h("div"),
        three = h("div.three");
    const work = new Work(app, { pictures: [said, three] });
    const words = () => chosen(app).words,
        matrices = biases(app);
    const panels = [
        panel(t("without position", "无位置"), words),
        panel(t("with position", "有位置"), words),
        panel(t("what position changes", "位置带来的变化"), words),
    ];
    three.append(...panels.map((one) => one.element));
    stage.append(knobs, said, three, matrices.element);

    function draw(answers: Answers): void {
        const own = words(),
            { head } = chosen(app);
        const plain = matrix(answers.without, 0),
            placed = matrix(answers.with, head);
        const change = placed.map((value, i) => value - plain[i]);
        const most = change.reduce((size, value) => Math.max(size, Math.abs(value)), 1e-6);
        const high = Math.max(...plain, ...placed);
        said.replaceChildren(sentence(own, plain, placed));
        panels[0].draw(
            heat(own, plain, { high, label: t("weights without position", "无位置的权重") }),
        );
        panels[1].draw(
            heat(own, placed, { high, label: t("weights with position", "有位置的权重") }),
        );
        panels[2].draw(
            heat(own, change, {
                low: -most,
                high: most,
                palette: "rdbu",
                valueName: t("change of the weight", "权重的变化"),
                label: t("difference of the two", "两者之差"),
            }),
        );
        app.shows([
            { title: t("attention", "注意力"), ask: answers.ask, formats: ["npy"] },
            matrices.shown(),
        ]);
    }

    function update(): void {
        const own = words();
        renew(knobs, () => controls(app));
        matrices.update();
        work.run((signal) => ask(app, own, signal), draw);
    }
    update();
    return {
        update,
        leave() {
            work.stop();
            matrices.leave();
        },
    };
}
