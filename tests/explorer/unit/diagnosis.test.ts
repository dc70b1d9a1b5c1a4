// SPDX-License-Identifier: MIT
// The report of a diagnosis, of every verdict and every mistake that the service names, in both
// languages; and what a person drops, by the names of files and the shapes of tensors.
import { fake, until, type FakeElement } from "./fakes";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { encode, read } from "../../../clients/js/client.js";
import { joined, meant } from "../../../explorer/src/views/diagnosis/files";
import {
    chinese,
    chineseCheck,
    said as saidInChinese,
} from "../../../explorer/src/views/diagnosis/chinese";
import { picture, tensors } from "../../../explorer/src/views/diagnosis/picture";
import {
    found,
    report,
    scheme,
    type Candidate,
    type Report,
} from "../../../explorer/src/views/diagnosis/report";
import { languageSet, type Language } from "../../../explorer/src/words";
import type { App } from "../../../explorer/src/view";
import { stand } from "./stand";

declare const ROOT: string;

const source = (file: string) => readFileSync(`${ROOT}/${file}`, "utf8");
/** Strings of C one behind the other are one. */
const joinedStrings = (text: string) => text.replace(/"\s*\n\s*"/g, "");
const BUGS = [
    ...joinedStrings(source("core/diagnosis/bugs.def")).matchAll(
        /^BUG\(\w+,\s*"([^"]+)",\s*"([^"]+)",\s*(?:"([^"]+)"|NULL)\)/gm,
    ),
].map(([, bug, explanation, fix]) => ({ bug, explanation, fix: fix ?? null }));
/** Names of keys, encodings and numbers stay as they are in every language. */
const ENGLISH = /\b(the|are|is|of|that|was|were|and|by|with|not|which|before|where|but)\b/;

const candidate = (more: Partial<Candidate> = {}): Candidate => ({
    encoding: { name: "rope", dim: 8, base: 500, rope_type: "default", arithmetic: "exact" },
    layout: null,
    fits: true,
    bug: null,
    explanation: "the explanation",
    fix: "the fix",
    max_abs: 0.123456,
    max_ulp: 3,
    rms: 0.0456789,
    ...more,
});

const all = (more: Partial<Report> = {}): Report => ({
    verdict: "match",
    ambiguous: false,
    identical_to: [],
    rows: 12345,
    bad_rows: 0,
    candidates: [candidate()],
    warnings: [],
    ...more,
});

function drawn(one: Report, language: Language = "en"): FakeElement {
    languageSet(language);
    const element = fake(report(one));
    languageSet("en");
    return element;
}

test("every verdict has its sign, its colour, and words of its own", () => {
    const contract = JSON.parse(source("openapi.json")) as {
        components: {
            schemas: Record<string, { properties?: Record<string, { enum?: string[] }> }>;
        };
    };
    const listed = Object.values(contract.components.schemas)
        .flatMap(({ properties }) => properties?.verdict?.enum ?? [])
        .filter((one) => /^(match|consistent|known-bug|other-scheme|unknown)$/.test(one));
    assert.equal(new Set(listed).size, 5);
    const COLOURS = { match: "good", "known-bug": "bad", unknown: "still" } as Record<
        string,
        string
    >;
    for (const language of ["en", "zh-CN"] as const) {
        const met = new Set<string>();
        for (const verdict of new Set(listed) as Set<Report["verdict"]>) {
            const element = drawn(
                    all({ verdict, candidates: [candidate({ bug: "x-y" })] }),
                    language,
                ),
                [head] = element.find("h2"),
                [mark] = element.find("span.sign");
            assert.equal(mark.style.background, `var(--${COLOURS[verdict] ?? "slow"})`);
            assert.equal(head.find("code").length, verdict === "known-bug" ? 1 : 0, verdict);
            met.add(head.textContent.replace("x-y", ""));
            met.add(mark.textContent);
        }
        assert.equal(met.size, 10, [...met].join());
    }
});

test("every mistake that the service names has its cause and its fix in Chinese", () => {
    assert.ok(BUGS.length > 20);
    const met = new Set<string>();
    for (const one of BUGS) {
        const [why, fix] = chinese({ ...one, fits: true });
        assert.ok(/\p{Script=Han}/u.test(why) && !ENGLISH.test(why), `${one.bug}: ${why}`);
        assert.ok(!met.has(why), `${one.bug}: ${why}`);
        met.add(why);
        // A number of the English sentence is in the Chinese one, and so is a name of a parameter.
        for (const [name] of `${one.explanation} ${one.fix}`.matchAll(/\b[a-z]+(_[a-z]+)+\b/g))
            if (fix && /\p{Script=Han}/u.test(fix) && new RegExp(`^${name}$`).test(one.bug))
                assert.ok(`${why} ${fix}`.includes(name), `${one.bug}: ${name}`);
        if (fix) assert.ok(/\p{Script=Han}/u.test(fix) || one.fix === fix, `${one.bug}: ${fix}`);
        assert.deepEqual(chineseCheck({ ...one, fits: true }), [why, fix]);
        // What does not fit is no mistake: its own sentence stands there.
        assert.deepEqual(chinese({ ...one, fits: false, explanation: "as it is" })[0], "as it is");
    }
});

test("every other sentence of a diagnosis and of a check is in Chinese", () => {
    const texts = (file: string, call: RegExp) =>
        [...joinedStrings(source(file)).matchAll(call)].map(([, text]) => text);
    const report = joinedStrings(source("api/routes/diagnosis_report.c"));
    const sentences = [...report.matchAll(/"([^"\n]{20,})"/g)]
        .map(([, text]) => text.replace(/%zu|%d/g, "7").replace(/%s/g, ""))
        .filter((text) => / (is|are|was|were|but|it) /.test(text) && !/^[,;]|^[a-z_]+:/.test(text));
    assert.ok(sentences.length >= 7, sentences.join("\n"));
    for (const one of sentences) {
        const words = saidInChinese(one);
        assert.ok(/\p{Script=Han}/u.test(words) && !ENGLISH.test(words), `${one}: ${words}`);
    }
    const checks = texts("core/golden/check.c", /mistake_set\(\s*entry,\s*"[^"]+",\s*"([^"]+)"/g);
    assert.ok(checks.length > 5);
    for (const explanation of checks) {
        const [why] = chineseCheck({ bug: null, fits: false, explanation, fix: "x" });
        assert.ok(/\p{Script=Han}/u.test(why) && !ENGLISH.test(why), `${explanation}: ${why}`);
    }
    assert.equal(
        saidInChinese("consistent with rope, base 7 (usual: 10000), but for noise as large as rms"),
        "相符： rope, base 7 （通常为 10000）（另有大小如 rms 的噪声）",
    );
    assert.ok(/^9 行中有 3 行/.test(saidInChinese("3 of 9 rows are not what the first does")));
});

test("the first candidate stands above, and all of them are a table", () => {
    const candidates = [
        candidate({ bug: "base-ignored", explanation: "why", fix: "do so" }),
        candidate({ fits: false, fix: null, max_abs: 7, rms: 1e-9, encoding: { name: "xpos" } }),
    ];
    const one = all({ verdict: "known-bug", ambiguous: true, candidates, bad_rows: 2, rows: 5000 });
    const element = drawn(one),
        text = element.textContent.replaceAll("\u202f", "");
    assert.match(
        text,
        /✕A known mistakebase-ignoredwhyFix: do sorope dim=8 base=500Others explain/,
    );
    assert.deepEqual(
        element.find("tr").map((row) => row.find("td").map(({ textContent }) => textContent)),
        [
            [],
            ["rope dim=8 base=500", "base-ignored", "✓", "0.123", "0.0457"],
            ["xpos ", "–", "–", "7", "10⁻⁹"],
        ],
    );
    assert.deepEqual(
        element.find("dd").map(({ textContent }) => textContent.replaceAll("\u202f", "")),
        [
            "5000",
            "2 of them are explained by nothing",
            "0.123",
            "from what the first explanation predicts",
            "none",
            "the arithmetic that gives every bit of it: exact, or float32 as in transformers (hf)",
        ],
    );
    const plain = drawn(all({ candidates: [], identical_to: ["exact", "hf"], warnings: ["w"] }));
    assert.deepEqual(
        plain
            .find("dd")
            .map(({ textContent }) => textContent.replaceAll("\u202f", ""))
            .slice(1, 5),
        [
            "each of them was looked at",
            "–",
            "from what the first explanation predicts",
            "exact, hf",
        ],
    );
    assert.deepEqual(
        plain.find("ul.warnings").map(({ textContent }) => textContent),
        ["w"],
    );
    assert.ok(!plain.textContent.includes("Others explain") && !plain.find("p.why").length);
    const chineseOne = drawn(one, "zh-CN").textContent;
    assert.ok(chineseOne.includes("频率用的是默认 base") && !chineseOne.includes("do so"));
});

test("an encoding is written without what is at rest, in the order of the columns that were found", () => {
    for (const [rest, words] of [
        [{ rope_type: "default", arithmetic: "exact", dim: 4 }, "dim=4"],
        [{ rope_type: "yarn", arithmetic: "hf" }, "rope_type=yarn arithmetic=hf"],
        [{ base: "default", layout: "exact" }, "base=default layout=exact"],
    ] as const)
        assert.equal(scheme({ name: "rope", ...rest }), `rope ${words}`);
    const wide = { name: "sinusoidal", layout: "interleaved" };
    for (const [more, layout] of [
        [{ layout: "concatenated" }, "concatenated"],
        [{ layout: "concatenated", fits: false }, "interleaved"],
        [{ layout: "concatenated", bug: "x" }, "interleaved"],
        [{ layout: "half" }, "interleaved"],
        [{ layout: null }, "interleaved"],
    ] as const)
        assert.equal(found(candidate({ encoding: wide, ...more })).layout, layout);
    assert.ok(!("layout" in found(candidate({ layout: "concatenated" }))));
});

const npy = (shape: number[], begin = 0): BlobPart[] => {
    const head = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.map((n) => `${n},`).join("")}), }`;
    const padded = head.padEnd(118 - 1) + "\n";
    return [
        Uint8Array.from([0x93, ...Buffer.from("NUMPY"), 1, 0, padded.length, 0]),
        padded,
        Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => begin + i),
    ];
};

const TENSORS: [string, string][] = [
    ["cos.npy", "cos"],
    ["Cos_cached.npy", "cos"],
    ["SIN-1.npy", "sin"],
    ["inv_freq.npy", "inv_freq"],
    ["freqs_cis.npy", "freqs_cis"],
    ["cosine.npy", "table"],
    ["pe.npy", "table"],
    ["q.npy", "q"],
    ["query_states.npy", "q"],
    ["q_rotated.npy", "q_rotated"],
    ["k_out.npy", "q_rotated"],
    ["key.after.npy", "q_rotated"],
    ["quantized.npy", "table"],
];

test("a file of one tensor is the one that it is named after", async () => {
    for (const [name, tensor] of TENSORS) {
        const posted = await joined([new File(npy([2, 3]), name)]);
        assert.deepEqual([posted.name, posted.tensor, posted.axes], [name, tensor, undefined]);
    }
    const file = new File(["x"], "a.safetensors");
    assert.deepEqual(await joined([file]), { name: file.name, bytes: file, tensor: undefined });
});

test("files that are dropped together are one, each a tensor of its own name", async () => {
    for (const [names, tensors, shape, axes] of [
        [["cos.npy", "sin.npy"], ["cos", "sin"], [4, 3], undefined],
        [["q.npy", "q_rotated.npy"], ["q", "q_rotated"], [5, 4], "sd"],
        [["k.npy", "k_rotated.npy"], ["q", "q_rotated"], [2, 7, 4], "hsd"],
        [["k.npy", "k_rot.npy"], ["q", "q_rotated"], [7, 2, 4], "shd"],
        [["k.npy", "k_rot.npy"], ["q", "q_rotated"], [3, 3, 4], "hsd"],
        [["q.npy", "q_out.npy"], ["q", "q_rotated"], [1, 2, 7, 4], "bhsd"],
        [["q.npy", "q_out.npy"], ["q", "q_rotated"], [1, 7, 2, 4], "bshd"],
        [
            ["q.npy", "q_rotated.npy", "k.npy", "k_rotated.npy"],
            ["q", "q_rotated", "k", "k_rotated"],
            [2, 3, 4],
            "hsd",
        ],
    ] as [string[], string[], number[], string | undefined][]) {
        const posted = await joined(names.map((name, i) => new File(npy(shape, 1000 * i), name)));
        assert.deepEqual([posted.name, posted.axes], [names.join(" + "), axes]);
        const type = { "Content-Type": "application/x-safetensors" },
            answer = (await read(new Response(posted.bytes, { headers: type }))) as Record<
                string,
                { shape: number[]; data: Float32Array }
            >;
        assert.deepEqual(Object.keys(answer).sort(), [...tensors].sort());
        tensors.forEach((name, i) => {
            assert.deepEqual(answer[name].shape, shape);
            assert.equal(answer[name].data[1], 1000 * i + 1, name);
        });
    }
});

test("what it should be is written with or without signs, in any order", () => {
    for (const [text, query] of [
        ["rope base 500000", "encoding=rope&base=500000"],
        ["encoding=rope base=5", "encoding=rope&base=5"],
        ["base=5&rope", "encoding=rope&base=5"],
        ["rope, base: 5, dim = 8", "encoding=rope&base=5&dim=8"],
        ["base 5 dim 8", "base=5&dim=8"],
    ])
        assert.equal(meant(text), query);
});

/** The page's answers: no report, since what is asked for is what is tested. */
const dropped = async (params: Record<string, string>, files: File[], expected = "") => {
    const own = stand("diagnosis", params, () => all());
    own.app.dropped = files;
    own.mounted.update();
    own.app.dropped = null;
    await until(() => own.asks.some(({ target }) => target.startsWith("/v1/diagnosis")));
    await own.settled();
    if (expected) {
        const [field] = own.stage.find("input.expected");
        field.value = expected;
        field.fire("change");
        await own.settled();
    }
    return own;
};

test("what is posted is named once, by the file or by what it should be", async () => {
    const cos = () => new File(npy([4, 3]), "cos.npy");
    for (const [file, expected, query] of [
        [cos(), "rope base 5", "?tensor=cos&encoding=rope&base=5"],
        [cos(), "tensor=sin base=5", "?tensor=sin&base=5"],
        [cos(), "rope base=5 tensor=sin", "?encoding=rope&base=5&tensor=sin"],
        [new File(npy([4, 3]), "pe.npy"), "sinusoidal", "?tensor=table&encoding=sinusoidal"],
        [new File([encode({})], "a.safetensors"), "rope", "?encoding=rope"],
    ] as const) {
        const { asks, gone } = await dropped({}, [file], expected);
        assert.deepEqual(gone, [
            [{ sample: undefined, file: file.name, expected: undefined }, "push"],
            [{ expected }, "push"],
        ]);
        const last = asks.filter(({ target }) => target.startsWith("/v1/diagnosis")).at(-1)!;
        assert.deepEqual(
            [last.method, last.target, last.type],
            ["POST", `/v1/diagnosis${query}`, "application/octet-stream"],
        );
        assert.equal(last.bytes, file);
    }
    // The order of heads and positions is what the shapes say.
    const both = ["q.npy", "q_rotated.npy"].map((name) => new File(npy([2, 7, 4]), name));
    const { gone, asks } = await dropped({ sample: "base", expected: "x" }, both);
    assert.deepEqual(gone, [
        [{ sample: undefined, file: "q.npy + q_rotated.npy", expected: "axes=hsd" }, "push"],
    ]);
    assert.equal(asks.at(-1)!.target, "/v1/diagnosis?axes=hsd");
});

test("another sample leaves nothing of the one before, or of a file", async () => {
    const file = new File(npy([4, 3]), "cos.npy"),
        { stage, gone, asks, app, settled } = await dropped({}, [file], "rope base 5");
    const note = () => stage.find("p.note")[0].textContent,
        pressed = () =>
            stage
                .find("button.chip")
                .filter((one) => one.attributes["aria-pressed"] === "true")
                .map((one) => one.textContent);
    assert.deepEqual(
        [note(), pressed()],
        ["cos.npy is posted for this answer and stored nowhere.", []],
    );
    const chip = stage.find("button.chip").find((one) => one.textContent === "another base")!;
    chip.fire("click");
    await settled();
    assert.deepEqual(gone.at(-1), [
        { sample: "base", file: undefined, expected: undefined },
        "push",
    ]);
    assert.deepEqual(
        [note(), pressed(), app.state.params],
        ["", ["another base"], { sample: "base" }],
    );
    assert.match(asks.at(-2)!.target, /table\?dim=64&length=256&format=safetensors&base=500000/);
    const missing = stand("diagnosis", { file: "gone.npy" });
    assert.match(missing.stage.find("p.note")[0].textContent, /^The link names gone\.npy,/);
    assert.equal(missing.asks.length, 0);
});

test("rows of float32 and float64 are drawn beside what they should be, at most 512 of them", async () => {
    const file = async (dtype: string, shape: number[]) => {
        const data = (dtype === "f64" ? Float64Array : Float32Array).from(
            { length: shape.reduce((a, b) => a * b) },
            (_, i) => i,
        );
        return tensors(new Blob([encode({ sin: { dtype, shape, data } } as never)]));
    };
    for (const [dtype, shape, rows] of [
        ["f32", [4, 3], 4],
        ["f64", [4, 3], 4],
        ["f32", [600, 3], 512],
        ["f32", [12], 0],
        ["f32", [1, 4, 3], 0],
        ["f32", [4, 5], 0], // other columns than what is expected
    ] as [string, number[], number][]) {
        const asks: string[] = [];
        const app = {
            api: {
                ask: async ({ target }: { target: string }) => {
                    asks.push(target);
                    const data = Float32Array.from(
                        { length: 3 * 512 },
                        (_, i) => i + (i === 4 ? 8 : 0),
                    );
                    return {
                        cos: { shape: [512, 3], data: data.map(() => 0) },
                        sin: { shape: [512, 3], data },
                    };
                },
            },
        } as unknown as App;
        const drawn = await picture(
            app,
            await file(dtype, shape),
            candidate(),
            new AbortController().signal,
        );
        assert.equal(!!drawn, rows > 0, `${dtype} ${shape}`);
        if (!drawn) continue;
        assert.deepEqual(asks, [
            `/v1/encodings/rope/table?dim=8&base=500&rope_type=default&arithmetic=exact&length=${rows}`,
        ]);
        const panels = fake(drawn).find("section.panel"),
            [posted, meant, apart] = panels.map((one) => one.find("canvas")[0]);
        assert.deepEqual(
            panels.map((one) => one.find("h2")[0].textContent),
            ["posted", "expected", "difference"],
        );
        for (const one of [posted, meant, apart])
            for (const key of ["ArrowRight", "ArrowDown", "ArrowRight"])
                one.fire("keydown", { key });
        assert.deepEqual(
            [posted, meant, apart].map(({ dataset }) => dataset.value),
            ["4", "12", "-8"],
        );
        assert.equal(panels[2].find("p.cell")[0].textContent, "position 1, column 1: \u22128");
    }
});
