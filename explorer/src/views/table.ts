// SPDX-License-Identifier: MIT
// A table as a heat map: every encoding, and files of one's own; every number under the pointer.
import type { View } from "../view";
import { t } from "../words";
import { between } from "./table/between";
import { Stage } from "./table/stage";
import "../style/table.css";

export const table: View = {
  name: "table",
  door: "inspect",
  title: () => t("A table, number by number", "逐个数看编码表"),
  lead: () => t("Each row is a position, each column a coordinate.",
    "每一行是一个位置，每一列是一个坐标。"),
  mount: (stage, app) => new Stage(stage, app),
  between,
};
