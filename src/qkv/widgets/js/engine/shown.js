/* The texts that TrainLab shows, and what it gets of a training. */

/** @typedef {{ weights: number[], says: [string, number][] }} Line the weights of the token that asks, and the likeliest
 *   answers with their probabilities */
/** @typedef {object} Frame what is seen at a step: `score` is the share of *it* right, or the surprise at symbols that come
 *   again; `previous` and `followed` are the repeater's two scores
 * @property {number} step
 * @property {number} loss
 * @property {number} score
 * @property {Line[]} [shown]
 * @property {number} [previous]
 * @property {number} [followed] */
/** @typedef {{ score: number, heldOut?: number, own?: number, habit: { kind: string, share: number } }} Result */

/** One verb, and an adjective for each of the two nouns. */
export const SHOWN = {
  english: ["hungry", "tasty"].map((word) => `the cat chased the mouse because it was ${word}`.split(" ")),
  chinese: ["餓了", "很好吃"].map((word) => ["貓", "追", "老鼠", "因為", "它", word]),
};

/** The sentence of chapter 1, and the places of its two *saws*. */
export const PUZZLE = "I saw a saw".split(" ");
export const SAWS = [1, 3];

/** Symbols that repeat: all but the last are read, and the last is asked for. */
export const PERIOD = 8;
export const TEXT = "KT3QBYMF".repeat(3).slice(0, 20);
export const SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456";
