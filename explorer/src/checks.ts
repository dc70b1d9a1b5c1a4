// SPDX-License-Identifier: MIT
// What the names of a link may be. A value that a view cannot take is left out, so that the default
// is shown, and reported: a link is never something else than it says without a word.
import type { Params } from "./state";
import { t } from "./words";

/** The ends of numbers, and what they are multiples of, if not any number. */
type Range = readonly [low: number, high: number, step?: number];

/** Some words, a range of numbers, a form, or any text. */
export type Accepts = readonly string[] | Range | RegExp | "text";

export interface Fault {
    name: string;
    value: string;
    /** What would be accepted; undefined: nothing has this name. */
    accepts?: Accepts;
}

const isRange = (accepts: Accepts): accepts is Range =>
    Array.isArray(accepts) && typeof accepts[0] === "number";

export function isAccepted(accepts: Accepts, value: string): boolean {
    if (accepts === "text") return true;
    if (accepts instanceof RegExp) return accepts.test(value);
    if (!isRange(accepts)) return (accepts as readonly string[]).includes(value);
    const [low, high, step = 0] = accepts,
        number = value.trim() === "" ? NaN : Number(value);
    return number >= low && number <= high && (!step || number % step === 0);
}

/** The parameters that a view can take. `passes`: names that are not its own are parameters of the
 * API, which refuses those that it does not have. */
export function checked(
    params: Params,
    accepts: Record<string, Accepts>,
    passes: boolean,
): { params: Params; faults: Fault[] } {
    const own: Params = {},
        faults: Fault[] = [];
    for (const [name, value] of Object.entries(params)) {
        const known = Object.hasOwn(accepts, name);
        if (known ? isAccepted(accepts[name], value) : passes) own[name] = value;
        else faults.push({ name, value, accepts: known ? accepts[name] : undefined });
    }
    return { params: own, faults };
}

const MOST = 12,
    LONG = 60; // names in a sentence; characters of a value

function expected(accepts: Accepts): string {
    if (isRange(accepts)) {
        const [low, high, step] = accepts;
        return t(
            `a ${step ? "whole " : ""}number from ${low} to ${high}`,
            `${low} 到 ${high} 之间的${step ? "整数" : "数"}`,
        );
    }
    if (Array.isArray(accepts)) {
        const more = accepts.length > MOST ? " …" : "";
        return t("one of ", "以下之一：") + accepts.slice(0, MOST).join(", ") + more;
    }
    return t("written in another form", "其他写法");
}

/** A fault in a sentence. */
export function faultSaid({ name, value, accepts }: Fault): string {
    const short = value.length > LONG ? `${value.slice(0, LONG)}…` : value;
    if (!accepts)
        return t(
            `The link has ${name}=${short}, but this view has no setting ${name}.`,
            `链接中有 ${name}=${short}，但本视图没有 ${name} 这一项。`,
        );
    return t(
        `The link has ${name}=${short}. It should be ${expected(accepts)}; the default is shown.`,
        `链接中有 ${name}=${short}，应为${expected(accepts)}；此处显示默认值。`,
    );
}
