import { live } from "lit-html/directives/live.js";
import {
  button,
  choices,
  curve,
  dotMark,
  dragged,
  gripMark,
  html,
  nearestOf,
  nothing,
  num,
  panel,
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
/** @import { Adjectives } from "./grammar.js" */
/** @import { Scale } from "./scales.js" */
/** @import { Frame, Line, Result } from "./engine/shown.js" */
/** @import { Following, Training } from "./trainer.js" */
/** @typedef {Choices & Following & { handles: string[], stored: string[], shown: number, at: number, unfolded: boolean }} State */
/** @typedef {ReturnType<typeof seenIn>} Seen */
/** @typedef {(frame: Frame) => number} Value of a frame, which a curve shows */

export default widget("TrainLab", {
  // The trainings (null: the stored ones), the one whose sentences are shown (−1: the one that is like the settings) and the index of its frame (−1: the last; at first the model is untrained), how
  // often the reader has pressed Train, whether this browser is slow or could not start, and whether the rest is unfolded.
  own: { runs: null, shown: -1, at: 0, status: "idle", asked: 0, isSlow: false, failed: "", unfolded: false },
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
      <div class="qkv-train-top">${firstSetting(state, set, id)} ${buttons(state, seen, set)}</div>
      ${pictures(state, seen, set)} ${legend(state, seen, set, id)} ${walk(state, seen, set)}
      <p class="qkv-train-finding">${findingText(state, seen.run, seen.frame)} <b>${habitText(seen.run, seen.frame)}</b>${problemText(state)}</p>
      ${unfolding(state, set, id)}
      <div id="${id}-rest" class="qkv-train-rest ${state.unfolded ? "qkv-train-open" : ""}">
        ${secondChart(state, seen)}
        ${settings(state, set, id)}
        ${trainHere(state, seen, set)}
        ${tables(() => numbers(seen))}
      </div>
    </div>`;
  },
});

/** Return the button that unfolds the curves and settings, where they would not fit on the screen.
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
  const like = likeIn(state.runs ?? storedRuns(state), { ...choicesOf(state), ...changes });
  return like < 0 ? changes : { ...changes, shown: like, at: -1 };
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

/** Go on with the paused training, if nothing was chosen since; else start one beside the others. If there are too many, the oldest leaves, but never the first: it is compared with.
 * @param {State} state
 * @param {SetState<State>} set */
function train(state, set) {
  if (state.status === "paused" && !chosenSince(state, seenIn(state))) return set({ status: "running" });
  const choices = choicesOf(state);
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

const buttons = (/** @type {State} */ state, /** @type {Seen} */ seen, /** @type {SetState<State>} */ set) => {
  const { status } = state;
  const pauses = status === "paused" ? t`Go on` : t`Pause`;
  const chosen = chosenSince(state, seen);
  return html`<div class="qkv-train-buttons">
    <button type="button" class="qkv-control qkv-button qkv-train-go" @click=${() => train(state, set)}>${t`Train`}</button>
    ${button({
      label: pauses,
      disabled: status !== "running" && status !== "paused",
      onClick: () => set({ status: status === "running" ? "paused" : "running" }),
    })}
    <span class="qkv-note qkv-train-next">${chosen ? t`press Train: ${html`<b>${chosen}</b>`}` : nothing}</span>
  </div>`;
};

/** Return a second button to train, below the settings: the first one may be off the screen. The picture comes back.
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
function trainHere(state, seen, set) {
  const chosen = chosenSince(state, seen);
  const onClick = (/** @type {{ currentTarget: HTMLElement }} */ { currentTarget }) => {
    currentTarget.closest(".qkv-train")?.scrollIntoView({ block: "start" });
    train(state, set);
  };
  const next = html`<span class="qkv-note">${t`next: ${nameOf(choicesOf(state))}, seed ${state.seed}`}</span>`;
  return html`<div class="qkv-train-here">${chosen ? button({ label: t`Train: ${chosen}`, onClick }) : next}</div>`;
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

/** What is said of a score, while the training runs and at its end.
 * @type {Record<State["task"], { during: (frame: Frame) => string, end: (result: Result) => string }>} */
const SAYS = {
  tagger: {
    during: ({ score }) => t`it right in ${percent(score)} of 100 new sentences.`,
    end: ({ score, heldOut = NaN }) =>
      t`it right in ${percent(score)} of 1,000 new sentences, and in ${percent(heldOut)} of combinations kept out.`,
  },
  repeater: {
    during: ({ score }) => t`surprise ${nats(score)} at symbols that come again.`,
    end: ({ score }) => t`surprise ${nats(score)} at symbols that come again; a guess has ${nats(GUESS)}.`,
  },
  labeller: {
    during: ({ score }) => t`${percent(score)} of the labels of saw are right, in 100 new sentences.`,
    end: ({ score }) => t`${percent(score)} of the labels of saw are right, in 1,000 new sentences.`,
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
  leak: () =>
    t`In training it saw the symbol that it had to predict. Now the future is hidden, and it is worse than a guess.`,
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
  const { run } = seen;
  const isNew = isUntrained(state, seen);
  const frame = isNew ? NOTHING : seen.frame;
  const isStored = run.isStored && !isNew;
  if (state.task === "repeater") {
    const layers = run.choices.layers;
    return layerNames()
      .slice(2 - layers)
      .map((title, i) =>
        picture({
          title: layers === 1 ? t`its only layer` : title,
          tokens: [...TEXT.slice(0, -1)],
          from: TEXT.length - 2,
          line: frame.shown?.[i],
          right: TEXT[TEXT.length - 1],
          asked: i ? "" : t`next`,
          isStored,
        }),
      );
  }
  if (state.task === "labeller")
    return SAWS.map((from, i) =>
      picture({
        title: "",
        tokens: PUZZLE,
        from,
        line: frame.shown?.[i],
        right: SAW_IS[i],
        asked: PUZZLE[from],
        isStored,
      }),
    );
  const { language, rule } = run.choices;
  const turns = state.handles.includes("rule");
  return SHOWN[language].map((tokens, i) => {
    const adjective = tokens[tokens.length - 1];
    const act = tokens.find((word) => adjectivesOf(language)[word]);
    const first = (i === 0) !== isTurned(rule, act, adjective);
    const nouns = language === "english" ? [tokens[1], tokens[4]] : [tokens[0], tokens[2]];
    return picture({
      title: "",
      tokens,
      from: tokens.findIndex((word) => IT.includes(word)),
      line: frame.shown?.[i],
      right: nouns[first ? 0 : 1],
      asked: IT[language === "english" ? 0 : 1],
      isStored,
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
const layerNames = () => [t`layer 2, from the last symbol`, t`layer 1, the head that looks most at the symbol before`];
const rounded = (/** @type {number} */ number) => Math.round(1000 * number) / 1000;

const GAP = 1.3; // letters between two words

/** Return about how wide a word and the gap after it are, in letters.
 * @param {string} word */
const widthOf = (word) =>
  [...word].reduce((sum, letter) => {
    if (/\p{Script=Han}/u.test(letter)) return sum + 2;
    return sum + (/[mw]/.test(letter) ? 1.5 : /[ijlrt]/.test(letter) ? 0.6 : 1);
  }, GAP);

/** Return a text with arcs from the token that asks, and the likeliest answers.
 * @param {{ title: string, tokens: string[], from: number, line?: Line, right: string, asked: string, isStored: boolean,
 *   turn?: { isTurned: boolean, onClick: () => void } | null }} parts */
function picture({ title, tokens, from, line, right, asked, isStored, turn = null }) {
  const widths = tokens.map(widthOf);
  const total = widths.reduce((sum, width) => sum + width, 0);
  /** @type {number[]} */
  const middles = [];
  let start = 0;
  for (const width of widths) {
    middles.push(rounded((100 * (start + width / 2)) / total));
    start += width;
  }
  const weights = line?.weights ?? tokens.map(() => 0);
  const path = (/** @type {number} */ j) => {
    const [a, b] = [middles[from], middles[j]];
    const top = rounded(10 - Math.min(12, 3 + Math.abs(a - b) / 6));
    return `M${a} 10C${a} ${top} ${b} ${top} ${b} 10`;
  };
  const last = tokens.length - 1;
  return html`<figure class="qkv-train-picture">
    ${title ? html`<figcaption class="qkv-note">${title}</figcaption>` : nothing}
    <svg class="qkv-train-arcs" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      ${tokens.map((_, j) => (j === from ? nothing : svg`<path style="--qkv-p: ${rounded(weights[j] ?? 0)}" d=${path(j)} />`))}
    </svg>
    <div class="qkv-train-words">
      ${tokens.map((token, j) => {
        const kind = j === from ? "qkv-train-asks" : "";
        const style = `flex-grow: ${widths[j]}; --qkv-p: ${rounded(weights[j] ?? 0)}`;
        return turn && j === last
          ? html`<button type="button" class="qkv-train-turn" style=${style} aria-pressed=${turn.isTurned} title=${t`teach it the opposite: this adjective means the other noun`}
              @click=${turn.onClick}>${token}<span aria-hidden="true">${turn.isTurned ? "↺" : "↻"}</span></button>`
          : html`<span class=${kind} style=${style}>${token}</span>`;
      })}
    </div>
    ${asked ? html`<p class="qkv-train-says">${asked} = ${isStored && !line ? t`not stored at this step; press Train` : answers(line, right)}</p>` : nothing}
  </figure>`;
}

const SEEN = 0.01; // a smaller chance is left out
const SURE = 0.1; // by so much the likeliest answer has to be likelier than the next one to count as an answer

/** @param {Line | undefined} line
 * @param {string} right */
function answers(line, right) {
  if (!line) return "?";
  const [[word, chance], [other, less]] = line.says;
  const judged = word === right ? "✓" : `✗ (${right})`;
  const verdict = chance - less < SURE ? t`unsure` : judged;
  return html`<span class="qkv-train-answer">${word} ${percent(chance)} ${verdict}</span>
    ${less < SEEN ? nothing : html`<span class="qkv-note">${other} ${percent(less)}</span>`}`;
}

/* ---- curves */

const across = linear([0, STEPS], [0, 100]);
const shareUp = linear([0, 1], [100, 0]);
const natsUp = linear([0, 5], [100, 0]);
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

/** Return a panel of curves over the steps, with a line at the step that is shown.
 * @param {Seen} seen
 * @param {{ title: unknown, reading: unknown, label: string, marks: unknown, onDrag?: (event: any) => void }} parts */
function drawn({ frame }, { title, reading, label, marks, onDrag }) {
  const here = rule({ x1: across(frame.step), x2: across(frame.step), kind: "qkv-here" });
  const steps = [0, STEPS].map((step) =>
    words({
      x: across(step),
      y: 100,
      lines: 0.95,
      anchor: step ? "end" : "start",
      content: step ? t`${step} steps` : "0",
    }),
  );
  return panel({
    title,
    reading: html`<b>${reading}</b>`,
    drawing: plot({ label, kind: "qkv-train-plot", onDrag, marks: [here, marks, steps] }),
  });
}

/** Return what every training has learned at each step, and the handle that walks through the steps.
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
function walk(state, seen, set) {
  const { runs, run, at, frame } = seen;
  const steps = run.frames.map(({ step }) => step);
  const isRepeater = state.task === "repeater";
  const asked = state.task === "tagger" ? "it" : "saw";
  const up = isRepeater ? natsUp : shareUp;
  const ticks = isRepeater ? [0, GUESS] : [0, 0.5, 1];
  const nameOfTick = (/** @type {number} */ tick) => (isRepeater ? (tick ? t`a guess` : t`certain`) : percent(tick));
  const { score } = isUntrained(state, seen) ? NOTHING : frame;
  const dots = [...runs.filter((one) => one !== run), run].map((one) => {
    const { step, score } = one.frames.findLast((each) => each.step <= frame.step) ?? NOTHING;
    if (!Number.isFinite(score)) return nothing;
    const place = { x: across(step), y: Math.max(0, up(score)) };
    return one === run ? gripMark(place) : dotMark({ ...place, kind: "qkv-train-other" });
  });
  return html`<div class="qkv-train-walk">
    ${drawn(seen, {
      title: isRepeater ? t`surprise` : t`${html`<i>${asked}</i>`} right`,
      reading: isRepeater ? nothing : html`${shownShare(score)} <small>${t`of 100`}</small>`,
      label: isRepeater
        ? t`The surprise in nats, for ${runs.length} trainings.`
        : t`The share of ${asked} right in new sentences, for ${runs.length} trainings.`,
      marks: [
        yAxis({ scale: up, ticks, named: [] }),
        ticks.map((tick) => words({ x: 0, y: up(tick), dx: -16, anchor: "end", content: nameOfTick(tick) })), // beside the ring
        curvesOf(seen, (each) => each.score, up),
        dots,
      ],
      onDrag: dragged(({ x }) => steps.length && set({ at: steps.indexOf(nearestOf(steps, x * STEPS)) })),
    })}
    ${
      steps.length > 1
        ? html`<input class="qkv-over" type="range" aria-label=${t`step`} min="0" max=${steps.length - 1} aria-valuetext=${t`${frame.step} of ${STEPS}`}
            .value=${live(String(at))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ at: target.valueAsNumber })}>`
        : nothing
    }
  </div>`;
}

/** Return the loss in training or, for the repeater, the scores of its heads.
 * @param {State} state
 * @param {Seen} seen */
function secondChart(state, seen) {
  const { run, frame } = seen;
  if (state.task !== "repeater") {
    return drawn(seen, {
      title: t`loss`,
      reading: shownNumber(frame.loss),
      label: t`The loss in training.`,
      marks: [yAxis({ scale: lossUp, ticks: [0, 3, 6] }), curvesOf(seen, (each) => each.loss, lossUp)],
    });
  }
  const scores = (/** @type {Value} */ of, /** @type {string} */ kind) =>
    curve({ points: pointsOf(run.frames, of, shareUp), kind: `qkv-train-now ${kind}` });
  return drawn(seen, {
    title: t`scores`,
    reading: html`<small>${t`followed`}</small> ${shownNumber(frame.followed ?? NaN)} <small>${t`before`}</small> ${shownNumber(frame.previous ?? NaN)}`,
    label: t`The mean weight on the symbol before in layer 1, and on all that followed the same symbol in the last layer.`,
    marks: [
      yAxis({ scale: shareUp, ticks: [0, 0.5, 1] }),
      scores((each) => each.previous ?? NaN, "qkv-train-1"),
      scores((each) => each.followed ?? NaN, ""),
    ],
  });
}

const shownNumber = (/** @type {number} */ x) => (Number.isFinite(x) ? num(x, { places: 2 }) : "–");
const shownShare = (/** @type {number} */ x) => (Number.isFinite(x) ? percent(x) : "–");

/** Return the names of the trainings: the chosen one is shown above.
 * @param {State} parts
 * @param {Seen} parts
 * @param {SetState<State>} set
 * @param {string} id */
const legend = ({ task, seed, status }, { runs, run }, set, id) => html`<fieldset class="qkv-control qkv-train-legend">
  <legend class="qkv-unseen">${t`trainings`}</legend>
  <div>${runs.map(
    (one, i) => html`<label class="qkv-pick qkv-train-name">
      <input class="qkv-over" type="radio" name="${id}-run" .checked=${live(one === run)} @change=${() => set({ ...one.choices, seed, shown: i, at: -1 })}>
      <svg viewBox="0 0 24 8" aria-hidden="true"><line class="qkv-curve qkv-train-${i}" x1="0" x2="24" y1="4" y2="4" /></svg>
      ${one.name} <b>${lastScore(task, one)}</b></label>${
        one.isStored || (isBusy(status) && i === runs.length - 1)
          ? nothing
          : html`<button type="button" class="qkv-control qkv-train-away" aria-label=${t`remove ${one.name}`}
              @click=${() => set({ runs: runs.filter((each) => each !== one), shown: -1, at: -1 })}>×</button>`
      }`,
  )}</div>
</fieldset>`;

const isBusy = (/** @type {State["status"]} */ status) => status === "running" || status === "paused";

/** @param {State["task"]} task
 * @param {Pick<Training, "result" | "frames">} parts */
function lastScore(task, { result, frames }) {
  const score = result?.score ?? frames[frames.length - 1]?.score ?? NaN;
  if (!Number.isFinite(score)) return "";
  return task === "repeater" ? num(score, { places: 2 }) : percent(score);
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

const FEW = 3; // so many settings are shown at once; more are folded

/** Return the names of the settings that are parts of the model: the first one stands on top, beside Train.
 * @param {State} state */
const madeOf = ({ handles, task }) => handles.filter((name) => isFor(name, task) && !TAUGHT.includes(name));

/** @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const firstSetting = (state, set, id) => parts(madeOf(state).slice(0, 1), state, set, id);

/** Return the other settings, in two groups that can be unfolded: parts to leave out, and what is taught.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function settings(state, set, id) {
  const made = madeOf(state).slice(1);
  const taught = state.handles.filter((name) => isFor(name, state.task) && TAUGHT.includes(name));
  const folded = (/** @type {string} */ title, /** @type {unknown} */ content) =>
    made.length + taught.length > FEW
      ? html`<details class="qkv-train-fold"><summary>${title}</summary>${content}</details>`
      : html`<div>${content}</div>`;
  return html`
    ${made.length ? folded(t`Leave another part out, or change one`, parts(made, state, set, id)) : nothing}
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
    ${names.includes("rule") ? ruleOf(state, set) : nothing}`;
}

/** Return the rule: for each verb, which adjectives point at the noun before it and which at the noun after it. A press
 * turns an adjective round.
 * @param {State} state
 * @param {SetState<State>} set */
function ruleOf(state, set) {
  const { rule: turned, language } = state;
  const acts = Object.entries(adjectivesOf(language));
  const chip = (
    /** @type {string} */ act,
    /** @type {string} */ adjective,
  ) => html`<button type="button" class="qkv-train-chip" aria-pressed=${isTurned(turned, act, adjective)}
    @click=${() => set(chosen(state, { rule: flipped(turned, language, act, adjective) }))}>${adjective}</button>`;
  const side = (
    /** @type {string} */ act,
    /** @type {Adjectives} */ { actor, other },
    /** @type {boolean} */ isFirst,
  ) =>
    [...actor, ...other]
      .filter((adjective) => (actor.includes(adjective) !== isTurned(turned, act, adjective)) === isFirst)
      .map((adjective) => chip(act, adjective));
  return html`<div class="qkv-train-rule">
    <p class="qkv-label">${t`the rule: press an adjective to turn it round`}</p>
    <div class="qkv-train-acts">
      <span></span><span class="qkv-note">${t`it: the noun before`}</span><span class="qkv-note">${t`the noun after`}</span>
      ${acts.map(([act, sides]) => html`<b>${act}</b><div>${side(act, sides, true)}</div><div>${side(act, sides, false)}</div>`)}
    </div>
    ${button({ label: t`our rule`, disabled: turned.length === 0, onClick: () => set(chosen(state, { rule: [] })) })}
  </div>`;
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
