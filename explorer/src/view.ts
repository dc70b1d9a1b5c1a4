// SPDX-License-Identifier: MIT
// What a view is: a constant with a name and words, and a function that fills a stage.
import type { Api, Ask } from "./api";
import type { Accepts, Fault } from "./checks";
import type { Shows } from "./kit/failure";
import type { Changes, State } from "./state";

export type Section = "inspect" | "compare" | "understand" | "debug";

export interface App {
    readonly state: State;
    readonly api: Api;
    /** Writes into the URL, and has the view updated. `push`: a step that "back" takes back; sliders
     * and hovering replace. */
    go(changes: Changes, how?: "push" | "replace"): void;
    /** The URL of this page behind the changes. */
    link(changes: Changes): string;
    /** Says what the picture shows now, for copying as curl or Python, and for saving. */
    shows(pictures: Shown[]): void;
    /** Says a sentence to readers of the screen. */
    say(sentence: string): void;
    /** Shows a failure above the pictures, and marks the controls at fault; null: its source has
     * succeeded since. */
    fail(source: object, error: unknown, shows?: Shows): void;
    /** Reports values of the link that an answer shows to mean nothing; the list replaces
     * the one before it of the same source. */
    report(source: object, faults: Fault[]): void;
    /** Files that were dropped on the page or chosen, which the view takes; null: nothing waits. */
    readonly dropped: File[] | null;
    /** A file of a config too large for a link: it stays while the page is open. */
    held: File | null;
    /** Gives files to the view that takes them. */
    drop(files: File[]): void;
    /** One side of a comparison: its numbers are taken from those of the other. */
    readonly compared: boolean;
    /** Whether there is a view of this name. */
    has(view: string): boolean;
}

export interface Shown {
    /** What it is, for the person who saves it: "table". */
    title: string;
    ask: Ask;
    /** Formats that it can be saved in, by the API's names: "png", "svg", "npy". */
    formats: string[];
}

export interface Mounted {
    /** The state has changed (app.state); the picture follows. */
    update(): void;
    /** The view is left: what runs is stopped. */
    leave(): void;
    /** What is drawn now, for View.between. */
    seen?(): unknown;
}

export interface View {
    name: string;
    section: Section;
    /** In the language of the moment. */
    title(): string;
    /** One sentence: what can be seen here. */
    lead(): string;
    /** The names of the link that are the view's own. */
    accepts(): Record<string, Accepts>;
    /** All other names are parameters of the API. */
    passes?: boolean;
    /** It is not put beside another state of itself: what `a` and `b` of the link are is its own. */
    single?: boolean;
    mount(stage: HTMLElement, app: App): Mounted;
    /** Of a comparison: draws the difference of what both sides show, where there is one. It is
     * called
     * when a side has drawn, and not before mount has returned. */
    between?(place: HTMLElement, seen: unknown[]): void;
}
