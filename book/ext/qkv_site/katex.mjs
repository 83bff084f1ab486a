// Renders formulas. Each line of stdin is a JSON object {latex, display}; each line of stdout is one {html} or {error}.
import { createInterface } from "node:readline";
import katex from "katex";

for await (const line of createInterface({ input: process.stdin })) {
  const { latex, display } = JSON.parse(line);
  let answer;
  try {
    const trust = ({ command }) => command === "\\htmlData"; // the letters of the formula on the map
    answer = { html: katex.renderToString(latex, { displayMode: display, strict: "ignore", trust }) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
