// The reader's answers and their last verdicts, kept in this browser alone: one entry of localStorage.
// {"3.1": {source, status, points, checked: {source, status, points}}, "try 3.1": {source}}

const KEY = "qkv-answers";
const FORMAT = { format: "qkv-answers", version: 1 };

/** @typedef {{ source?: string, status?: string, points?: number }} Verdict a text, and what a check said of it
 * @typedef {Verdict & { imported?: boolean, checked?: Verdict }} Entry */

/** The answers of this visit, if the browser does not store them.
 * @type {Record<string, Entry> | undefined} */
let ofThisVisit;

/** @param {unknown} value
 * @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === "object" && value !== null;

/** Check whether a stored value is a verdict: another page of this host can have written anything.
 * @param {unknown} value
 * @returns {value is Verdict & Record<string, unknown>} */
const isVerdict = (value) =>
  isObject(value) &&
  ["string", "undefined"].includes(typeof value.source) &&
  ["string", "undefined"].includes(typeof value.status) &&
  (value.points === undefined || Number.isFinite(value.points));

const isEntry = (/** @type {[string, unknown]} */ [, entry]) =>
  isVerdict(entry) && (entry.checked === undefined || isVerdict(entry.checked));

/** Give a text the line breaks that an editor gives it. Else a text of another system, once shown, would look as if the
 * reader had changed it, and so had read it.
 * @param {[string, Entry]} entry
 * @returns {[string, Entry]} */
const asEdited = ([key, { source, ...entry }]) => [
  key,
  source === undefined ? entry : { ...entry, source: source.replace(/\r\n?/g, "\n") },
];

/** Return the answers that this browser keeps.
 * @returns {Record<string, Entry>} */
export function load() {
  if (ofThisVisit) return ofThisVisit;
  try {
    const { format, version, answers } = JSON.parse(localStorage.getItem(KEY) ?? "");
    return format === FORMAT.format && version === FORMAT.version
      ? Object.fromEntries(Object.entries(answers).filter(isEntry).map(asEdited))
      : {};
  } catch {
    return {}; // nothing is kept, storage is blocked, or it holds something else
  }
}

/** Keep the answers, and return whether the browser stored them. If not, they are kept until the page is left.
 * @param {Record<string, Entry>} answers */
export function save(answers) {
  try {
    if (Object.keys(answers).length) localStorage.setItem(KEY, JSON.stringify({ ...FORMAT, answers }));
    else localStorage.removeItem(KEY);
    ofThisVisit = undefined;
    return true;
  } catch {
    ofThisVisit = answers;
    return false;
  }
}

/** Call a function when another tab has changed the answers.
 * @param {() => void} act */
export function onOtherTab(act) {
  window.addEventListener("storage", ({ key }) => {
    if (key === KEY || key === null) act();
  });
}

/** Change the entry of one text, and return whether the browser stored it. A value of undefined removes its key.
 * @param {string} key
 * @param {Partial<Entry>} change */
export function note(key, change) {
  const { [key]: before, ...others } = load();
  const now = { ...before, ...change };
  for (const name of /** @type {(keyof Entry)[]} */ (Object.keys(now))) if (now[name] === undefined) delete now[name];
  return save(Object.keys(now).length ? { ...others, [key]: now } : others);
}
