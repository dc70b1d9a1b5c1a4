// SPDX-License-Identifier: MIT
// The service in a worker: the page's side and the worker's, beside a module in JavaScript.
import "./fakes";
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { moduleIn, type Order, type Outcome, type Requests } from "../../../explorer/src/module";

const EMPTY = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0); // a module that has nothing
const NODE = { fetch, compile: WebAssembly.compile, streaming: WebAssembly.compileStreaming };

/** Its ports would keep this process. */
const ports: MessagePort[] = [];
globalThis.MessageChannel = class extends MessageChannel {
    constructor() {
        super();
        ports.push(this.port1);
    }
};
after(() => ports.forEach((one) => one.close()));

const encoder = new TextEncoder(),
    decoder = new TextDecoder();

/** What the module was given: heads, and bodies as text. Of a target "/slow/3" the answer has three
 * parts that take longer each than a page waits for. */
const begun: string[] = [];

function fakeModule() {
    const memory = { buffer: new ArrayBuffer(1 << 16) };
    let end = 8,
        head = "",
        body = "",
        left: string[] = [],
        size = 0;
    const text = (at: number) => {
        const bytes = new Uint8Array(memory.buffer);
        return decoder.decode(bytes.slice(at, bytes.indexOf(0, at)));
    };
    const put = (words: string) => {
        const bytes = encoder.encode(words),
            at = end;
        new Uint8Array(memory.buffer).set([...bytes, 0], at);
        end += bytes.length + 1;
        size = bytes.length;
        return at;
    };
    return {
        memory,
        _initialize: () => {},
        posenc_alloc: (count: number) => ((end += count), end - count),
        posenc_free: () => {},
        posenc_start(at: number) {
            begun.push(text(at));
            return 0;
        },
        posenc_begin(at: number) {
            head = text(at);
            body = "";
            const parts = /\/slow\/(\d)/.exec(head);
            left = Array.from({ length: parts ? +parts[1] : 1 }, (_, i) => `part ${i};`);
            return 1;
        },
        posenc_feed(_: number, at: number, count: number) {
            body += decoder.decode(new Uint8Array(memory.buffer, at, count));
            return 1;
        },
        posenc_finish() {
            begun.push(`${head}${body}`);
            if (head.includes("/broken")) throw new Error("broke");
            return put("207\nx-own: a: b\ncontent-type: text/plain\n");
        },
        posenc_next() {
            size = 0;
            const next = left.shift();
            if (!next) return 0;
            if (head.includes("/slow"))
                for (const until = performance.now() + 55; performance.now() < until;);
            return put(next);
        },
        posenc_size: () => size,
        posenc_end: () => {},
    };
}

/** Both sides, and what went between them. */
async function opened(type = "application/wasm") {
    const orders: Order[] = [],
        outcomes: Outcome[] = [],
        fetched: string[] = [],
        compiled: string[] = [];
    let page: { onmessage?: (event: { data: Outcome }) => void; url: string };
    const own = globalThis as unknown as {
        onmessage: ((event: { data: Order }) => void) | null;
        postMessage: unknown;
        Worker: unknown;
    };
    own.onmessage ??= null;
    own.postMessage = (outcome: Outcome) => {
        outcomes.push(outcome);
        queueMicrotask(() => page.onmessage!({ data: structuredClone(outcome) }));
    };
    own.Worker = class {
        onmessage?: (event: { data: Outcome }) => void;
        url: string;
        constructor(url: URL, { type }: { type: string }) {
            this.url = `${type} ${url}`;
            page = this;
        }
        postMessage(order: Order) {
            orders.push(order);
            queueMicrotask(() => own.onmessage!({ data: order }));
        }
    };
    globalThis.fetch = (async (url: URL) => {
        fetched.push(`${url}`);
        return new Response(EMPTY, {
            headers: { "content-type": type },
            status: `${url}`.includes("gone") ? 404 : 200,
        });
    }) as typeof fetch;
    WebAssembly.compile = async (bytes) => (compiled.push("bytes"), NODE.compile(bytes));
    WebAssembly.compileStreaming = async (response) => (
        compiled.push("stream"),
        NODE.compile(await (await response).arrayBuffer())
    );
    WebAssembly.instantiate = (async () => ({ exports: fakeModule() })) as never;
    await import("../../../explorer/src/worker");
    const client = await moduleIn(new URL("http://h/site/"));
    return { client, orders, outcomes, fetched, compiled, worker: page!.url };
}

const ask = (client: Requests, target: string, signal?: AbortSignal) =>
    client.request("GET", target, { signal });

test("the module is compiled once, and goes to the worker of its folder", async () => {
    for (const [type, how] of [
        ["application/wasm", "stream"],
        ["application/octet-stream", "bytes"],
    ]) {
        const { fetched, compiled, worker, orders } = await opened(type);
        assert.deepEqual(fetched, ["http://h/site/posenc.wasm"]);
        assert.equal(compiled.at(-1), how); // after those of fetch itself
        assert.equal(worker, "module http://h/site/worker.js");
        assert.ok("module" in orders[0] && orders[0].module instanceof WebAssembly.Module);
        assert.deepEqual("module" in orders[0] && orders[0].settings, {
            "work-max": "10000000000",
        });
    }
    await assert.rejects(moduleIn(new URL("http://h/gone/")), /\/gone\/posenc\.wasm: 404/);
});

test("a request goes to the service and its answer comes back", async () => {
    begun.length = 0;
    const { client } = await opened();
    const response = await client.request("POST", "/v1/x?a=b", {
        headers: [["Content-Type", "a/b"]],
        body: "text",
    });
    assert.deepEqual(begun.slice(-1), ["POST /v1/x?a=b\ncontent-type: a/b\ntext"]);
    assert.equal(begun[0], "work-max: 10000000000\n");
    assert.equal(response.status, 207);
    assert.equal(response.headers.get("x-own"), "a: b");
    assert.equal(await response.text(), "part 0;");
});

test("answers belong to their requests, one after the other", async () => {
    const { client, orders } = await opened();
    begun.length = 0;
    const texts = await Promise.all(
        ["/v1/a", "/slow/2", "/v1/b"].map(async (target) => (await ask(client, target)).text()),
    );
    assert.deepEqual(texts, ["part 0;", "part 0;part 1;", "part 0;"]);
    assert.deepEqual(
        begun.slice(-3).map((one) => one.split("\n")[0]),
        ["GET /v1/a", "GET /slow/2", "GET /v1/b"],
    );
    assert.equal(new Set(orders.slice(1).map((one) => "id" in one && one.id)).size, 3);
});

test("what a request throws is its failure alone", async () => {
    const { client } = await opened();
    await assert.rejects(ask(client, "/broken"), /broke/);
    assert.equal((await ask(client, "/v1/after")).status, 207);
});

test("a request that was ended before it began is not sent", async () => {
    const { client, orders } = await opened();
    const reason = new Error("no more");
    await assert.rejects(ask(client, "/v1/x", AbortSignal.abort(reason)), reason);
    assert.equal(orders.length, 1);
});

test("a request that waits is taken out of the queue, and no other", async () => {
    const { client } = await opened();
    begun.length = 0;
    const end = new AbortController(),
        first = ask(client, "/slow/1"),
        gone = ask(client, "/v1/gone", end.signal),
        last = ask(client, "/v1/last");
    end.abort();
    await assert.rejects(gone, { name: "AbortError" });
    assert.deepEqual([(await first).status, (await last).status], [207, 207]);
    assert.ok(!begun.some((one) => one.includes("gone")) && begun.at(-1)!.includes("last"));
});

test("a request that runs is ended, and the next one begins", async () => {
    const { client, outcomes, orders } = await opened();
    const end = new AbortController(),
        long = ask(client, "/slow/9", end.signal);
    const next = ask(client, "/v1/next");
    setTimeout(() => end.abort(), 20);
    const begin = performance.now();
    await assert.rejects(long, { name: "AbortError" });
    assert.equal((await next).status, 207);
    assert.ok(performance.now() - begin < 9 * 55, "not all parts were made");
    const [first] = outcomes;
    assert.ok("error" in first && /Abort/.test(first.error));
    assert.equal(orders.filter((one) => "ended" in one).length, 1);
});

test("an end after the answer is none", async () => {
    const { client, orders } = await opened();
    const end = new AbortController();
    await ask(client, "/v1/x", end.signal);
    end.abort();
    assert.equal(orders.filter((one) => "ended" in one).length, 0);
});
