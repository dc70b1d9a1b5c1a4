// SPDX-License-Identifier: MIT
// Numbers as people read them. The numbers themselves come from the API.

const NARROW = "\u202f"; // a narrow space that no line is broken at

/** A whole number with its thousands apart: 131 072. */
export function whole(value: number): string {
    return `${Math.round(value)}`.replace("-", "−").replace(/\B(?=(\d{3})+$)/g, NARROW);
}

const raised = (digits: string) =>
    [...digits].map((one) => (one === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[+one])).join("");

/** A number in at most `digits` significant ones: 0.1035, 20 473 564, 3.2·10⁻⁹. */
export function short(value: number, digits = 4): string {
    const size = Math.abs(value);
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value < 0 ? "−∞" : "∞";
    if (size >= 1e12 || (size > 0 && size < 1e-4)) {
        const [digitsOf, power] = value.toExponential(digits - 1).split("e");
        const front = +digitsOf === 1 ? "" : `${`${+digitsOf}`.replace("-", "−")}·`;
        return `${front}10${raised(power.replace("+", ""))}`;
    }
    if (size >= 10 ** (digits - 1) || (size >= 1e4 && Number.isInteger(value))) return whole(value);
    return `${+value.toPrecision(digits)}`.replace("-", "−");
}

/** Every digit of a value as it was answered, with a sign that is as wide as a plus. */
export function exact(value: number): string {
    return `${value}`.replace("-", "−");
}
