// SPDX-License-Identifier: MIT
// Validates a list of resources on standard input, as JSON, by the models of their kinds.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const PACKAGES = {
    "monitoring.coreos.com/v1": "@kubernetes-models/prometheus-operator",
    "gateway.networking.k8s.io/v1": "@kubernetes-models/gateway-api",
};
const folder = `${process.argv[2]}/node_modules`;

for (const resource of JSON.parse(readFileSync(0, "utf8"))) {
    const { apiVersion, kind } = resource;
    const file = `${folder}/${PACKAGES[apiVersion]}/${apiVersion}/${kind}.js`;
    const models = await import(pathToFileURL(file));
    new (models[kind] ?? models.default[kind])(resource).validate();
}
