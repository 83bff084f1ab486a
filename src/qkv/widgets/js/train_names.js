/* The name of a training: what is not as usual in it. */

/** @param {import("./engine/plans.js").Choices} choices */
export function nameOf(choices) {
  const { task, rule } = choices;
  const names = [
    task === "labeller" ? choices.sees : "",
    choices.scaled ? "" : "not divided",
    choices.positions ? "" : "without positions",
    choices.layers === 1 ? "one layer" : "",
    { 1: "one head", 4: "four heads" }[choices.heads] ?? "",
    choices.residual ? "" : "without residual stream",
    choices.norm ? "" : "without norm",
    task !== "tagger" || choices.feed_forward ? "" : "without feed-forward",
    choices.mask_forgotten ? "mask forgotten" : "",
    choices.warm_up ? "" : "without warm-up",
    choices.rate === 1 ? "" : `rate ${choices.rate < 1 ? `÷ ${Math.round(1 / choices.rate)}` : `× ${choices.rate}`}`,
    choices.sentences === 20000 ? "" : `${choices.sentences} sentences`,
    choices.language === "chinese" ? "Chinese" : "",
    rule.length > 2 ? "a rule of your own" : rule.map((name) => `${name} turned`).join(", "),
  ];
  return names.filter(Boolean).join(", ") || "as it is";
}
