// SPDX-License-Identifier: MIT
// The rest of what a reading of a config tells: warnings, engines that read a key otherwise, parts
// with
// positions of their own, keys that say nothing of positions.
import { h } from "../../dom";
import type { Config } from "../../kit/model";
import { t } from "../../words";

function readers(all: NonNullable<Config["readers"]>): HTMLElement {
    return h(
        "section",
        {},
        h("h2", {}, t("Read differently", "读法不同")),
        ...Object.entries(all).map(([key, engines]) =>
            h(
                "div.readers",
                {},
                h("h3", {}, h("code", {}, key)),
                h(
                    "dl",
                    {},
                    ...Object.entries(engines).flatMap(([engine, { reads, source }]) => [
                        h("dt", {}, engine),
                        h("dd", { lang: "en" }, reads, h("small", {}, source)),
                    ]),
                ),
            ),
        ),
    );
}

function parts(config: Config): NonNullable<Config["towers"]> {
    const others = (config.others ?? []).map(({ where, layer_type, encoding }) => ({
        part: where,
        model_type: layer_type,
        encoding,
    }));
    return [...others, ...(config.towers ?? [])];
}

function towers(all: NonNullable<Config["towers"]>): HTMLElement {
    return h(
        "section",
        {},
        h("h2", {}, t("Other parts of the model", "模型的其他部分")),
        h(
            "ul",
            {},
            ...all.map(({ part, model_type, encoding, reason }) =>
                h(
                    "li",
                    { lang: "en" },
                    h("code", {}, part),
                    ` ${model_type ?? ""}: `,
                    encoding
                        ? Object.entries(encoding)
                              .map(([name, value]) =>
                                  name === "name" ? value : `${name} ${value}`,
                              )
                              .join(", ")
                        : (reason ?? ""),
                ),
            ),
        ),
    );
}

export function notes(config: Config): HTMLElement {
    const { warnings, unused, readers: engines } = config;
    const all = parts(config);
    return h(
        "div.notes",
        {},
        warnings.length > 0 &&
            h(
                "section.warnings",
                { lang: "en" },
                h("h2", { lang: undefined }, t("Warnings", "警告")),
                h("ul", {}, ...warnings.map((one) => h("li", {}, one))),
            ),
        engines && readers(engines),
        all.length > 0 && towers(all),
        unused.length > 0 &&
            h(
                "section",
                {},
                h(
                    "h2",
                    {},
                    t(
                        `Keys that say nothing of positions: ${unused.length}`,
                        `与位置无关的键：${unused.length} 个`,
                    ),
                ),
                h("p.unused", {}, ...unused.flatMap((one) => [h("code", {}, one), " "])),
            ),
    );
}

/** A page that is opened elsewhere, for a person to copy from: this page asks no other host. */
export function hub(): HTMLElement {
    const input = h("input", {
        type: "text",
        placeholder: "Qwen/Qwen2.5-7B",
        "aria-label": t("name of a model", "模型名"),
        oninput: () => show(),
    });
    const link = h("a", { target: "_blank", rel: "noreferrer noopener" });
    const show = () => {
        const name = input.value.trim() || input.placeholder;
        link.href = `https://huggingface.co/${name.split("/").map(encodeURIComponent).join("/")}/raw/main/config.json`;
        link.textContent = t(
            `open ${link.hostname}/${name} in a new tab`,
            `在新标签页打开 ${link.hostname}/${name}`,
        );
    };
    show();
    return h(
        "div.hub",
        {},
        h("label", {}, h("span", {}, t("A model of a hub", "模型库里的模型")), input),
        link,
        h(
            "small",
            {},
            t(
                "then copy its text into the box: this page itself connects to no other host.",
                "再把内容复制到上面的框里：本页自己不访问其他网站。",
            ),
        ),
    );
}
