// SPDX-License-Identifier: MIT
import { Api } from "./api";
import { Page } from "./app";
import { failure } from "./kit/failure";
import { views } from "./views";
import "./style/tokens.css";
import "./style/page.css";

/** Static files say so in their page: <html data-site>. */
const site = document.documentElement.dataset.site !== undefined;

try {
  new Page(await Api.open(new URL(".", location.href.split("?")[0]), site), site, views);
} catch (error) {
  document.body.append(failure(error));
}
