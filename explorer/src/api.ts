// SPDX-License-Identifier: MIT
// Requests to the service: over HTTP where the page came from one, else to the module in the page.
// Nothing is computed here.
import { encode, PosencError, read, type Tensor } from "../../clients/js/client.js";
import { moduleIn, type Requests } from "./module";
import type { Params } from "./state";

export { PosencError, type Tensor };

/** One request, as a person could send it again. */
export interface Ask {
    method: "GET" | "POST";
    /** Path and query: /v1/encodings/rope/table?dim=128&length=64 */
    target: string;
    /** Of a POST: what goes as JSON, or bytes with their media type. */
    json?: unknown;
    bytes?: Blob;
    /** JSON as a person wrote it, which may be damaged: goes as it is. */
    text?: string;
    type?: string;
}

const KEPT_MAX = 64;

export function query(path: string, params: Record<string, unknown>): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(params))
        if (value !== undefined && value !== "") search.set(name, `${value}`);
    const text = `${search}`.replace(/%2C/g, ",");
    return text ? `${path}?${text}` : path;
}

export const get = (path: string, params: Record<string, unknown> = {}): Ask => ({
    method: "GET",
    target: query(path, params),
});

export const post = (path: string, json: unknown, params: Record<string, unknown> = {}): Ask => ({
    method: "POST",
    target: query(path, params),
    json,
});

/** What goes in a request. */
export const body = (ask: Ask): Blob | string | undefined =>
    ask.bytes ?? ask.text ?? (ask.json === undefined ? undefined : JSON.stringify(ask.json));

/** The longest target of a GET: servers and proxies refuse long ones. */
const TARGET_MAX = 2000,
    SAFETENSORS = "application/x-safetensors";

/** The request that is sent for one. The GET of a view whose target is too long is posted, with its
 * parameters as metadata of safetensors, where their texts are those of a query. */
export function sent(ask: Ask): Ask {
    const [path, search] = ask.target.split("?");
    if (
        ask.method === "POST" ||
        ask.target.length <= TARGET_MAX ||
        !/\/v1\/encodings\/[^/]+\/[^/]/.test(path)
    )
        return ask;
    const texts = [...new URLSearchParams(search)].map(([name, text]) => [`posenc.${name}`, text]);
    const bytes = encode({}, Object.fromEntries(texts) as Record<string, string>);
    return { method: "POST", target: path, bytes, type: SAFETENSORS };
}

export class Api {
    private kept = new Map<string, unknown>();

    private constructor(
        private client: Requests,
        readonly origin: string | null,
    ) {}

    static async open(base: URL): Promise<Api> {
        if (SITE) return new Api(await moduleIn(base), null);
        const where = base.href.replace(/\/$/, "");
        const request: Requests["request"] = (method, target, more) =>
            fetch(where + target, { method, ...(more as RequestInit) });
        return new Api({ request }, where);
    }

    /** Links in answers begin with the base path of the server, which `origin` has too. */
    below(target: string): string {
        const path = this.origin ? new URL(this.origin).pathname.replace(/\/$/, "") : "";
        return path && target.startsWith(`${path}/`) ? target.slice(path.length) : target;
    }

    private async answer(asked: Ask, signal?: AbortSignal): Promise<unknown> {
        const ask = sent(asked);
        const headers: Record<string, string> = {
            accept: "application/x-safetensors, application/json;q=0.9, */*;q=0.1",
        };
        if (ask.method === "POST") headers["content-type"] = ask.type ?? "application/json";
        return read(
            await this.client.request(ask.method, this.below(ask.target), {
                headers,
                body: body(ask),
                signal,
            }),
        );
    }

    /** The answer: tensors by their names, or what JSON says. Those of GET and of JSON are kept for
     * the
     * next time. Throws PosencError for a refusal. */
    async ask<T>(ask: Ask, signal?: AbortSignal): Promise<T> {
        const key = ask.bytes ? "" : `${ask.method} ${ask.target} ${body(ask) ?? ""}`;
        const known = this.kept.has(key),
            answer = known ? this.kept.get(key) : await this.answer(ask, signal);
        if (key) {
            this.kept.delete(key); // and to the end: those that were not asked for longest go first
            this.kept.set(key, answer);
            if (this.kept.size > KEPT_MAX) this.kept.delete(this.kept.keys().next().value!);
        }
        return answer as T;
    }

    /** A file as it is answered, with the name that the answer gives it. `progress` is told the share
     * that is here (0: nobody knows) and the bytes. */
    async file(
        asked: Ask,
        signal?: AbortSignal,
        progress?: (share: number, size: number) => void,
    ): Promise<{ bytes: Blob; name?: string }> {
        const ask = sent(asked),
            posted = body(ask),
            type = ask.type ?? (posted === undefined ? undefined : "application/json");
        const response = await this.client.request(ask.method, this.below(ask.target), {
            headers: { accept: "*/*", ...(type ? { "content-type": type } : {}) },
            body: posted,
            signal,
        });
        if (!response.ok) await read(response);
        const whole = +(response.headers.get("content-length") ?? 0),
            parts: BlobPart[] = [];
        let size = 0;
        for (const reader = response.body!.getReader(); ;) {
            const { value, done } = await reader.read();
            if (done) break;
            parts.push(value);
            size += value.length;
            progress?.(whole && size / whole, size);
        }
        const name = /filename="([^"]+)"/.exec(
            response.headers.get("content-disposition") ?? "",
        )?.[1];
        return {
            bytes: new Blob(parts, { type: response.headers.get("content-type") ?? "" }),
            name,
        };
    }
}

const PATIENCE = 120; // ms that a job may take while the next one waits

/** Jobs that run now. The page says so in an attribute, <html data-busy>, and marks the time at
 * which
 * the first one is drawn. */
let busy = 0,
    drawn = false;

function busyBy(change: number): void {
    busy += change;
    document.documentElement.toggleAttribute("data-busy", busy > 0);
}

/** The first picture is there; later calls change nothing. */
export function markDrawn(): void {
    if (!drawn) performance.mark("drawn");
    drawn = true;
}

/** A job that is not in a lane: the page is busy until it has ended. */
export async function during<T>(job: Promise<T>): Promise<T> {
    busyBy(1);
    try {
        return await job;
    } finally {
        busyBy(-1);
    }
}

/** What is asked while a slider moves. One job runs, and of those that come meanwhile the last one
 * waits; a job that takes long, or that another choice has made stale, is ended by the next one. */
export class Lane {
    /** How many choices were made that change more than a number. */
    static choices = 0;
    private running?: AbortController;
    private waiting?: () => void;
    private timer = 0;
    private begun = 0;
    private choice = 0;

    run<T>(
        job: (signal: AbortSignal) => Promise<T>,
        done: (value: T) => void,
        failed: (error: PosencError) => void,
    ): void {
        this.waiting = () => void this.one(job, done, failed);
        const age = performance.now() - this.begun;
        if (!this.running || age > PATIENCE || this.choice !== Lane.choices) this.next();
        else this.timer ||= window.setTimeout(() => this.next(), PATIENCE - age);
    }

    private next(): void {
        const { waiting } = this;
        this.stop();
        waiting?.();
    }

    private async one<T>(
        job: (signal: AbortSignal) => Promise<T>,
        done: (value: T) => void,
        failed: (error: PosencError) => void,
    ): Promise<void> {
        const own = (this.running = new AbortController());
        this.begun = performance.now();
        this.choice = Lane.choices;
        busyBy(1);
        try {
            const value = await job(own.signal);
            if (!own.signal.aborted) {
                done(value);
                markDrawn();
            }
        } catch (error) {
            if (!own.signal.aborted) failed(error as PosencError);
        }
        if (this.running === own) {
            this.running = undefined;
            this.next();
        }
        busyBy(-1);
    }

    stop(): void {
        clearTimeout(this.timer);
        this.timer = 0;
        this.running?.abort();
        this.running = this.waiting = undefined;
    }
}

export type { Params };
