// SPDX-License-Identifier: MIT
// Pair by pair: what the scaling leaves, and what it changes, beside the context.
import { h } from "../../dom";
import { choice, renew } from "../../kit/controls";
import { curves, legend, type Curve, type Plot } from "../../kit/curves";
import { stretch } from "../home/verdict";
import type { Frequencies } from "../../kit/model";
import { short, whole } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";

export interface Pairs {
    element: HTMLElement;
    draw(now: Frequencies, before: Frequencies, context: number): void;
    leave(): void;
}

type Shown = "wavelengths" | "inv_freq" | "freq_factors";

function lines(shown: Shown, now: Frequencies, before: Frequencies, context: number): Curve[] {
    const flat = (value: number) => now.factors.map(() => value);
    const own = t("as the model turns them", "模型实际"),
        plain = t("as the base has them", "仅由基数决定");
    return {
        wavelengths: [
            { name: plain, values: before.wavelengths, colour: "turn", dash: [6, 4] },
            { name: own, values: now.wavelengths, colour: "slow" },
            {
                name: t("context", "上下文"),
                values: flat(context),
                colour: "ink",
                dash: [2, 4],
                width: 1.2,
            },
        ],
        inv_freq: [
            { name: plain, values: before.frequencies, colour: "turn", dash: [6, 4] },
            { name: own, values: now.frequencies, colour: "slow" },
        ],
        freq_factors: [
            { name: plain, values: flat(1), colour: "turn", dash: [6, 4] },
            { name: own, values: now.factors, colour: "slow" },
        ],
    }[shown];
}

const names = (): Record<Shown, string> => ({
    wavelengths: t("positions a turn", "一圈的位置数"),
    inv_freq: t("radians a position", "每位置弧度"),
    freq_factors: t("slowed by", "放慢倍数"),
});

function bands(now: Frequencies, before: Frequencies, context: number): HTMLElement {
    const { pairs, changed, most, by } = stretch(now),
        never = now.wavelengths.filter((one) => one > context).length;
    const one = (name: string, value: string, slow = false) =>
        h("li", {}, h(`strong${slow ? ".slow" : ""}` as "strong", {}, value), ` ${name}`);
    return h(
        "ul.bands",
        {},
        one(t("as they were", "保持不变"), whole(pairs - changed)),
        one(t("between", "介于其间"), whole(changed ? changed - most : 0), true),
        one(
            changed ? t(`slowed ${short(by)}×`, `放慢 ${short(by)} 倍`) : t("slowed", "放慢"),
            whole(changed ? most : 0),
            true,
        ),
        one(t("never finish a turn", "转不满一圈"), whole(never)),
        one(
            t("did not before it was stretched", "在拉伸之前转不满一圈"),
            whole(before.wavelengths.filter((wave) => wave > context).length),
        ),
    );
}

export function pairs(app: App): Pairs {
    const names_ = names(),
        key = legend(),
        at = h("p.cell"),
        told = h("div"),
        control = h("div.controls");
    let drawn: Curve[] = [];
    const plot = curves((index) => {
        key.draw(drawn, index);
        at.textContent = index < 0 ? "" : t(`pair ${index}`, `维度对 ${index}`);
    });
    const element = h(
        "section",
        {},
        h("h2", {}, t("Pair by pair", "逐对比较")),
        control,
        told,
        plot.element,
        key.element,
        at,
    );
    return {
        element,
        draw(now, before, context) {
            const shown =
                (app.state.params.show as Shown) in names_
                    ? (app.state.params.show as Shown)
                    : "wavelengths";
            renew(control, () => [
                choice(t("shown", "显示"), names_, shown, (show) => app.go({ show }, "push")),
            ]);
            told.replaceChildren(bands(now, before, context));
            drawn = lines(shown, now, before, context);
            const picture: Plot = {
                x: now.factors.map((_, i) => i),
                curves: drawn,
                yLog: true,
                xName: t("pair", "维度对"),
                yName: names_[shown],
                label: t(`${names_[shown]}, pair by pair`, `逐对：${names_[shown]}`),
            };
            key.draw(drawn, -1);
            plot.draw(picture);
        },
        leave: () => plot.leave(),
    };
}
