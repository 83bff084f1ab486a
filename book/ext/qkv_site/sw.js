// The service worker: caches the whole site at the first visit. The build puts the constants VERSION, PYTHON and FILES
// above this comment. All files of a build are cached together, so that a page never gets a style sheet of another build.
// A new build is fetched in the background and shown at the next visit. The files that run Python on a page are large:
// they are cached when a reader first runs something, and until their version (PYTHON) changes.

const PREFIX = "qkv-";
const CACHE = PREFIX + VERSION;
const PYTHON_CACHE = `${PREFIX}python-${PYTHON}`;
const PYTHON_FOLDER = new URL("_static/python/", self.registration.scope).href;

self.addEventListener("install", (event) => {
  // "reload" bypasses the browser's own cache, which may contain files of the previous build.
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

/** The cached copy of a file, or else the file. Queries are ignored: ?v= only names a build, and pages read the rest. */
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

/** The cached copy of one of Python's files, or else the file, which is then cached. */
async function answerOnce(request) {
  const cache = await caches.open(PYTHON_CACHE);
  const found = await cache.match(request.url, { ignoreSearch: true });
  if (found) return found;
  const response = await fetch(request);
  if (response.ok) await cache.put(request.url, response.clone());
  return response;
}
