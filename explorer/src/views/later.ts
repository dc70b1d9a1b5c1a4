// SPDX-License-Identifier: MIT
// Views whose code is in a second script, which is fetched when the first of them is opened.
import { during } from "../api";
import { MODELS } from "../kit/model";
import type { App, Mounted, View } from "../view";

type Second = typeof import("../second");

let second: Second | undefined;

/** The second script; all published models are known from then on. */
export async function fetchSecond(): Promise<Second> {
    if (!second) {
        second = await import("../second");
        Object.assign(MODELS, second.models);
    }
    return second;
}

class Later implements Mounted {
    private inner?: Mounted;
    private left = false;

    constructor(
        private name: keyof Second["mounts"],
        private stage: HTMLElement,
        private app: App,
    ) {
        if (second) this.mount(second);
        else this.update();
    }

    private mount({ mounts }: Second): void {
        if (!this.left && !this.inner) this.inner = mounts[this.name](this.stage, this.app);
    }

    update(): void {
        if (this.inner) return this.inner.update();
        during(fetchSecond()).then(
            (got) => {
                this.app.fail(this, null);
                this.mount(got);
            },
            (error) => this.left || this.app.fail(this, error),
        );
    }

    leave(): void {
        this.left = true;
        this.inner?.leave();
    }
}

export const later = (about: Omit<View, "mount"> & { name: keyof Second["mounts"] }): View => ({
    ...about,
    mount: (stage, app) => new Later(about.name, stage, app),
});
