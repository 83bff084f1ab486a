/* An exam for the trained tagger: 100 sentences with *it* that it never saw, taken in small portions between two frames. */

import { score } from "./tagger.js";
import { theGrammar, theTagger } from "./trained.js";

export const EXAM_LENGTH = 100;
const PORTION = 4; // milliseconds of work before the page may draw again
const DRAWN_AT_ONCE = 2;

const paper = []; // the sentences, drawn when they are first needed
let seed = 0;

/** Sentence i of the exam: always the same one. */
function examSentence(i) {
  while (paper.length <= i)
    paper.push(
      ...theGrammar()
        .draw("new", DRAWN_AT_ONCE, ++seed)
        .filter(({ noun }) => noun !== null),
    );
  return paper[i];
}

/** Whether settings differ: compared as `remember` compares arguments. */
const differ = (one, other) => Object.keys(one).some((name) => !Object.is(one[name], other[name]));

/** Marks with the handles that `settings()` gives, again whenever `look` finds them changed; `tell` gets each result.
 *
 * After each portion it sends itself a message, which comes after what the page has to do: a timer would wait 4 ms more. */
export function examiner({ settings, tell }) {
  const { port1: told, port2: later } = new MessageChannel();
  let isMarking = false;
  let marked = {}; // the settings of the last exam that has ended
  const start = (handles) => {
    const total = [0, 0, 0, 0];
    let i = 0;
    isMarking = true;
    told.onmessage = () => {
      const end = performance.now() + PORTION;
      while (i < EXAM_LENGTH && performance.now() < end) {
        score(theTagger(), examSentence(i++), handles).forEach((count, place) => {
          total[place] += count;
        });
      }
      if (i < EXAM_LENGTH) {
        later.postMessage("");
        return;
      }
      isMarking = false;
      marked = handles;
      tell({ it: total[2] / total[3], words: total[0] / total[1] });
      look();
    };
    later.postMessage("");
  };
  /** A handle that is turned during an exam waits for its end: so the share follows a hand that never rests. */
  const look = () => {
    const handles = settings();
    if (!isMarking && differ(handles, marked)) start(handles);
  };
  return { look, close: () => told.close() };
}
