// A conversation with an assistant: what was said, answers as they arrive with the calls in them, what a person is asked, and where
// the next message is written. A panel says where it talks to, and what it adds:
//   const talk = new Chat(document.querySelector("#chat"), { path: "/api/mine/chat", approvals: (asked) => `/api/mine/…` });
//   talk.questions(["What can you do?"]);
// What is posted brings events (answer.js), the last of them `reply`: { message, run_id, stopped, approvals, tokens_used, … }.
// A conversation that was kept is shown again with `recall`, from the same events; a run that is under way with `follow`.

import { Answer } from "./answer.js";
import { boxFor } from "./approval.js";
import { formatCost, formatNumber } from "./format.js";
import { composer } from "./composer.js";
import { copyButton, offerCopies } from "./copy-button.js";
import { feedbackOn, feedbackTools } from "./feedback.js";
import { icon } from "./icons.js";
import { userMessage } from "./user-message.js";
import { stateTitle } from "./state-names.js";
import { events } from "./stream.js";
import { clearWhenSeen, showState } from "./tab-title.js";
import { messageOf, ServerError } from "./errors.js";
import { element } from "./treadle.js";

const NEAR = 90;  // pixels from the end within which one counts as being there
const EARLY = "The answer ended before it was complete.";
const LOCKED = "Decide above to continue";
const TOO_LONG = 413;  // how a server says so
const STOPPED = "This answer was stopped.";
const FAILED = new Set(["failed", "open", "cancelled"]);  // outcomes without an answer
const LONGEST_TOPIC = 60;  // characters
const AT_ONCE = 30, SLICE = 5;  // turns that are shown again at once, and those before them that are drawn without a pause
const STEER = "Send a message while it works";
const QUEUE = "Your next message, sent after this answer";

/**
 * @typedef {object} ChatOptions
 * @property {string | (() => string)} path takes { message, run_id }; a function gives the one for now, where it isn't always the same
 * @property {(asked: PendingCall) => string} approvals where what a person says about a call that waits is posted
 * @property {(reply: Reply) => Node[]} [below] nodes to stand below an answer
 * @property {() => unknown} [changed] is called when an answer begins, ends, or everything is cleared
 * @property {(message: string) => boolean} [leads] whether it has taken what was asked elsewhere
 * @property {Node[]} [welcome] nodes for when nothing was said yet
 * @property {Node[]} [after] more of them, below where one writes
 * @property {string} [label] words where one writes
 * @property {() => object} [more] what else is posted with a message
 * @property {(path: string, body: object, abort: AbortController) => AsyncIterable<RunEvent>} [events] what brings the events of what is
 *   posted, in place of those of stream.js
 * @property {(runId: string) => Promise<unknown>} [stop] stops a run; without it, leaving it does
 * @property {(runId: string, message: string, messageId: string) => Promise<{ steering: boolean }>} [steer] sends a message during
 *   an answer, which takes it in; where the answer is over by then, it begins another one
 * @property {(runId: string) => EventSourceOf} [source] what brings all events of a run; needed with `steer`
 * @property {(runId: string, number: number, message: string | null) => Promise<unknown>} [fork] shows a fork of the run in which the
 *   user's message with this number is sent again, or `message` in its place
 * @property {boolean} [rated] whether answers can be rated
 * @property {(runId: string) => string} [resumes] where one is posted that nothing executes
 * @property {boolean} [edits] whether arguments can be changed before they are approved
 * @property {(runId: string) => void} [known] is called with the run, as soon as that is known
 * @property {(runId: string) => unknown} [missed] is called at the end of an answer of which not everything came
 *
 * @typedef {{ answer: Answer, article: HTMLElement, message: string | null, boxes: Map<string, DecisionBox>, before: string | null,
 *   isAnswered: boolean, isFresh: boolean, isEarlier: boolean, hasMissed: boolean, hasFailed: boolean }} Turn
 */

/** @type {Required<Omit<ChatOptions, "path" | "approvals" | "stop" | "resumes" | "steer" | "source" | "fork">>} */
const NOTHING = {
  welcome: [], after: [], label: "Your message", below: () => [], changed: () => {}, more: () => ({}), events, edits: false, rated: false,
  known: () => {}, missed: () => {}, leads: () => false,
};

/** A conversation in an element. */
export class Chat {
  #how;
  #turns = element("div", { class: "turns" });
  #pending = element("div", { class: "pending", "aria-label": "Sent, and not read yet" });
  #chips = element("ul", { class: "chips", "aria-label": "For example" });
  #aloud = element("p", { class: "unseen", "aria-live": "polite" });
  #start;
  #after;
  #place;
  #writing;
  #latest = element("button", { type: "button", class: "quiet latest", hidden: true, onclick: () => this.#toEnd("smooth") },
    icon("arrow-down"), "Jump to latest");
  /** @type {string | null} */
  #runId = null;
  /** @type {AbortController | null} */
  #running = null;  // stops the answer under way
  #isStopping = false;
  #topic = "";
  #recalls = 0;
  /** @type {Map<HTMLElement, (rating: FeedbackRating, comment: string) => void>} */
  #ratings = new Map();  // what shows the rating of an answer, by its turn
  #whole = Promise.resolve();  // is kept once all turns of a long conversation are drawn

  /** @param {HTMLElement} place @param {ChatOptions} how */
  constructor(place, how) {
    this.#how = { ...NOTHING, ...how };
    this.#start = element("div", { class: "start" }, this.#how.welcome, this.#chips);
    this.#writing = composer({ label: this.#how.label, send: (text) => this.ask(text), stop: () => this.#stop() });
    this.#place = place;
    this.#after = element("div", { class: "after" }, this.#how.after);
    place.classList.add("chat", "empty");
    place.append(
      element("div", { class: "log", role: "region", "aria-label": "What was said", tabindex: "0" },
        this.#start, this.#turns, this.#pending),
      this.#latest, this.#writing.node, this.#after, this.#aloud);
    document.addEventListener("scroll", () => this.#drawLatest(), { capture: true, passive: true });
    clearWhenSeen();
  }

  get isEmpty() {
    return this.#turns.childElementCount === 0;
  }

  /** Whether an answer is under way. */
  get isRunning() {
    return this.#running !== null;
  }

  /** What was said first, shortened; "" where nothing was. */
  get topic() {
    const words = this.#topic || (this.#turns.querySelector(".said p")?.textContent ?? "");
    return words.length > LONGEST_TOPIC ? `${words.slice(0, LONGEST_TOPIC - 1)}…` : words;
  }

  /** The run it is, once there is one. */
  get runId() {
    return this.#runId;
  }

  /**
   * Ask something. An answer under way gets the message, or is followed by its answer; while a question is open, nothing happens.
   * @param {string} message
   */
  ask(message) {
    if (this.#running && this.#how.steer) this.#steer(message);
    else if (this.#running) this.#received(newId(), message);
    else if (!this.#isAsked && !this.#how.leads(message)) this.#again(this.#turn(message));
  }

  /**
   * Show what was said before, in place of what is shown: turns of { message, replies }, where each reply is what came as `reply`,
   * with the `events` before it. What the last one asks can be answered. With the run they are of, it goes on in that one. Of a long
   * conversation the last turns are drawn at once, those before them in the pauses of the page.
   * @param {RecalledTurn[]} turns @param {string | null} [runId]
   */
  recall(turns, runId = null) {
    this.#empty();
    this.#runId = runId;
    this.#topic = turns.find(({ message }) => message)?.message ?? "";
    for (const each of turns.slice(-AT_ONCE)) this.#recalled(this.#turn(each.message, true), each.replies, each === turns.at(-1));
    this.#ready();
    this.#toEnd();
    this.#whole = this.#recallBefore(turns.slice(0, -AT_ONCE));
    this.#drawRatings();
  }

  /** Draw the turns before those that are shown, from the last to the first. @param {RecalledTurn[]} turns */
  async #recallBefore(turns) {
    const mine = this.#recalls;
    while (turns.length) {
      await new Promise((resolve) => setTimeout(resolve));
      if (mine !== this.#recalls) return;
      this.#following(() => this.#prepend(turns.splice(-SLICE)));
    }
  }

  /** @param {RecalledTurn[]} turns */
  #prepend(turns) {
    const waiting = [...this.#pending.childNodes], place = element("div");
    this.#pending.replaceChildren();
    for (const each of turns) this.#recalled(this.#turn(each.message, true, place), each.replies, false);
    this.#turns.firstElementChild?.prepend(...this.#read());
    this.#pending.replaceChildren(...waiting);
    for (const each of place.querySelectorAll(".regenerate, .regenerate + [role=alert]")) each.remove();
    this.#turns.prepend(...place.childNodes);
  }

  /**
   * Show a run that is under way, in place of what is shown: `source(abort)` brings its events, from what was said first on.
   * @param {string} runId @param {EventSourceOf} source
   */
  follow(runId, source) {
    this.#empty();
    this.join(runId, source).then(() => this.#drawRatings());
  }

  /** The same after what is shown. @param {string} runId @param {EventSourceOf} source @returns {Promise<void>} */
  join(runId, source) {
    this.#runId = runId;
    return this.#go(this.#turn(null), source);
  }

  /** Have something stand where one writes. @param {string} words */
  fill(words) {
    this.#writing.fill(words);
    this.#writing.focus();
  }

  /** Have this said where one writes. @param {string} words */
  label(words) {
    this.#writing.rename(words);
  }

  focus() {
    this.#writing.focus();
  }

  /** Begin anew. What was said stays on the server. */
  clear() {
    this.#empty();
    this.#writing.focus();
    this.#how.changed();
  }

  /** Sample questions, for when nothing was said yet. @param {string[]} list */
  questions(list) {
    this.#chips.replaceChildren(...list.map((words) =>
      element("li", {}, element("button", { type: "button", class: "chip", onclick: () => this.ask(words) }, words))));
  }

  #empty() {
    this.#running?.abort();
    this.#running = this.#runId = null;
    this.#topic = "";
    this.#recalls++;
    this.#ratings.clear();
    this.#turns.replaceChildren();
    this.#pending.replaceChildren();
    this.#setEmpty(true);
    this.#aloud.textContent = "";
    showState("");
    this.#writing.set("ready");
  }

  /** @param {boolean} isEmpty */
  #setEmpty(isEmpty) {
    this.#start.hidden = this.#after.hidden = !isEmpty;
    this.#place.classList.toggle("empty", isEmpty);
  }

  /**
   * A new turn at the end; `message` is null where the turn has none.
   * @param {string | null} message @param {boolean} [isEarlier] @param {HTMLElement} [place] @returns {Turn}
   */
  #turn(message, isEarlier = false, place = this.#turns) {
    const last = place.lastElementChild;
    if (last?.matches(".untaken")) last.remove();
    for (const each of last?.querySelectorAll(".untaken, .regenerate, .regenerate + [role=alert]") ?? []) each.remove();
    const answer = new Answer((draw) => this.#following(draw));
    const article = element("article", { class: "turn", "data-run": this.#runId },
      message === null ? null : [...this.#read(), this.#said(message)], element("h2", { class: "unseen" }, "Answer"), answer.node);
    place.append(article);
    this.#setEmpty(false);
    const state = { isAnswered: false, isFresh: true, isEarlier, hasMissed: false, hasFailed: false };
    return { answer, article, message, boxes: new Map(), before: this.#runId, ...state };
  }

  /** @param {Turn} turn @param {RecalledReply[]} replies @param {boolean} isLast */
  #recalled(turn, replies, isLast) {
    for (const reply of replies) {
      for (const event of reply.events) this.#drawn(turn, event);
      this.#answered(turn, { ...reply, approvals: isLast && reply === replies.at(-1) ? reply.approvals : [] });
    }
    if (!replies.length) turn.answer.end("No answer (stopped).");
    else if (!isLast && replies[replies.length - 1].stopped === "waiting") turn.answer.end("No decision was made.");
  }

  // an answer under way

  /** @param {Turn} turn */
  #again(turn) {
    const { path, more } = this.#how;
    turn.answer.clear();
    turn.isFresh = true;
    const body = { message: turn.message, run_id: turn.before, ...more() };
    this.#go(turn, this.#posting(typeof path === "function" ? path() : path, body));
  }

  /** @param {string} path @param {object} body @returns {EventSourceOf} */
  #posting(path, body) {
    return (abort) => this.#how.events(path, body, abort);
  }

  /** End the answer under way: where runs last by telling the server, else by leaving. */
  #stop() {
    if (!this.#how.stop) return this.#running?.abort();
    this.#isStopping = true;
    if (this.#runId) this.#how.stop(this.#runId).catch(() => {});
  }

  /**
   * Have the server go on, and draw what happens. A caller that passes `begun` is notified when it has begun, and catches why it didn't.
   * @param {Turn} turn @param {EventSourceOf} source @param {(() => void) | null} [begun]
   */
  async #go(turn, source, begun = null) {
    const abort = new AbortController(), isMine = () => this.#running === abort;
    let hasBegun = false, isOver = false;
    this.#begin(turn, abort);
    try {
      for await (const event of source(abort)) {
        if (!isMine()) return;
        if (event.event === "error") throw new Error(event.error);
        if (!hasBegun) begun?.();
        hasBegun = true;
        turn = this.#take(turn, event);
        isOver = turn.isAnswered;
        if (isOver) this.#end(turn);  // at once, so that the next message or the answer to an approval can be sent
      }
      if (!isOver) throw new Error(EARLY);
    } catch (error) {
      if (!isMine()) return;
      const isElsewhere = begun !== null && !hasBegun;
      this.#stumble(turn, error, abort.signal.aborted, isElsewhere);
      if (isElsewhere && !abort.signal.aborted) throw error;
    } finally {
      if (isMine()) this.#end(turn);
      else if (!isOver) turn.answer.end();
    }
  }

  /** @param {Turn} turn @param {AbortController} abort */
  #begin(turn, abort) {
    this.#running = abort;
    this.#isStopping = false;
    showState("running");
    this.#writing.set("running", this.#how.steer ? STEER : QUEUE);
    turn.isAnswered = turn.isEarlier = turn.hasMissed = false;
    turn.answer.foot.replaceChildren();
    turn.answer.begin();
    for (const box of turn.boxes.values()) box.busy(true);
    this.#toEnd();
    this.#changed();
  }

  /**
   * Draw an event. The next one belongs to the turn that this gives: a stream may tell of several.
   * @param {Turn} turn @param {RunEvent} event @returns {Turn}
   */
  #take(turn, event) {
    this.#know(event.run_id);
    if (event.run_id) turn.article.dataset.run = this.#runId ?? "";
    if (event.run_id && event.run_id !== this.#runId) {
      turn.answer.inside(event.run_id.slice((this.#runId ?? "").length + 1), event);
      return turn;
    }
    if (event.event === "reset") return this.#next(null);
    if (event.event === "said") return turn.isFresh && turn.message !== null ? turn : this.#next(event.text, turn);
    turn.isFresh &&= ["run_started", "run_ended", "run_queued", "lost", "back"].includes(event.event);
    turn.hasMissed ||= event.event === "missed";
    this.#following(() => this.#drawn(turn, event));
    return turn;
  }

  /** @param {Turn} turn @param {RunEvent} event */
  #drawn(turn, event) {
    const { event: kind, stopped } = event;
    if (kind === "reply") this.#answered(turn, /** @type {Reply & RunEvent} */ (event));
    else if (kind === "waits") this.#waits(turn);
    else if (kind === "message_received") this.#received(event.message_id, event.text);
    else if (kind === "message_delivered") this.#delivered(turn, event.message_id, event.text);
    else if (kind !== "run_ended") turn.answer.take(event);
    else if (stopped === "answered" || stopped === "limit") this.#ended(turn, /** @type {Reply & RunEvent} */ (event));
  }

  /** A turn is over, and more follows. @param {Turn} turn @param {Reply} reply */
  #ended(turn, reply) {
    turn.answer.settle(reply.message);
    offerCopies(turn.answer.node);
    if (reply.data) turn.answer.foot.replaceChildren(...this.#how.below(reply));
  }

  /**
   * Another turn that a stream tells of: after the present one, or in place of all turns of its run where they count no more.
   * @param {string | null} message @param {Turn | null} [turn] @returns {Turn}
   */
  #next(message, turn = null) {
    if (turn === null) for (const each of this.#turns.querySelectorAll(`[data-run="${CSS.escape(this.#runId ?? "")}"]`)) each.remove();
    if (turn?.isFresh && turn.message === null) turn.article.remove();
    turn?.answer.end();
    const next = this.#turn(message);
    next.before = this.#runId;
    next.answer.begin();
    return next;
  }

  /** Runs inside of a run have ids of their own, which begin with its. @param {string | undefined} runId */
  #know(runId) {
    if (!runId || runId === this.#runId || (this.#runId && runId.startsWith(`${this.#runId}.`))) return;
    this.#runId = runId;
    this.#how.known(runId);
    announceChange();
    if (this.#isStopping) this.#stop();
  }

  /** @param {Turn} turn @param {Reply} reply */
  #answered(turn, reply) {
    const { answer } = turn, isWaiting = reply.stopped === "waiting";
    turn.isAnswered = true;
    turn.hasFailed = FAILED.has(reply.stopped);
    if (reply.stopped === "failed") return this.#failed(turn, reply.reason || reply.message);
    if (reply.stopped === "open") return this.#stranded(turn, reply.reason ?? "");
    if (!isWaiting) answer.settle(reply.message);
    answer.doubt(reply.ungrounded ?? []);
    answer.end(isWaiting ? `${stateTitle(reply.approvals?.length ? "asking" : "waiting")}.` : reply.stopped === "cancelled" ? STOPPED : "");
    answer.foot.replaceChildren(
      ...cutShort(reply), ...this.#how.below(reply), ...(isWaiting || turn.isEarlier ? [] : [facts(reply, answer)]),
      ...(isWaiting ? [] : [this.#tools(turn, reply)]));
    offerCopies(answer.node);
    this.#aloud.textContent = isWaiting || turn.isEarlier ? "" : `Answer: ${answer.text}`;
    this.#askPerson(turn, reply.approvals);
  }

  /** Something else has to be answered too. @param {Turn} turn */
  #waits(turn) {
    turn.isAnswered = true;
    turn.answer.end(`${stateTitle("asking")}.`);
    [...turn.boxes.values()].find(({ node }) => node.isConnected)?.focus();
  }

  /**
   * What went wrong, in the answer; or it stays open, where the question says so itself.
   * @param {Turn} turn @param {unknown} error @param {boolean} isStopped @param {boolean} isElsewhere
   */
  #stumble(turn, error, isStopped, isElsewhere) {
    if (isElsewhere) turn.answer.end(`${stateTitle("asking")}.`);
    else if (isStopped) turn.answer.end(STOPPED);
    else if (error instanceof ServerError && error.status === TOO_LONG) this.#giveBack(turn, error.message);
    else this.#failed(turn, messageOf(error));
  }

  /** What is too long to be taken stands where one writes again, to be made shorter. @param {Turn} turn @param {string} sentence */
  #giveBack(turn, sentence) {
    turn.answer.end();
    turn.answer.foot.replaceChildren(element("p", { class: "notice bad", role: "alert" }, sentence));
    turn.article.classList.add("untaken");
    turn.article.querySelector(".said")?.remove();
    this.#writing.giveBack(turn.message ?? "");
  }

  /** Only what has had no consequences is asked again. @param {Turn} turn @param {string} sentence */
  #failed(turn, sentence) {
    const retry = () => this.#running || this.#again(turn);
    const again = element("button", { type: "button", class: "quiet", onclick: retry }, "Try again");
    turn.answer.end();
    turn.answer.foot.replaceChildren(
      element("div", { class: "notice bad", role: "alert" }, element("p", {}, sentence),
        turn.boxes.size || turn.isEarlier ? null : again));
  }

  /** No process continues it. @param {Turn} turn @param {string} sentence */
  #stranded(turn, sentence) {
    const path = this.#how.resumes?.(this.#runId ?? "") ?? "";
    const go = () => this.#running || this.#go(turn, this.#posting(path, {}));
    turn.answer.end();
    turn.answer.foot.replaceChildren(element("div", { class: "notice warn" }, element("p", {}, sentence),
      element("button", { type: "button", class: "quiet", onclick: go }, "Resume")));
  }

  /** @param {Turn} turn */
  #end(turn) {
    this.#running = null;
    this.#ready();
    showState(this.#isAsked ? "waiting" : "done");
    for (const box of turn.boxes.values()) box.busy(false);
    this.#changed();
    if (turn.hasMissed && this.#runId) this.#how.missed(this.#runId);
    if (!this.#how.steer && !this.#isAsked) this.#sendQueued(turn.isAnswered && !turn.hasFailed);
  }

  #changed() {
    this.#how.changed();
    announceChange();
  }

  #ready() {
    this.#writing.set(this.#isAsked ? "locked" : "ready", this.#isAsked ? LOCKED : undefined);
  }

  // messages during an answer, and others in place of earlier ones

  /** @param {string} message */
  async #steer(message) {
    const { steer, source } = this.#how, runId = this.#runId;
    if (!steer || !source || !runId) return this.#writing.giveBack(message);  // it isn't known yet which run it is
    const id = newId();
    this.#received(id, message);
    try {
      const { steering } = await steer(runId, message, id);
      if (!steering && runId === this.#runId) this.follow(runId, source(runId));
    } catch (error) {
      this.#waiting(id)?.remove();
      this.#writing.giveBack(message);
      this.#turns.lastElementChild?.append(element("p", { class: "notice bad untaken", role: "alert" }, messageOf(error)));
    }
  }

  /**
   * Ask what was sent during the answer, one after the other. After an answer that failed or was stopped, it is given back.
   * @param {boolean} isAnswered
   */
  #sendQueued(isAnswered) {
    const texts = [...this.#pending.querySelectorAll("p")].map((each) => each.textContent ?? "");
    this.#pending.replaceChildren();
    if (!isAnswered) return texts.length ? this.#writing.giveBack(texts.join("\n\n")) : undefined;
    for (const text of texts) this.ask(text);
  }

  /** A message waits for the end of the round. @param {string} id @param {string} text */
  #received(id, text) {
    if (this.#waiting(id)) return;
    const node = userMessage(text);
    node.dataset.message = id;
    this.#pending.append(node);
    node.scrollIntoView({ block: "end", behavior: "instant" });
  }

  /** @param {string} id @returns {HTMLElement | null} */
  #waiting(id) {
    return this.#pending.querySelector(`[data-message="${CSS.escape(id)}"]`);
  }

  /** The model reads it from now on. @param {Turn} turn @param {string} id @param {string} text */
  #delivered(turn, id, text) {
    this.#waiting(id)?.remove();
    turn.answer.put(this.#said(text));
  }

  /** What no answer came to is read with the next message, and shown with it. */
  #read() {
    const texts = [...this.#pending.querySelectorAll("p")].map((each) => each.textContent ?? "");
    this.#pending.replaceChildren();
    return texts.map((text) => this.#said(text));
  }

  /** A message of the user. @param {string} text @returns {HTMLElement} */
  #said(text) {
    const { fork } = this.#how;
    /** @type {HTMLElement} */
    const node = userMessage(text, fork ? (words) => this.#whole.then(() => this.#fork(this.#numberOf(node), words)) : null);
    return node;
  }

  /** Which of the user's messages in its run it is. @param {HTMLElement} node */
  #numberOf(node) {
    const said = this.#turns.querySelectorAll(`[data-run="${CSS.escape(this.#runId ?? "")}"] .said`);
    return [...said].indexOf(node) + 1;
  }

  /** @param {number} number @param {string | null} message */
  async #fork(number, message) {
    const { fork } = this.#how;
    if (fork && this.#runId && !this.#running) await fork(this.#runId, number, message);
  }

  /** What can be done with an answer: copied, rated, and the last one made anew. @param {Turn} turn @param {Reply} reply */
  #tools(turn, { message, run_id }) {
    const runId = run_id ?? this.#runId;
    if (runId) turn.article.dataset.run = runId;
    return element("div", { class: "tools" }, message ? copyButton("Copy answer", () => message) : null, ...this.#regenerate(),
      message && runId && this.#how.rated ? this.#rating(turn.article, runId) : null);
  }

  /** @param {HTMLElement} article @param {string} runId */
  #rating(article, runId) {
    const { node, draw } = feedbackTools(async () => {
      await this.#whole;
      return { runId, message: this.#messagesUpTo(article, runId) };
    });
    this.#ratings.set(article, draw);
    return node;
  }

  /** How many messages of the user there are in a run, up to the end of a turn. @param {HTMLElement} article @param {string} runId */
  #messagesUpTo(article, runId) {
    const turns = [...this.#turns.children], said = this.#turns.querySelectorAll(`[data-run="${CSS.escape(runId)}"] .said`);
    return [...said].filter((each) => turns.indexOf(/** @type {Element} */ (each.closest(".turn"))) <= turns.indexOf(article)).length;
  }

  /** Show how the answers were rated before. */
  async #drawRatings() {
    const mine = this.#recalls;
    await this.#whole;
    const runOf = (/** @type {HTMLElement} */ article) => article.dataset.run ?? "";
    if (!this.#ratings.size) return;
    const known = await feedbackOn([...new Set([...this.#ratings.keys()].map(runOf))]).catch(() => null);
    if (!known || mine !== this.#recalls) return;
    for (const [article, draw] of this.#ratings) {
      const found = known[runOf(article)]?.find(({ message }) => message === this.#messagesUpTo(article, runOf(article)));
      if (found) draw(found.rating, found.comment);
    }
  }

  /** Has the last message answered anew. */
  #regenerate() {
    if (!this.#how.fork) return [];
    const problem = element("span", { role: "alert" }), words = "Regenerate";
    const again = () => this.#fork(-1, null).catch((error) => { problem.textContent = messageOf(error); });
    return [element("button", { type: "button", class: "tool regenerate", "aria-label": words, title: words, onclick: again },
      icon("refresh-cw")), problem];
  }

  // what a person is asked

  get #isAsked() {
    return this.#turns.querySelector(".approval:not(.past)") !== null;
  }

  /** @param {Turn} turn @param {PendingCall[]} open */
  #askPerson(turn, open) {
    const keys = open.map(keyOf);
    for (const [key, box] of turn.boxes) if (!keys.includes(key)) box.node.remove();
    for (const asked of open) if (!turn.boxes.has(keyOf(asked))) this.#box(turn, asked);
    turn.boxes.get(keys[0])?.focus();
  }

  /** @param {Turn} turn @param {PendingCall} asked */
  #box(turn, asked) {
    const path = this.#how.approvals(asked), { isEarlier } = turn;
    const box = boxFor(asked, (said) => this.#go(turn, this.#posting(path, { ...said, digest: asked.digest }), () => {
      box.settle(said);
      if (said.approved === false) turn.answer.denied(asked, said.reason);
      this.#writing.focus();
    }).catch((error) => {
      if (isEarlier) this.#past(box);
      throw error;
    }), { edits: this.#how.edits });
    turn.boxes.set(keyOf(asked), box);
    turn.answer.put(box.node);
  }

  /** An old question that can't be answered any more doesn't block the next message. @param {DecisionBox} box */
  #past(box) {
    box.node.classList.add("past");
    this.#ready();
  }

  // where one is in it

  /** Change something; a reader at the end stays at the end, and any other stays in place. @param {() => void} change */
  #following(change) {
    const isAtEnd = this.#isAtEnd;
    change();
    if (isAtEnd) this.#toEnd();
    else this.#drawLatest();
  }

  get #isAtEnd() {
    return this.#turns.getBoundingClientRect().bottom <= this.#writing.node.getBoundingClientRect().top + NEAR;
  }

  #drawLatest() {
    this.#latest.hidden = this.isEmpty || this.#isAtEnd;
  }

  /** @param {ScrollBehavior} [behavior] */
  #toEnd(behavior = "instant") {
    this.#turns.lastElementChild?.scrollIntoView({ block: "end", behavior });
    if (behavior === "instant") this.#drawLatest();
  }
}

/** @param {Reply} reply @param {Answer} answer */
function facts({ tokens_used: tokens, cost }, answer) {
  const amount = tokens ? `${formatNumber(tokens)} tokens` : "";
  return element("p", { class: "facts" }, [answer.took, amount, cost ? formatCost(cost) : ""].filter(Boolean).join(" · "));
}

/** Why there is no answer, where a limit came first. @param {Reply} reply */
function cutShort({ stopped, reason, message }) {
  if (stopped !== "limit" || !reason || message) return [];
  return [element("p", { class: "notice warn" }, `The run stopped at ${reason} before it had an answer.`)];
}

/** Let the rest of the page know that conversations have changed. */
function announceChange() {
  document.dispatchEvent(new Event("conversationchange"));
}

/** An id for a message, which no other has. */
function newId() {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
}

/** @param {PendingCall} pendingCall */
function keyOf({ run_id, call_id }) {
  return `${run_id}/${call_id}`;
}
