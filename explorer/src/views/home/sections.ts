// SPDX-License-Identifier: MIT
// The ways on, with what is behind each.
import { h } from "../../dom";
import type { App } from "../../view";
import { t } from "../../words";

export function sectionLinks(app: App): HTMLElement {
    const all: [string, string, string][] = [
        [
            "story",
            t("Understand", "理解"),
            t(
                "Why positions need a code, in six steps, and what rotary does.",
                "六步看懂位置为什么需要编码，旋转编码又做了什么。",
            ),
        ],
        [
            "extension",
            t("Inspect", "查看"),
            t(
                "Your config.json: every parameter, every pair, each way of scaling.",
                "你的 config.json：每个参数、每个维度对、各种缩放方式。",
            ),
        ],
        [
            "compare",
            t("Compare", "对比"),
            t(
                "Two configs: do they agree about position, and if not, in which numbers?",
                "两份 config：位置编码是否一致？不一致在哪些数值？",
            ),
        ],
        [
            "diagnosis",
            t("Debug", "排错"),
            t(
                "Drop cos and sin, or q before and after: the mistake by its name.",
                "拖入 cos 和 sin，或旋转前后的 q：指出错在哪里。",
            ),
        ],
    ];
    return h(
        "nav.sections",
        { "aria-label": t("other sections", "其他栏目") },
        ...all
            .filter(([view]) => app.has(view))
            .map(([view, name, words]) =>
                h("a", { href: app.link({ view }) }, h("b", {}, `${name} →`), h("span", {}, words)),
            ),
    );
}
