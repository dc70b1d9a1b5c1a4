// SPDX-License-Identifier: MIT
// Which colours are seen: those of the link, or by "auto" those of the system.
import type { Theme } from "./state";

export const DARK = "(prefers-color-scheme: dark)";

export const isDark = (theme: Theme): boolean =>
    theme === "dark" || (theme === "auto" && matchMedia(DARK).matches);
