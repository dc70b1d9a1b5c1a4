// SPDX-License-Identifier: MIT
import { PosencError } from "../api";
import { h } from "../dom";
import { t } from "../words";

/** Refusals of the module in the page that a server with more memory and cores would not make. */
const FOR_A_SERVER = ["too-large", "out-of-memory", "busy"];

/** What went wrong, where it arose: the problem's title and detail. */
export function failure(error: unknown): HTMLElement {
  const problem = error instanceof PosencError
    ? error.problem as { title?: string; detail?: string; code?: string } : {};
  const offline = !(error instanceof PosencError);
  return h("div.failure", { role: "alert" },
    h("strong", {}, problem.title ?? (offline ? t("No answer", "没有回答") : t("Refused", "被拒绝"))),
    h("p", {}, problem.detail ?? (error instanceof Error ? error.message : `${error}`)),
    SITE && FOR_A_SERVER.includes(problem.code ?? "") && h("p", {}, t(
      "This page computes all by itself, in one thread. A server does it: start posencd, and open this page there.",
      "本页自己计算一切，只有一个线程。服务器可以完成：启动 posencd，再在那里打开本页。")));
}
