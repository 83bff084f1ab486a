// The editor of a text that the reader has come to: CodeMirror 6 with Python's colours, indentation, undo and brackets.
// Loaded when it is first needed. Tab indents; Escape, then Tab, leaves it.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// Quiet, as code is elsewhere in the course: weight for what the language says, a softer ink for what is said about it.
const quiet = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword], fontWeight: "650" },
  { tag: [tags.comment, tags.string], color: "var(--qkv-muted)" },
  { tag: tags.comment, fontStyle: "italic" },
]);

/** Put an editor in the place of a textarea, with its text, its label and the reader's place in it. */
export function enhance(area, written) {
  const label = area.getAttribute("aria-label");
  const extensions = [
    history(),
    drawSelection(),
    indentUnit.of("    "),
    indentOnInput(),
    bracketMatching(),
    python(),
    syntaxHighlighting(quiet),
    keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
    // The tabindex is for axe, which does not take editable content for something that has the focus.
    EditorView.contentAttributes.of({ "aria-label": `${label}. Escape, then Tab, leaves it.`, tabindex: "0" }),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      area.value = update.state.doc.toString();
      written();
    }),
  ];
  const here = { anchor: area.selectionStart, head: area.selectionEnd };
  const focused = document.activeElement === area;
  const view = new EditorView({ state: EditorState.create({ doc: area.value, selection: here, extensions }) });
  area.before(view.dom);
  area.hidden = true;
  if (focused) view.focus();
  return view;
}
