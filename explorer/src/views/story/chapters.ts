// SPDX-License-Identifier: MIT
// The chapters of the story: an idea, its picture of an answer of the API, and its flaw.
import { get, type Ask, type Tensor } from "../../api";
import { h } from "../../dom";
import { of, slider } from "../../kit/controls";
import { curves } from "../../kit/curves";
import { heatmap } from "../../kit/heatmap";
import { short, whole } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";
import { loop } from "./loop";

type Tensors = Record<string, Tensor>;

export interface Chapter {
    name: string;
    title: string;
    idea: string;
    element: HTMLElement;
    /** The longest length that the picture is for. */
    most: number;
    asks(length: number): Ask[];
    /** Draws the answers, and says what is wrong with the idea. */
    draw(answers: Tensors[], length: number): Node;
    controls?(): HTMLElement[];
    /** The story is left; a chapter that is turned from may come back. */
    leave?(): void;
}

const values = (tensor: Tensor) => tensor.data as Float32Array;
const ordinals = (length: number) => Float64Array.from({ length }, (_, i) => i);
const table = (name: string, params: Record<string, unknown>) =>
    get(`/v1/encodings/${name}/table`, params);
const said = (...parts: (string | Node)[]) => h("span", {}, ...parts);
const strong = (text: string) => h("em", {}, text);

function counting(): Chapter {
    const picture = curves();
    return {
        name: t("count", "计数"),
        title: t("Number the words", "给词编号"),
        idea: t(
            "The simplest thing: the first word is 0, the next one 1, and so on.",
            "最简单的办法：第一个词是 0，下一个是 1，依次类推。",
        ),
        element: picture.element,
        most: 4096,
        leave: () => picture.leave(),
        asks: (length) => [table("index", { length })],
        draw([answer], length) {
            picture.draw({
                x: ordinals(length),
                curves: [
                    {
                        name: t("value", "值"),
                        colour: "turn",
                        values: values(answer.table),
                        steps: length <= 64,
                    },
                ],
                xName: t("position", "位置"),
                yName: t("value", "值"),
                label: t("A straight line that grows with the position", "随位置增长的直线"),
            });
            const last = values(answer.table)[length - 1];
            return said(
                t("The flaw: the last word's number is ", "缺陷：最后一个词的编号是 "),
                strong(whole(last)),
                t(
                    ", beside coordinates of a word that are about 1, and a longer text has numbers that no training has seen.",
                    "，而词向量的分量大约是 1；更长的文本会出现训练时从未见过的数。",
                ),
            );
        },
    };
}

function share(): Chapter {
    const picture = curves();
    return {
        name: t("share", "归一"),
        title: t("Or how far along the text it is", "或者：在全文中的进度"),
        idea: t(
            "Divide by the length: every text runs from 0 to 1, and numbers stay small.",
            "除以长度：每篇文本都从 0 到 1，数值不会变大。",
        ),
        element: picture.element,
        most: 2048,
        leave: () => picture.leave(),
        asks: (length) => [
            table("normalized", { length }),
            table("normalized", { length: 2 * length }),
        ],
        draw([one, two], length) {
            const [short_, long] = [values(one.table), values(two.table)];
            picture.draw({
                x: ordinals(2 * length),
                curves: [
                    {
                        name: t("this text", "这篇文本"),
                        colour: "turn",
                        values: Float64Array.from(long, (_, i) => short_[i] ?? NaN),
                    },
                    {
                        name: t("twice as long", "两倍长"),
                        colour: "slow",
                        dash: [6, 4],
                        values: long,
                    },
                ],
                xName: t("position", "位置"),
                yName: t("value", "值"),
                label: t("Two lines of different steepness", "两条斜率不同的直线"),
            });
            return said(
                t("The flaw: a step to the next word is ", "缺陷：走到下一个词的步长是 "),
                strong(short(short_[1], 3)),
                t(" here and ", "，在两倍长的文本里是 "),
                strong(short(long[1], 3)),
                t(
                    ' in a text twice as long (dashed). "Next to me" means something else in every text.',
                    "（虚线）。“紧挨着我”在每篇文本里意思都不同。",
                ),
            );
        },
    };
}

function binary(): Chapter {
    const picture = heatmap(() => {});
    const digits = (length: number) => Math.max(1, Math.ceil(Math.log2(length)));

    /** The step at which most digits change. */
    function jump(bits: Float32Array, length: number, width: number): [number, number] {
        let at = 0,
            most = 0;
        for (let i = 1; i < length; i++) {
            let changed = 0;
            for (let k = 0; k < width; k++)
                changed += Number(bits[i * width + k] !== bits[(i - 1) * width + k]);
            if (changed > most) [at, most] = [i, changed];
        }
        return [at, most];
    }

    return {
        name: t("binary", "二进制"),
        title: t("Write the number in binary", "把编号写成二进制"),
        idea: t(
            "A column a digit: bounded, every position its own, and fast digits beside slow ones. That is the idea that stays.",
            "一列一个数位：有界，每个位置各不相同，快的数位和慢的数位并存。这个想法会保留下来。",
        ),
        element: picture.element,
        most: 1024,
        asks: (length) => [table("binary", { length, dim: digits(length) })],
        draw([answer], length) {
            const width = digits(length),
                bits = values(answer.table),
                [at, most] = jump(bits, length, width);
            picture.draw({
                rows: length,
                columns: width,
                values: bits,
                low: 0,
                high: 1,
                palette: "viridis",
                rowName: t("position", "位置"),
                columnName: t("digit", "数位"),
                valueName: t("digit", "数位"),
                rowAt: (row) => row,
                columnAt: (column) => column,
                label: t("Binary digits of the positions", "位置的二进制数位"),
            });
            return said(
                t("The flaw: from ", "缺陷：从 "),
                strong(whole(at - 1)),
                t(" to ", " 到 "),
                strong(whole(at)),
                t(" all at once ", " 一步就有 "),
                strong(`${most}`),
                most === 1 ? t(" digit jumps", " 个数位跳变") : t(" digits jump", " 个数位跳变"),
                t(
                    ", though these are neighbours. There is nothing between 0 and 1.",
                    "，而它们是相邻的两个位置。0 和 1 之间什么也没有。",
                ),
            );
        },
    };
}

function periodic(app: App): Chapter {
    const picture = loop(),
        step = () => +(app.state.params.frequency ?? 0.5);
    return {
        name: t("waves", "波"),
        title: t("Make the digits smooth", "让数位变平滑"),
        idea: t(
            "A sine for each digit, half as fast as the one before. Three of them draw a path through space: one dot a position. Raise the frequency and see it come back.",
            "每个数位换成一条正弦波，频率逐个减半。三条波在空间中画出一条路径，一个点是一个位置。把频率调高，看它绕回来。",
        ),
        element: picture.element,
        most: 256,
        asks: (length) => [
            table("periodic", { length, dim: 3, step: step() }),
            get("/v1/encodings/periodic/analysis/uniqueness", { length, dim: 3, step: step() }),
        ],
        controls: () => [
            of(
                "frequency",
                slider({
                    label: t("frequency", "频率"),
                    min: 0.05,
                    max: 2,
                    step: 0.01,
                    value: step(),
                    show: (value) => short(value, 3),
                    change: (frequency) => app.go({ frequency }),
                }),
            ),
        ],
        draw([answer, nearest]) {
            const [one, two] = nearest.positions.data as Float64Array,
                apart = values(nearest.distance)[0];
            picture.draw(
                values(answer.table),
                [one, two].map((at) => Math.round(at / step())),
            );
            if (Math.abs(one - two) < 1.5 * step())
                return said(
                    t(
                        "The flaw: sines alone come back; raise the frequency or the length to see it. And a sine rises and falls, so one value stands for two directions.",
                        "缺陷：只用正弦会绕回来，调高频率或长度就能看到。而且正弦有升有降，一个值对应两个方向。",
                    ),
                );
            return said(
                t(
                    "The flaw: sines alone come back. The nearest two are ",
                    "缺陷：只用正弦会绕回来。最近的两个位置是 ",
                ),
                strong(whole(one / step())),
                t(" and ", " 和 "),
                strong(whole(two / step())),
                t(", only ", "，相距只有 "),
                strong(short(apart, 3)),
                t(" apart", ""),
                t(
                    ": a model takes them for one place. And a sine rises and falls, so one value stands for two directions.",
                    "：模型会把它们当成同一处。而且正弦有升有降，一个值对应两个方向。",
                ),
            );
        },
    };
}

function pairs(): Chapter {
    const picture = heatmap(() => {}),
        dim = 64;
    return {
        name: t("sine and cosine", "正弦与余弦"),
        title: t("Give every sine its cosine", "给每个正弦配上余弦"),
        idea: t(
            'Each pair is a hand of a clock, and says which way it turns. A step of Δ turns each hand by a fixed angle: the same for every position, a linear map. This is the table of "Attention Is All You Need".',
            "每一对就是一根表针，方向也就确定了。前进 Δ 步，每根针转过固定的角度：对所有位置都相同，是一个线性映射。这就是 Attention Is All You Need 里的那张表。",
        ),
        element: picture.element,
        most: 4096,
        asks: (length) => [
            table("sinusoidal", { length, dim, pool: "mean", rows: 512 }),
            get("/v1/encodings/sinusoidal/analysis/wavelengths", {
                dim,
                context: length,
                format: "json",
            }),
        ],
        draw([answer, waves], length) {
            const [rows, columns] = answer.table.shape,
                never = Number((waves as unknown as { never_turn: number }).never_turn);
            picture.draw({
                rows,
                columns,
                values: values(answer.table),
                low: -1,
                high: 1,
                palette: "rdbu",
                rowName: t("position", "位置"),
                columnName: t("column", "列"),
                valueName: t("sine or cosine", "正弦或余弦"),
                rowAt: (row) => (row * length) / rows,
                columnAt: (column) => column,
                label: t("The sinusoidal table", "正弦编码表"),
            });
            return said(
                t(
                    "The flaw: it is added to the word, so place and meaning share the same numbers; and at this length ",
                    "缺陷：它被加到词向量上，位置和含义混在同一组数里；而且在这个长度下，",
                ),
                strong(whole(never)),
                t(
                    ` of ${dim / 2} hands never finish a turn.`,
                    ` 根针（共 ${dim / 2} 根）转不满一圈。`,
                ),
            );
        },
    };
}

function turning(app: App): Chapter {
    const picture = heatmap(() => {}),
        dim = 32,
        most = 128;
    const one = (length: number) => ({
        dtype: "f32",
        shape: [1, 1, length, dim],
        data: Array.from({ length: length * dim }, () => 1),
    });
    return {
        name: t("rotation", "旋转"),
        title: t("Do not add the hands: turn the word by them", "不再相加，而是让词向量旋转"),
        idea: t(
            "Turn query and key, pair by pair, as far as their hands stand. Nothing is added, lengths stay, and their product depends on the distance alone: every diagonal has one colour.",
            "把查询和键逐对旋转到表针所指的角度。什么也不加，长度不变，它们的点积只取决于距离：每条对角线只有一种颜色。",
        ),
        element: picture.element,
        most,
        asks: (length) => [
            {
                method: "POST",
                target: "/v1/attention",
                json: {
                    encoding: { name: "rope", base: 10000 },
                    layout: "half",
                    scale: 1 / dim,
                    outputs: "scores",
                    tensors: { q: one(length), k: one(length) },
                },
            },
        ],
        draw([answer], length) {
            const scores = answer.scores;
            picture.draw({
                rows: length,
                columns: length,
                aspect: 1,
                values: values(scores),
                low: -1,
                high: 1,
                palette: "rdbu",
                rowName: t("query", "查询"),
                columnName: t("key", "键"),
                valueName: t("score", "得分"),
                rowAt: (row) => row,
                columnAt: (column) => column,
                label: t(
                    "Scores of turned queries and keys: constant along diagonals",
                    "旋转后的得分：沿对角线不变",
                ),
            });
            const link = (view: string, words: string) =>
                h("a", { href: app.link({ view, step: undefined, length: undefined }) }, words);
            return said(
                t(
                    "What is left: the slow hands. Beyond the trained length they reach angles that no one has seen, and that is what all the stretching of configs is about. ",
                    "剩下的问题是慢针：超出训练长度后，它们会转到从未见过的角度，各种扩展方法都是为此而生。",
                ),
                link("rotation", t("Turn one yourself", "亲手转一转")),
                t(", see ", "，看"),
                link("distance", t("how far it sees", "它能看多远")),
                t(", or ", "，或者"),
                link("extension", t("what your model does", "看看你的模型怎么做")),
                t(".", "。"),
            );
        },
    };
}

export const chapters = (app: App): Chapter[] => [
    counting(),
    share(),
    binary(),
    periodic(app),
    pairs(),
    turning(app),
];
