// Types for tsc of what the scripts use and no browser declares. Nothing else reads this file.

/** Trained weights as bytes. tools/bundle.mjs puts them into a bundle or, for the site, into a script of their own. */
declare module "*.safetensors" {
  const bytes: Uint8Array;
  export default bytes;
}

/** A document as text: the frame of Python's worker. */
declare module "*.html" {
  const text: string;
  export default text;
}

/** Python itself, as Pyodide compiled it. */
declare module "*/pyodide.asm.mjs" {
  const createPyodideModule: NonNullable<import("pyodide").PyodideConfig["createPyodideModule"]>;
  export default createPyodideModule;
}

/** The text of a module's bundle, for a worker. */
declare module "*?text" {
  const text: string;
  export default text;
}

/** The trained weights, and other data, that the site's scripts have loaded, by name. */
declare var qkvWeights: Record<string, any>;

/** The index of the site's search (search-index.js): each page with its places. */
declare var qkvVariants: string | undefined;
/** The translations of the texts of all scripts, on a site that is not in English (words.js). */
declare var qkvWords: Record<string, string> | undefined;

declare var qkvTerms: Record<string, [name: string, sentence: string]> | undefined;
declare var qkvIndex: { page: string; title: string; places: [anchor: string, heading: string, text: string][] }[];

/** In a downloaded copy of the site, the callback of a script that holds a file as text. */
declare var qkvFile: (name: string, text: string) => void;

/** The editor of a page's texts, once its script is loaded. */
declare var qkvEditor: {
  enhance: (area: HTMLTextAreaElement, written: () => void, press: MouseEvent | void) => import("@codemirror/view").EditorView;
  press: (view: import("@codemirror/view").EditorView, key: string) => void;
};

/** The engine of the real model, once its script is loaded. */
declare var qkvRealModel: {
  loadModel: (folder: string, onProgress: (loaded: number, total: number) => void) => Promise<any>;
};

/** The functions that a page with exercises offers to tests. */
declare var qkv: Record<string, unknown> | undefined;

/** A function that only classic workers have. */
declare var importScripts: unknown;

interface Navigator {
  /** The quality of the network, which only some browsers report. */
  connection?: { saveData?: boolean; effectiveType?: string };
}

/** What ES2024 adds, in browsers that have it: the buffer's bytes move to a new one. */
interface ArrayBuffer {
  transfer?(size?: number): ArrayBuffer;
}
