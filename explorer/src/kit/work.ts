// SPDX-License-Identifier: MIT
// Jobs whose answers are drawn. Pictures are seen while they show the last answer for the controls
// beside them: not before the first one, and not after a failure.
import { Lane } from "../api";
import type { App } from "../view";
import type { Shows } from "./failure";

interface Parts {
    /** Hidden while the last job has failed. */
    pictures: HTMLElement[];
    /** Invisible before the first answer, with their room kept; the pictures if absent. */
    waiting?: HTMLElement[];
    /** After a failure: to stop what moves. */
    failed?: () => void;
    shows?: Shows;
}

export class Work {
    private lane = new Lane();

    constructor(
        private app: App,
        private parts: Parts,
    ) {
        for (const one of parts.waiting ?? parts.pictures) one.classList.add("waiting");
    }

    run<T>(job: (signal: AbortSignal) => Promise<T>, draw: (value: T) => void): void {
        this.lane.run(
            job,
            (value) => {
                this.app.fail(this, null);
                this.show(true);
                draw(value);
            },
            (error) => {
                this.show(false);
                this.parts.failed?.();
                this.app.fail(this, error, this.parts.shows);
            },
        );
    }

    private show(answered: boolean): void {
        for (const one of this.parts.waiting ?? this.parts.pictures)
            one.classList.remove("waiting");
        for (const one of this.parts.pictures) one.classList.toggle("unanswered", !answered);
    }

    /** Nothing is wanted any more. */
    stop(): void {
        this.lane.stop();
        this.app.fail(this, null);
    }
}
