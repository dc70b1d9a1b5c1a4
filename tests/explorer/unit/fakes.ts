// SPDX-License-Identifier: MIT
// As much of a document as modules need that make elements without a browser: attributes, children,
// events without bubbling, canvases that record their calls. Sizes are given by tests.

type Listener = (event: never) => void;

class FakeClasses {
    constructor(private own: FakeElement) {}
    private get all(): string[] {
        return (this.own.attributes.class ?? "").split(" ").filter(Boolean);
    }
    private set all(names: string[]) {
        this.own.attributes.class = names.join(" ");
    }
    contains(name: string): boolean {
        return this.all.includes(name);
    }
    add(name: string): void {
        if (!this.contains(name)) this.all = [...this.all, name];
    }
    remove(name: string): void {
        this.all = this.all.filter((one) => one !== name);
    }
    toggle(name: string, force = !this.contains(name)): void {
        if (force) this.add(name);
        else this.remove(name);
    }
}

/** Calls of a canvas as [name, ...arguments], properties that are set as ["=", name, value]. */
export type Call = [string, ...unknown[]];

function recording(): { calls: Call[]; context: object } {
    const calls: Call[] = [],
        own: Record<string, unknown> = {};
    const context = new Proxy(own, {
        get(_, name: string) {
            if (name in own) return own[name];
            if (name === "measureText") return (text: string) => ({ width: 7 * text.length });
            return (...given: unknown[]) => void calls.push([name, ...given]);
        },
        set(_, name: string, value) {
            calls.push(["=", name, (own[name] = value)]);
            return true;
        },
    });
    return { calls, context };
}

export class FakeElement {
    attributes: Record<string, string> = {};
    children: (FakeElement | string)[] = [];
    dataset: Record<string, string> = {};
    style: Record<string, string> = {};
    lang = "";
    hidden = false;
    value = "";
    min = "";
    max = "";
    clientWidth = 0;
    clientHeight = 0;
    offsetWidth = 100;
    box = { left: 0, top: 0, width: 0, height: 0 };
    classList = new FakeClasses(this);
    captured: unknown[] = [];
    drawing = recording();
    private listeners: Record<string, Listener[]> = {};
    [more: string]: unknown;

    constructor(readonly name: string) {}

    setAttribute(name: string, value: string): void {
        this.attributes[name] = value;
        if (["value", "min", "max", "hidden", "placeholder"].includes(name)) this[name] = value;
        if (name.startsWith("data-")) this.dataset[name.slice(5)] = value;
    }
    getAttribute(name: string): string | null {
        return this.attributes[name] ?? null;
    }
    removeAttribute(name: string): void {
        delete this.attributes[name];
    }
    toggleAttribute(): void {}
    addEventListener(type: string, listener: Listener): void {
        (this.listeners[type] ??= []).push(listener);
    }
    /** Whether the event was taken: its default is prevented. */
    fire(type: string, more: Record<string, unknown> = {}): boolean {
        let taken = false;
        const event = {
            type,
            pointerId: 1,
            pointerType: "mouse",
            shiftKey: false,
            preventDefault: () => (taken = true),
            stopPropagation: () => {},
            ...more,
        };
        for (const one of this.listeners[type] ?? []) one.call(this, event as never);
        return taken;
    }
    append(...children: (FakeElement | string)[]): void {
        this.children.push(...children);
    }
    replaceChildren(...children: (FakeElement | string)[]): void {
        this.children = children;
    }
    remove(): void {}
    hasChildNodes(): boolean {
        return this.children.length > 0;
    }
    /** Of a list of names, each with classes and attributes: "a, button.chip, [data-name]". */
    matches(selector: string): boolean {
        return selector.split(",").some((one) => {
            const [, tag, classes, attribute] = /^([a-z]*)((?:\.[\w-]+)*)(?:\[([\w-]+).*\])?$/.exec(
                one.trim(),
            )!;
            return (
                (!tag || this.name === tag) &&
                classes
                    .split(".")
                    .filter(Boolean)
                    .every((name) => this.classList.contains(name)) &&
                (!attribute ||
                    attribute in this.attributes ||
                    (attribute.startsWith("data-") && attribute.slice(5) in this.dataset))
            );
        });
    }
    querySelectorAll(selector: string): FakeElement[] {
        return this.all().filter((one) => one !== this && one.matches(selector));
    }
    get firstElementChild(): FakeElement {
        return this.children[0] as FakeElement;
    }
    /** This element and all below it. */
    all(): FakeElement[] {
        return [
            this,
            ...this.children.flatMap((one) => (typeof one === "string" ? [] : one.all())),
        ];
    }
    contains(other: FakeElement): boolean {
        return this.all().includes(other);
    }
    find(name: string): FakeElement[] {
        const [tag, kind] = name.split(".");
        return this.all().filter(
            (one) => (!tag || one.name === tag) && (!kind || one.classList.contains(kind)),
        );
    }
    getBoundingClientRect(): object {
        return this.box;
    }
    setPointerCapture(id: unknown): void {
        this.captured.push(id);
    }
    getContext(): object {
        return this.drawing.context;
    }

    set textContent(text: string) {
        this.children = [text];
    }
    get textContent(): string {
        return this.children
            .map((one) => (typeof one === "string" ? one : one.textContent))
            .join("");
    }

    number(name: string): number {
        return Number(this.attributes[name]);
    }
}

/** What a page has: an element as tests see it. */
export const fake = (element: unknown): FakeElement => element as FakeElement;

/** Frames that wait for their turn, and watchers of sizes with what they call. */
export const frames: (() => void)[] = [];
export const resized: (() => void)[] = [];

export function framesRun(): void {
    for (const one of frames.splice(0)) one();
}

/** Until something is so: what reads a file takes its own time. */
export async function until(isSo: () => unknown): Promise<void> {
    for (let tries = 0; !isSo(); tries++) {
        if (tries > 2000) throw new Error(`never: ${isSo}`);
        await new Promise((done) => setTimeout(done, 2));
    }
}

/** Promises that nothing outside is waited for have ended. */
export async function settled(): Promise<void> {
    for (let turns = 0; turns < 20; turns++) await new Promise((done) => setImmediate(done));
}

if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: { languages: ["en"] } });
Object.assign(globalThis, {
    document: {
        documentElement: new FakeElement("html"),
        body: new FakeElement("body"),
        activeElement: null,
        createElement: (name: string) => new FakeElement(name),
        createElementNS: (_: string, name: string) => new FakeElement(name),
    },
    window: globalThis,
    location: new URL("http://h:1/b/"),
    devicePixelRatio: 2,
    getComputedStyle: () => ({ getPropertyValue: (name: string) => ` ${name.slice(2)} ` }),
    ResizeObserver: class {
        constructor(private run: () => void) {
            resized.push(run);
        }
        observe(): void {}
        disconnect(): void {
            resized.splice(resized.indexOf(this.run), 1);
        }
    },
    ImageData: class {
        data: Uint8ClampedArray;
        constructor(width: number, height: number) {
            this.data = new Uint8ClampedArray(4 * width * height);
        }
    },
    requestAnimationFrame: (run: () => void) => frames.push(run),
    cancelAnimationFrame: (id: number) => (id ? frames.splice(id - 1, 1) : []),
});
