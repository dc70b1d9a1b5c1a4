// SPDX-License-Identifier: MIT
// A table as a heat map: every encoding, and files of one's own; every number under the pointer.
import type { View } from "../view";
import { t } from "../words";
import { between } from "./table/between";
import { pools } from "./table/seen";
import { Stage } from "./table/stage";
import "../style/table.css";

export const table: View = {
    name: "table",
    section: "inspect",
    title: () => t("A table, number by number", "逐个数看编码表"),
    lead: () =>
        t(
            "Each row is a position, each column a coordinate.",
            "每一行是一个位置，每一列是一个坐标。",
        ),
    accepts: () => ({
        encoding: "text",
        operation: ["table", "bias", "scale"],
        file: "text",
        tensor: "text",
        head: [0, 1e6, 1],
        rows: /^\d+\.\.\d+$/,
        columns: /^\d+\.\.\d+$/,
        pool: Object.keys(pools()),
        position: [-1e6, 1e6],
        delta: [-1e6, 1e6],
        plot_rows: /^\d+(,\d+)*$/,
        plot_columns: /^\d+(,\d+)*$/,
        axis: ["column", "pair"],
    }),
    passes: true,
    mount: (stage, app) => new Stage(stage, app),
    between,
};
