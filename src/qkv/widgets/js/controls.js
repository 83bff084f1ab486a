/* Templates of native inputs with labels. `label` may be a template; `text` is the value as shown and read out. */

import { html, noChange, nothing } from "lit-html";
import { AsyncDirective } from "lit-html/async-directive.js";
import { directive } from "lit-html/directive.js";
import { live } from "lit-html/directives/live.js";
import { num } from "./numbers.js";
import { remember } from "./remember.js";
import { t } from "./words.js";

/** @typedef {{ label: unknown, text?: string, ends?: unknown[], onInput: (value: number) => void }} Labelled */
/** @typedef {Event & { target: HTMLInputElement }} Typed */
/** @typedef {Labelled & { value: number, min: number, max: number }} Span */
/** @typedef {{ caption: string, head: unknown[], rows: unknown[][] }} Table */

/** @param {Omit<Labelled, "onInput"> & { min: number, max: number, step: number, position: number, onPosition: (at: number) => void }} parts */
function range({ label, min, max, step, position, text, ends = [], onPosition }) {
  return html`<div class="qkv-control qkv-range">
    <label>
      <span class="qkv-label">${label}</span>
      <input type="range" min=${min} max=${max} step=${step} aria-valuetext=${text} .value=${live(String(position))}
        @input=${(/** @type {Typed} */ event) => onPosition(event.target.valueAsNumber)}>
    </label>
    <span class="qkv-value" aria-hidden="true">${text}</span>
    ${ends.length ? html`<div class="qkv-ends" aria-hidden="true">${ends.map((end) => html`<span>${end}</span>`)}</div>` : nothing}
  </div>`;
}

/** Return a slider with equal steps.
 * @param {Span & { step?: number }} parts */
export const slider = ({ label, value, min, max, step = 1, text = num(value), ends, onInput }) =>
  range({ label, min, max, step, position: value, text, ends, onPosition: onInput });

/** Return a slider over a list of values, such as powers of two.
 * @param {Labelled & { value: number, values: number[] }} parts */
export const stepSlider = ({ label, value, values, text = num(value), ends, onInput }) =>
  range({
    label,
    text,
    ends,
    min: 0,
    max: values.length - 1,
    step: 1,
    position: values.indexOf(value),
    onPosition: (index) => onInput(values[index]),
  });

/** Return a logarithmic slider over numbers of two digits. A value that is none of them is shown at the nearest one.
 * @param {Span} parts */
export const logSlider = ({ label, value, min, max, text = shortest(value), ends, onInput }) => {
  const values = twoDigits(min, max);
  /** @param {number} entry */
  const distance = (entry) => Math.abs(Math.log(entry / value));
  const nearest = values.reduce((best, entry) => (distance(entry) < distance(best) ? entry : best));
  return range({
    label,
    text,
    ends,
    min: 0,
    max: values.length - 1,
    step: 1,
    position: values.indexOf(nearest),
    onPosition: (index) => onInput(values[index]),
  });
};

/** Return a number without zeros at the end of its decimals, as text.
 * @param {number} value */
const shortest = (value) =>
  num(value)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

/** Return about 200 numbers of two digits from `min` to `max`, spaced about evenly on a logarithmic scale. */
const twoDigits = remember((/** @type {number} */ min, /** @type {number} */ max) => {
  const evenly = Array.from({ length: 201 }, (_, i) => min * (max / min) ** (i / 200));
  return [...new Set(evenly.map((value) => Number(value.toPrecision(2))))];
});

/** Return 1, 2, 4, … 2^last.
 * @param {number} last */
export const powersOfTwo = (last) => Array.from({ length: last + 1 }, (_, power) => 2 ** power);

/** @param {{ label: unknown, checked: boolean, onChange: (now: boolean) => void }} parts */
export const toggle = ({ label, checked, onChange }) => html`<label class="qkv-control qkv-toggle">
  <input type="checkbox" role="switch" .checked=${live(checked)} @change=${(/** @type {Typed} */ event) => onChange(event.target.checked)}>
  <span>${label}</span>
</label>`;

/** Return radio buttons for a few options. `name` has to begin with the view's id.
 *
 * Widgets use no <select>: with one in a widget, Chromium lays out the whole page at every step of a slider beside it.
 * @template Value
 * @param {{ label: unknown, name: string, value: Value, options: { value: Value, label: unknown }[], onChange: (value: Value) => void }} parts */
export const choices = ({ label, name, value, options, onChange }) => html`<fieldset class="qkv-control qkv-choices">
  <legend class="qkv-label">${label}</legend>
  <div>${options.map(
    (option) => html`<label>
      <input type="radio" name=${name} .checked=${live(option.value === value)} @change=${() => onChange(option.value)}>
      <span>${option.label}</span>
    </label>`,
  )}</div>
</fieldset>`;

/** Return a field for a number. An input that is no number, or out of range, is replaced by the value before it. In a
 * cell of a table (`inCell`) only screen readers get the label.
 * @param {{ label: string, value: number, min?: number, max?: number, step?: number | "any", inCell?: boolean, onInput: (value: number) => void }} parts */
export const numberInput = ({
  label,
  value,
  min = -Infinity,
  max = Infinity,
  step = "any",
  inCell = false,
  onInput,
}) => {
  const accept = (/** @type {Typed} */ { target }) => {
    const typed = target.valueAsNumber;
    if (typed >= min && typed <= max) onInput(typed);
    else target.value = String(value);
  };
  return html`<label class="qkv-control qkv-number">
    <span class=${inCell ? "qkv-unseen" : "qkv-label"}>${label}</span>
    <input type="number" min=${min} max=${max} step=${step} .value=${live(String(value))} @change=${accept}>
  </label>`;
};

/** @param {{ label: unknown, disabled?: boolean, onClick: (event: MouseEvent & { currentTarget: HTMLElement }) => void }} parts */
export const button = ({ label, disabled = false, onClick }) =>
  html`<button type="button" class="qkv-control qkv-button" ?disabled=${disabled} @click=${onClick}>${label}</button>`;

/** Return a list of named values: `entries` are [term, text] or [term, text, unit].
 * @param {[unknown, unknown, unknown?][]} entries */
export const readings = (entries) => html`<dl class="qkv-readings">
  ${entries.map(([term, text, unit]) => html`<div><dt>${term}</dt><dd>${text}${unit ? html` <small>${unit}</small>` : nothing}</dd></div>`)}
</dl>`;

/** Return the numbers of the drawings as tables that the reader can unfold. `make` returns the tables; the first cell
 * of each row is its header.
 * @param {() => Table[]} make */
export const tables = (make) => html`<details class="qkv-tables">
  <summary>${t`Numbers`}</summary>
  <div>${inStep(() => make().map(table))}</div>
</details>`;

const PAUSE = 150; // ms

/** A directive for the content of a `<details>`. While that is closed, the content is drawn again only after a pause
 * without changes, so that it does not delay a slider. */
class InStep extends AsyncDirective {
  /** @type {(() => unknown[]) | undefined} */
  #make;
  #timer = 0;

  render(/** @type {() => unknown[]} */ make) {
    return make();
  }

  /** @param {import("lit-html").ChildPart} part
   * @param {[() => unknown[]]} values
   * @returns {unknown} */
  update({ parentNode }, [make]) {
    const details = /** @type {HTMLDetailsElement} */ (parentNode.parentNode);
    const isFirst = !this.#make;
    if (isFirst) details.addEventListener("toggle", this.#catchUp);
    this.#make = make;
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (isFirst || details.open) return make();
    this.#timer = setTimeout(this.#catchUp, PAUSE);
    return noChange;
  }

  #catchUp = () => {
    clearTimeout(this.#timer);
    if (this.#timer && this.isConnected) this.setValue(this.#make?.());
    this.#timer = 0;
  };

  disconnected() {
    clearTimeout(this.#timer);
  }
}
const inStep = directive(InStep);

/** @param {Table} parts */
const table = ({ caption, head, rows }) => html`<div class="qkv-scroll" tabindex="0" role="group" aria-label=${caption}>
  <table>
    <caption>${caption}</caption>
    <thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
    <tbody>${rows.map(
      ([first, ...rest]) => html`<tr><th scope="row">${first}</th>${rest.map((cell) => html`<td>${cell}</td>`)}</tr>`,
    )}</tbody>
  </table>
</div>`;
