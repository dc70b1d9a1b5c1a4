// SPDX-License-Identifier: MIT
import { Api } from "./api";
import { Page } from "./app";
import { failure } from "./kit/failure";
import { views } from "./views";
import "./style/tokens.css";
import "./style/page.css";

try {
    // Beside this script, wherever the page is: its own URL may lack the slash at the end.
    new Page(await Api.open(new URL(".", import.meta.url)), views);
} catch (error) {
    document.body.append(failure(error));
}
