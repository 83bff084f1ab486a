// The card of a verdict, as elements of the page. Its HTML comes from the worker, where the reader's code, or somebody
// else's, may have written it. So it is read in a document apart, and only texts and these elements and attributes are
// taken from it: nothing that loads, leads away, styles the page or runs.

const ELEMENTS = new Set(
  "section p span div code pre details summary table caption thead tbody tfoot tr th td".split(" "),
);
const ATTRIBUTES = new Map([
  ["class", /^qkv-card[\w-]*$/],
  ["role", /^(group|heading)$/],
  ["scope", /^(row|col)$/],
  ["tabindex", /^0$/],
  ["style", /^--qkv-share:\d+$/],
  ["aria-label", /./],
  ["aria-level", /^3$/],
  ["aria-hidden", /^true$/],
  ["data-status", /^[a-z ]+$/],
]);

/** Return the elements of a card.
 * @param {string} html
 * @returns {DocumentFragment} */
export function cardOf(html) {
  const card = document.createDocumentFragment();
  card.append(...copies(new DOMParser().parseFromString(html, "text/html").body));
  return card;
}

/** @param {Node} from
 * @returns {Node[]} */
const copies = (from) => [...from.childNodes].flatMap(copy);

/** @param {Node} node
 * @returns {Node[]} */
function copy(node) {
  if (node instanceof Text) return [document.createTextNode(node.data)];
  if (!(node instanceof HTMLElement) || !ELEMENTS.has(node.localName)) return [];
  const element = document.createElement(node.localName);
  for (const { name, value } of node.attributes)
    if (ATTRIBUTES.get(name)?.test(value)) element.setAttribute(name, value);
  element.append(...copies(node));
  return [element];
}
