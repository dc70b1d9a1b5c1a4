// SPDX-License-Identifier: MIT
// The first screen: a model's pairs as turning hands, what it does to position in a sentence, and
// where each number comes from.
import { h } from "../../dom";
import { configBox } from "../../kit/configbox";
import { of, slider, type Slider } from "../../kit/controls";
import { hands } from "../../kit/hands";
import {
    configAsk,
    contextOf,
    frequenciesAsk,
    layerFaults,
    LONGEST,
    modelAccepts,
    source,
    turnsAsk,
    type Frequencies,
    type Kind,
} from "../../kit/model";
import { Work } from "../../kit/work";
import { short, whole } from "../../numbers";
import type { App, Mounted, View } from "../../view";
import { t } from "../../words";
import { biases } from "../biases";
import { sectionLinks } from "./sections";
import { facts, factList } from "./facts";
import { gallery } from "./gallery";
import { layerChoice } from "./layers";
import { motion } from "./motion";
import { CONTEXT, read, type Read } from "./read";
import { other, verdict } from "./verdict";
import "../../style/home.css";

const POSITION = 1375; // where hands stand that do not move

class Home implements Mounted {
    private work: Work;
    private box;
    private hands = hands();
    private picture = h("div.picture");
    private biases;
    private said = h("div");
    private list = h("div.factlist");
    private more = h("p.next");
    private context: Slider;
    private motion;
    private drawn = "";
    private asked = "";
    private below;
    private unnamed = h(
        "small",
        { hidden: true },
        t(
            "The config names no context; this one is assumed.",
            "config 没有给出上下文长度，此为假定值。",
        ),
    );
    private stage: HTMLElement;

    /** `first`: what the state names is asked for already, while all of this is built. */
    constructor(
        stage: HTMLElement,
        private app: App,
        private first?: Promise<Read | null>,
    ) {
        const { position } = app.state.params,
            still = matchMedia("(prefers-reduced-motion: reduce)").matches;
        this.below = gallery(app);
        this.biases = biases(app);
        this.box = configBox(app, 4);
        this.context = of(
            "context",
            slider({
                label: t("context", "上下文"),
                min: 16,
                max: LONGEST,
                log: true,
                value: CONTEXT,
                show: whole,
                change: (context) => {
                    this.hands.context(context);
                    app.go({ context });
                },
            }),
        );
        this.motion = motion(
            +(position ?? (still ? POSITION : 1)),
            CONTEXT,
            !still && position === undefined,
            (at, speed) => this.hands.turn(at, speed),
            (at) => app.go({ position: Math.round(at) }),
        );
        this.picture.append(
            this.hands.element,
            h("div.bars", {}, this.motion.element, this.context, this.unnamed),
        );
        this.stage = h(
            "div.stage.panel",
            {},
            this.picture,
            this.biases.element,
            h("aside", {}, this.said, this.list, this.more),
        );
        this.work = new Work(app, {
            pictures: [
                this.hands.element,
                this.biases.element,
                this.motion.element,
                this.unnamed,
                this.said,
                this.list,
                this.more,
            ],
            waiting: [this.stage],
            failed: () => this.failed(),
            shows: (_, mistakes) => this.box.places(mistakes),
        });
        stage.append(this.box.element, this.stage, sectionLinks(app), this.below.element);
        this.update();
    }

    update(): void {
        const { position: _, ...params } = this.app.state.params,
            asked = JSON.stringify(params);
        if (asked === this.asked && !this.app.dropped && !params.file) return; // the hands moved alone
        this.asked = asked;
        this.box.update();
        const { first } = this;
        this.first = undefined;
        this.work.run(
            (signal) => first ?? read(this.app, signal),
            (got) => (got ? this.draw(got) : this.nothing()),
        );
    }

    /** The link names a file that is not here. */
    private nothing(): void {
        this.below.draw();
        this.stage.hidden = true;
        this.app.shows([]);
    }

    private draw(got: Read): void {
        this.below.draw();
        const { app } = this,
            { config, kind, context, now, before } = got,
            { name } = source(app);
        app.report(this, layerFaults(app, config));
        this.stage.hidden = false;
        this.picture.hidden = !now;
        this.more.replaceChildren(
            h(
                "a",
                { href: app.link({ view: "extension", ...app.state.params }) },
                t("Every parameter, and where it comes from →", "每个参数及其来源 →"),
            ),
        );
        this.biases.draw(now ? null : kind);
        if (!now || !before) {
            this.said.replaceChildren(other(name, config));
            this.list.replaceChildren();
            return app.shows([{ title: "config", ask: configAsk(app, source(app)), formats: [] }]);
        }
        this.context.move(context);
        this.unnamed.hidden = !!(contextOf(kind.encoding) ?? app.state.params.context);
        this.motion.context(context);
        this.turned(name, kind, now, before, frequenciesAsk(kind, context).target);
        this.hands.context(context);
        const sentence = verdict(name, config, kind, now, got.never, context);
        this.said.replaceChildren(
            sentence,
            ...[layerChoice(app, got)].filter((one) => one !== null),
        );
        factList(app, this.list, facts(kind, now, before, context), kind, context, (key) =>
            this.box.find(key),
        );
        app.shows([
            { title: "config", ask: configAsk(app, source(app)), formats: [] },
            {
                title: t("wavelengths", "波长"),
                ask: turnsAsk(kind, context),
                formats: ["svg", "safetensors"],
            },
        ]);
    }

    /** Other hands, where the frequencies are others: not each time that a slider moves. */
    private turned(
        name: string,
        { encoding }: Kind,
        now: Frequencies,
        before: Frequencies,
        key: string,
    ): void {
        if (this.drawn === name + key) return;
        this.drawn = name + key;
        const base = short(encoding!.base ?? 10000, 6);
        this.hands.set(
            now.frequencies.map((frequency, i) => ({
                frequency,
                wavelength: now.wavelengths[i],
                before: before.wavelengths[i],
            })),
            [
                t(`as base ${base} has them`, `基数 ${base} 原本的样子`),
                t(`as ${name} turns them`, `${name} 实际的转动`),
            ],
        );
    }

    /** Nothing of the model before stays, and the same state may be asked for again. */
    private failed(): void {
        this.below.draw();
        this.stage.hidden = false;
        this.motion.leave();
        this.asked = "";
        this.app.shows([]);
    }

    leave(): void {
        this.work.stop();
        this.motion.leave();
        this.biases.leave();
        this.below.leave();
    }
}

export const home: View = {
    name: "home",
    section: "inspect",
    title: () => t("See what your model does to position.", "看看你的模型怎样对待位置。"),
    lead: () =>
        t(
            "A rotary model turns pairs of numbers as a token moves along the text. Fast pairs tell neighbours apart, slow ones chapters.",
            "旋转位置编码让成对的数随 token 的位置转动。快的区分相邻的词，慢的区分章节。",
        ),
    accepts: modelAccepts,
    passes: true,
    mount(stage, app) {
        stage.classList.add("contained");
        const first = read(app, new AbortController().signal);
        first.catch(() => {}); // told where it is waited for
        return new Home(stage, app, first);
    },
};
