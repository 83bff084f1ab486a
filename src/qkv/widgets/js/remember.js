/** A pure function that keeps its last few results: for work that a step of a slider must not repeat. */
export function remember(work, most = 4) {
  const kept = new Map();
  return (key) => {
    if (!kept.has(key)) {
      if (kept.size === most) kept.delete(kept.keys().next().value);
      kept.set(key, work(key));
    }
    return kept.get(key);
  };
}
