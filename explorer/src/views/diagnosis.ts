// SPDX-License-Identifier: MIT
// Drop a table: is it right, and if not, which mistake made it?
import { PosencError, type Ask } from "../api";
import { h } from "../dom";
import { renew } from "../kit/controls";
import { failure } from "../kit/failure";
import type { Problem } from "../kit/problem";
import { Work } from "../kit/work";
import type { App, Mounted } from "../view";
import { t } from "../words";
import { joined, meant, type Posted } from "./diagnosis/files";
import { checkAsk, checkReport, withGolden, type Checked } from "./diagnosis/golden";
import { picture, tensors } from "./diagnosis/picture";
import { report, type Report } from "./diagnosis/report";
import { samples } from "./diagnosis/samples";

/** The link names a sample; a file of one's own stays in this page. */
function chosen(app: App) {
    const { sample, file } = app.state.params,
        all = samples();
    const known = sample && sample in all ? sample : file ? "" : "shifted";
    return {
        sample: known,
        file,
        expected: app.state.params.expected ?? all[known]?.expected ?? "",
    };
}

function asked(app: App, { bytes, tensor }: Posted): Ask {
    const wanted = meant(chosen(app).expected),
        named = tensor && !/\btensor=/.test(wanted);
    const query = [named && `tensor=${tensor}`, wanted].filter(Boolean).join("&");
    return {
        method: "POST",
        target: `/v1/diagnosis${query ? `?${query}` : ""}`,
        bytes,
        type: "application/octet-stream",
    };
}

interface Answers {
    ask: Ask;
    drawn: HTMLElement | null;
    report: HTMLElement;
}

async function ask(app: App, own: Posted | undefined, signal: AbortSignal): Promise<Answers> {
    const { sample } = chosen(app);
    if (own?.golden) {
        const request = checkAsk(own);
        const report = checkReport(await app.api.ask<Checked>(request, signal));
        return { ask: request, report, drawn: null };
    }
    const posted = own ?? {
        name: `${sample}.safetensors`,
        bytes: new File(
            [(await app.api.file(samples()[sample].table, signal)).bytes],
            `${sample}.safetensors`,
        ),
    };
    const request = asked(app, posted),
        told = await app.api.ask<Report>(request, signal);
    const [first] = told.candidates;
    const drawn =
        first && (await picture(app, await tensors(posted.bytes), first, signal).catch(() => null));
    return { ask: request, report: report(told), drawn: drawn ?? null };
}

/** Parameters are in one text here, so that one control is at fault for each of them. */
function expectedWrong(error: unknown): never {
    if (!(error instanceof PosencError)) throw error;
    const problem = error.problem as Problem,
        { code, detail = "" } = problem;
    if (code === "not-found") problem.errors = [{ parameter: "encoding", detail }];
    for (const one of problem.errors ?? [])
        if (one.parameter) {
            if (!one.detail.includes(one.parameter)) one.detail = `${one.parameter}: ${one.detail}`;
            one.parameter = "expected";
        }
    throw error;
}

function chips(app: App): HTMLElement {
    const { sample } = chosen(app);
    return h(
        "div.choice",
        { role: "group", "aria-label": t("try one", "试一个") },
        h("span", {}, t("or try one:", "或试一个：")),
        ...Object.entries(samples()).map(([id, one]) =>
            h(
                "button.chip",
                {
                    type: "button",
                    "aria-pressed": `${id === sample}`,
                    onclick: () =>
                        app.go({ sample: id, file: undefined, expected: undefined }, "push"),
                },
                one.name,
            ),
        ),
    );
}

export function mount(stage: HTMLElement, app: App): Mounted {
    const result = h("div", { "aria-live": "polite" }),
        pictures = h("div");
    const work = new Work(app, { pictures: [result, pictures], failed: () => app.shows([]) });
    const input = h("input", {
        type: "file",
        hidden: true,
        multiple: true,
        accept: ".safetensors,.npy",
        onchange: () => void take([...(input.files ?? [])]),
    });
    const note = h("p.note"),
        tries = h("div");
    const expected = h("input.expected", {
        type: "text",
        spellcheck: "false",
        placeholder: "rope base 500000",
        "aria-label": t("what it should be", "应该是什么"),
        "data-name": "expected",
        onchange: () => app.go({ expected: expected.value || undefined }, "push"),
    });
    let own: Posted | undefined;
    stage.append(
        h(
            "div.dropbox",
            {},
            h(
                "p",
                {},
                t(
                    "Drop cos and sin, inv_freq, a table, or q with q_rotated (and k with k_rotated): ",
                    "拖入 cos 与 sin、inv_freq、编码表，或 q 与 q_rotated（以及 k 与 k_rotated）：",
                ),
                h("kbd", {}, ".safetensors"),
                " ",
                h("kbd", {}, ".npy"),
            ),
            h(
                "button.chip",
                { type: "button", onclick: () => input.click() },
                t("Choose a file…", "选择文件…"),
            ),
            input,
            h(
                "p",
                {},
                t(
                    "Two files together, outputs of a kernel and a golden file: they are checked by it.",
                    "同时拖入两个文件（内核输出与标准文件）：按标准文件检查。",
                ),
            ),
        ),
        tries,
        h("label.should", {}, h("span", {}, t("It should be", "它应当是")), expected),
        note,
        result,
        pictures,
    );

    async function take(files: File[]): Promise<void> {
        if (!files.length) return;
        try {
            own = (await withGolden(files)) ?? (await joined(files));
        } catch (error) {
            return result.replaceChildren(failure(error));
        }
        if (app.state.params.file === own.name) return run();
        app.go(
            { sample: undefined, file: own.name, expected: own.axes && `axes=${own.axes}` },
            "push",
        );
    }

    function draw({ ask: request, report, drawn }: Answers): void {
        result.replaceChildren(
            report,
            ...(own && !own.golden
                ? [
                      h(
                          "button.chip",
                          {
                              type: "button",
                              onclick: () => {
                                  app.go({ view: "table" }, "push");
                                  app.drop([own!.bytes as File]);
                              },
                          },
                          t("show it as a table", "显示为编码表"),
                      ),
                  ]
                : []),
        );
        pictures.replaceChildren(...(drawn ? [drawn] : []));
        app.shows([{ title: t("diagnosis", "诊断"), ask: request, formats: [] }]);
    }

    function run(): void {
        const { file } = chosen(app),
            mine = file ? own : undefined;
        if (file && !mine) {
            note.textContent = t(
                `The link names ${file}, which is not in it: drop that file here.`,
                `链接提到 ${file}，但文件不在链接里：请拖到这里。`,
            );
            return result.replaceChildren();
        }
        note.textContent = mine
            ? t(
                  `${mine.name} is posted for this answer and stored nowhere.`,
                  `${mine.name} 仅用于本次诊断，不会保存。`,
              )
            : "";
        work.run((signal) => ask(app, mine, signal).catch(expectedWrong), draw);
    }

    function update(): void {
        if (app.dropped) return void take(app.dropped);
        renew(tries, () => [chips(app)]);
        if (document.activeElement !== expected)
            expected.value = chosen(app).expected.replace(/&/g, " ");
        run();
    }
    update();
    return { update, leave: () => work.stop() };
}
