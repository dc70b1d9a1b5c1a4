// SPDX-License-Identifier: MIT
// What is added to scores, or told apart, by distance alone: ALiBi's slopes, T5's buckets, Shaw's
// clipped distances.
import { get, type Ask, type Tensor } from "../../api";
import { h } from "../../dom";
import { choice, of, renew, slider } from "../../kit/controls";
import { heatmap } from "../../kit/heatmap";
import { extent } from "../../kit/scales";
import { Work } from "../../kit/work";
import { exact, whole } from "../../numbers";
import type { App, Shown } from "../../view";
import { t } from "../../words";
import type { BIASES } from "../limits";

type Tensors = Record<string, Tensor>;

interface Scheme {
    name: string;
    /** Of the API's bias, beside the lengths. */
    params(app: App): Record<string, unknown>;
    says(): string;
}

const SCHEMES: Record<(typeof BIASES)[number], Scheme> & Record<string, Scheme> = {
    alibi: {
        name: "ALiBi",
        params: (app) => ({ heads: app.state.params.heads ?? 8 }),
        says: () =>
            t(
                "Each head takes off a line of its own: the first ones see near, the last ones far.",
                "每个头各减去一条直线：前面的头看近处，后面的头看远处。",
            ),
    },
    t5: {
        name: "T5",
        params: (app) => ({ bidirectional: app.state.params.causal !== "true" }),
        says: () =>
            t(
                "Distances share buckets, wider and wider: each has one learned number a head.",
                "距离被分到越来越宽的桶里，每个桶对每个头有一个学习得到的数。",
            ),
    },
    shaw: {
        name: "Shaw",
        params: () => ({ max_relative_position: 8 }),
        says: () => t("Distances beyond 8 are one and the same.", "超过 8 的距离不再区分。"),
    },
};

export interface Biases {
    element: HTMLElement;
    shown(): Shown;
    update(): void;
    leave(): void;
}

function chosen(app: App) {
    const { bias = "alibi", query_length, bias_head } = app.state.params;
    return {
        bias: bias in SCHEMES ? bias : "alibi",
        length: +(query_length ?? 64),
        head: Math.max(0, +(bias_head ?? 0) || 0),
    };
}

function asked(app: App): Ask {
    const { bias, length } = chosen(app);
    return get(`/v1/encodings/${bias}/bias`, {
        ...SCHEMES[bias].params(app),
        query_length: length,
        key_length: length,
    });
}

function controls(app: App, heads: number): HTMLElement[] {
    const { bias, length, head } = chosen(app);
    return [
        choice(
            t("bias", "偏置"),
            Object.fromEntries(Object.entries(SCHEMES).map(([id, one]) => [id, one.name])),
            bias,
            (bias) => app.go({ bias, bias_head: undefined }, "push"),
        ),
        of(
            "query_length",
            slider({
                label: t("length", "长度"),
                min: 8,
                max: 512,
                log: true,
                value: length,
                show: whole,
                change: (query_length) => app.go({ query_length }),
            }),
        ),
        ...(heads > 1
            ? [
                  slider({
                      label: t("head", "头"),
                      min: 1,
                      max: heads,
                      value: head + 1,
                      show: whole,
                      change: (one) => app.go({ bias_head: one - 1 }),
                  }),
              ]
            : []),
    ];
}

export function biases(app: App): Biases {
    const knobs = h("div.controls"),
        says = h("p.lead"),
        told = h("p.cell");
    let tensor: Tensor | undefined;
    const head = () => Math.min(chosen(app).head, heads(tensor) - 1);
    const map = heatmap((row, column) => {
        const [rows, columns] = tensor?.shape.slice(-2) ?? [0, 0];
        if (tensor)
            told.textContent =
                `${t("query", "查询")} ${row}, ${t("key", "键")} ${column}: ` +
                exact(Number(tensor.data[(head() * rows + row) * columns + column]));
    });

    const work = new Work(app, { pictures: [map.element, told] });

    function heads(tensor?: Tensor): number {
        return tensor?.shape.length === 3 ? tensor.shape[0] : 1;
    }

    function draw(answer: Tensors): void {
        tensor = answer.bias ?? answer.buckets;
        renew(knobs, () => controls(app, heads(tensor)));
        const [rows, columns] = tensor.shape.slice(-2),
            begin = head() * rows * columns;
        const values = Float64Array.from(
            tensor.data.slice(begin, begin + rows * columns) as Float32Array,
            Number,
        );
        const [low, high] = extent([values], false);
        map.draw({
            rows,
            columns,
            values,
            low,
            high,
            palette: "viridis",
            aspect: 1,
            rowName: t("query", "查询"),
            columnName: t("key", "键"),
            valueName:
                chosen(app).bias === "alibi"
                    ? t("added to the score", "加到得分上的值")
                    : t("number of the bucket", "桶的编号"),
            rowAt: (row) => row,
            columnAt: (column) => column,
            label: SCHEMES[chosen(app).bias].says(),
        });
    }

    return {
        element: h(
            "section.panel.biases",
            {},
            h("h2", {}, t("What distance alone adds", "仅由距离决定的部分")),
            knobs,
            says,
            map.element,
            told,
        ),
        shown: () => ({
            title: t("bias", "偏置"),
            ask: asked(app),
            formats: ["png", "svg", "npy"],
        }),
        update() {
            says.textContent = SCHEMES[chosen(app).bias].says();
            if (!knobs.hasChildNodes()) renew(knobs, () => controls(app, 1));
            work.run((signal) => app.api.ask<Tensors>(asked(app), signal), draw);
        },
        leave: () => work.stop(),
    };
}
