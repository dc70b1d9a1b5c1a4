// SPDX-License-Identifier: MIT
// Buttons under pictures: what they copy, what they save, and where they are pressed again.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, settled } from "./fakes";
import { post, type Ask } from "../../../explorer/src/api";
import { actions, curl, python, saver, toClipboard } from "../../../explorer/src/kit/actions";
import type { App, Shown } from "../../../explorer/src/view";

const bytes = (type: string): Ask => ({
    method: "POST",
    target: "/v1/diagnosis?a=1",
    bytes: new Blob(["x"]),
    type,
});

interface File {
    ask: Ask;
    signal: AbortSignal;
    progress(share: number, size: number): void;
    done(file: { bytes: Blob; name?: string }): void;
    failed(error: unknown): void;
}

/** A page whose files come when a test has them come. */
function page(lang = "en", theme = "auto", origin: string | null = "http://h:1/b") {
    const files: File[] = [],
        said: string[] = [];
    const app = {
        state: { lang, theme },
        say: (words: string) => said.push(words),
        api: {
            origin,
            below: (target: string) => target.replace("/b/", "/"),
            file: (ask: Ask, signal: AbortSignal, progress: File["progress"]) =>
                new Promise((done, failed) => files.push({ ask, signal, progress, done, failed })),
        },
    } as unknown as App;
    return { app, files, said };
}

const saved: { href: string; name: string }[] = [];
const create = document.createElement;
document.createElement = ((name: string) => {
    const element = create(name);
    return name !== "a"
        ? element
        : Object.assign(element, {
              click: () => {
                  const { href, download } = fake(element).attributes;
                  saved.push({ href, name: download });
              },
          });
}) as typeof create;
URL.createObjectURL = (blob) => `blob:${(blob as Blob).size}`;
URL.revokeObjectURL = () => {};

test("a body of JSON is written out, one of bytes is a file beside the command", () => {
    const { app } = page();
    const json = post("/v1/config", { a: "it's" }, { layer: 3 });
    assert.equal(
        curl(app, json, false),
        `curl --json '{"a":"it'\\''s"}' 'http://h:1/b/v1/config?layer=3'`,
    );
    assert.equal(
        curl(app, { ...json, json: undefined, text: "{bad" }, true),
        "curl --json '{bad' 'http://h:1/b/v1/config?layer=3'",
    );
    for (const [type, name] of [
        ["application/x-safetensors", "safetensors"],
        ["application/x-npy", "npy"],
        ["application/x-gguf", "gguf"],
        ["application/json", "json"],
        ["image/png", "bin"],
    ]) {
        const command = `curl -H 'Content-Type: ${type}' --data-binary @request.${name} `,
            url = "'http://h:1/b/v1/diagnosis?a=1'";
        assert.equal(curl(app, bytes(type), false), command + url);
        assert.equal(curl(app, bytes(type), true), `${command}-o answer ${url}`);
        assert.ok(python(app, bytes(type)).includes(`open("request.${name}", "rb").read()`));
        assert.ok(python(app, bytes(type)).includes(`{"Content-Type": "${type}"}`));
    }
});

test("Python posts the same, and gets what is no view", () => {
    const { app } = page();
    const text = python(app, post("/v1/config", { a: 1 }));
    assert.ok(text.startsWith('import posenc\nreply = posenc.connect("http://h:1/b").request('));
    assert.ok(text.includes('("POST", "/v1/config", "{\\"a\\":1}".encode(),'));
    assert.ok(text.includes('{"Content-Type": "application/json"})\nprint(reply.text)'));
    assert.equal(
        python(app, { method: "GET", target: "/v1/engines?engine=x" }),
        'import posenc\nprint(posenc.connect("http://h:1/b").request("GET", "/v1/engines?engine=x").text)',
    );
    const view = python(app, {
        method: "GET",
        target: "/v1/encodings/rope/bias?a=-1.5e-3&b=007&c=false&d=1,2&format=npy&e=1e5",
    });
    assert.equal(
        view.split("\n")[1],
        'answer = posenc.connect("http://h:1/b").view("rope", "bias", a=-1.5e-3, b="007", c=False, d="1,2", e=1e5)',
    );
});

test("a page without a server copies for one that a person starts", () => {
    const { app } = page("en", "auto", null);
    const text = curl(app, { method: "GET", target: "/v1/x" }, false);
    assert.match(text, /^# .*\ncurl 'http:\/\/127\.0\.0\.1:8080\/v1\/x'$/);
});

test("pictures are saved in the language and colours that are seen, numbers as they are", async () => {
    for (const [lang, theme, system, format, expected] of [
        ["en", "light", "dark", "png", "format=png"],
        ["zh-CN", "dark", "light", "svg", "format=svg&lang=zh-CN&theme=dark"],
        ["zh-CN", "dark", "dark", "npy", "format=npy"],
        ["en", "dark", "light", "png", "format=png&theme=dark"],
        ["en", "auto", "dark", "png", "format=png&theme=dark"],
        ["en", "auto", "dark", "svg", "format=svg&theme=dark"],
        ["en", "auto", "dark", "npy", "format=npy"],
        ["en", "auto", "light", "png", "format=png"],
    ]) {
        globalThis.matchMedia = ((query: string) => ({
            matches: query === `(prefers-color-scheme: ${system})`,
        })) as typeof matchMedia;
        const { app, files, said } = page(lang, theme),
            wrong = fake(document.createElement("div"));
        const ask = () => ({ method: "GET", target: "/v1/x?a=1,2&format=json" }) as Ask;
        const button = fake(saver(app, "likeness", ask, format, wrong as never));
        button.fire("click");
        assert.equal(files[0].ask.target, `/v1/x?a=1,2&${expected}`);
        assert.ok(button.textContent === format);
        files[0].progress(0.256, 3 << 20);
        assert.equal(button.textContent, "26 % ✕");
        assert.equal(button.attributes["aria-label"], "cancel");
        files[0].progress(0, 3 << 19);
        assert.equal(button.textContent, "1.5 MB ✕");
        files[0].done({ bytes: new Blob(["four"]), name: format === "npy" ? undefined : "n" });
        await settled();
        assert.deepEqual(saved.pop(), {
            href: "blob:4",
            name: format === "npy" ? "likeness.npy" : "n",
        });
        assert.deepEqual([button.textContent, "aria-label" in button.attributes], [format, false]);
        assert.deepEqual(said, [`${format} saved`]);
    }
});

test("a file that comes is ended by its button, silently; a failure is said", async () => {
    const { app, files, said } = page(),
        wrong = fake(document.createElement("div"));
    const ask = () => ({ method: "GET", target: "/v1/x" }) as Ask;
    const button = fake(saver(app, "t", ask, "npy", wrong as never));
    button.fire("click");
    button.fire("click");
    assert.deepEqual([files.length, files[0].signal.aborted], [1, true]);
    files[0].failed(files[0].signal.reason);
    await settled();
    assert.deepEqual([wrong.children, button.textContent, said, saved.length], [[], "npy", [], 0]);
    button.fire("click");
    assert.equal(files[1].signal.aborted, false);
    files[1].failed(new Error("broke off"));
    await settled();
    assert.ok(wrong.textContent.includes("broke off"));
    button.fire("click");
    files[2].done({ bytes: new Blob([]) });
    await settled();
    assert.deepEqual(wrong.children, []);
});

test("each request has its buttons, which copy what is shown when they are pressed", async () => {
    const { app } = page(),
        copied: string[] = [];
    Object.defineProperty(navigator, "clipboard", {
        configurable: true,
        value: { writeText: async (text: string) => void copied.push(text) },
    });
    const shown: Shown[] = [
        { title: "table", ask: { method: "GET", target: "/v1/a" }, formats: ["png", "npy"] },
        { title: "verdict", ask: bytes("application/x-npy"), formats: [] },
    ] as Shown[];
    const all = fake(actions(app, shown, (i) => shown[i]));
    const rows = all.find("div").filter((one) => one.attributes.role === "group");
    assert.deepEqual(
        rows.map((one) => [
            one.attributes["aria-label"],
            one.find("button").map((button) => button.textContent),
        ]),
        [
            ["table", ["curl", "Python", "png", "npy"]],
            ["verdict", ["curl", "Python", "request.npy"]],
        ],
    );
    shown[0] = { ...shown[0], ask: { method: "GET", target: "/b/v1/later" } };
    const [button] = rows[0].find("button");
    button.fire("click");
    await settled();
    assert.deepEqual(copied.splice(0), ["curl 'http://h:1/b/v1/later'"]);
    assert.equal(button.textContent, "copied");
    rows[1].find("button")[0].fire("click");
    rows[1].find("button")[2].fire("click");
    await settled();
    assert.ok(copied[0].includes("--data-binary @request.npy 'http"));
    assert.deepEqual(saved.pop(), { href: "blob:1", name: "request.npy" });
});

test("every button acts on the request of the moment, and none on the one that it was made with", async () => {
    const { app, files } = page(),
        copied: string[] = [],
        blobs: Blob[] = [];
    Object.defineProperty(navigator, "clipboard", {
        configurable: true,
        value: { writeText: async (text: string) => void copied.push(text) },
    });
    const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => (blobs.push(blob as Blob), "blob:2");
    const request = (which: string): Shown => ({
        title: "table",
        ask: {
            method: "POST",
            target: `/v1/${which}?dim=8`,
            bytes: new Blob([which]),
            type: "application/x-npy",
        },
        formats: ["png", "svg", "npy"],
    });
    const shown = [request("before")],
        buttons = fake(actions(app, shown, (i) => shown[i])).find("button");
    for (const which of ["one", "two"]) {
        shown[0] = request(which);
        for (const button of buttons) button.fire("click");
        await settled();
        const asked = files.splice(0),
            sent = await Promise.all(blobs.splice(0).map((blob) => blob.text()));
        assert.deepEqual(sent, [which], "the bytes that are saved");
        assert.equal(asked.length, 3);
        for (const { ask } of asked) {
            assert.equal(await ask.bytes!.text(), which);
            assert.ok(ask.target.startsWith(`/v1/${which}?`));
        }
        const texts = copied.splice(0);
        assert.equal(texts.length, 2);
        for (const text of texts) assert.ok(text.includes(which) && !text.includes("before"), text);
        asked.forEach(({ done }) => done({ bytes: new Blob([]) }));
        await settled();
        blobs.length = 0;
    }
    URL.createObjectURL = make;
});

test("without a clipboard a text is copied by a selection, or that is a failure", async () => {
    Object.defineProperty(navigator, "clipboard", { configurable: true, value: undefined });
    let allowed = true;
    const fields: { value: string; removed: boolean }[] = [],
        make = document.createElement;
    document.createElement = ((name: string) =>
        Object.assign(make(name), {
            select: () => {},
            remove() {
                fields.push({ value: (this as unknown as { value: string }).value, removed: true });
            },
        })) as typeof make;
    document.execCommand = (command) => allowed && command === "copy";
    await toClipboard("the text");
    allowed = false;
    await assert.rejects(toClipboard("another"), /did not let/);
    document.createElement = make;
    assert.deepEqual(fields, [
        { value: "the text", removed: true },
        { value: "another", removed: true },
    ]);
});
