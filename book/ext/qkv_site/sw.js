// The service worker: caches the whole site at the first visit, in the language that is read; another language, when a
// reader first opens a page of it. The build puts the constants VERSION, PYTHON, LANGUAGES, FILES and PYTHON_FILES above
// this comment. All files of a build are cached together, so that a page never gets a style sheet of another build. A new
// build is fetched in the background and shown at the next visit. The files that run Python on a page are large: they are
// cached when a reader first runs something, and until their version (PYTHON) changes.
//
// Any script of this origin, also of another site on the same host, can write to the cache. So a cached copy is served
// only if its hash is that of the build, and of a response only its bytes are taken.

const PREFIX = "qkv-";
const CACHE = PREFIX + VERSION;
const PYTHON_CACHE = `${PREFIX}python-${PYTHON}`;
const SCOPE = self.registration.scope;
const TYPES = {
  css: "text/css",
  html: "text/html; charset=utf-8",
  ipynb: "application/json",
  js: "text/javascript",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  wasm: "application/wasm",
  woff2: "font/woff2",
};

const SHARED = "_static";

/** Return the part of the site that a file belongs to: the folder of a language, "" for English, or what all share.
 * @param {string} name */
function partOf(name) {
  const [first] = name.split("/");
  return [SHARED, ...LANGUAGES].includes(first) ? first : "";
}

/** Return the parts that are read: those of the open pages, and those that an earlier build cached. */
async function partsRead() {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const stores = (await caches.keys()).filter(
    (name) => name.startsWith(PREFIX) && !name.startsWith(`${PREFIX}python-`),
  );
  const kept = await Promise.all(stores.map(async (name) => (await caches.open(name)).keys()));
  return new Set([...pages, ...kept.flat()].filter(({ url }) => url.startsWith(SCOPE)).map((at) => partOf(nameOf(at))));
}

/** Cache some parts of the site, and what all share, unless they are cached.
 * @param {Iterable<string>} parts */
async function cacheParts(parts) {
  const wanted = new Set([...parts, SHARED]);
  const cache = await caches.open(CACHE);
  const kept = new Set((await cache.keys()).map(nameOf));
  const missing = Object.keys(FILES).filter((name) => wanted.has(partOf(name)) && !kept.has(name));
  // "reload" bypasses the browser's own cache, which may contain files of the previous build.
  await cache.addAll(missing.map((name) => new Request(name, { cache: "reload" })));
}

self.addEventListener("install", (event) => {
  event.waitUntil(
    partsRead()
      .then(cacheParts)
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  const old = (names) => names.filter((name) => name.startsWith(PREFIX) && ![CACHE, PYTHON_CACHE].includes(name));
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(old(names).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && request.url.startsWith(SCOPE)) event.respondWith(answer(event));
});

/** Return a path with its escapes decoded, or as it is if one of them is not valid, as in "/%".
 * @param {string} path */
function decoded(path) {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** Return the address of a request's file from the site's root. Queries are ignored: ?v= only names a build, and pages
 * read the rest. */
function nameOf({ url }) {
  const name = decoded(new URL(url).pathname).slice(decoded(new URL(SCOPE).pathname).length);
  return name === "" || name.endsWith("/") ? `${name}index.html` : name;
}

/** The parts that are being cached, or have been.
 * @type {Map<string, Promise<unknown>>} */
const caching = new Map();

/** Cache a part that is read now. Without a network, the next page tries again.
 * @param {string} part */
function cachePart(part) {
  const known = caching.get(part) ?? cacheParts([part]).catch(() => caching.delete(part));
  caching.set(part, known);
  return known;
}

/** The cached copy of a file, or else the file. Those that run Python are then cached. */
async function answer(event) {
  const { request } = event;
  const name = nameOf(request);
  const part = partOf(name);
  if (request.mode === "navigate") event.waitUntil(cachePart(part));
  const forPython = Object.hasOwn(PYTHON_FILES, name);
  const cache = forPython ? PYTHON_CACHE : CACHE;
  const found = await cached(cache, name);
  if (found) return found;
  try {
    const response = await fetch(request);
    if (forPython && response.ok) event.waitUntil(keep(cache, name, response.clone()));
    return response;
  } catch (problem) {
    const missed = request.mode === "navigate" && (await cached(CACHE, part ? `${part}/404.html` : "404.html"));
    if (missed) return missed;
    throw problem;
  }
}

/** Keep a file in a cache while the page reads it, unless its connection is cut. */
async function keep(cache, name, response) {
  await (await caches.open(cache)).put(new URL(name, SCOPE), response).catch(() => {});
}

/** Return the cached copy of a file if it is as it was built. */
async function cached(cache, name) {
  const hash = Object.hasOwn(FILES, name) ? FILES[name] : Object.hasOwn(PYTHON_FILES, name) && PYTHON_FILES[name];
  const found = hash && (await (await caches.open(cache)).match(new URL(name, SCOPE)));
  if (!found) return undefined;
  const bytes = await found.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  if (btoa(String.fromCharCode(...digest)) !== hash) return undefined;
  const headers = { "Content-Type": TYPES[name.replace(/.*\./, "")] ?? "application/octet-stream" };
  return new Response(bytes, { headers });
}
