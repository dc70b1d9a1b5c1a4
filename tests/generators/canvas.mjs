// SPDX-License-Identifier: MIT
// What a page draws: node canvas.mjs CHROMIUM URL. One line of JSON, of the first canvas that is as
// wide as a table: {"width", "pixels"}, four bytes for each pixel.
import puppeteer from "puppeteer-core";

const [chromium, url] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });
const tab = await browser.newPage();
tab.on("pageerror", ({ message }) => console.error(message));
await tab.goto(url);
await tab.waitForFunction(() => document.querySelector("canvas").width === 128);
console.log(await tab.evaluate(() => {
  const canvas = document.querySelector("canvas"), { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  return JSON.stringify({ width, pixels: [...data] });
}));
await browser.close();
