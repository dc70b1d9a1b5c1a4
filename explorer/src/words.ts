// SPDX-License-Identifier: MIT
// Two languages, side by side where the words stand: t("position", "位置"). Names of the API stay as
// they are in both.

export const LANGUAGES = { en: "English", "zh-CN": "简体中文" } as const;
export type Language = keyof typeof LANGUAGES;

let current: Language = "en";

export function language(): Language {
    return current;
}

export function languageSet(language: Language): void {
    current = language;
    document.documentElement.lang = language;
}

/** What the browser's reader likes best of what there is. */
export function languageWanted(): Language {
    return navigator.languages.some((one) => one.startsWith("zh")) &&
        !navigator.languages[0].startsWith("en")
        ? "zh-CN"
        : "en";
}

export function t(english: string, chinese: string): string {
    return current === "zh-CN" ? chinese : english;
}
