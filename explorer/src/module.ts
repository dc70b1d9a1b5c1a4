// SPDX-License-Identifier: MIT
// The service without a server: posenc.wasm in a worker, so that the page stays fluid while it
// works.
import type { Client } from "../../clients/js/client.js";

export type Requests = Pick<Client, "request">;

/** What goes to the worker: the compiled module once, requests, and those that nobody waits for. */
export type Order =
    | { module: WebAssembly.Module; settings: Record<string, string> }
    | {
          id: number;
          method: string;
          target: string;
          headers: Record<string, string>;
          body?: Blob | string;
      }
    | { id: number; ended: true };

/** What comes back: a response, or what was thrown. */
export type Outcome =
    | { id: number; status: number; headers: [string, string][]; body: ArrayBuffer }
    | { id: number; error: string };

/** Ten seconds of one core: what takes longer is for a server. */
const SETTINGS = { "work-max": "10000000000" };

/** Compiled while it arrives; by servers of files that do not know its media type, afterwards. */
async function compiled(url: URL): Promise<WebAssembly.Module> {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url.pathname}: ${response.status}`);
    return response.headers.get("content-type") === "application/wasm"
        ? WebAssembly.compileStreaming(response)
        : WebAssembly.compile(await response.arrayBuffer());
}

export async function moduleIn(folder: URL): Promise<Requests> {
    const worker = new Worker(new URL("worker.js", folder), { type: "module" });
    const waiting = new Map<number, (outcome: Outcome) => void>();
    let last = 0;
    worker.onmessage = ({ data }: MessageEvent<Outcome>) => {
        waiting.get(data.id)?.(data);
        waiting.delete(data.id);
    };
    const send = (order: Order) => worker.postMessage(order);
    send({ module: await compiled(new URL("posenc.wasm", folder)), settings: SETTINGS });
    return {
        request: (method, target, { headers, body, signal } = {}) =>
            new Promise((done, failed) => {
                signal?.throwIfAborted();
                const id = ++last;
                signal?.addEventListener("abort", () => {
                    if (waiting.delete(id)) send({ id, ended: true });
                    failed(signal.reason);
                });
                waiting.set(id, (outcome) =>
                    "error" in outcome
                        ? failed(new Error(outcome.error))
                        : done(new Response(outcome.body, outcome)),
                );
                const plain = Object.fromEntries(new Headers(headers));
                send({ id, method, target, headers: plain, body: body as Blob });
            }),
    };
}
