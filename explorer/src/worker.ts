// SPDX-License-Identifier: MIT
// The worker of module.ts: one request after the other, and none that nobody waits for any more.
import { connect } from "../../clients/js/client.js";
import type { Order, Outcome, Requests } from "./module";

const queue: Extract<Order, { method: string }>[] = [];
const { port1: here, port2: there } = new MessageChannel();
let client: Promise<Requests>, running: { id: number; end: AbortController } | undefined;
let busy = false;

/** Orders that have arrived by now are read before the next request begins. */
const ordersRead = () =>
    new Promise((done) => {
        here.onmessage = done;
        there.postMessage(0);
    });

const answer = (outcome: Outcome) =>
    postMessage(outcome, { transfer: "body" in outcome ? [outcome.body] : [] });

async function run({ id, method, target, headers, body }: (typeof queue)[0]): Promise<void> {
    running = { id, end: new AbortController() };
    try {
        const response = await (
            await client
        ).request(method, target, { headers, body, signal: running.end.signal });
        answer({
            id,
            status: response.status,
            headers: [...response.headers],
            body: await response.arrayBuffer(),
        });
    } catch (error) {
        answer({ id, error: `${error}` });
    }
    running = undefined;
}

async function runAll(): Promise<void> {
    if (busy) return;
    busy = true;
    for (let next; (next = queue.shift()); await ordersRead()) await run(next);
    busy = false;
}

onmessage = ({ data }: MessageEvent<Order>) => {
    if ("module" in data) {
        client = connect(data.module, data.settings);
    } else if ("method" in data) {
        queue.push(data);
        void runAll();
    } else if (running?.id === data.id) {
        running.end.abort();
    } else {
        const at = queue.findIndex(({ id }) => id === data.id);
        if (at >= 0) queue.splice(at, 1);
    }
};
