// Only a classic worker can be made on a page that was opened from a file. Pyodide refuses to start in one, since it
// would load its parts as modules; here they are bundled with it. It takes the worker for classic by this function.
self.importScripts = undefined;
