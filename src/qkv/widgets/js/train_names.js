/* The name of a training: what is not as usual in it. */

import { t } from "./words.js";

/** @param {import("./engine/plans.js").Choices} choices */
export function nameOf(choices) {
  const { task, rule } = choices;
  const names = [
    task === "labeller" ? seesOf(choices.sees) : "",
    choices.scaled ? "" : t`not divided`,
    choices.positions ? "" : t`without positions`,
    choices.layers === 1 ? t`one layer` : "",
    { 1: t`one head`, 4: t`four heads` }[choices.heads] ?? "",
    choices.residual ? "" : t`without residual stream`,
    choices.norm ? "" : t`without norm`,
    task !== "tagger" || choices.feed_forward ? "" : t`without feed-forward`,
    choices.mask_forgotten ? t`mask forgotten` : "",
    choices.warm_up ? "" : t`without warm-up`,
    choices.rate === 1 ? "" : choices.rate < 1 ? t`rate ÷ ${Math.round(1 / choices.rate)}` : t`rate × ${choices.rate}`,
    choices.sentences === 20000 ? "" : t`${choices.sentences} sentences`,
    choices.language === "chinese" ? t`Chinese` : "",
    rule.length > 2 ? t`a rule of your own` : rule.map((name) => t`${name} turned`).join(t`, `),
  ];
  return names.filter(Boolean).join(t`, `) || t`as it is`;
}

/** Return what the labeller reads, in words.
 * @param {string} sees */
export function seesOf(sees) {
  const names = {
    alone: t`alone`,
    window: t`window`,
    attention: t`attention`,
    "attention, positions": t`attention, positions`,
  };
  return names[/** @type {keyof typeof names} */ (sees)] ?? sees;
}
