// What the worker answers, as the page takes it. What runs in the worker may be somebody else's, and it can answer in the
// place of `notebook.answer`. So of an answer only values of the expected types are taken, and texts have a limit.

/** @import { Answer } from "./python.js" */
/** @typedef {Record<string, unknown>} Fields */

const STATUSES = ["passed", "failed", "error", "not attempted"];
const MOST = 10; // points of one question
const LONGEST = 100_000; // characters of a text; a cell prints at most a fifth of that

/** @param {unknown} value
 * @returns {value is string} */
const isText = (value) => typeof value === "string";
const isCount = (/** @type {unknown} */ value) => Number.isSafeInteger(value) && Number(value) >= 0;
const short = (/** @type {string} */ text) => text.slice(0, LONGEST);

/** Return a verdict on an answer, or undefined if it is none.
 * @param {unknown} found
 * @returns {Answer | undefined} */
export function verdictOf(found) {
  const { status, points, misconception, message, html } = /** @type {Fields} */ (found ?? {});
  if (!isText(status) || !STATUSES.includes(status) || !isText(message) || !isText(html)) return undefined;
  if (!isCount(points) || Number(points) > MOST || (points && status !== "passed")) return undefined;
  if (misconception !== null && !isText(misconception)) return undefined;
  return {
    status,
    points: Number(points),
    misconception: misconception && short(misconception),
    message: short(message),
    html: short(html),
    problem: "",
  };
}

/** Return the output of cells, or undefined if it is none.
 * @param {unknown} found
 * @returns {Answer | undefined} */
export function outputOf(found) {
  const { printed, problem, above } = /** @type {Fields} */ (found ?? {});
  if (!isText(printed) || !isText(problem) || !isCount(above)) return undefined;
  const said = { printed: short(printed), problem: short(problem), above: Number(above) };
  return { status: "", points: 0, misconception: null, message: "", ...said };
}
