// SPDX-License-Identifier: MIT
// The second script: what is not on the first screen, and all published models.
import models from "./models.json?all";
import type { App, Mounted } from "./view";
import { mount as attention } from "./views/attention";
import { mount as compare } from "./views/compare";
import { mount as diagnosis } from "./views/diagnosis";
import { mount as distance } from "./views/distance";
import { engines } from "./views/extension/engines";
import { mount as grid } from "./views/grid";
import { mount as catalogue } from "./views/models";
import { mount as rotation } from "./views/rotation";
import { mount as story } from "./views/story";

export { engines, models };

export const mounts = {
    attention,
    compare,
    diagnosis,
    distance,
    grid,
    models: catalogue,
    rotation,
    story,
} satisfies Record<string, (stage: HTMLElement, app: App) => Mounted>;
