// A page that was opened from a file can start only classic workers. Pyodide refuses to start in those, because it
// would load its parts as modules. Here its parts are in the bundle, so the function by which it recognises a classic
// worker is removed.
self.importScripts = undefined;
