// A conversation with an assistant: what was said, answers as they arrive with the calls in them, what a person is asked, and where
// the next message is written. A panel says where it talks to, and what it adds:
//   const talk = new Chat(document.querySelector("#chat"), { path: "/api/mine/chat", approvals: (asked) => `/api/mine/…` });
//   talk.questions(["What can you do?"]);
// What is posted brings events (answer.js), the last of them `reply`: { message, run_id, stopped, approvals, tokens_used, … }.
// A conversation that was kept is shown again with `recall`, from the same events; a run that is under way with `follow`.

import { Answer } from "./answer.js";
import { boxFor } from "./approval.js";
import { dollars } from "./calls.js";
import { composer } from "./composer.js";
import { events } from "./stream.js";
import { element } from "./treadle.js";

const NEAR = 90;  // pixels from the end within which one counts as being there
const EARLY = "The answer ended before it was complete.";
const LOCKED = "Answer above first";
const TOO_LONG = 413;  // how a server says so
const STOPPED = "This answer was stopped.";
const NOTHING = {
  welcome: [], label: "Your message", below: () => [], changed: () => {}, more: () => ({}), events, edits: false, known: () => {},
  missed: () => {}, leads: () => false,
};

/**
 * A conversation in an element.
 *   path              takes { message, run_id }; a function gives the one for now, where it isn't always the same
 *   approvals(asked)  where what a person says about a call that waits is posted
 *   below(reply)      nodes to stand below an answer
 *   changed()         hears when an answer begins, ends, or everything is cleared
 *   leads(message)    whether it has taken what was asked elsewhere
 *   welcome, label    nodes for when nothing was said yet, and words where one writes
 * For runs that last, whoever looks at them:
 *   more()            what else is posted with a message
 *   events            what brings the events of what is posted, in place of those of stream.js
 *   stop(run_id)      stops a run; without it, leaving it does
 *   resumes(run_id)   where one is posted that nobody carries on
 *   edits             whether arguments can be changed before they are approved
 *   known(run_id)     hears which run it is, as soon as that is known
 *   missed(run_id)    hears at the end of an answer that not all of it came
 */
export class Chat {
  #how;
  #turns = element("div", { class: "turns" });
  #chips = element("ul", { class: "chips", "aria-label": "For example" });
  #aloud = element("p", { class: "unseen", "aria-live": "polite" });
  #start;
  #writing;
  #runId = null;
  #running = null;  // stops the answer under way
  #isStopping = false;

  constructor(place, how) {
    this.#how = { ...NOTHING, ...how };
    this.#start = element("div", { class: "start" }, this.#how.welcome, this.#chips);
    this.#writing = composer({ label: this.#how.label, send: (text) => this.ask(text), stop: () => this.#stop() });
    place.classList.add("chat");
    place.append(
      element("div", { class: "log", role: "region", "aria-label": "What was said", tabindex: "0" }, this.#start, this.#turns),
      this.#writing.node, this.#aloud);
  }

  get isEmpty() {
    return this.#turns.childElementCount === 0;
  }

  /** Whether an answer is under way. */
  get isRunning() {
    return this.#running !== null;
  }

  /** The run it is, once there is one. */
  get runId() {
    return this.#runId;
  }

  /** Ask something. Nothing happens while an answer is under way, or a question is open. */
  ask(message) {
    if (!this.#running && !this.#isAsked && !this.#how.leads(message)) this.#again(this.#turn(message));
  }

  /**
   * Show what was said before, in place of what is shown: turns of { message, replies }, where each reply is what came as `reply`,
   * with the `events` before it. What the last one asks can be answered. With the run they are of, it goes on in that one.
   */
  recall(turns, runId = null) {
    this.#empty();
    this.#runId = runId;
    for (const each of turns) this.#recalled(this.#turn(each.message, true), each.replies, each === turns.at(-1));
    this.#ready();
    this.#toEnd();
  }

  /** Show a run that is under way, in place of what is shown: `source(abort)` brings its events, from what was said first on. */
  follow(runId, source) {
    this.#empty();
    this.join(runId, source);
  }

  /** The same after what is shown. */
  join(runId, source) {
    this.#runId = runId;
    this.#go(this.#turn(null), source);
  }

  /** Have something stand where one writes. */
  fill(words) {
    this.#writing.fill(words);
    this.#writing.focus();
  }

  /** Begin anew. What was said stays on the server. */
  clear() {
    this.#empty();
    this.#writing.focus();
    this.#how.changed();
  }

  /** Sample questions, for when nothing was said yet. */
  questions(list) {
    this.#chips.replaceChildren(...list.map((words) =>
      element("li", {}, element("button", { type: "button", class: "chip", onclick: () => this.ask(words) }, words))));
  }

  #empty() {
    this.#running?.abort();
    this.#running = this.#runId = null;
    this.#turns.replaceChildren();
    this.#start.hidden = false;
    this.#aloud.textContent = "";
    this.#writing.set("ready");
  }

  /** A new turn at the end; `message` is null where nobody asked. */
  #turn(message, isEarlier = false) {
    this.#turns.querySelector(".untaken")?.remove();
    const answer = new Answer((draw) => this.#following(draw));
    const said = element("div", { class: "said" }, element("h2", { class: "unseen" }, "You"), element("p", {}, message ?? ""));
    this.#turns.append(element("article", { class: "turn", "data-run": this.#runId },
      message === null ? null : said, element("h2", { class: "unseen" }, "Answer"), answer.node));
    this.#start.hidden = true;
    return { answer, message, boxes: new Map(), before: this.#runId, isAnswered: false, isFresh: true, isEarlier };
  }

  #recalled(turn, replies, isLast) {
    for (const reply of replies) {
      for (const event of reply.events) turn.answer.take(event);
      this.#answered(turn, { ...reply, approvals: isLast && reply === replies.at(-1) ? reply.approvals : [] });
    }
    if (!replies.length) turn.answer.end("This wasn't answered.");
    else if (!isLast && replies.at(-1).stopped === "waiting") turn.answer.end("Nobody has decided about this.");
  }

  // an answer under way

  #again(turn) {
    const { path, more } = this.#how;
    turn.answer.clear();
    turn.isFresh = true;
    const body = { message: turn.message, run_id: turn.before, ...more() };
    this.#go(turn, this.#posting(typeof path === "function" ? path() : path, body));
  }

  #posting(path, body) {
    return (abort) => this.#how.events(path, body, abort);
  }

  /** End the answer under way: where runs last by telling the server, else by leaving. */
  #stop() {
    if (!this.#how.stop) return this.#running?.abort();
    this.#isStopping = true;
    if (this.#runId) this.#how.stop(this.#runId).catch(() => {});
  }

  /** Have the server go on, and draw what happens. Whoever gives `begun` hears when it has begun, and catches why it didn't. */
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
        if (isOver) this.#end(turn);  // at once, so that whoever sees an answer can go on, and whoever is asked has to answer
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

  #begin(turn, abort) {
    this.#running = abort;
    this.#isStopping = false;
    this.#writing.set("running");
    turn.isAnswered = turn.isEarlier = turn.hasMissed = false;
    turn.answer.foot.replaceChildren();
    turn.answer.begin();
    for (const box of turn.boxes.values()) box.busy(true);
    this.#toEnd();
    this.#how.changed();
  }

  /** Draw an event. The next one belongs to the turn that this gives: a stream may tell of several. */
  #take(turn, event) {
    this.#know(event.run_id);
    if (event.run_id) turn.answer.node.parentElement.dataset.run = this.#runId;
    if (event.run_id && event.run_id !== this.#runId) {
      turn.answer.inside(event.run_id.slice(this.#runId.length + 1), event);
      return turn;
    }
    if (event.event === "reset") return this.#next(null);
    if (event.event === "said") return turn.isFresh && turn.message !== null ? turn : this.#next(event.text, turn);
    turn.isFresh &&= ["run_started", "lost", "back"].includes(event.event);
    turn.hasMissed ||= event.event === "missed";
    this.#following(() => this.#drawn(turn, event));
    return turn;
  }

  #drawn(turn, event) {
    const { event: kind, stopped } = event;
    if (kind === "reply") this.#answered(turn, event);
    else if (kind === "waits") this.#waits(turn);
    else if (kind !== "run_ended") turn.answer.take(event);
    else if (stopped === "answered" || stopped === "limit") this.#ended(turn, event);
  }

  /** A turn is over, and more follows. */
  #ended(turn, event) {
    turn.answer.settle(event.message);
    if (event.data) turn.answer.foot.replaceChildren(...this.#how.below(event));
  }

  /** Another turn that a stream tells of: after the present one, or in place of all turns of its run where they count no more. */
  #next(message, turn = null) {
    if (turn === null) for (const each of [...this.#turns.children]) if (each.dataset.run === this.#runId) each.remove();
    if (turn?.isFresh && turn.message === null) turn.answer.node.parentElement.remove();
    turn?.answer.end();
    const next = this.#turn(message);
    next.before = this.#runId;
    next.answer.begin();
    return next;
  }

  /** Runs inside of a run have ids of their own, which begin with its. */
  #know(runId) {
    if (!runId || runId === this.#runId || (this.#runId && runId.startsWith(`${this.#runId}.`))) return;
    this.#runId = runId;
    this.#how.known(runId);
    if (this.#isStopping) this.#stop();
  }

  #answered(turn, reply) {
    const { answer } = turn, isWaiting = reply.stopped === "waiting";
    turn.isAnswered = true;
    if (reply.stopped === "failed") return this.#failed(turn, reply.reason || reply.message);
    if (reply.stopped === "open") return this.#stranded(turn, reply.reason);
    if (!isWaiting) answer.settle(reply.message);
    answer.end(isWaiting ? "Waiting for you." : reply.stopped === "cancelled" ? STOPPED : "");
    answer.foot.replaceChildren(
      ...cutShort(reply), ...this.#how.below(reply), ...(isWaiting || turn.isEarlier ? [] : [facts(reply, answer)]));
    this.#aloud.textContent = isWaiting || turn.isEarlier ? "" : `Answer: ${answer.text}`;
    this.#askPerson(turn, reply.approvals);
  }

  /** Something else has to be answered too. */
  #waits(turn) {
    turn.isAnswered = true;
    turn.answer.end("Waiting for you.");
    [...turn.boxes.values()].find(({ node }) => node.isConnected)?.focus();
  }

  /** What went wrong, in the answer; or it stays open, where the question says so itself. */
  #stumble(turn, error, isStopped, isElsewhere) {
    if (isElsewhere) turn.answer.end("Waiting for you.");
    else if (isStopped) turn.answer.end("You stopped this answer.");
    else if (error.status === TOO_LONG) this.#giveBack(turn, error.message);
    else this.#failed(turn, error.message);
  }

  /** What is too long to be taken stands where one writes again, to be made shorter. */
  #giveBack(turn, sentence) {
    const article = turn.answer.node.parentElement;
    turn.answer.end();
    turn.answer.foot.replaceChildren(element("p", { class: "notice bad", role: "alert" }, sentence));
    article.classList.add("untaken");
    article.querySelector(".said").remove();
    this.#writing.giveBack(turn.message);
  }

  /** Only what has had no consequences is asked again. */
  #failed(turn, sentence) {
    const retry = () => this.#running || this.#again(turn);
    const again = element("button", { type: "button", class: "quiet", onclick: retry }, "Try again");
    turn.answer.end();
    turn.answer.foot.replaceChildren(
      element("div", { class: "notice bad", role: "alert" }, element("p", {}, sentence),
        turn.boxes.size || turn.isEarlier ? null : again));
  }

  /** Nobody carries it on. */
  #stranded(turn, sentence) {
    const go = () => this.#running || this.#go(turn, this.#posting(this.#how.resumes(this.#runId), {}));
    turn.answer.end();
    turn.answer.foot.replaceChildren(element("div", { class: "notice warn" }, element("p", {}, sentence),
      element("button", { type: "button", class: "quiet", onclick: go }, "Resume")));
  }

  #end(turn) {
    this.#running = null;
    this.#ready();
    for (const box of turn.boxes.values()) box.busy(false);
    this.#how.changed();
    if (turn.hasMissed) this.#how.missed(this.#runId);
  }

  #ready() {
    this.#writing.set(this.#isAsked ? "locked" : "ready", this.#isAsked ? LOCKED : undefined);
  }

  // what a person is asked

  get #isAsked() {
    return this.#turns.querySelector(".approval:not(.past)") !== null;
  }

  #askPerson(turn, open) {
    const keys = open.map(keyOf);
    for (const [key, box] of turn.boxes) if (!keys.includes(key)) box.node.remove();
    for (const asked of open) if (!turn.boxes.has(keyOf(asked))) this.#box(turn, asked);
    turn.boxes.get(keys[0])?.focus();
  }

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

  /** An old question that can't be answered any more keeps nobody from asking something else. */
  #past(box) {
    box.node.classList.add("past");
    this.#ready();
  }

  // where one is in it

  /** Change something; whoever is at the end stays there, and nobody else is moved. */
  #following(change) {
    const isAtEnd = this.#turns.getBoundingClientRect().bottom <= this.#writing.node.getBoundingClientRect().top + NEAR;
    change();
    if (isAtEnd) this.#toEnd();
  }

  #toEnd() {
    this.#turns.lastElementChild?.scrollIntoView({ block: "end", behavior: "instant" });
  }
}

function facts({ tokens_used: tokens, cost }, answer) {
  const amount = tokens ? `${tokens.toLocaleString("en")} tokens` : "";
  return element("p", { class: "facts" }, [answer.took, amount, cost ? dollars(cost) : ""].filter(Boolean).join(" · "));
}

/** Why there is no answer, where a limit came first. */
function cutShort({ stopped, reason, message }) {
  return stopped === "limit" && reason && !message ? [element("p", { class: "notice warn" }, reason)] : [];
}

function keyOf({ run_id, call_id }) {
  return `${run_id}/${call_id}`;
}
