// Keeps the whole site after the first visit. VERSION and FILES stand above: one build, all of it or nothing, so that
// a page never meets the style of another build. A new build is fetched in the background and shown at the next visit.

const PREFIX = "qkv-";
const CACHE = PREFIX + VERSION;

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
  const old = (names) => names.filter((name) => name.startsWith(PREFIX) && name !== CACHE);
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
