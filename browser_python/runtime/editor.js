// The editor: CodeMirror 6 with Python's colours, indentation, undo and brackets. It is loaded when a text first gets
// the focus. Tab indents; Escape, then Tab, leaves the editor.

import { defaultKeymap, history, historyKeymap, indentMore, indentWithTab, undo } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, RangeSetBuilder } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, keymap, ViewPlugin } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { PHONE } from "./keys.js";

// As everywhere in the course (page.css and the site's style), keywords and defined names are bold, and comments,
// strings and numbers have a softer colour.
const { keyword, operatorKeyword, controlKeyword, definitionKeyword, bool } = tags;
const defined = [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)];
const quiet = HighlightStyle.define([
  {
    tag: [keyword, operatorKeyword, controlKeyword, definitionKeyword, bool, tags.null, ...defined],
    fontWeight: "650",
  },
  { tag: [tags.string, tags.number], color: "var(--qkv-literal)" },
  { tag: tags.comment, color: "var(--qkv-muted)", fontStyle: "italic" },
]);

/** @import { DecorationSet } from "@codemirror/view" */

/** Tell the style of each line how many spaces it begins with: where it wraps, it goes on further in.
 * @param {EditorView} view
 * @returns {DecorationSet} */
function indentsOf(view) {
  const found = /** @type {RangeSetBuilder<Decoration>} */ (new RangeSetBuilder());
  for (let at = view.viewport.from; at <= view.viewport.to; ) {
    const { from, to, text } = view.state.doc.lineAt(at);
    const spaces = text.length - text.trimStart().length;
    if (spaces) found.add(from, from, Decoration.line({ attributes: { style: `--qkv-indent: ${spaces}` } }));
    at = to + 1;
  }
  return found.finish();
}

const indents = ViewPlugin.define(
  (first) => ({
    lines: indentsOf(first),
    update({ view, docChanged, viewportChanged }) {
      if (docChanged || viewportChanged) this.lines = indentsOf(view);
    },
  }),
  { decorations: ({ lines }) => lines },
);

// On a phone lines wrap, and the line that is written is scrolled to above the row of keys.
const onPhone = [
  EditorView.lineWrapping,
  indents,
  EditorView.scrollMargins.of(() => ({
    bottom: /** @type {HTMLElement?} */ (document.querySelector(".qkv-signs"))?.offsetHeight,
  })),
];

/** Do what a key of the row of keys says.
 * @param {EditorView} view
 * @param {string} key */
export function press(view, key) {
  if (key === "↹") indentMore(view);
  else if (key === "↶") undo(view);
  else view.dispatch(view.state.replaceSelection(key), { scrollIntoView: true, userEvent: "input.type" });
}

/** Replace a textarea by an editor with its text, its label, its selection and the focus. `onChange` is called after
 * each change of the text. The cursor is where the reader has pressed: the lines of a textarea wrap at other places.
 * @param {HTMLTextAreaElement} area
 * @param {() => void} onChange
 * @param {MouseEvent | void} press */
export function enhance(area, onChange, press) {
  const label = area.getAttribute("aria-label");
  const extensions = [
    history(),
    drawSelection(),
    indentUnit.of("    "),
    indentOnInput(),
    bracketMatching(),
    python(),
    syntaxHighlighting(quiet),
    matchMedia(PHONE).matches ? onPhone : [],
    keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
    // The tabindex is for axe, which does not count editable content as focusable.
    EditorView.contentAttributes.of({ "aria-label": `${label}. Escape, then Tab, leaves it.`, tabindex: "0" }),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      area.value = update.state.doc.toString();
      onChange();
    }),
  ];
  const here = { anchor: area.selectionStart, head: area.selectionEnd };
  const focused = document.activeElement === area;
  const view = new EditorView({ state: EditorState.create({ doc: area.value, selection: here, extensions }) });
  area.before(view.dom);
  area.hidden = true;
  const at = press && here.anchor === here.head ? view.posAtCoords(press) : null;
  if (at !== null) view.dispatch({ selection: { anchor: at } });
  if (focused) view.focus();
  return view;
}
