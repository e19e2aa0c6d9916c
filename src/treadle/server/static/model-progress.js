// How far a model is with its reply, as text: loading, reading the prompt in per cent, writing with its speed. No page is needed.

import { aheadInWords, pluralize, formatCompact } from "./format.js";

const LEAST = 1;  // seconds of writing before its speed is known well enough

/** @typedef {{ stage: string, done?: number, total?: number, request?: number, ahead?: number }} Progress */

/** Where one waits in a queue: of a model, or of workers. @param {string} what @param {number} ahead */
export function queueInWords(what, ahead) {
  return `Waiting for ${what}: ${aheadInWords(ahead)}`;
}

/** Follows one request to a model. Moments are seconds. */
export class ModelProgress {
  #model = "";
  /** @type {Progress | null} */
  #progress = null;
  /** @type {{ at: number, done: number } | null} */
  #first = null;  // when it began to write, and how much had come then

  /** A request begins. @param {string} [model] */
  begin(model = "") {
    this.#model = model.slice(model.indexOf(":") + 1);
    this.#progress = this.#first = null;
  }

  /** @param {Progress} progress @param {number} at */
  take(progress, at) {
    const before = this.#progress?.stage === "writing" ? this.#progress.done ?? 0 : 0, { stage, done = 0 } = progress;
    if (stage === "writing" && (!this.#first || done < before)) this.#first = { at, done };
    this.#progress = progress;
  }

  /** What it does, or "" where that isn't known. @param {number} now */
  words(now) {
    if (!this.#progress) return "";
    const { stage, done = 0, total = 0, request = 0, ahead = 0 } = this.#progress, number = request > 1 ? `, request ${request}` : "";
    const share = total ? ` ${Math.min(Math.floor((100 * done) / total), 100)} %` : "";
    if (stage === "loading") return `Loading ${this.#model || "the model"}${share}`;
    if (stage === "reading") return `Reading the prompt${share}${total ? ` of ${formatCompact(total)} tokens` : ""}${number}`;
    const what = `${this.#model || "the model"}${number}`;
    if (stage === "waiting") return ahead ? queueInWords(what, ahead) : `Waiting for ${what}`;
    return `Writing${this.#speed(done, now)}${number}`;
  }

  /** @param {number} done @param {number} now */
  #speed(done, now) {
    const { at, done: had } = this.#first ?? { at: now, done };
    if (!done) return "";
    const speed = now - at >= LEAST && done > had ? `, ${((done - had) / (now - at)).toFixed(1)} tokens/s` : "";
    return ` ${pluralize(done, "token")}${speed}`;
  }
}
