// SPDX-License-Identifier: MIT
// The config that the state names, read by the API, and its frequencies at the state's context.
import {
    configAsk,
    contextOf,
    defaultAsk,
    frequencies,
    frequenciesAsk,
    kindOf,
    source,
    turnsAsk,
    type Config,
    type Frequencies,
    type Kind,
} from "../../kit/model";
import type { App } from "../../view";

export const CONTEXT = 131072; // where a config names none

export interface Read {
    config: Config;
    kind: Kind;
    context: number;
    now?: Frequencies;
    before?: Frequencies;
    never: number;
}

export async function read(app: App, signal: AbortSignal): Promise<Read | null> {
    const from = source(app);
    if (from.missing) return null;
    const config = await app.api.ask<Config>(configAsk(app, from), signal),
        kind = kindOf(app, config);
    const context = +(app.state.params.context ?? contextOf(kind.encoding) ?? CONTEXT);
    if (!kind.links?.frequencies) return { config, kind, context, never: 0 };
    const [now, before, { never_turn }] = await Promise.all([
        frequencies(app, frequenciesAsk(kind, context), signal),
        frequencies(app, defaultAsk(kind), signal),
        app.api.ask<{ never_turn: number }>(
            { ...turnsAsk(kind, context), target: `${turnsAsk(kind, context).target}&format=json` },
            signal,
        ),
    ]);
    return { config, kind, context, now, before, never: never_turn };
}
