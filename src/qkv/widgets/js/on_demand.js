/* Large data that a page of the site loads when it is first needed, from a script beside the site's own. */

/** @type {Map<string, Promise<any>>} */
const loading = new Map();

/** Return what the script qkv-weights-NAME.js holds. After a failure, the next call loads it again.
 * @param {string} name
 * @returns {Promise<any>} */
export function onDemand(name) {
  const known = loading.get(name);
  if (known) return known;
  const loaded = new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const host = /** @type {HTMLScriptElement} */ (document.querySelector('script[src*="qkv-site.js"]'));
    script.src = new URL(`qkv-weights-${name}.js`, host.src).href;
    script.addEventListener("load", () => resolve(globalThis.qkvWeights[name]));
    script.addEventListener("error", () => {
      script.remove();
      loading.delete(name);
      reject(new Error(`${script.src} could not be loaded`));
    });
    document.head.append(script);
  });
  loading.set(name, loaded);
  return loaded;
}
