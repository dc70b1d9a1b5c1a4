// SPDX-License-Identifier: MIT
// As much of a document as modules need that make elements without a browser.

export class FakeElement {
    attributes: Record<string, string> = {};
    children: (FakeElement | string)[] = [];
    dataset: Record<string, string> = {};
    style: Record<string, string> = {};
    lang = "";

    constructor(readonly name: string) {}

    setAttribute(name: string, value: string): void {
        this.attributes[name] = value;
    }
    removeAttribute(name: string): void {
        delete this.attributes[name];
    }
    toggleAttribute(): void {}
    addEventListener(): void {}
    append(...children: (FakeElement | string)[]): void {
        this.children.push(...children);
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

if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: { languages: ["en"] } });
Object.assign(globalThis, {
    document: {
        documentElement: new FakeElement("html"),
        createElement: (name: string) => new FakeElement(name),
        createElementNS: (_: string, name: string) => new FakeElement(name),
    },
    window: globalThis,
});
