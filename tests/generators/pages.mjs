// SPDX-License-Identifier: MIT
// How long Redoc and Swagger UI take to show the contract, and how much memory: node pages.mjs
// CHROMIUM FOLDER. One line of JSON for each page; the files lie beside it in FOLDER.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [chromium, folder] = process.argv.slice(2);
const modules = join(folder, "node_modules");
const files = {
  "/openapi.json": join(folder, "openapi.json"),
  "/redoc.js": join(modules, "redoc/bundles/redoc.standalone.js"),
  "/swagger.js": join(modules, "swagger-ui-dist/swagger-ui-bundle.js"),
  "/swagger.css": join(modules, "swagger-ui-dist/swagger-ui.css"),
};
const pages = {
  redoc: { last: "[id$='operation/readConfig'] h2", html:
    `<div id="at"></div><script src="redoc.js"></script>
     <script>Redoc.init("openapi.json", {}, document.getElementById("at"))</script>` },
  swagger: { last: "#operations-functions-readConfig", html:
    `<link rel="stylesheet" href="swagger.css"><div id="at"></div><script src="swagger.js"></script>
     <script>SwaggerUIBundle({url: "openapi.json", dom_id: "#at"})</script>` },
};

const server = createServer((request, response) => {
  const path = request.url.split("?")[0];
  const page = pages[path.slice(1)];
  const type = page ? "text/html" : path.endsWith(".js") ? "text/javascript" : "text/css";
  if (!page && !files[path]) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": type });
  response.end(page ? "<!doctype html><meta charset=utf-8>" + page.html
                    : readFileSync(files[path]));
}).listen(0, "127.0.0.1");
await new Promise((ready) => server.once("listening", ready));

const browser = await puppeteer.launch({
  executablePath: chromium, args: ["--no-sandbox", "--js-flags=--expose-gc"] });
for (const [name, { last }] of Object.entries(pages)) {
  const tab = await browser.newPage();
  const start = performance.now();
  await tab.goto(`http://127.0.0.1:${server.address().port}/${name}`);
  await tab.waitForSelector(last, { timeout: 60000 });
  await tab.evaluate(() => new Promise((done) => requestIdleCallback(done)));
  const seconds = (performance.now() - start) / 1000;
  await tab.evaluate(() => gc());
  const { JSHeapUsedSize } = await tab.metrics();
  console.log(JSON.stringify({ name, seconds, heap_mb: JSHeapUsedSize / 1e6 }));
  await tab.close();
}
await browser.close();
server.close();
