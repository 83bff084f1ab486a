/* An exam for the trained tagger: 100 new sentences with *it*, read in small portions between the page's frames. */

import { score } from "./tagger.js";
import { theGrammar, theTagger } from "./trained.js";

/** @import { Sentence } from "./grammar.js" */
/** @import { Handles } from "./tagger.js" */

export const EXAM_LENGTH = 100;
const PORTION = 4; // ms of work, after which the page may draw
const DRAWN_AT_ONCE = 2; // sentences drawn with each seed

/** @type {Sentence[]} */
const paper = []; // the sentences of the exam so far: they are drawn when they are first needed
let seed = 0;

/** Return sentence i of the exam, which is the same in every exam.
 * @param {number} i */
export function examSentence(i) {
  while (paper.length <= i)
    paper.push(
      ...theGrammar()
        .draw("new", DRAWN_AT_ONCE, ++seed)
        .filter(({ noun }) => noun !== null),
    );
  return paper[i];
}

/** Check whether two settings differ; their values are compared by Object.is, as `remember` does.
 * @param {Record<string, unknown>} one
 * @param {Record<string, unknown>} other */
const differ = (one, other) => Object.keys(one).some((name) => !Object.is(one[name], other[name]));

/** Return an examiner. Its `check` starts an exam if `settings()` has changed since the last; `report` gets for each
 * sentence whether the noun of *it* was found.
 *
 * Between portions, the examiner sends itself a message, so that the page can do other work first. A timer would wait
 * 4 ms more.
 * @param {{ settings: () => Handles, report: (right: boolean[]) => void }} parts */
export function examiner({ settings, report }) {
  const { port1: receiver, port2: sender } = new MessageChannel();
  let isMarking = false;
  let marked = {}; // the settings of the last exam that has ended
  const start = (/** @type {Handles} */ handles) => {
    /** @type {boolean[]} */
    const right = [];
    isMarking = true;
    receiver.onmessage = () => {
      const end = performance.now() + PORTION;
      while (right.length < EXAM_LENGTH && performance.now() < end) {
        right.push(score(theTagger(), examSentence(right.length), handles)[2] > 0);
      }
      if (right.length < EXAM_LENGTH) {
        sender.postMessage("");
        return;
      }
      isMarking = false;
      marked = handles;
      report(right);
      check();
    };
    sender.postMessage("");
  };
  /** Start an exam if the settings have changed. An exam that has begun runs to its end, so that results also appear
   * while the reader keeps changing a setting. */
  const check = () => {
    const handles = settings();
    if (!isMarking && differ(handles, marked)) start(handles);
  };
  return { check, close: () => receiver.close() };
}
