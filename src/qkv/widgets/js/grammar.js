/* The grammar of the tagger's sentences, in JavaScript: qkv.models.grammar, over the same grammar.json. */

import { randomIntegers } from "./maths.js";

const OFTEN = 0.4; // the probability of the word that a slot names under `often`
const ONE_IN = 8; // one in eight sentences and combinations is kept out of training
/** @type {Language[]} */
const LANGUAGES = ["english", "chinese"];
const PUNCTUATION = /[.,;:!?"，。；：！？、「」]/g;

/** @typedef {"english" | "chinese"} Language */
/** @typedef {{ role?: string, class: string, words?: string[], share?: number, often?: string }} Slot */
/** @typedef {{ share: number, slots: Slot[] }} Template */
/** @typedef {{ actor: string[], other: string[] }} Adjectives those of a verb, by the noun that they describe */
/** @typedef {object} LanguageData
 * @property {string[]} nouns
 * @property {Record<string, Adjectives>} acts by verb
 * @property {Record<string, Record<string, string[]>>} agreement for a word, each other form with the words that ask for it
 * @property {Template[]} templates */
/** @typedef {Record<Language, LanguageData> & { classes: string[] }} GrammarData */
/** @typedef {object} Sentence
 * @property {Language} language
 * @property {string[]} words
 * @property {string[]} classes of the words
 * @property {number | null} it the index of *it*
 * @property {number | null} noun the index of the noun that *it* stands for
 * @property {Map<number, string>} refersTo that noun, by the index of *it* */

/** A grammar in two languages, which reads, draws, changes and completes sentences. */
export class Grammar {
  /** @param {GrammarData} data */
  constructor(data) {
    this.data = data;
    this.classes = data.classes;
    this.words = LANGUAGES.flatMap((language) => this.wordsOf(language));
    this.nouns = LANGUAGES.flatMap((language) => data[language].nouns);
    this.spelled = new Map(this.words.map((word) => [word.toLowerCase(), word]));
    this.longestFirst = [...this.spelled.keys()].sort((a, b) => b.length - a.length);
  }

  /** Return every word of a language, sorted. The tagger's ids are in this order.
   * @param {Language} language */
  wordsOf(language) {
    const slots = this.data[language].templates.flatMap(({ slots }) => slots);
    return [...new Set(slots.flatMap((slot) => this.slotForms(language, slot)))].sort();
  }

  /** @param {Language} language
   * @param {Slot} slot */
  slotWords(language, slot) {
    const { nouns, acts } = this.data[language];
    if (slot.words) return slot.words;
    if (slot.class === "noun") return nouns;
    if (slot.role === "act") return Object.keys(acts);
    return [...new Set(Object.values(acts).flatMap(({ actor, other }) => [...actor, ...other]))];
  }

  /** Return the words that may stand in a slot, in all their forms: a, an.
   * @param {Language} language
   * @param {Slot} slot */
  slotForms(language, slot) {
    const { agreement } = this.data[language];
    return this.slotWords(language, slot).flatMap((word) => [word, ...Object.keys(agreement[word] ?? {})]);
  }

  /** Return the words in the forms that agree with the next noun, or with a word before that noun: a owl → an owl.
   * @param {Language} language
   * @param {string[]} words */
  agree(language, words) {
    const { agreement, nouns } = this.data[language];
    const plainForm = new Map(
      Object.entries(agreement).flatMap(([plain, forms]) => Object.keys(forms).map((form) => [form, plain])),
    );
    const plain = words.map((word) => plainForm.get(word) ?? word);
    return plain.map((word, i) => {
      if (!(word in agreement)) return word;
      for (const later of plain.slice(i + 1)) {
        const form = Object.entries(agreement[word]).find(([, askedBy]) => askedBy.includes(later));
        if (form) return form[0];
        if (nouns.includes(later)) break;
      }
      return word;
    });
  }

  /** Split a text into known words, without punctuation. Return { words }, or the first { unknown } word.
   * @param {string} text
   * @returns {{ words: string[], unknown?: undefined } | { words?: undefined, unknown: string }} */
  split(text) {
    /** @type {string[]} */
    const words = [];
    for (const piece of text.replace(PUNCTUATION, " ").split(/\s+/).filter(Boolean)) {
      let rest = piece.toLowerCase();
      if (/^[\0-\x7f]*$/.test(rest)) {
        if (!this.spelled.has(rest)) return { unknown: piece };
        words.push(/** @type {string} */ (this.spelled.get(rest)));
        continue;
      }
      while (rest) {
        const found = this.longestFirst.find((word) => rest.startsWith(word));
        if (!found) return { unknown: this.untilKnown(rest) };
        words.push(/** @type {string} */ (this.spelled.get(found)));
        rest = rest.slice(found.length);
      }
    }
    return { words };
  }

  /** @param {string} rest */
  untilKnown(rest) {
    let end = 1;
    while (end < rest.length && !this.longestFirst.some((word) => rest.startsWith(word, end))) end += 1;
    return rest.slice(0, end);
  }

  /* ---- reading */

  /** Return the sentence that words make, or null if the grammar does not have it.
   * @param {string[]} words
   * @returns {Sentence | null} */
  read(words) {
    for (const language of LANGUAGES) {
      for (const { slots } of this.data[language].templates) {
        const fitting = this.fit(language, slots, words);
        if (fitting) return this.sentence(language, fitting, words);
      }
    }
    return null;
  }

  /** Return the slot of each word, or null if the words do not fit the slots.
   * @param {Language} language
   * @param {Slot[]} slots
   * @param {string[]} words
   * @returns {Slot[] | null} */
  fit(language, [first, ...rest], words) {
    if (!first) return words.length ? null : [];
    if (words.length && this.slotForms(language, first).includes(words[0])) {
      const later = this.fit(language, rest, words.slice(1));
      if (later) return [first, ...later];
    }
    return "share" in first ? this.fit(language, rest, words) : null;
  }

  /** @param {Language} language
   * @param {Slot[]} slots
   * @param {string[]} words
   * @returns {Sentence} */
  sentence(language, slots, words) {
    /** @type {Record<string, number>} */
    const at = Object.fromEntries(slots.flatMap(({ role }, i) => (role ? [[role, i]] : [])));
    const act = this.data[language].acts[words[at.act]];
    const side = act && /** @type {const} */ (["actor", "other"]).find((name) => act[name].includes(words[at.reason]));
    const [it, noun] = [at.it ?? null, side ? at[side] : null];
    return {
      language,
      words,
      classes: slots.map((slot) => slot.class),
      it,
      noun,
      refersTo: new Map(side ? [[/** @type {number} */ (it), words[/** @type {number} */ (noun)]]] : []),
    };
  }

  /** Return the part of the data that a sentence is in: "training", "new" or "combination", as in Python.
   * @param {Sentence} sentence */
  partOf({ language, words, classes, noun }) {
    const combinations = [];
    if (noun !== null) {
      combinations.push(words.filter((_, i) => classes[i] === "noun").sort());
      const act = /** @type {string} */ (words.find((word) => word in this.data[language].acts));
      combinations.push([words[noun], act, words[words.length - 1]]);
    }
    if (combinations.some(keptOut)) return "combination";
    return keptOut(words) ? "new" : "training";
  }

  /* ---- another rule. It names adjectives that are turned round: "hungry", or "chased hungry" for one verb only. */

  /** Return the sentence in which *it* stands for the other noun if a rule names its adjective, as in Python.
   * @param {Sentence} sentence
   * @param {readonly string[]} rule
   * @returns {Sentence} */
  turned(sentence, rule) {
    const { words, classes, it, noun } = sentence;
    if (noun === null || rule.length === 0) return sentence;
    const act = words.find((word) => word in this.data[sentence.language].acts);
    const adjective = words[words.length - 1];
    if (!rule.includes(adjective) && !rule.includes(`${act} ${adjective}`)) return sentence;
    const other = classes.findIndex((kind, i) => kind === "noun" && i !== noun);
    return { ...sentence, noun: other, refersTo: new Map([[/** @type {number} */ (it), words[other]]]) };
  }

  /* ---- drawing, changing, completing */

  /** Draw `count` sentences of a part, in both languages or in one. The same seed gives the same sentences.
   * @param {string} part
   * @param {number} count
   * @param {number} seed
   * @param {Language | null} [language] */
  draw(part, count, seed, language = null) {
    const next = randomIntegers(seed);
    return Array.from({ length: count }, () => this.drawFrom(part, next, language));
  }

  /** Draw a sentence of a part from random integers; with `onlyIt`, one with *it*. With a rule, *it* stands for the noun
   * that the rule says.
   * @param {string} part
   * @param {() => number} next
   * @param {Language | null} language
   * @param {{ onlyIt?: boolean, rule?: readonly string[] }} [wanted] */
  drawFrom(part, next, language, { onlyIt = false, rule = [] } = {}) {
    const uniform = () => next() / 2 ** 32;
    for (;;) {
      const drawn = this.drawOne(uniform, language ?? pick(uniform, LANGUAGES));
      if (onlyIt && drawn.it === null) continue;
      const sentence = this.turned(drawn, rule);
      if (this.partOf(sentence) === part) return sentence;
    }
  }

  /** @param {() => number} uniform
   * @param {Language} language */
  drawOne(uniform, language) {
    const { acts, nouns, templates } = this.data[language];
    const template = pickByShare(uniform, templates);
    const act = pick(uniform, Object.keys(acts));
    const actor = pick(uniform, nouns);
    const other = pick(
      uniform,
      nouns.filter((noun) => noun !== actor),
    );
    /** @type {Record<string, string>} */
    const roles = {
      act,
      actor,
      other,
      reason: pick(uniform, acts[act][pick(uniform, /** @type {const} */ (["actor", "other"]))]),
    };
    const slots = template.slots.filter(({ share = 1 }) => uniform() < share);
    const words = slots.map((slot) => {
      const role = /** @type {string} */ (slot.role);
      if (role in roles) return roles[role];
      return slot.often && uniform() < OFTEN ? slot.often : pick(uniform, this.slotWords(language, slot));
    });
    return this.sentence(language, slots, this.agree(language, words));
  }

  /** Return the words that can replace word i of a sentence, in their plain forms. A reason can be replaced by the
   * reasons of the same verb.
   * @param {string[]} words
   * @param {number} i */
  alternatives(words, i) {
    const language = LANGUAGES.find((name) => this.wordsOf(name).includes(words[0]));
    if (!language) return [];
    for (const { slots } of this.data[language].templates) {
      const slot = this.fit(language, slots, words)?.[i];
      if (!slot) continue;
      if (slot.role !== "reason") return this.slotWords(language, slot);
      const act = /** @type {Adjectives} */ (words.map((word) => this.data[language].acts[word]).find(Boolean));
      return [...act.actor, ...act.other];
    }
    return [];
  }

  /** Return the sentence's words with another word i, all of them in the forms that agree.
   * @param {string[]} words
   * @param {number} i
   * @param {string} word */
  replace(words, i, word) {
    const language = /** @type {Language} */ (LANGUAGES.find((name) => this.wordsOf(name).includes(word)));
    return this.agree(
      language,
      words.map((old, at) => (at === i ? word : old)),
    );
  }

  /** Return the words that may come next after the first words of a sentence. After no words, that is every first
   * word, first English, then Chinese.
   * @param {string[]} words */
  next(words) {
    const found = LANGUAGES.flatMap((language) =>
      this.data[language].templates.flatMap(({ slots }) => this.after(language, slots, words)),
    );
    return [...new Set(found)];
  }

  /** @param {Language} language
   * @param {Slot[]} slots
   * @param {string[]} words
   * @returns {string[]} */
  after(language, [first, ...rest], words) {
    if (!first) return [];
    const forms = this.slotForms(language, first);
    const skipped = "share" in first ? this.after(language, rest, words) : [];
    if (!words.length) return [...forms, ...skipped];
    return [...(forms.includes(words[0]) ? this.after(language, rest, words.slice(1)) : []), ...skipped];
  }
}

/** @template Value
 * @param {() => number} uniform from 0 to 1, 1 not included
 * @param {readonly Value[]} list */
const pick = (uniform, list) => list[Math.floor(uniform() * list.length)];

/** Draw a template: its share is its probability.
 * @param {() => number} uniform
 * @param {Template[]} templates */
function pickByShare(uniform, templates) {
  let left = uniform();
  for (const template of templates) {
    left -= template.share;
    if (left < 0) return template;
  }
  return templates[templates.length - 1];
}

/** Check whether words are in the one eighth kept out of training: by the upper half of FNV-1a over the letters.
 * @param {string[]} words */
function keptOut(words) {
  let number = 2166136261;
  for (const letter of words.join(" ")) number = Math.imul(number ^ letter.charCodeAt(0), 16777619);
  return (number >>> 16) % ONE_IN === 0;
}
