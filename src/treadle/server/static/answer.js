// One answer, drawn from the events of a run: words as they arrive, calls as cards, and a line that says what is going on.
// What a person is asked, and how an answer is asked for, is chat.js.

import { Card, lasting } from "./calls.js";
import { show } from "./markdown.js";
import { element } from "./treadle.js";

const EVENTS = [
  "model_asked", "model_retried", "text_arrived", "thinking_arrived", "call_arrived", "call_judged", "approval_needed",
  "call_started", "call_progressed", "call_returned",
];

/**
 * The view of an answer: `begin`, then `take` for each event, then `end`. It may begin again, and then goes on below.
 * `drawing(draw)` is called to draw what can wait for the next frame.
 */
export class Answer {
  foot = element("footer", { class: "foot small soft" });
  #parts = element("div", { class: "parts" });
  #doing = element("p", { class: "doing small soft" });
  #cards = new Map();
  #part = null;         // the model's present reply: { node, words, calls, text, thought, ids }
  #activity = "";
  #began = 0;
  #ticking = 0;
  #isDrawing = false;
  #drawing;

  node = element("div", { class: "answer" }, this.#parts, this.#doing, this.foot);

  constructor(drawing = (draw) => draw()) {
    this.#drawing = drawing;
  }

  /** How long it took so far, in words. */
  get took() {
    return lasting((performance.now() - this.#began) / 1000);
  }

  /** What was said last. */
  get text() {
    return this.#part?.words.textContent ?? "";
  }

  begin() {
    this.#began = performance.now();
    this.#ticking = setInterval(() => this.#tick(), 1000);
    this.#doing.classList.add("busy");
    this.#say("Thinking");
  }

  take(event) {
    if (!this.#part) this.#open();
    if (EVENTS.includes(event.event)) this[event.event](event);
  }

  /** No more events. `words` stay in place of what was going on. */
  end(words = "") {
    clearInterval(this.#ticking);
    this.#draw();
    for (const card of this.#cards.values()) card.ended();
    this.#doing.classList.remove("busy");
    this.#doing.textContent = words;
  }

  /** What the answer is in the end, where that isn't what was streamed. */
  settle(text) {
    if (text.trim() === this.#part?.text.trim()) return;
    if (!this.#part || this.#part.text.trim() || this.#part.ids.length) this.#open();
    this.#part.text = text;
    this.#draw();
  }

  /** A person said no to a call. */
  denied({ call_id }, reason) {
    this.#cards.get(call_id)?.denied(reason || "You said no.");
  }

  /** Put something among the replies, such as a question; what comes after it stands below it. */
  put(node) {
    this.#draw();
    this.#parts.append(node);
    this.#part = null;
  }

  clear() {
    this.#cards.clear();
    this.#parts.replaceChildren();
    this.foot.replaceChildren();
    this.#part = null;
  }

  // events

  model_asked() {
    if (this.#part.node.textContent || this.#part.text) this.#open();
    this.#say("Thinking");
  }

  model_retried({ reason }) {
    for (const id of this.#part.ids) this.#cards.delete(id);
    this.#part.node.remove();
    this.#open();
    this.#say(`${reason.replace(/\.?$/, ".")} Trying again`);
  }

  text_arrived({ text }) {
    this.#part.text += text;
    this.#say("Writing");
    if (!this.#isDrawing) requestAnimationFrame(() => this.#drawing(() => this.#draw()));
    this.#isDrawing = true;
  }

  thinking_arrived({ text }) {
    if (!this.#part.thought) {
      this.#part.thought = element("p");
      this.#part.node.prepend(
        element("details", { class: "thinking small" }, element("summary", {}, "What it thought"), this.#part.thought));
    }
    this.#part.thought.append(text);
  }

  call_arrived({ call_id, name }) {
    this.#card(call_id, name);
  }

  call_judged(event) {
    this.#card(event.call.id, event.call.name).judged(event);
  }

  approval_needed({ call }) {
    this.#card(call.id, call.name).waits();
  }

  call_started(event) {
    this.#card(event.call.id, event.call.name).started(event);
    this.#say(`Using ${event.call.name}`);
  }

  call_progressed(event) {
    this.#cards.get(event.call_id)?.progressed(event);
  }

  call_returned(event) {
    this.#card(event.result.call_id, event.result.name).returned(event);
  }

  // drawing

  #open() {
    this.#draw();
    const words = element("div", { class: "words" }), calls = element("div", { class: "calls" });
    this.#part = { node: element("div", { class: "part" }, words, calls), words, calls, text: "", thought: null, ids: [] };
    this.#parts.append(this.#part.node);
  }

  #card(id, name) {
    if (!this.#cards.has(id)) {
      const card = new Card(name);
      this.#cards.set(id, card);
      this.#part.ids.push(id);
      this.#part.calls.append(card.node);
    }
    return this.#cards.get(id);
  }

  #draw() {
    this.#isDrawing = false;
    if (this.#part) show(this.#part.words, this.#part.text);
  }

  #say(words) {
    this.#activity = words;
    this.#tick();
  }

  #tick() {
    const seconds = Math.floor((performance.now() - this.#began) / 1000);
    this.#doing.textContent = `${this.#activity}…${seconds > 1 ? ` ${seconds} s` : ""}`;
  }
}
