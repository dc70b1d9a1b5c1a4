// SPDX-License-Identifier: MIT
import { Api } from "./api";
import { Page } from "./app";
import { failure } from "./kit/failure";
import { MODELS } from "./kit/model";
import { views } from "./views";
import { fetchSecond } from "./views/later";
import "./style/tokens.css";
import "./style/page.css";

/** Whether the link names a model that the first script does not have. */
function namesOtherModel(): boolean {
    const all = new URLSearchParams(location.search);
    const sides = ["a", "b"].map((one) => new URLSearchParams(all.get(one) ?? ""));
    return [all, ...sides].some((one) => one.has("model") && !(one.get("model")! in MODELS));
}

try {
    // Beside this script, wherever the page is: its own URL may lack the slash at the end.
    const api = Api.open(new URL(".", import.meta.url));
    if (namesOtherModel()) await fetchSecond();
    new Page(await api, views);
} catch (error) {
    document.body.append(failure(error));
}
