// A limit of recursion through C, such as `__getattr__` and the key of `sorted`, that holds in a browser.

// Bytes of WebAssembly's own stack, which Python watches. It does not see the browser's stack, whose frames are larger.
// In Node.js and Chromium, modules that call each other (170 levels) overflow that one at about 150 kB of Python's.
const STACK = 100_000;

/** @typedef {object} Stack what Pyodide's module has for limits of the stack: addresses in bytes
 * @property {() => number} _emscripten_stack_get_current
 * @property {() => number} _PyThreadState_Get
 * @property {(thread: number, start: number, size: number) => void} _PyUnstable_ThreadState_SetStackProtection */

/** Let Python raise a RecursionError before the browser's stack overflows, which would end the interpreter.
 * @param {{ _module: Stack }} python */
export function limitRecursion(python) {
  const { _module } = python;
  const top = _module._emscripten_stack_get_current();
  _module._PyUnstable_ThreadState_SetStackProtection(_module._PyThreadState_Get(), top - STACK, STACK);
}
