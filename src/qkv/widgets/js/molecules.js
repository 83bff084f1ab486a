/* The molecules that widgets draw. */

/** @typedef {object} Molecule
 * @property {string} atoms the letters of its atoms
 * @property {number[][]} at their positions in a picture 12 wide and 6 high
 * @property {number[][]} bonds the pairs that are bound */

/** @type {Record<string, Molecule>} */
export const MOLECULES = {
  water: {
    atoms: "O H H",
    at: [
      [6, 2.2],
      [4.2, 4],
      [7.8, 4],
    ],
    bonds: [
      [0, 1],
      [0, 2],
    ],
  },
  ethanol: {
    atoms: "C C O H H H H H H",
    at: [
      [4, 3],
      [6.4, 3],
      [8.8, 3],
      [4, 1],
      [4, 5],
      [1.8, 3],
      [6.4, 1],
      [6.4, 5],
      [10.8, 3],
    ],
    bonds: [
      [0, 1],
      [1, 2],
      [0, 3],
      [0, 4],
      [0, 5],
      [1, 6],
      [1, 7],
      [2, 8],
    ],
  },
  "acetic acid": {
    atoms: "C C O O H H H H",
    at: [
      [4, 3.4],
      [6.4, 3.4],
      [7.6, 1.3],
      [8.4, 4.8],
      [4, 1.3],
      [4, 5.4],
      [1.8, 3.4],
      [10.4, 4.8],
    ],
    bonds: [
      [0, 1],
      [1, 2],
      [1, 3],
      [0, 4],
      [0, 5],
      [0, 6],
      [3, 7],
    ],
  },
};
