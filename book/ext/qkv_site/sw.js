// Keeps the whole site after the first visit. VERSION and FILES stand above: one build, all of it or nothing, so that
// a page never meets the style of another build. A new build is fetched in the background and shown at the next visit.
// What runs Python on a page is large: it is kept when a reader first runs something, and until it changes (PYTHON).

const PREFIX = "qkv-";
const CACHE = PREFIX + VERSION;
const PYTHON_CACHE = `${PREFIX}python-${PYTHON}`;
const PYTHON_FOLDER = new URL("_static/python/", self.registration.scope).href;

self.addEventListener("install", (event) => {
  // Past the browser's own cache, which may hold files of the build before.
  const requests = FILES.map((file) => new Request(file, { cache: "reload" }));
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(requests))
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
  if (request.method === "GET" && request.url.startsWith(self.registration.scope)) event.respondWith(answer(request));
});

/** The kept copy, whatever the query: ?v= names a build, and the rest is read by the page itself. */
async function answer(request) {
  if (request.url.startsWith(PYTHON_FOLDER)) return answerOnce(request);
  const cache = await caches.open(CACHE);
  const path = new URL(request.url);
  if (path.pathname.endsWith("/")) path.pathname += "index.html";
  const found = await cache.match(path.href, { ignoreSearch: true });
  if (found) return found;
  try {
    return await fetch(request);
  } catch (problem) {
    const missed = request.mode === "navigate" && (await cache.match(new URL("404.html", self.registration.scope)));
    if (missed) return missed;
    throw problem;
  }
}

/** A copy of what was fetched once before, or the file itself, of which a copy is kept. */
async function answerOnce(request) {
  const cache = await caches.open(PYTHON_CACHE);
  const found = await cache.match(request.url, { ignoreSearch: true });
  if (found) return found;
  const response = await fetch(request);
  if (response.ok) await cache.put(request.url, response.clone());
  return response;
}
