// SPDX-License-Identifier: MIT
// Every view, in the order of their tabs; the first of a door is what the door opens.
import type { View } from "../view";
import { home } from "./home";
import { extension } from "./extension";
import { table } from "./table";
import { precision } from "./precision";
import { story } from "./story";
import { rotation } from "./rotation";
import { distance } from "./distance";
import { sentenceView } from "./attention";
import { diagnosis } from "./diagnosis";

export const views: View[] = [
    home,
    extension,
    table,
    precision,
    story,
    rotation,
    distance,
    sentenceView,
    diagnosis,
];
