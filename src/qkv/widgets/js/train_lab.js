import { live } from "lit-html/directives/live.js";
import {
  button,
  choices,
  curve,
  dotMark,
  dragged,
  html,
  nearestOf,
  nothing,
  num,
  panel,
  pct,
  plot,
  rule,
  svg,
  t,
  tables,
  toggle,
  widget,
  words,
  yAxis,
} from "./base.js";
import { choicesWith, STEPS } from "./engine/plans.js";
import { PUZZLE, SAWS, SHOWN, TEXT } from "./engine/shown.js";
import { adjectivesOf, flipped, isTurned } from "./rules.js";
import { linear } from "./scales.js";
import { nameOf, seesOf } from "./train_names.js";
import { storedOf, trainer } from "./trainer.js";

const MOST = 6; // trainings that are shown side by side
const IT = ["it", "它"];
const GUESS = Math.log(32);

/** @import { SetState } from "./base.js" */
/** @import { Point } from "./chart.js" */
/** @import { Choices } from "./engine/plans.js" */
/** @import { Scale } from "./scales.js" */
/** @import { Frame, Line, Result } from "./engine/shown.js" */
/** @import { Following, Training } from "./trainer.js" */
/** @typedef {Choices & Following & { handles: string[], stored: string[], shown: number, at: number, unfolded: boolean, act: number }} State */
/** @typedef {ReturnType<typeof seenIn>} Seen */
/** @typedef {(frame: Frame) => number} Value of a frame, which a curve shows */

export default widget("TrainLab", {
  // The trainings (null: the stored ones), the one whose sentences are shown (−1: the one that is like the settings) and the index of its frame (−1: the last), how often the reader has pressed Train,
  // whether this browser is slow or could not start, whether the rest is unfolded, and the verb whose rule is shown there.
  own: { runs: null, shown: -1, at: -1, status: "idle", asked: 0, isSlow: false, failed: "", unfolded: false, act: 0 },
  setup: ({ state, set, root, eachDrawing }) => {
    const { follow, close } = trainer(/** @type {State} */ (state), set);
    const show = () => {
      const { run, frame } = seenIn(/** @type {State} */ (state));
      const last = run.frames[run.frames.length - 1] ?? frame;
      root.dataset.training = state.status;
      root.dataset.step = String(last.step);
      root.dataset.score = String(run.result?.score ?? last.score);
      follow();
    };
    eachDrawing(show);
    show();
    return close;
  },
  says: (/** @type {State} */ state) => {
    const { run, frame } = seenIn(state);
    return [findingText(state, run, frame), habitText(run, frame)].join(" ").trim();
  },
  view: (state, set, id) => {
    const seen = seenIn(state);
    return html`<div class="qkv-train">
      <p class="qkv-lead">${shownText(state, seen)}${problemText(state)}</p>
      <div class="qkv-train-pictures">${pictures(state, seen, set)}</div>
      ${curves(state, seen, set, id)}
      <div class="qkv-train-buttons">${trainButton(state, seen, set)} ${unfolding(state, set, id)}</div>
      <div id="${id}-rest" class="qkv-train-rest">${state.unfolded ? rest(state, seen, set, id) : nothing}</div>
    </div>`;
  },
});

/** Return what is unfolded. Until then a page does not have it, and weighs 1 kB less.
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set
 * @param {string} id */
const rest = (state, seen, set, id) => html`
  ${settings(state, set, id)}
  ${trainHere(state, set)}
  ${secondChart(state, seen)}
  ${tables(() => numbers(seen))}`;

/** Return the button that unfolds the settings, the other curve and the numbers.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const unfolding = ({ unfolded }, set, id) => html`<button type="button" class="qkv-control qkv-train-unfold"
  aria-expanded=${unfolded} aria-controls="${id}-rest" @click=${() => set({ unfolded: !unfolded })}>${t`curves and settings`}</button>`;

/* ---- trainings */

/** @param {Pick<State, "task" | "stored">} state
 * @returns {Training[]} */
const storedRuns = ({ task, stored }) =>
  stored.flatMap((name) => {
    const found = storedOf(task)[name];
    if (!found) return [];
    const choices = choicesWith({ task, ...found.choices });
    return [{ ...found, name: nameOf(choices), choices, isStored: true }];
  });

/** @type {Frame} */
const NOTHING = { step: 0, loss: NaN, score: NaN };

/** Return the trainings, the one that is shown, and its frame.
 * @param {State} state */
function seenIn(state) {
  const runs = state.runs ?? storedRuns(state);
  const run = runs[state.shown < 0 ? Math.max(0, likeIn(runs, choicesOf(state))) : state.shown] ?? {
    name: "",
    choices: choicesOf(state),
    frames: [],
    result: null,
    isStored: false,
  };
  const at = state.at < 0 || state.at >= run.frames.length ? run.frames.length - 1 : state.at;
  return { runs, run, at, frame: run.frames[at] ?? NOTHING };
}

/** Return the index of the last training that is like some choices, or −1.
 * @param {Training[]} runs
 * @param {Choices} choices */
function likeIn(runs, choices) {
  const name = nameOf(choices);
  return runs.map((run) => nameOf(run.choices)).lastIndexOf(name);
}

/** Return the change of the state when the reader chooses something: a training that is like it is shown at once.
 * @param {State} state
 * @param {Partial<Choices>} changes
 * @returns {Partial<State>} */
function chosen(state, changes) {
  const runs = state.runs ?? storedRuns(state);
  const like = likeIn(runs, { ...choicesOf(state), ...changes });
  return like < 0 ? changes : { ...changes, ...shownNow(state, runs, like) };
}

/** Return the change of the state that shows a training, at the step that is shown now.
 * @param {State} state
 * @param {Training[]} runs
 * @param {number} shown
 * @returns {Partial<State>} */
function shownNow(state, runs, shown) {
  const { run, frame } = seenIn(state);
  const steps = runs[shown].frames.map(({ step }) => step);
  return { shown, at: isLast(run, frame) ? -1 : steps.indexOf(nearestOf(steps, frame.step)) };
}

/** Return what the next training is made of.
 * @param {State} state
 * @returns {Choices} */
const choicesOf = (state) => ({
  task: state.task,
  scaled: state.scaled,
  positions: state.positions,
  residual: state.residual,
  norm: state.norm,
  feed_forward: state.task === "tagger" && state.feed_forward,
  mask_forgotten: state.task === "repeater" && state.mask_forgotten,
  warm_up: state.warm_up,
  layers: state.layers,
  heads: state.heads,
  rate: state.rate,
  language: state.language,
  sentences: state.sentences,
  rule: [...state.rule],
  sees: state.sees,
  seed: state.seed,
});

/** Start a training beside the others. If there are too many, the oldest leaves, but never the first: it is compared with.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {Choices} [choices] */
function train(state, set, choices = choicesOf(state)) {
  const [first, ...others] = state.runs ?? storedRuns(state);
  const kept = first ? [first, ...others.slice(2 - MOST)] : [];
  const plain = nameOf(choices);
  const isKnown = kept.some(({ name }) => name === plain);
  const run = {
    name: isKnown ? t`${plain}, seed ${choices.seed}` : plain,
    choices,
    frames: [],
    result: null,
    isStored: false,
  };
  set({
    ...choices,
    runs: [...kept, run],
    shown: kept.length,
    at: -1,
    status: "running",
    asked: state.asked + 1,
    failed: "",
    seed: state.seed + 1,
  });
}

/** Return the name of the next training, if it is not like the one that is shown: something was chosen since.
 * @param {State} state
 * @param {Seen} parts */
function chosenSince(state, { run }) {
  const name = nameOf(choicesOf(state));
  return name === nameOf(run.choices) ? "" : name;
}

/** Check whether no model with these settings is trained yet or in training: then there is no answer to show.
 * @param {State} state
 * @param {Seen} seen */
const isUntrained = (state, seen) => !isBusy(state.status) && chosenSince(state, seen) !== "";

/** Return the button that trains. While a training runs, it pauses it.
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
function trainButton(state, seen, set) {
  const { status } = state;
  const isShown = seen.run === seen.runs[seen.runs.length - 1] && !chosenSince(state, seen);
  const press = (/** @type {string} */ label, /** @type {() => void} */ onClick) =>
    html`<button type="button" class="qkv-control qkv-button qkv-train-go ${status === "running" ? "qkv-train-runs" : ""}" @click=${onClick}>${label}</button>`;
  if (status === "running") return press(t`Pause`, () => set({ status: "paused" }));
  if (status === "paused" && isShown) return press(t`Go on`, () => set({ status: "running" }));
  return press(t`Train`, () => train(state, set));
}

/** Return a second button to train, below the settings: the first one may be off the screen. The picture comes back. A
 * training with these settings that is shown already can be made again, with another seed.
 * @param {State} state
 * @param {SetState<State>} set */
function trainHere(state, set) {
  const onClick = (/** @type {{ currentTarget: HTMLElement }} */ { currentTarget }) => {
    currentTarget.closest(".qkv-train")?.scrollIntoView({ block: "start" });
    train(state, set);
  };
  return html`<div class="qkv-train-here">${button({ label: t`Train: ${nameOf(choicesOf(state))}`, onClick })}</div>`;
}

/* ---- texts */

/** @param {number} share */
const percent = (share) => `${num(100 * share, { places: share > 0.99 && share < 1 ? 1 : 0 })} %`;
const nats = (/** @type {number} */ surprise) => t`${num(surprise, { places: 2 })} nats`;

const isLast = (/** @type {Training} */ { frames }, /** @type {Frame} */ frame) => frame === frames[frames.length - 1];

/** Say how good the model is at the frame.
 * @param {State} state
 * @param {Training} run
 * @param {Frame} frame */
function findingText(state, run, frame) {
  if (run.frames.length === 0) return t`Every number in the model is random. Press Train.`;
  const name = run.isStored ? t`“${run.name}”, trained before` : t`“${run.name}”`;
  if (run.result && isLast(run, frame)) return t`${name}: ${SAYS[state.task].end(run.result)}`;
  return t`${name}, step ${frame.step} of ${STEPS}: ${SAYS[state.task].during(frame)}`;
}

/** Return the sentence above the pictures: how good the shown model is there, or at the end what it does instead.
 * @param {State} state
 * @param {Seen} seen */
function shownText(state, seen) {
  const { run, frame } = seen;
  const says = SAYS[state.task];
  if (isUntrained(state, seen)) return t`“${chosenSince(state, seen)}” is not trained yet. Press Train.`;
  if (run.frames.length === 0) return t`Every number in the model is random. Press Train.`;
  if (!run.result || !isLast(run, frame)) return t`Step ${frame.step} of ${STEPS}: ${says.during(frame)}`;
  const habit = habitText(run, frame);
  if (habit) return habit;
  return run.isStored ? t`Trained before: ${says.end(run.result)}` : t`Trained here: ${says.end(run.result)}`;
}

/** What is said of a score, while the training runs and at its end.
 * @type {Record<State["task"], { during: (frame: Frame) => string, end: (result: Result) => string }>} */
const SAYS = {
  tagger: {
    during: ({ score }) => t`right in ${percent(score)} of 100 new sentences.`,
    end: ({ score, heldOut = NaN }) => t`${percent(score)} right, and ${percent(heldOut)} in combinations kept out.`,
  },
  repeater: {
    during: ({ score }) => t`surprise ${nats(score)} at symbols that come again.`,
    end: ({ score }) => t`surprise ${nats(score)}; a guess has ${nats(GUESS)}.`,
  },
  labeller: {
    during: ({ score }) => t`saw has the right label in ${percent(score)} of 100 new sentences.`,
    end: ({ score }) => t`saw has the right label in ${percent(score)} of 1,000 new sentences.`,
  },
};

/** @type {Record<string, (habit: { share: number }) => string>} */
const HABITS = {
  first: () => t`Its answer is the first noun, always.`,
  second: () => t`Its answer is the second noun, always.`,
  adjective: () => t`Its answer depends on the adjective alone.`,
  verb: () => t`Its answer depends on the verb alone.`,
  either: () => t`Its answer is one of the two nouns, but hardly better than by chance.`,
  others: ({ share }) => t`In ${percent(share)}, its answer is a noun that is not in the sentence.`,
  same: () => t`Two saws in one sentence always get the same label.`,
  seen: () => t`It predicts symbols that were there before, but not the one that comes next.`,
  guess: () => t`It has hardly learned more than to guess.`,
  leak: () => t`In training it saw the answer. Without it, it is worse than a guess.`,
};

/** Say what a model does that has not learned its task: at the end of its training alone.
 * @param {Training} run
 * @param {Frame} frame */
function habitText(run, frame) {
  const { result, choices } = run;
  if (!result || !isLast(run, frame)) return "";
  const { habit, own = 0 } = result;
  const byHeart = own >= 0.95 && result.score < 0.9;
  const learned = byHeart ? t` It has learned its own ${num(choices.sentences)} sentences by heart.` : "";
  return (HABITS[habit.kind]?.(habit) ?? "") + learned;
}

const problemText = (/** @type {State} */ { failed, isSlow }) => {
  if (failed) return html` <b role="alert">${t`The training could not start: ${failed}`}</b>`;
  return isSlow ? t` This browser has no SIMD for WebAssembly: the training takes about ten times as long.` : "";
};

/* ---- the texts that are shown, with arcs */

/** @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
function pictures(state, seen, set) {
  const { run, frame } = seen;
  const isNew = isUntrained(state, seen);
  const looks = (/** @type {number} */ i) => (isNew ? { line: undefined, later: 0 } : lookOf(seen, i));
  if (state.task === "repeater")
    return layerNames(run.choices.layers, isNew ? NOTHING : frame)
      .slice(0, state.handles.includes("layers") ? 2 : 1)
      .map((title, i) =>
        picture({
          title,
          tokens: [...TEXT.slice(0, -1)],
          from: TEXT.length - 2,
          ...(title ? looks(i) : { line: undefined, later: 0 }),
          right: TEXT[TEXT.length - 1],
          asked: i ? "" : t`next`,
        }),
      );
  if (state.task === "labeller") return puzzle(SAWS.map((_, i) => looks(i)));
  const { language, rule } = run.choices;
  const turns = state.handles.includes("rule");
  return SHOWN[language].map((tokens, i) => {
    const adjective = tokens[tokens.length - 1];
    const act = tokens.find((word) => adjectivesOf(language)[word]);
    const first = (i === 0) !== isTurned(rule, act, adjective);
    const nouns = language === "english" ? [tokens[1], tokens[4]] : [tokens[0], tokens[2]];
    return picture({
      tokens,
      from: tokens.findIndex((word) => IT.includes(word)),
      ...looks(i),
      right: nouns[first ? 0 : 1],
      asked: IT[language === "english" ? 0 : 1],
      turn: turns
        ? {
            isTurned: isTurned(state.rule, act, adjective),
            onClick: () => set(chosen(state, { rule: flipped(state.rule, state.language, null, adjective) })),
          }
        : null,
    });
  });
}

const SAW_IS = ["verb", "noun"];
/** Return what the repeater's two pictures show, with its scores at a frame. A model of one layer leaves the second empty.
 * @param {number} layers
 * @param {Frame} frame */
function layerNames(layers, { followed = NaN, previous = NaN }) {
  if (layers === 1) return [t`the only layer`, ""];
  const bold = (/** @type {number} */ weight) => html`<b>${shownNumber(weight)}</b>`;
  return [t`layer 2: ${bold(followed)} on what followed`, t`layer 1: ${bold(previous)} on the symbol before`];
}

/** Return where a token looks at the step that is shown. A stored training has that of some steps only: then it is that
 * of a later step, which is named.
 * @param {Seen} seen
 * @param {number} i */
function lookOf({ run, at }, i) {
  const frame = run.frames.find(({ shown }, j) => shown && j >= at);
  return { line: frame?.shown?.[i], later: frame && frame !== run.frames[at] ? frame.step : 0 };
}

const rounded = (/** @type {number} */ number) => Math.round(1000 * number) / 1000;
const tenths = (/** @type {number} */ number) => Math.round(10 * number) / 10;

const GAP = 1.3; // letters between two words

/** Return about how wide a word and the gap after it are, in letters.
 * @param {string} word */
const widthOf = (word) =>
  tenths(
    [...word].reduce((sum, letter) => {
      if (/\p{Script=Han}/u.test(letter)) return sum + 2;
      return sum + (/[mw]/.test(letter) ? 1.5 : /[ijlrt]/.test(letter) ? 0.6 : 1);
    }, GAP),
  );

/** Return where each token of a text begins and ends, in percent of its width.
 * @param {readonly string[]} tokens */
function laidOut(tokens) {
  const widths = tokens.map(widthOf);
  const total = widths.reduce((sum, width) => sum + width, 0);
  let start = 0;
  const middles = widths.map((width) => {
    start += width;
    return tenths((100 * (start - width / 2)) / total);
  });
  return { widths, middles };
}

/** Return an arc in a picture that is 100 wide and 10 high.
 * @param {number} a
 * @param {number} b
 * @param {number} weight */
function arc(a, b, weight) {
  const top = tenths(10 - Math.min(12, 3 + Math.abs(a - b) / 6));
  return svg`<path style="--qkv-p: ${rounded(weight)}" d="M${a} 10C${a} ${top} ${b} ${top} ${b} 10" />`;
}

/** Return the labeller's sentence: arcs from both *saws*, and below each its label.
 * @param {{ line: Line | undefined, later: number }[]} looks */
function puzzle(looks) {
  const { widths, middles } = laidOut(PUZZLE);
  const { later } = looks[0];
  const from = (/** @type {number} */ i) => SAWS.indexOf(i);
  return html`<figure class="qkv-train-picture ${later ? "qkv-train-later" : ""}">
    <svg class="qkv-train-arcs" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      ${SAWS.flatMap((saw, i) => PUZZLE.map((_, j) => (j === saw ? nothing : arc(middles[saw], middles[j], looks[i].line?.weights[j] ?? 0))))}
    </svg>
    <div class="qkv-train-words qkv-train-puzzle">
      ${PUZZLE.map((token, j) => html`<span class=${from(j) < 0 ? "" : "qkv-train-asks"} style="flex-grow: ${widths[j]}">${token}</span>`)}
    </div>
    <div class="qkv-train-words qkv-train-labels">
      ${PUZZLE.map((_, j) => {
        const label = from(j) < 0 ? nothing : labelOf(looks[from(j)].line, SAW_IS[from(j)]);
        return html`<p class="qkv-train-says" style="flex-grow: ${widths[j]}">${later && j === 0 ? html`<span class="qkv-note">${t`at step ${later}`}</span>` : label}</p>`;
      })}
    </div>
  </figure>`;
}

/** Return the label of a *saw*, and whether it is right.
 * @param {Line | undefined} line
 * @param {string} right */
function labelOf(line, right) {
  if (!line) return "?";
  const [[label, chance]] = line.says;
  return html`<span class="qkv-train-answer">${label} ${percent(chance)}</span><br>${verdictOf(line, right)}`;
}

/** Return a text with arcs from the token that asks, and the likeliest answers. With an empty title, only its room is kept.
 * @param {{ title?: unknown, tokens: string[], from: number, line?: Line, later: number, right: string, asked: string,
 *   turn?: { isTurned: boolean, onClick: () => void } | null }} parts */
function picture({ title, tokens, from, line, later, right, asked, turn = null }) {
  const { widths, middles } = laidOut(tokens);
  const weights = line?.weights ?? tokens.map(() => 0);
  const last = tokens.length - 1;
  const kind = title === "" ? "qkv-train-empty" : later ? "qkv-train-later" : "";
  return html`<figure class="qkv-train-picture ${kind}">
    ${title === undefined ? nothing : html`<figcaption class="qkv-note">${title || "–"}</figcaption>`}
    <svg class="qkv-train-arcs" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      ${tokens.map((_, j) => (j === from ? nothing : arc(middles[from], middles[j], weights[j] ?? 0)))}
    </svg>
    <div class="qkv-train-words">
      ${tokens.map((token, j) => {
        const kind = j === from ? "qkv-train-asks" : "";
        const style = `flex-grow: ${widths[j]}; --qkv-p: ${rounded(weights[j] ?? 0)}`;
        return turn && j === last
          ? html`<button type="button" class="qkv-train-turn" style=${style} aria-pressed=${turn.isTurned} title=${t`teach it the opposite: this adjective means the other noun`}
              @click=${turn.onClick}>${token}<i class="qkv-badge" aria-hidden="true">${turn.isTurned ? "↺" : "↻"}</i></button>`
          : html`<span class=${kind} style=${style}>${token}</span>`;
      })}
    </div>
    ${asked ? html`<p class="qkv-train-says">${later ? html`<span class="qkv-note">${t`at step ${later}`}</span> ` : nothing}${asked} = ${answers(line, right, later > 0)}</p>` : nothing}
  </figure>`;
}

const SEEN = 0.01; // a smaller chance is left out
const SURE = 0.1; // by so much the likeliest answer has to be likelier than the next one to count as an answer

/** Return whether the likeliest answer is right, if the model is sure enough of it.
 * @param {Line} line
 * @param {string} right */
function verdictOf({ says: [[word, chance], [, less]] }, right) {
  if (chance - less < SURE) return t`unsure`;
  return word === right ? "✓" : `✗ (${right})`;
}

/** @param {Line | undefined} line
 * @param {string} right
 * @param {boolean} isShort */
function answers(line, right, isShort) {
  if (!line) return "?";
  const [[word, chance], [other, less]] = line.says;
  return html`<span class="qkv-train-answer">${word} ${percent(chance)} ${verdictOf(line, right)}</span>
    ${isShort || less < SEEN ? nothing : html`<span class="qkv-note">${other} ${percent(less)}</span>`}`;
}

/* ---- curves */

const across = linear([0, STEPS], [0, 100]);
const shareUp = linear([0, 1], [100, 0]);
const natsUp = linear([0, 4], [100, 0]);
const lossUp = linear([0, 6], [100, 0]);

/** Return the points of a curve that are drawn: what is above the plot is at its edge.
 * @param {Frame[]} frames
 * @param {Value} of
 * @param {Scale} up
 * @returns {Point[]} */
const pointsOf = (frames, of, up) =>
  frames.flatMap((frame) => {
    const value = of(frame);
    return Number.isFinite(value) ? [/** @type {Point} */ ([across(frame.step), Math.max(0, up(value))])] : [];
  });

/** Return a curve of every training. The one that is shown is the thickest.
 * @param {Seen} seen
 * @param {Value} of
 * @param {Scale} up */
const curvesOf = ({ runs, run }, of, up) =>
  runs.map((one, i) =>
    curve({ points: pointsOf(one.frames, of, up), kind: `qkv-train-${i} ${one === run ? "qkv-train-now" : ""}` }),
  );

/** Return the marks that every panel of curves has: the steps below it, and a line at the step that is shown.
 * @param {Seen} seen */
function steps({ frame }) {
  const x = across(frame.step);
  const ends = [
    x > 30 ? words({ x: 0, y: 100, lines: 0.95, anchor: "start", content: "0" }) : nothing,
    x < 45 ? words({ x: 100, y: 100, lines: 0.95, anchor: "end", content: String(STEPS) }) : nothing,
  ];
  const anchor = x < 15 ? "start" : x > 85 ? "end" : "middle";
  return svg`${rule({ x1: x, x2: x, kind: "qkv-here" })} ${ends}
    ${words({ x, y: 100, lines: 0.95, anchor, kind: "qkv-train-step", content: t`step ${frame.step}` })}`;
}

/** Return what every training has learned at each step, the handle that walks through the steps, and at the ends of the
 * curves their names, to choose one.
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set
 * @param {string} id */
function curves(state, seen, set, id) {
  const { runs, run, at, frame } = seen;
  const all = run.frames.map(({ step }) => step);
  const isRepeater = state.task === "repeater";
  const asked = state.task === "tagger" ? "it" : "saw";
  const up = isRepeater ? natsUp : shareUp;
  const ticks = isRepeater ? [0, GUESS] : [0, 0.5, 1];
  const nameOfTick = (/** @type {number} */ tick) => (isRepeater ? (tick ? t`a guess` : t`certain`) : percent(tick));
  const others = untrainedIn(state, seen);
  const ends = runs.map(({ frames }) => endOf(frames, up));
  const count = Math.max(runs.length + others.length, Math.min(RESERVED, state.stored.length + 2));
  const places = apart([...ends.map(({ y }) => y), ...others.map(() => 100)], (100 * ROW) / roomFor(count));
  const dots = [...runs.filter((one) => one !== run), run].map((one) => {
    const { step, score } = one.frames.findLast((each) => each.step <= frame.step) ?? NOTHING;
    if (!Number.isFinite(score)) return nothing;
    const place = { x: across(step), y: Math.max(0, up(score)) };
    return one === run
      ? handle(place, isLast(run, frame) ? "" : shownScore(state.task, score), isRepeater ? -1 : 1)
      : dotMark({ ...place, kind: "qkv-train-other" });
  });
  return html`<div class="qkv-train-curves" style="--qkv-room: ${roomFor(count)}rem">
    <div class="qkv-train-walk">
      ${panel({
        title: isRepeater ? t`surprise, in nats` : t`${html`<i>${asked}</i>`} right in new sentences`,
        drawing: plot({
          kind: "qkv-train-plot",
          label: isRepeater
            ? t`The surprise in nats, for ${runs.length} trainings.`
            : t`The share of ${asked} right in new sentences, for ${runs.length} trainings.`,
          marks: [
            yAxis({ scale: up, ticks, named: [] }),
            ticks.map((tick) => words({ x: 0, y: up(tick), dx: -12, anchor: "end", content: nameOfTick(tick) })), // beside the handle
            isRepeater
              ? ticks.map((tick) =>
                  words({ x: 0, y: up(tick), dx: -12, lines: 1, anchor: "end", content: shownNumber(tick) }),
                )
              : nothing,
            steps(seen),
            curvesOf(seen, (each) => each.score, up),
            leads(ends, places),
            isUntrained(state, seen) ? nothing : dots,
          ],
          onDrag: dragged(({ x }) => all.length && set({ at: all.indexOf(nearestOf(all, x * STEPS)) })),
        }),
      })}
      ${
        all.length > 1
          ? html`<input class="qkv-over" type="range" aria-label=${t`step`} min="0" max=${all.length - 1} aria-valuetext=${t`${frame.step} of ${STEPS}`}
            .value=${live(String(at))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ at: target.valueAsNumber })}>`
          : nothing
      }
    </div>
    ${names(state, seen, places, others, set, id)}
  </div>`;
}

const ROW = 2.5; // rem from one name at the ends of the curves to the next
const ROOM = 8; // rem, the height of the curves

const RESERVED = 5; // so many names have room from the start: the curves do not grow when one is added

/** Return the height of the curves, in rem, at which so many names have room beside them.
 * @param {number} count */
const roomFor = (count) => Math.max(ROOM, ROW * (count - 1));

/** Return where a curve ends, as percentages.
 * @param {Frame[]} frames
 * @param {Scale} up */
function endOf(frames, up) {
  const last = frames.findLast(({ score }) => Number.isFinite(score));
  return last ? { x: across(last.step), y: Math.max(0, up(last.score)) } : { x: 0, y: 100 };
}

/** Return heights near the wanted ones, in the same order, between 0 and 100, with a gap between any two.
 * @param {number[]} wanted
 * @param {number} gap */
function apart(wanted, gap) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const places = [...wanted];
  let least = 0;
  for (const i of order) {
    places[i] = Math.max(places[i], least);
    least = places[i] + gap;
  }
  let most = 100;
  for (const i of order.reverse()) {
    places[i] = rounded(Math.min(places[i], most));
    most = places[i] - gap;
  }
  return places;
}

/** Return lines from the ends of the curves to their names.
 * @param {{ x: number, y: number }[]} ends
 * @param {number[]} places */
const leads = (ends, places) => svg`<svg x="100%" width="16" height="100%">
  ${ends.map(({ x, y }, i) => (x < 100 ? nothing : svg`<line class="qkv-train-lead" x1="0" x2="16" y1=${pct(y)} y2=${pct(places[i])} />`))}
</svg>`;

/** Return the handle that walks through the steps, and beside it the score there: where the rest of the curve is not.
 * @param {{ x: number, y: number }} place
 * @param {string} score
 * @param {number} side 1: below, beside a curve that rises; −1: above, beside one that falls */
function handle({ x, y }, score, side) {
  const isBeside = x < 65;
  const beside = { dx: isBeside ? 15 : 0, lines: side * (isBeside ? 0.9 : 1.9), anchor: isBeside ? "start" : "end" };
  return svg`${score ? words({ x, y, ...beside, kind: "qkv-train-score", content: score }) : nothing}
    ${dotMark({ x, y, kind: "qkv-train-grip" })}
    <svg class="qkv-train-ways" x=${pct(x)} y=${pct(y)} width="1" height="1"><path d="M-7 0H7M-4 -3L-7 0L-4 3M4 -3L7 0L4 3" /></svg>`;
}

/** Return the loss in training or, for the repeater, the scores of its heads.
 * @param {State} state
 * @param {Seen} seen */
function secondChart(state, seen) {
  const { run, frame } = seen;
  if (state.task !== "repeater") {
    return panel({
      title: t`loss`,
      reading: Number.isFinite(frame.loss) ? html`<b>${shownNumber(frame.loss)}</b>` : nothing,
      drawing: plot({
        kind: "qkv-train-plot",
        label: t`The loss in training.`,
        marks: [steps(seen), yAxis({ scale: lossUp, ticks: [0, 3, 6] }), curvesOf(seen, (each) => each.loss, lossUp)],
      }),
    });
  }
  const scores = (/** @type {Value} */ of, /** @type {string} */ kind) =>
    curve({ points: pointsOf(run.frames, of, shareUp), kind: `qkv-train-now ${kind}` });
  return panel({
    title: t`scores`,
    reading: html`<small>${t`followed`}</small> <b>${shownNumber(frame.followed ?? NaN)}</b> <small>${t`before`}</small> <b>${shownNumber(frame.previous ?? NaN)}</b>`,
    drawing: plot({
      kind: "qkv-train-plot",
      label: t`The mean weight on the symbol before in layer 1, and on all that followed the same symbol in the last layer.`,
      marks: [
        steps(seen),
        yAxis({ scale: shareUp, ticks: [0, 0.5, 1] }),
        scores((each) => each.previous ?? NaN, "qkv-train-1"),
        scores((each) => each.followed ?? NaN, ""),
      ],
    }),
  });
}

const shownNumber = (/** @type {number} */ x) => (Number.isFinite(x) ? num(x, { places: 2 }) : "–");
const shownScore = (/** @type {State["task"]} */ task, /** @type {number} */ score) =>
  task === "repeater" ? num(score, { places: 2 }) : percent(score);

/** Return the names of the trainings at the ends of their curves: the chosen one is shown. Below them are those that are
 * not trained yet; a press trains one.
 * @param {State} state
 * @param {Seen} seen
 * @param {number[]} places
 * @param {Choices[]} others
 * @param {SetState<State>} set
 * @param {string} id */
function names(state, seen, places, others, set, id) {
  const { runs, run } = seen;
  const isNew = isUntrained(state, seen);
  const at = (/** @type {number} */ i) => `top: ${places[i]}%`;
  const away = (
    /** @type {Training} */ one,
  ) => html`<button type="button" class="qkv-control qkv-train-away" aria-label=${t`remove ${one.name}`}
      @click=${() => set({ runs: runs.filter((each) => each !== one), shown: -1, at: -1 })}>×</button>`;
  return html`<fieldset class="qkv-control qkv-train-names">
    <legend class="qkv-unseen">${t`trainings`}</legend>
    ${runs.map((one, i) => {
      const isShown = one === run && !isNew;
      const isOwn = !one.isStored && !(isBusy(state.status) && i === runs.length - 1);
      return html`<div style=${at(i)}><label class="qkv-pick qkv-train-name">
        <input class="qkv-over" type="radio" name="${id}-run" .checked=${live(isShown)}
          @change=${() => set({ ...one.choices, seed: state.seed, ...shownNow(state, runs, i) })}>
        <b>${lastScore(state.task, one)}</b> ${one.name}</label>${isShown && isOwn ? away(one) : nothing}</div>`;
    })}
    ${others.map((one, i) => {
      const name = nameOf(one);
      const isNext = isNew && name === nameOf(choicesOf(state));
      return html`<div style=${at(runs.length + i)}><button type="button" class="qkv-control qkv-train-new ${isNext ? "qkv-train-next" : ""}"
        aria-label=${t`train ${name}`} @click=${() => train(state, set, one)}><span aria-hidden="true">▶</span> ${name}</button></div>`;
    })}
  </fieldset>`;
}

const MANY = 4; // a setting with more values is only below

/** Return the choices that are not trained yet and that are offered beside the curves: the values of the first setting,
 * and what the reader has chosen below.
 * @param {State} state
 * @param {Seen} seen
 * @returns {Choices[]} */
function untrainedIn(state, { runs }) {
  const now = choicesOf(state);
  const [first] = madeOf(state);
  const all = [
    ...valuesOf(first).map((value) => ({
      ...now,
      ...runs[0]?.choices,
      seed: state.seed,
      [NAMED[first] ?? first]: value,
    })),
    now,
  ];
  const isFirst = (/** @type {Choices} */ one, /** @type {number} */ i) =>
    all.findIndex((each) => nameOf(each) === nameOf(one)) === i;
  return all.filter((one, i) => isFirst(one, i) && likeIn(runs, one) < 0);
}

/** The choice that a setting changes, if it has another name.
 * @type {Record<string, string>} */
const NAMED = { mask: "mask_forgotten" };

/** Return the values of a setting, if they are few.
 * @param {string | undefined} name
 * @returns {unknown[]} */
function valuesOf(name = "") {
  if (isSwitch(name) || name === "mask") return [true, false];
  const values = isChoice(name) ? CHOICES[name]().options.map(({ value }) => value) : [];
  return values.length > MANY ? [] : values;
}

const isBusy = (/** @type {State["status"]} */ status) => status === "running" || status === "paused";

/** @param {State["task"]} task
 * @param {Pick<Training, "result" | "frames">} parts */
function lastScore(task, { result, frames }) {
  const score = result?.score ?? frames[frames.length - 1]?.score ?? NaN;
  return Number.isFinite(score) ? shownScore(task, score) : "";
}

/* ---- what can be chosen before a training */

/** @typedef {"scaled" | "positions" | "residual" | "norm" | "feed_forward" | "warm_up"} Switch */
/** @type {Record<Switch, () => unknown>} */
const SWITCHES = {
  scaled: () => t`divide by √${html`<var>d<sub>k</sub></var>`}`,
  positions: () => t`positions`,
  residual: () => t`residual stream`,
  norm: () => t`norm`,
  feed_forward: () => t`feed-forward`,
  warm_up: () => t`warm-up`,
};
/** @param {string} name
 * @returns {name is Switch} */
const isSwitch = (name) => name in SWITCHES;

/** Return values as options with names.
 * @template {number | string} Value
 * @param {Value[]} values
 * @param {(value: Value) => string} nameOfValue
 * @returns {{ value: number | string, label: string }[]} */
const named = (values, nameOfValue) => values.map((value) => ({ value, label: nameOfValue(value) }));

/** @typedef {"layers" | "heads" | "rate" | "sentences" | "sees" | "language"} Choice */
/** What can be chosen of some values.
 * @type {Record<Choice, () => { label: string, options: { value: number | string, label: string }[] }>} */
const CHOICES = {
  layers: () => ({ label: t`layers`, options: named([1, 2], String) }),
  heads: () => ({ label: t`heads`, options: named([1, 2, 4], String) }),
  rate: () => ({
    label: t`learning rate`,
    options: named([0.1, 0.3, 1, 3, 10], (factor) => (factor < 1 ? `÷ ${Math.round(1 / factor)}` : `× ${factor}`)),
  }),
  sentences: () => ({ label: t`sentences`, options: named([50, 200, 1000, 5000, 20000], (count) => num(count)) }),
  sees: () => ({ label: t`tagger`, options: named(["alone", "window", "attention", "attention, positions"], seesOf) }),
  language: () => ({
    label: t`language`,
    options: [
      { value: "english", label: t`English` },
      { value: "chinese", label: t`Chinese` },
    ],
  }),
};
/** @param {string} name
 * @returns {name is Choice} */
const isChoice = (name) => name in CHOICES;

const TAUGHT = ["rule", "sentences", "language"];
/** Settings of one model.
 * @type {Record<string, State["task"]>} */
const FOR = {
  feed_forward: "tagger",
  sentences: "tagger",
  language: "tagger",
  rule: "tagger",
  mask: "repeater",
  sees: "labeller",
};
/** The labeller has only its own.
 * @param {string} name
 * @param {State["task"]} task */
const isFor = (name, task) => (FOR[name] ?? (task === "labeller" ? "" : task)) === task;

const FEW = 3; // so many settings are shown at once; more are folded once more

/** Return the names of the settings that are parts of the model: the values of the first one are beside the curves.
 * @param {State} state */
const madeOf = ({ handles, task }) => handles.filter((name) => isFor(name, task) && !TAUGHT.includes(name));

/** Return the settings, in two groups: parts to leave out, and what is taught. A single part with few values stands
 * beside the curves already.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function settings(state, set, id) {
  const all = madeOf(state);
  const made = all.length === 1 && valuesOf(all[0]).length ? [] : all;
  const taught = state.handles.filter((name) => isFor(name, state.task) && TAUGHT.includes(name));
  const folded = (/** @type {string} */ title, /** @type {unknown} */ content) =>
    made.length + taught.length > FEW
      ? html`<details class="qkv-train-fold"><summary>${title}</summary>${content}</details>`
      : html`<div>${content}</div>`;
  return html`
    ${made.length ? folded(t`Leave a part out, or change one`, parts(made, state, set, id)) : nothing}
    ${taught.length ? folded(t`Teach it something else`, parts(taught, state, set, id)) : nothing}`;
}

/** @param {string[]} names
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function parts(names, state, set, id) {
  const switches = names.filter(isSwitch);
  const choose = (/** @type {Partial<Choices>} */ changes) => set(chosen(state, changes));
  return html`
    ${
      switches.length || names.includes("mask")
        ? html`<div class="qkv-train-made">
      ${switches.map((name) => toggle({ label: SWITCHES[name](), checked: state[name], onChange: (on) => choose({ [name]: on }) }))}
      ${names.includes("mask") ? toggle({ label: t`causal mask`, checked: !state.mask_forgotten, onChange: (on) => choose({ mask_forgotten: !on }) }) : nothing}
    </div>`
        : nothing
    }
    <div class="qkv-train-few">${names.filter(isChoice).map((name) =>
      choices({
        ...CHOICES[name](),
        name: `${id}-${name}`,
        value: /** @type {number | string} */ (state[name]),
        onChange: (value) => choose({ [name]: value, ...(name === "language" ? { rule: [] } : {}) }),
      }),
    )}</div>
    ${names.includes("rule") ? ruleOf(state, set, id) : nothing}`;
}

/** Return the rule of one verb: which adjectives point at the noun before it and which at the noun after it. A press
 * turns an adjective round.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function ruleOf(state, set, id) {
  const { rule: turned, language } = state;
  const acts = Object.keys(adjectivesOf(language));
  const act = acts[state.act] ?? acts[0];
  const { actor, other } = adjectivesOf(language)[act];
  const chip = (/** @type {string} */ adjective) => {
    const isOther = isTurned(turned, act, adjective);
    return html`<button type="button" class="qkv-train-chip" aria-pressed=${isOther}
      @click=${() => set(chosen(state, { rule: flipped(turned, language, act, adjective) }))}>${adjective}</button>`;
  };
  const side = (/** @type {boolean} */ isFirst) =>
    [...actor, ...other].filter(
      (adjective) => (actor.includes(adjective) !== isTurned(turned, act, adjective)) === isFirst,
    );
  return html`<div class="qkv-train-rule">
    <fieldset class="qkv-control qkv-train-acts"><legend class="qkv-label">${t`the rule after the verb`}</legend>
      ${acts.map(
        (
          each,
          i,
        ) => html`<label class="qkv-pick"><input class="qkv-over" type="radio" name="${id}-act" .checked=${live(each === act)}
          @change=${() => set({ act: i })}>${each}${turnedAfter(turned, language, each) ? html` <small>↺</small>` : nothing}</label>`,
      )}
    </fieldset>
    <p class="qkv-label">${t`Press an adjective to turn it round:`}</p>
    <div class="qkv-train-sides">
      <div><b>${t`it: the noun before`}</b>${side(true).map(chip)}</div>
      <div><b>${t`the noun after`}</b>${side(false).map(chip)}</div>
    </div>
    ${button({ label: t`our rule`, disabled: turned.length === 0, onClick: () => set(chosen(state, { rule: [] })) })}
  </div>`;
}

/** Check whether a rule turns any adjective after a verb.
 * @param {readonly string[]} rule
 * @param {State["language"]} language
 * @param {string} act */
function turnedAfter(rule, language, act) {
  const { actor, other } = adjectivesOf(language)[act];
  return [...actor, ...other].some((adjective) => isTurned(rule, act, adjective));
}

/* ---- numbers */

/** @param {Seen} parts */
const numbers = ({ runs, run }) => [
  {
    caption: t`Training “${run.name}”`,
    head: [t`step`, t`loss`, t`score`, t`weights of the token that asks`],
    rows: run.frames
      .filter(({ step }) => step % 100 === 0)
      .map(({ step, loss, score, shown }) => [
        step,
        shownNumber(loss),
        shownNumber(score),
        (shown ?? []).map(({ weights }) => weights.map((weight) => num(weight, { places: 2 })).join(" ")).join(" | "),
      ]),
  },
  ...(runs.length > 1 ? [allTrainings(runs)] : []),
];

const allTrainings = (/** @type {Training[]} */ runs) => ({
  caption: t`All trainings: the score at the end`,
  head: [t`training`, t`score`, t`seed`, t`stored`],
  rows: runs.map((one) => [
    one.name,
    lastScore(one.choices.task, one),
    one.choices.seed,
    one.isStored ? t`yes` : t`no`,
  ]),
});
