// SPDX-License-Identifier: MIT
// Failures on the page: what went wrong, the controls at fault, and another attempt.
import { h } from "../dom";
import { t } from "../words";
import type { App } from "../view";
import { told, type Mistake, type Told } from "./problem";

/** Refusals of the module in the page that a server with more memory and cores would not make. */
const FOR_A_SERVER = ["too-large", "out-of-memory", "busy", "cancelled"];

const code = (error: unknown): string =>
    (error as { problem?: { code?: string } })?.problem?.code ?? "";

const origin = (): string | null => (SITE ? null : location.origin);

function sentence({ field, key, words }: Mistake): HTMLElement {
    const name = key ?? (field === "config" ? undefined : field);
    return h("p", {}, name && !words.includes(name) && h("code", {}, `${name}: `), words);
}

function box({ title, mistakes }: Told, error: unknown, ...more: HTMLElement[]): HTMLElement {
    return h(
        "div.failure",
        { role: "alert" },
        h("strong", {}, title),
        ...mistakes.map(sentence),
        SITE &&
            FOR_A_SERVER.includes(code(error)) &&
            h(
                "p",
                {},
                t(
                    "This page computes all by itself, in one thread. A server does it: start posencd, and open this page there.",
                    "本页自己计算一切，只有一个线程。服务器可以完成：启动 posencd，再在那里打开本页。",
                ),
            ),
        ...more,
    );
}

/** What went wrong, where it arose. */
export const failure = (error: unknown): HTMLElement => box(told(error, origin()), error);

/** Buttons that show the place of a mistake, such as a key of a config. */
export type Shows = (error: unknown, mistakes: Mistake[]) => HTMLElement[];

/** All failures of a view, in one place above its pictures; each is of a source, whose next success
 * takes it away. Controls at fault are marked: those with the name of a mistake in data-name. */
export class Failures {
    element = h("div.failures");
    private all = new Map<object, { error: unknown; shows?: Shows }>();

    /** `root`: where controls are marked. */
    constructor(
        private app: Pick<App, "state" | "go">,
        private root: () => Element,
        private again: () => void,
    ) {}

    /** null: the source has succeeded, or is not wanted any more. */
    set(source: object, error: unknown, shows?: Shows): void {
        if (error === null && !this.all.delete(source)) return;
        if (error !== null) this.all.set(source, { error, shows });
        this.draw();
    }

    clear(): void {
        this.all.clear();
        this.draw();
    }

    private draw(): void {
        const seen = new Set<string>(),
            boxes: HTMLElement[] = [],
            fields: string[] = [];
        for (const { error, shows } of this.all.values()) {
            const words = told(error, origin()),
                key = JSON.stringify(words);
            fields.push(...words.mistakes.flatMap(({ field }) => field ?? []));
            if (seen.has(key)) continue;
            seen.add(key);
            boxes.push(
                box(
                    words,
                    error,
                    ...(shows?.(error, words.mistakes) ?? []),
                    ...this.leftOut(words.mistakes),
                    ...(words.again
                        ? [
                              h(
                                  "button.chip",
                                  { type: "button", onclick: this.again },
                                  t("try again", "重试"),
                              ),
                          ]
                        : []),
                ),
            );
        }
        this.element.replaceChildren(...boxes);
        this.mark(fields);
    }

    /** A way out where a value of the link has no control. */
    private leftOut(mistakes: Mistake[]): HTMLElement[] {
        const { params } = this.app.state,
            controls = [...this.root().querySelectorAll<HTMLElement>("[data-name]")].map(
                (one) => one.dataset.name,
            );
        return mistakes.flatMap(({ field = "" }) =>
            !(field in params) || controls.includes(field)
                ? []
                : [
                      h(
                          "button.link",
                          {
                              type: "button",
                              onclick: () => this.app.go({ [field]: undefined }, "push"),
                          },
                          t(`leave ${field} out`, `去掉 ${field}`),
                      ),
                  ],
        );
    }

    private mark(fields: string[]): void {
        for (const one of this.root().querySelectorAll<HTMLElement>("[data-name]")) {
            const wrong = fields.includes(one.dataset.name!);
            const inputs = one.matches("input, select, textarea")
                ? [one]
                : one.querySelectorAll("input, select, textarea");
            one.classList.toggle("wrong", wrong);
            for (const input of inputs)
                if (wrong) input.setAttribute("aria-invalid", "true");
                else input.removeAttribute("aria-invalid");
        }
    }
}
