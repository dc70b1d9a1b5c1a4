// SPDX-License-Identifier: MIT
// Two states of one view beside each other: ?a=dim%3D64&b=dim%3D128. Each side is an App of its
// own,
// whose changes go into its part of the URL.
import type { Fault } from "./checks";
import { h } from "./dom";
import { Failures, type Shows } from "./kit/failure";
import { written, type Changes, type Params, type Side, type State } from "./state";
import type { App, Mounted, Shown, View } from "./view";
import { t } from "./words";

/** Changes that are about the whole page. */
const WHOLE = ["view", "lang", "theme", "present"];

const isWhole = (changes: Changes) => Object.keys(changes).some((name) => WHOLE.includes(name));

/** Out of the comparison, with the state of one side. */
export const only = (state: State, side: Side): Changes => ({
    a: undefined,
    b: undefined,
    ...state.sides?.[side],
});

/** Views of a model, whose comparison is a view of its own. */
const OF_MODELS = ["home", "extension"];

/** Into it: both begin as what is shown. */
export function both(state: State): Changes {
    const own = written(state.params),
        out: Changes = {};
    if (OF_MODELS.includes(state.view)) return { view: "compare", a: own || undefined };
    for (const name of Object.keys(state.params)) out[name] = undefined;
    return { ...out, a: own || " ", b: own || " " };
}

/** The page as one side sees it. */
export class Part implements App {
    readonly compared = true;
    readonly place = h("div.view");
    readonly failures = new Failures(
        this,
        () => this.place,
        () => this.again(),
    );
    shown: Shown[] = [];
    again = () => {};
    /** Files that were dropped on this side alone. */
    files: File[] | null = null;
    private own: File | null = null;

    /** `usual`: the parameters of a side that the link says nothing of. */
    constructor(
        private page: App,
        readonly side: Side,
        private changed: () => void,
        private usual: Params = {},
    ) {}

    get state(): State {
        const own = this.page.state.sides?.[this.side] ?? {};
        const params = Object.keys(own).length ? own : this.usual;
        return { ...this.page.state, params, sides: null };
    }
    get api() {
        return this.page.api;
    }
    get dropped() {
        return this.files ?? (this.side === "a" ? this.page.dropped : null);
    }
    get held() {
        return this.own ?? this.page.held;
    }
    set held(file: File | null) {
        this.own = this.page.held = file;
    }
    has(view: string): boolean {
        return this.page.has(view);
    }
    drop(files: File[]): void {
        this.page.drop(files);
    }
    report(source: object, faults: Fault[]): void {
        this.page.report(source, faults);
    }
    fail(source: object, error: unknown, shows?: Shows): void {
        this.failures.set(source, error, shows);
    }
    say(sentence: string): void {
        this.page.say(`${this.side.toUpperCase()}: ${sentence}`);
    }

    private mine(changes: Changes): Changes {
        if (isWhole(changes)) return { ...only(this.page.state, this.side), ...changes };
        return { [this.side]: written(this.state.params, changes) || " " };
    }

    go(changes: Changes, how?: "push" | "replace"): void {
        this.page.go(this.mine(changes), how);
    }
    link(changes: Changes): string {
        return this.page.link(this.mine(changes));
    }

    shows(pictures: Shown[]): void {
        this.shown = pictures.map((one) => ({
            ...one,
            title: `${this.side.toUpperCase()} · ${one.title}`,
        }));
        this.changed();
    }
}

export function compared(view: View, stage: HTMLElement, page: App): Mounted {
    const both = h("section.apart");
    const parts = (["a", "b"] as const).map(
        (side) =>
            new Part(page, side, () => {
                page.shows(parts.flatMap((one) => one.shown));
                view.between?.(
                    both,
                    mounted.map(({ stands }) => stands.seen?.()),
                );
            }),
    );
    const sides = parts.map((part) => {
        const name = part.side.toUpperCase(),
            { place } = part;
        const keep = h(
            "button.quiet",
            { type: "button", onclick: () => page.go(only(page.state, part.side), "push") },
            t(`only ${name}`, `只看 ${name}`),
        );
        return {
            part,
            place,
            box: h(
                "section.side",
                { "aria-label": name },
                h("header", {}, h("h2", {}, name), keep),
                part.failures.element,
                place,
            ),
        };
    });
    stage.classList.add("compare");
    stage.append(...sides.map(({ box }) => box), both);
    const mounted = sides.map(({ part, place }) => ({
        part,
        seen: written(part.state.params),
        stands: view.mount(place, part),
    }));
    for (const { part, stands } of mounted) part.again = () => stands.update();
    return {
        update() {
            for (const one of mounted) {
                const now = written(one.part.state.params);
                if (now !== one.seen || page.dropped) one.stands.update();
                one.seen = now;
            }
        },
        leave: () => mounted.forEach(({ stands }) => stands.leave()),
    };
}
