// SPDX-License-Identifier: MIT
// Every view, in the order of their tabs; the first of a door is what the door opens.
import type { View } from "../view";
import { sentenceView } from "./attention";
import { diagnosis } from "./diagnosis";
import { distance } from "./distance";
import { extension } from "./extension";
import { home } from "./home";
import { precision } from "./precision";
import { rotation } from "./rotation";
import { story } from "./story";
import { table } from "./table";

export const views: View[] = [
  home, extension, table, precision, story, rotation, distance, sentenceView, diagnosis,
];
