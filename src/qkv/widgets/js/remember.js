/** A pure function that keeps its last few results: for work that a step of a slider must not repeat. Arguments are told
 * apart as Object.is does it: the same list is the same, an equal one is not.
 * @template {any[]} Arguments
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
