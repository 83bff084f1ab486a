// The reader's answers and their last verdicts, kept in this browser alone: one entry of localStorage.
// {"3.1": {source, status, points, checked: {source, status, points}}, "try 3.1": {source}}

const KEY = "qkv-answers";
const FORMAT = { format: "qkv-answers", version: 1 };

export function load() {
  try {
    const { format, version, answers } = JSON.parse(localStorage.getItem(KEY) ?? "");
    return format === FORMAT.format && version === FORMAT.version ? answers : {};
  } catch {
    return {}; // nothing is kept, storage is blocked, or it holds something else
  }
}

/** Keep the answers, and return whether the browser stored them. */
export function save(answers) {
  try {
    if (Object.keys(answers).length) localStorage.setItem(KEY, JSON.stringify({ ...FORMAT, answers }));
    else localStorage.removeItem(KEY);
    return true;
  } catch {
    return false;
  }
}

/** Change the entry of one text, and return whether the browser stored it. A value of undefined removes its key. */
export function note(key, change) {
  const { [key]: before, ...others } = load();
  const now = { ...before, ...change };
  for (const name of Object.keys(now)) if (now[name] === undefined) delete now[name];
  return save(Object.keys(now).length ? { ...others, [key]: now } : others);
}
