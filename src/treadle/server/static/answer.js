// One answer, drawn from the events of a run: words as they arrive, calls as cards, and a line that says what is going on.
// What a person is asked, and how an answer is asked for, is chat.js.

import { Card } from "./calls.js";
import { pluralize, formatDuration } from "./format.js";
import { show } from "./markdown.js";
import { ModelProgress, queueInWords } from "./model-progress.js";
import { userMessage } from "./user-message.js";
import { Timeline } from "./timeline.js";
import { element } from "./treadle.js";

const EVENTS = [
  "context_loaded", "model_asked", "model_retried", "model_progressed", "no_tool_fit", "answer_ungrounded", "text_arrived",
  "thinking_arrived", "run_queued", "call_arrived", "call_judged", "approval_needed", "call_started", "call_progressed", "call_retried",
  "call_returned", "call_decided", "call_settled", "message_delivered", "noted", "lost", "back", "missed",
];
/** @type {Record<string, string>} */
const BECAME = { happened: "says that it happened", not_happened: "says that it did not happen", again: "had it tried again" };
const LOST = "Connection lost; trying again…";

/** @param {{ source: string }[]} sources */
const listed = (sources) => sources.map(({ source }) => source).join(", ");

/** @param {{ text: string }[]} values */
const quoted = (values) => values.map(({ text }) => `\u201c${text}\u201d`).join(", ");

/**
 * @typedef {{ node: HTMLElement, words: HTMLElement, calls: HTMLElement, times: Timeline, text: string, thought: HTMLElement | null,
 *   ids: string[] }} Part
 */

/**
 * The view of an answer: `begin`, then `take` for each event, then `end`. It may begin again, and then goes on below.
 * `drawing(draw)` is called to draw what can wait for the next frame.
 */
export class Answer {
  foot = element("footer", { class: "foot small soft" });
  #parts = element("div", { class: "parts" });
  #draft = element("p", { class: "draft soft", "aria-hidden": "true" });  // of an answer that is checked before it is given
  #doing = element("p", { class: "doing small soft" });
  /** @type {Map<string, Card>} */
  #cards = new Map();
  /** @type {Part | null} */
  #part = null;  // the model's present reply
  #activity = "";
  #progress = new ModelProgress();
  #began = 0;
  #ticking = 0;
  #isDrawing = false;
  #isLost = false;
  #drawing;

  node = element("div", { class: "answer" }, this.#parts, this.#draft, this.#doing, this.foot);

  /** @param {(draw: () => void) => void} [drawing] */
  constructor(drawing = (draw) => draw()) {
    this.#drawing = drawing;
  }

  /** How long it took so far, as text. */
  get took() {
    return formatDuration((performance.now() - this.#began) / 1000);
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

  /** @param {RunEvent} event */
  take(event) {
    if (!this.#part) this.#open();
    if (EVENTS.includes(event.event)) /** @type {any} */ (this)[event.event](event);
  }

  /** No more events. `words` stay in place of what was going on. */
  end(words = "") {
    clearInterval(this.#ticking);
    this.#ticking = 0;
    this.#isLost = false;
    this.#draft.textContent = "";
    this.#draw();
    this.#part?.times.stop();
    for (const card of this.#cards.values()) card.ended();
    this.#doing.classList.remove("busy");
    this.#doing.textContent = words;
  }

  /** What the answer is in the end, where that isn't what was streamed. @param {string} text */
  settle(text) {
    if (text.trim() === this.#part?.text.trim()) return;
    if (this.#reply.text.trim() || this.#reply.ids.length) this.#open();
    this.#reply.text = text;
    this.#draw();
  }

  /** Something happens in a run that a call has begun: its card says so. @param {string} place @param {RunEvent} runEvent */
  inside(place, { event, call }) {
    if (event === "call_started") this.#cards.get(place.split(".")[0])?.progressed({ text: `Using ${call.name}` });
  }

  /** Draw everything as it is, which was at this moment, without ending it. @param {number} at */
  still(at) {
    this.#draw();
    this.#part?.times.draw(at);
  }

  /** A person said no to a call. @param {{ call_id: string }} given @param {string | undefined} reason */
  denied({ call_id }, reason) {
    this.#cards.get(call_id)?.denied(reason || "Denied by you.");
  }

  /** Put something among the replies, such as a question; what comes after it stands below it. @param {Node} node */
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

  /** @param {RunEvent} runEvent */
  message_delivered({ text }) {
    this.put(userMessage(text));
  }

  /** @param {RunEvent} runEvent */
  model_asked({ model }) {
    if (this.#reply.node.textContent || this.#reply.text) this.#open();
    this.#progress.begin(model);
    this.#draft.textContent = "";
    this.#say("Thinking");
  }

  /** @param {RunEvent} runEvent */
  run_queued({ ahead }) {
    this.#say(queueInWords("a worker", ahead));
  }

  /** How far the model is: loading, reading, writing. @param {RunEvent} event */
  model_progressed(event) {
    this.#progress.take(/** @type {any} */ (event), performance.now() / 1000);
    if (event.draft) this.#draft.textContent = event.draft;
    this.#say(event.stage === "writing" ? "Writing" : "Thinking");
  }

  /** @param {RunEvent} runEvent */
  model_retried({ reason }) {
    for (const id of this.#reply.ids) this.#cards.delete(id);
    this.#reply.node.remove();
    this.#open();
    this.#progress.begin();
    this.#say(`${reason.replace(/\.?$/, ".")} Trying again`);
  }

  /** @param {RunEvent} runEvent */
  context_loaded({ sources }) {
    this.#note(`Read ${listed(sources)}.`);
  }

  /** @param {RunEvent} runEvent */
  no_tool_fit({ probability }) {
    this.#note(`No tool seemed to fit (${Math.round(probability * 100)} %).`);
  }

  /** The answer so far no longer counts. @param {RunEvent} runEvent */
  answer_ungrounded({ values }) {
    this.#reply.node.remove();
    this.#open();
    this.#say(`No tool result has ${quoted(values)}. Asking again`);
  }

  /** What the answer says and no tool result has. @param {{ text: string }[]} values */
  doubt(values) {
    if (values.length) this.#note(`No tool result has ${quoted(values)}.`);
  }

  /** @param {RunEvent} runEvent */
  text_arrived({ text }) {
    this.#reply.text += text;
    this.#draft.textContent = "";
    this.#say("Writing");
    if (!this.#isDrawing) requestAnimationFrame(() => this.#drawing(() => this.#draw()));
    this.#isDrawing = true;
  }

  /** @param {RunEvent} runEvent */
  thinking_arrived({ text }) {
    const reply = this.#reply, thought = reply.thought ?? element("p");
    if (!reply.thought) reply.node.prepend(element("details", { class: "thinking small" }, element("summary", {}, "Reasoning"), thought));
    thought.append(text);
    reply.thought = thought;
  }

  /** @param {RunEvent} runEvent */
  call_arrived({ call_id, name }) {
    this.#card(call_id, name);
  }

  /** @param {RunEvent} event */
  call_judged(event) {
    this.#card(event.call.id, event.call.name).judged(event);
  }

  /** @param {RunEvent} runEvent */
  approval_needed({ call }) {
    this.#card(call.id, call.name).waits();
  }

  /** @param {RunEvent} event */
  call_started(event) {
    const { call: { id, name }, at = now() } = event;
    this.#progress.begin();
    this.#card(id, name).started(event);
    this.#reply.times.begin(id, name, at);
    this.#say(`Using ${name}`);
  }

  /** @param {RunEvent} event */
  call_progressed(event) {
    this.#cards.get(event.call_id)?.progressed(event);
  }

  /** @param {RunEvent} runEvent */
  call_retried({ call_id, reason }) {
    this.#cards.get(call_id)?.progressed({ text: `${reason} Trying again…` });
  }

  /** @param {RunEvent} event */
  call_returned(event) {
    const { result: { call_id, name, problem }, seconds, at = now() } = event;
    this.#card(call_id, name).returned(event);
    if (problem !== "denied" && seconds) this.#reply.times.end(call_id, name, seconds, { at, isFine: !problem });
  }

  /** A person has decided about a call, earlier. @param {RunEvent} runEvent */
  call_decided({ call_id, name, approved, by, reason }) {
    if (!approved) this.denied({ call_id }, reason);
    this.#note(`${by || "Someone"} ${approved ? "approved" : "denied"} `, element("code", {}, name), reason ? `: ${reason}` : ".");
  }

  /** A person has reported the outcome of a call, earlier. @param {RunEvent} runEvent */
  call_settled({ name, said, by, words }) {
    this.#note(element("code", {}, name), `: ${by || "someone"} ${BECAME[said]}${words ? `: ${words}` : "."}`);
  }

  /** Something that is neither the model's nor a tool's. @param {RunEvent} runEvent */
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

  /** @param {RunEvent} runEvent */
  missed({ count }) {
    this.#note(`The connection was too slow: ${pluralize(count, "event")} were left out here, and come at the end.`);
  }

  // drawing

  /** The model's present reply. */
  get #reply() {
    return this.#part ?? this.#open();
  }

  #open() {
    this.#draw();
    const words = element("div", { class: "words" }), calls = element("div", { class: "calls" }), times = new Timeline();
    const node = element("div", { class: "part" }, words, calls, times.node);
    this.#parts.append(node);
    /** @type {Part} */
    const part = { node, words, calls, times, text: "", thought: null, ids: [] };
    this.#part = part;
    return part;
  }

  /** @param {string} id @param {string} name @returns {Card} */
  #card(id, name) {
    const known = this.#cards.get(id), card = known ?? new Card(name);
    if (!known) {
      this.#cards.set(id, card);
      this.#reply.ids.push(id);
      this.#reply.calls.append(card.node);
    }
    return card;
  }

  /** @param {...Child} words */
  #note(...words) {
    this.#reply.node.append(element("p", { class: "decided small soft" }, words));
  }

  #draw() {
    this.#isDrawing = false;
    if (this.#part) show(this.#part.words, this.#part.text);
  }

  /** @param {string} words */
  #say(words) {
    this.#activity = words;
    if (this.#ticking) this.#tick();
  }

  #tick() {
    const seconds = Math.floor((performance.now() - this.#began) / 1000);
    const words = this.#progress.words(performance.now() / 1000) || this.#activity;
    this.#doing.textContent = this.#isLost ? LOST : `${words}…${seconds > 1 ? ` ${seconds} s` : ""}`;
    this.#part?.times.draw(now());
  }
}

function now() {
  return Date.now() / 1000;
}
