// SPDX-License-Identifier: MIT
// A view by itself: its link is a list of parameters that `go` changes, and a test answers what it
// requests.
import { fake, settled } from "./fakes";
import type { Ask } from "../../../explorer/src/api";
import { h } from "../../../explorer/src/dom";
import { mounts } from "../../../explorer/src/second";
import type { App, Mounted, Shown } from "../../../explorer/src/view";
import { views } from "../../../explorer/src/views";

type Params = Record<string, string>;

/** Those of the second script without waiting for it. */
const mountOf = (name: string) =>
    (mounts as Record<string, (typeof mounts)["story"]>)[name] ??
    views.find((one) => one.name === name)!.mount;

export function stand(
    name: string,
    params: Params,
    answer: (ask: Ask) => unknown = () => new Promise(() => {}),
    more: Partial<App> = {},
) {
    const gone: [Record<string, unknown>, string][] = [],
        asks: Ask[] = [],
        signals: (AbortSignal | undefined)[] = [],
        failed: unknown[] = [];
    let shown: Shown[] = [],
        mounted: Mounted | undefined;
    const state = { params: { ...params }, lang: "en", theme: "auto", view: name, sides: null };
    const requested = async (ask: Ask, signal?: AbortSignal) => {
        asks.push(ask);
        signals.push(signal);
        return answer(ask);
    };
    const app = {
        state,
        go(changes: Record<string, unknown>, how = "replace") {
            gone.push([changes, how]);
            for (const [key, value] of Object.entries(changes))
                if (value === undefined || value === "" || value === false)
                    delete state.params[key];
                else state.params[key] = `${value === true ? 1 : value}`;
            mounted?.update();
        },
        link: (changes: object) => `?${JSON.stringify(changes)}`,
        has: () => true,
        shows: (list: Shown[]) => (shown = list),
        say() {},
        report() {},
        fail: (_: object, error: unknown) => error !== null && failed.push(error),
        drop() {},
        dropped: null,
        held: null,
        compared: false,
        api: { ask: requested, file: requested, below: (one: string) => one, origin: "http://h:1" },
        ...more,
    };
    const stage = h("div");
    mounted = mountOf(name)(stage, app as unknown as App);
    return {
        app: app as unknown as App & { dropped: File[] | null },
        stage: fake(stage),
        mounted,
        asks,
        signals,
        gone,
        failed,
        shown: () => shown,
        settled,
    };
}
