// SPDX-License-Identifier: MIT
// A config's account of positions: where each parameter comes from, its layers, each pair beside
// the context, and other ways of scaling.
import { during } from "../../api";
import { h } from "../../dom";
import { configBox } from "../../kit/configbox";
import { of, slider, type Slider } from "../../kit/controls";
import {
    configAsk,
    goldenAsk,
    kinds,
    layerFaults,
    lintAsk,
    LONGEST,
    modelAccepts,
    source,
    turnsAsk,
    type Config,
    type Source,
} from "../../kit/model";
import { Work } from "../../kit/work";
import { whole } from "../../numbers";
import type { App, Mounted, Shown, View } from "../../view";
import { t } from "../../words";
import { biases } from "../biases";
import { CONTEXT, read, type Read } from "../home/read";
import { other, verdict } from "../home/verdict";
import { fetchSecond } from "../later";
import type { Engines } from "./engines";
import { layers } from "./layers";
import { jump, magnitudes, type Jump } from "./magnitudes";
import { hub, notes } from "./notes";
import { pairs } from "./pairs";
import { beside, parameters } from "./parameters";
import { schemes } from "./schemes";
import "../../style/extension.css";

const SCALED = ["rope", "mrope"]; // encodings that take a rope_type

const rotates = (config: Config): boolean =>
    kinds(config).some(({ encoding }) => !!encoding && SCALED.includes(encoding.name));

/** What is offered of a config that rotates: the judgement of engines, which read JSON, and the
 * golden file. */
const files = (from: Source, config: Config): Shown[] =>
    !rotates(config)
        ? []
        : [
              ...(from.text ? [{ title: "lint", ask: lintAsk(from), formats: [] }] : []),
              { title: "golden", ask: goldenAsk(from), formats: ["safetensors"] },
          ];

class Extension implements Mounted {
    private work: Work;
    private box;
    private said = h("div.verdict");
    private judged = h("div");
    private engines?: Engines;
    private left = false;
    private layers = h("div");
    private parameters = h("section");
    private context: Slider;
    private turning = h("div.turning");
    private magnitudes = h("div");
    private pairs;
    private schemes;
    private biases;
    private notes = h("div");
    private answer;

    constructor(
        stage: HTMLElement,
        private app: App,
    ) {
        this.box = configBox(app, 7);
        this.biases = biases(app);
        this.pairs = pairs(app);
        this.schemes = schemes(app);
        this.context = of(
            "context",
            slider({
                label: t("context", "上下文"),
                min: 16,
                max: LONGEST,
                log: true,
                value: CONTEXT,
                show: whole,
                change: (context) => app.go({ context }),
            }),
        );
        this.turning.append(
            h("div.controls", {}, this.context),
            this.magnitudes,
            this.pairs.element,
        );
        this.answer = h(
            "div.panel.answer",
            {},
            this.said,
            this.layers,
            this.turning,
            this.biases.element,
            this.judged,
            this.parameters,
            this.schemes.element,
            this.notes,
        );
        this.work = new Work(app, {
            pictures: [
                this.said,
                this.layers,
                this.magnitudes,
                this.pairs.element,
                this.biases.element,
                this.schemes.element,
                this.judged,
                this.notes,
            ],
            waiting: [this.answer],
            failed: () => this.failed(),
            shows: (_, mistakes) => this.box.places(mistakes),
        });
        stage.append(this.box.element, hub(), this.answer);
        this.update();
    }

    update(): void {
        this.box.update();
        this.work.run(
            async (signal) => {
                const got = await read(this.app, signal);
                return got && { ...got, jumped: await jump(this.app, got.kind, signal) };
            },
            (got) => (got ? this.draw(got) : this.nothing()),
        );
    }

    /** The link names a file that is not here. */
    private nothing(): void {
        this.answer.hidden = true;
        this.app.shows([]);
    }

    /** What engines make of the config: the second script has it. */
    private async judge(config: Config): Promise<void> {
        try {
            const second = await during(fetchSecond());
            this.app.fail(this.judged, null);
            if (this.left) return;
            this.engines ??= second.engines(this.app, this.judged, (key) => this.box.find(key));
            this.engines.update(source(this.app), rotates(config));
        } catch (error) {
            if (!this.left) this.app.fail(this.judged, error);
        }
    }

    private draw(got: Read & { jumped: Jump | null }): void {
        const { app } = this,
            { config, kind, context, now, before } = got,
            { name } = source(app);
        const find = (key: string) => this.box.find(key);
        app.report(this, layerFaults(app, config));
        this.answer.hidden = false;
        this.said.replaceChildren(
            now ? verdict(name, config, kind, now, got.never, context) : other(name, config),
        );
        const strip = layers(app, config, kind);
        this.layers.replaceChildren(...(strip ? [strip] : []));
        this.parameters.replaceChildren(
            h("h2", {}, t("Every parameter, and where it comes from", "每个参数及其来源")),
            parameters(app, kind, find),
        );
        this.notes.replaceChildren(notes(config));
        void this.judge(config);
        this.turning.hidden = !now;
        const scaled = !!now && SCALED.includes(kind.encoding!.name);
        this.schemes.element.hidden = !scaled;
        this.biases.draw(now ? null : kind);
        const asked = [
            { title: "config", ask: configAsk(app, source(app)), formats: [] },
            ...files(source(app), config),
        ];
        if (!now || !before) return app.shows(asked);
        this.context.move(context);
        this.magnitudes.replaceChildren(magnitudes(kind, now, got.jumped));
        this.pairs.draw(now, before, context);
        if (scaled) this.schemes.draw(kind, context);
        app.shows([
            ...asked,
            {
                title: t("wavelengths", "波长"),
                ask: turnsAsk(kind, context),
                formats: ["svg", "safetensors"],
            },
        ]);
    }

    /** Nothing of the model before stays; what can be changed does. */
    private failed(): void {
        this.answer.hidden = false;
        this.parameters.replaceChildren(...[beside(this.app)].filter((one) => one !== null));
        this.app.shows([
            { title: "config", ask: configAsk(this.app, source(this.app)), formats: [] },
        ]);
    }

    leave(): void {
        this.left = true;
        this.work.stop();
        this.engines?.leave();
        this.pairs.leave();
        this.schemes.leave();
        this.biases.leave();
    }
}

export const extension: View = {
    name: "extension",
    section: "inspect",
    title: () => t("What a config does to each pair", "一份 config 对每个维度对做了什么"),
    lead: () =>
        t(
            "Every parameter with the key that it came from, every pair against the context, and the other ways of stretching it.",
            "每个参数的来源，每个维度对相对上下文的波长，以及其他拉伸方式。",
        ),
    accepts: modelAccepts,
    passes: true,
    mount: (stage, app) => new Extension(stage, app),
};
