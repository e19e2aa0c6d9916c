// One answer, drawn from the events of a run: words as they arrive, calls as cards, and a line that says what is going on.
// What a person is asked, and how an answer is asked for, is chat.js.

import { Card, lasting } from "./calls.js";
import { show } from "./markdown.js";
import { Timeline } from "./timeline.js";
import { element } from "./treadle.js";
import { counted } from "./words.js";

const EVENTS = [
  "model_asked", "model_retried", "text_arrived", "thinking_arrived", "call_arrived", "call_judged", "approval_needed",
  "call_started", "call_progressed", "call_returned", "call_decided", "call_settled", "noted", "lost", "back", "missed",
];
const BECAME = { happened: "says that it happened", not_happened: "says that it did not happen", again: "had it tried again" };
const LOST = "Connection lost; trying again…";

/**
 * The view of an answer: `begin`, then `take` for each event, then `end`. It may begin again, and then goes on below.
 * `drawing(draw)` is called to draw what can wait for the next frame.
 */
export class Answer {
  foot = element("footer", { class: "foot small soft" });
  #parts = element("div", { class: "parts" });
  #doing = element("p", { class: "doing small soft" });
  #cards = new Map();
  #part = null;         // the model's present reply: { node, words, calls, times, text, thought, ids }
  #activity = "";
  #began = 0;
  #ticking = 0;
  #isDrawing = false;
  #isLost = false;
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
    this.#ticking = 0;
    this.#isLost = false;
    this.#draw();
    this.#part?.times.stop();
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

  /** Something happens in a run that a call has begun: its card says so. */
  inside(place, { event, call }) {
    if (event === "call_started") this.#cards.get(place.split(".")[0])?.progressed({ text: `Using ${call.name}` });
  }

  /** Draw everything as it is, which was at this moment, without ending it. */
  still(at) {
    this.#draw();
    this.#part?.times.draw(at);
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
    const { call: { id, name }, at = now() } = event;
    this.#card(id, name).started(event);
    this.#part.times.begin(id, name, at);
    this.#say(`Using ${name}`);
  }

  call_progressed(event) {
    this.#cards.get(event.call_id)?.progressed(event);
  }

  call_returned(event) {
    const { result: { call_id, name, problem }, seconds, at = now() } = event;
    this.#card(call_id, name).returned(event);
    if (problem !== "denied" && seconds) this.#part.times.end(call_id, name, seconds, { at, isFine: !problem });
  }

  /** A person has decided about a call, earlier. */
  call_decided({ call_id, name, approved, by, reason }) {
    if (!approved) this.denied({ call_id }, reason);
    this.#note(`${by || "Somebody"} ${approved ? "approved" : "denied"} `, element("code", {}, name), reason ? `: ${reason}` : ".");
  }

  /** A person has said what became of a call, earlier. */
  call_settled({ name, said, by, words }) {
    this.#note(element("code", {}, name), `: ${by || "somebody"} ${BECAME[said]}${words ? `: ${words}` : "."}`);
  }

  /** Something that is neither the model's nor a tool's. */
  noted({ text }) {
    this.#note(text);
  }

  /** The connection is gone, and looked for. */
  lost() {
    this.#isLost = true;
    this.#tick();
  }

  back() {
    this.#isLost = false;
    this.#tick();
  }

  missed({ count }) {
    this.#note(`The connection was too slow: ${counted(count, "event")} were left out here, and come at the end.`);
  }

  // drawing

  #open() {
    this.#draw();
    const words = element("div", { class: "words" }), calls = element("div", { class: "calls" }), times = new Timeline();
    const node = element("div", { class: "part" }, words, calls, times.node);
    this.#part = { node, words, calls, times, text: "", thought: null, ids: [] };
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

  #note(...words) {
    this.#part.node.append(element("p", { class: "decided small soft" }, words));
  }

  #draw() {
    this.#isDrawing = false;
    if (this.#part) show(this.#part.words, this.#part.text);
  }

  #say(words) {
    this.#activity = words;
    if (this.#ticking) this.#tick();
  }

  #tick() {
    const seconds = Math.floor((performance.now() - this.#began) / 1000);
    this.#doing.textContent = this.#isLost ? LOST : `${this.#activity}…${seconds > 1 ? ` ${seconds} s` : ""}`;
    this.#part?.times.draw(now());
  }
}

function now() {
  return Date.now() / 1000;
}
