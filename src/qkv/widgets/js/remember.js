/** Return a pure function that keeps its last `most` results, for work that must not be repeated at every move of a
 * slider. Arguments are compared by Object.is, so a list equals itself and not a list with the same entries.
 * @template {unknown[]} Arguments
 * @template Result
 * @param {(...wanted: Arguments) => Result} work
 * @returns {(...wanted: Arguments) => Result} */
export function remember(work, most = 4) {
  /** @type {{ wanted: Arguments, result: Result }[]} */
  const kept = [];
  return (...wanted) => {
    const known = kept.find((each) => each.wanted.every((value, i) => Object.is(value, wanted[i])));
    if (known) return known.result;
    const result = work(...wanted);
    if (kept.length === most) kept.shift();
    kept.push({ wanted, result });
    return result;
  };
}
