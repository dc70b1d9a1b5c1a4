// SPDX-License-Identifier: MIT
// What is requested once and kept, and where requests go; values of links, and languages.
import "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { Api, get, post, type Ask } from "../../../explorer/src/api";
import { checked, faultSaid, isAccepted, type Accepts } from "../../../explorer/src/checks";
import { languageSet, languageWanted } from "../../../explorer/src/words";

/** A service that counts what it is asked for; its answers are numbered. */
async function service(base = "http://h:1/b/") {
    const sent: { url: string; method?: string; type: string | null; accept: string | null }[] = [];
    let refuses = false;
    globalThis.fetch = (async (url: string, { method, headers }: RequestInit) => {
        const fields = new Headers(headers);
        sent.push({ url, method, type: fields.get("content-type"), accept: fields.get("accept") });
        return refuses
            ? new Response('{"code":"busy","status":503}', {
                  status: 503,
                  headers: { "content-type": "application/problem+json" },
              })
            : new Response(`{"n":${sent.length}}`, {
                  headers: { "content-type": "application/json" },
              });
    }) as typeof fetch;
    const api = await Api.open(new URL(base));
    return { api, sent, refuse: (next: boolean) => (refuses = next) };
}

test("answers of the last 64 requests are kept, those that were wanted last the longest", async () => {
    const { api, sent } = await service();
    const ask = (i: number) => get("/v1/x", { i });
    for (let i = 0; i < 64; i++) await api.ask(ask(i));
    assert.equal(sent.length, 64);
    for (let i = 0; i < 64; i++) assert.deepEqual(await api.ask(ask(i)), { n: i + 1 });
    await api.ask(ask(0));
    await api.ask(ask(100)); // 1 goes
    assert.equal(sent.length, 65);
    await api.ask(ask(0));
    await api.ask(ask(2));
    assert.equal(sent.length, 65);
    await api.ask(ask(1));
    assert.equal(sent.length, 66);
});

test("what is kept is told apart by its method, its target and its body; bytes and refusals are not kept", async () => {
    const { api, sent, refuse } = await service();
    const bytes = (): Ask => ({
        method: "POST",
        target: "/v1/x",
        bytes: new Blob(["x"]),
        type: "application/x-npy",
    });
    const all: Ask[] = [
        get("/v1/x"),
        get("/v1/x", { a: 1 }),
        post("/v1/x", { a: 1 }),
        post("/v1/x", { a: 2 }),
        { method: "POST", target: "/v1/x", text: "{", type: "application/json" },
    ];
    for (const one of [...all, ...all]) await api.ask(one);
    assert.equal(sent.length, all.length);
    await api.ask(bytes());
    await api.ask(bytes());
    assert.equal(sent.length, all.length + 2);
    refuse(true);
    await assert.rejects(api.ask(get("/v1/y")), /busy|503/);
    refuse(false);
    await api.ask(get("/v1/y"));
    assert.equal(sent.length, all.length + 4);
    assert.deepEqual(
        sent.slice(0, 6).map(({ method, type }) => [method, type]),
        [
            ["GET", null],
            ["GET", null],
            ...Array(3).fill(["POST", "application/json"]),
            ["POST", "application/x-npy"],
        ],
    );
    assert.ok(sent.every(({ accept }) => accept!.startsWith("application/x-safetensors, ")));
});

test("targets are below the base path, which links of answers begin with already", async () => {
    for (const [base, target, url] of [
        ["http://h:1/", "/v1/x", "http://h:1/v1/x"],
        ["http://h:1/v1/", "/v1/x", "http://h:1/v1/x"],
        ["http://h:1/b/", "/v1/x", "http://h:1/b/v1/x"],
        ["http://h:1/b/", "/b/v1/x", "http://h:1/b/v1/x"],
        ["http://h:1/b/c/", "/b/c/v1/x", "http://h:1/b/c/v1/x"],
        ["http://h:1/v/", "/v1/x", "http://h:1/v/v1/x"],
        ["http://h:1/v", "/v1/x", "http://h:1/v/v1/x"],
    ]) {
        const { api, sent } = await service(base);
        await api.ask(get(target));
        await api.file(get(target));
        assert.deepEqual(
            sent.map((one) => one.url),
            [url, url],
            `${base} ${target}`,
        );
    }
});

test("a value is accepted by its list, its range, its form, or as any text", () => {
    for (const [accepts, right, wrong] of [
        [
            ["a", "b"],
            ["a", "b"],
            ["", "A", "a,b", " a"],
        ],
        [
            [1, 10],
            ["1", "10", "2.5", "1e1", " 3 "],
            ["", " ", "\t", "0.99", "10.01", "x", "NaN", "1,2", "Infinity"],
        ],
        [
            [-5, 5],
            ["-5", "0", "5"],
            ["", " ", "-5.1"],
        ],
        [
            [0, 9, 1],
            ["0", "9", "3.0"],
            ["", " ", "2.5", "-1"],
        ],
        [/^\d+\.\.\d+$/, ["1..2"], ["1..", "a..b", "1..2 "]],
        ["text", ["", "any thing"], []],
    ] as [Accepts, string[], string[]][]) {
        for (const value of right) assert.ok(isAccepted(accepts, value), `${accepts}: ${value}`);
        for (const value of wrong) assert.ok(!isAccepted(accepts, value), `${accepts}: ${value}`);
    }
    const list = { dim: [1, 9, 1], toString: ["x"] } as Record<string, Accepts>;
    for (const passes of [true, false])
        assert.deepEqual(
            checked({ dim: "2", other: "y", valueOf: "z", toString: "x" }, list, passes),
            {
                params: {
                    dim: "2",
                    toString: "x",
                    ...(passes ? { other: "y", valueOf: "z" } : {}),
                },
                faults: passes
                    ? []
                    : [
                          { name: "other", value: "y", accepts: undefined },
                          { name: "valueOf", value: "z", accepts: undefined },
                      ],
            },
        );
});

test("a fault is said with what it should be: twelve words at most, sixty characters of the value", () => {
    const words = (count: number) => Array.from({ length: count }, (_, i) => `w${i}`);
    for (const [accepts, expected] of [
        [words(12), `one of ${words(12).join(", ")}; the`],
        [words(13), `one of ${words(12).join(", ")} …; the`],
        [[1, 9], "a number from 1 to 9;"],
        [[-1, 9, 1], "a whole number from -1 to 9;"],
        [/x/, "written in another form;"],
        [undefined, "this view has no setting n."],
    ] as [Accepts | undefined, string][]) {
        const said = faultSaid({ name: "n", value: "v", accepts });
        assert.ok(said.includes(expected) && said.includes("n=v"), said);
    }
    for (const [length, shown] of [
        [60, "x".repeat(60)],
        [61, `${"x".repeat(60)}…`],
    ] as const)
        assert.ok(faultSaid({ name: "n", value: "x".repeat(length) }).includes(`n=${shown},`));
    languageSet("zh-CN");
    assert.ok(
        faultSaid({ name: "n", value: "v", accepts: [1, 9, 1] }).includes("1 到 9 之间的整数"),
    );
    assert.ok(faultSaid({ name: "n", value: "v", accepts: [1, 9] }).includes("1 到 9 之间的数"));
    languageSet("en");
});

test("a reader who likes Chinese, and English less, reads Chinese", () => {
    const own = globalThis as unknown as { navigator: object },
        before = Object.getOwnPropertyDescriptor(globalThis, "navigator")!;
    for (const [languages, wanted] of [
        [["en"], "en"],
        [["zh-CN", "en"], "zh-CN"],
        [["zh"], "zh-CN"],
        [["zh-TW", "zh", "en-US"], "zh-CN"],
        [["en-US", "zh-CN"], "en"],
        [["de", "zh-CN", "en"], "zh-CN"],
        [["de", "fr"], "en"],
    ] as const) {
        Object.defineProperty(own, "navigator", { configurable: true, value: { languages } });
        assert.equal(languageWanted(), wanted, languages.join());
    }
    Object.defineProperty(own, "navigator", before);
});
