// SPDX-License-Identifier: MIT
import { PosencError } from "../api";
import { h } from "../dom";
import { t } from "../words";

/** What went wrong, where it arose: the problem's title and detail. */
export function failure(error: unknown): HTMLElement {
  const problem = error instanceof PosencError
    ? error.problem as { title?: string; detail?: string } : {};
  const offline = !(error instanceof PosencError);
  return h("div.failure", { role: "alert" },
    h("strong", {}, problem.title ?? (offline ? t("No answer", "没有回答") : t("Refused", "被拒绝"))),
    h("p", {}, problem.detail ?? (error instanceof Error ? error.message : `${error}`)));
}
