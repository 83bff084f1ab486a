/** Return the element that the hash of the page's address names, or null. An address can come from anywhere.
 * @returns {HTMLElement | null} */
export function anchored() {
  try {
    return document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return null; // "#%" is no encoded text
  }
}
