// SPDX-License-Identifier: MIT
// Elements in one line: h("button.chip", { onclick }, "text").

export type Child = Node | string | number | false | null | undefined;
type Attributes = Record<string, unknown>;

const SVG = "http://www.w3.org/2000/svg";

/** Sets attributes; functions become listeners ("onclick"), `false` and `undefined` leave one out.
 * */
export function set(element: Element, attributes: Attributes): void {
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") {
            element.addEventListener(name.slice(2), value as EventListener);
        } else if (value === false || value === undefined || value === null) {
            element.removeAttribute(name);
        } else {
            element.setAttribute(name, value === true ? "" : `${value}`);
        }
    }
}

function make(element: Element, words: string[], attributes: Attributes, children: Child[]): void {
    if (words.length) element.setAttribute("class", words.join(" "));
    set(element, attributes);
    element.append(
        ...children
            .filter((one) => one || one === 0 || one === "")
            .map((one) => (typeof one === "number" ? `${one}` : (one as Node | string))),
    );
}

/** An element of HTML: `what` is a name with classes, "div.stage.wide". */
export function h<Name extends keyof HTMLElementTagNameMap>(
    what: Name | `${Name}.${string}`,
    attributes: Attributes = {},
    ...children: Child[]
): HTMLElementTagNameMap[Name] {
    const [name, ...classes] = what.split(".");
    const element = document.createElement(name);
    make(element, classes, attributes, children);
    return element as HTMLElementTagNameMap[Name];
}

/** An element of SVG. */
export function s<Name extends keyof SVGElementTagNameMap>(
    what: Name | `${Name}.${string}`,
    attributes: Attributes = {},
    ...children: Child[]
): SVGElementTagNameMap[Name] {
    const [name, ...classes] = what.split(".");
    const element = document.createElementNS(SVG, name);
    make(element, classes, attributes, children);
    return element as SVGElementTagNameMap[Name];
}

/** A name of many words, which a line may be broken within. */
export const broken = (name: string): Child[] =>
    name.split(/(?<=[_.])/).flatMap((part) => [part, h("wbr")]);

const tokens = new Map<string, string>();

/** The value of a token of style/tokens.css, for what is drawn on a canvas. Kept, since reading one
 * may cost a layout. */
export function token(name: string): string {
    let value = tokens.get(name);
    if (value === undefined)
        tokens.set(
            name,
            (value = getComputedStyle(document.documentElement)
                .getPropertyValue(`--${name}`)
                .trim()),
        );
    return value;
}

/** The theme is another one. */
export const tokensForget = (): void => tokens.clear();
