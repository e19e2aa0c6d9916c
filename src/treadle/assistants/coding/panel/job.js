// A job that is looked at: how it stands, what it does right now, its steps, its result, and what one can do about it.

import { boxFor } from "/static/approval.js";
import { show as showMarkdown } from "/static/markdown.js";
import { confirmDialog } from "/static/confirm-dialog.js";
import { ask, byId, controlsIn, element, messageOf, query, ServerError } from "/static/treadle.js";
import { timeAgo } from "/static/time-ago.js";
import { changes } from "./changes.js";
import { followUp } from "./follow.js";
import { Steps } from "./steps.js";
import { KINDS, nameOf, stateOf } from "./format.js";

const PLACES = ["job-title", "job-facts", "job-actions", "said", "asked", "report", "doing"];
const OVER = ["completed", "failed", "cancelled"];
const LOST = "The connection to the server broke. Trying again…";
const ALL = "Undo everything this job changed?";
const LAST = "Undo the last change of this job?";
const INSIST = "Undo anyway, including your own changes?";
const GONE = "Its process ended, and nothing continues it.";
/** @type {["can_cancel" | "can_go_on" | "can_merge" | "can_undo" | "is_over", string, string][]} */
const ACTIONS = [  // what has to be so, what is done, and what the button says
  ["can_cancel", "cancel", "Stop"],
  ["can_go_on", "resume", "Resume"],
  ["can_merge", "merge", "Merge"],
  ["can_undo", "patch", "Patch"],
  ["is_over", "follow", "Follow up"],
  ["can_undo", "last", "Undo last change"],
  ["can_undo", "all", "Undo everything"],
];

/**
 * Have it work. `reveal(tab)` brings a tab to the front; `changed()` hears that the job stands differently, `begun(id)` of another.
 * @param {{ reveal: (tab: string) => void, changed: () => void, begun: (id: string) => void }} given
 */
export function job({ reveal, changed, begun }) {
  /** @type {EventSource | null} */
  let source = null;
  /** @type {CodingJob | null} */
  let told = null;
  /** @type {Map<string, DecisionBox>} */
  let approvals = new Map();
  let id = "", version = "";
  const path = (rest = "") => `/api/coding/jobs/${encodeURIComponent(id)}${rest}`;
  const diff = changes(), next = followUp({ path: () => path("/follow-up"), begun });
  const steps = new Steps(byId("steps"), { find: (file) => { reveal("changes"); diff.find(file); } });

  /** @param {string} wanted */
  const show = (wanted) => {
    hide();
    id = wanted;
    told = null;
    version = "";
    approvals = new Map();
    for (const place of PLACES) byId(place).replaceChildren();
    steps.clear();
    diff.clear();
    next.close();
    byId("work").scrollTop = 0;
    follow();
  };

  const hide = () => {
    source?.close();
    source = null;
    id = "";
  };

  /** Hear what happens, for as long as something does. The browser comes again by itself where the connection breaks. */
  const follow = () => {
    source?.close();
    const mine = source = new EventSource(path("/events"));
    mine.onopen = () => byId("said").textContent === LOST && say("");
    mine.onmessage = ({ data }) => mine === source && hear(JSON.parse(data));
    mine.onerror = () => mine === source && broke(mine);
  };

  /** @param {EventSource} mine */
  const broke = (mine) => {
    if (mine.readyState !== EventSource.CLOSED) return say(LOST, "warn");
    ask(path()).catch((error) => say(messageOf(error), "bad"));  // the browser doesn't tell what the server said
  };

  /** @param {RunEvent} runEvent */
  const hear = ({ event, ...more }) => {
    if (event === "job") drawJob(more.job, more.version);
    else if (event === "steps") steps.fill(more.steps);
    else if (event === "step") steps.put(more.step);
    else if (event === "error") say(more.error, "bad");
    if (["over", "error"].includes(event)) source?.close();
  };

  /** @param {CodingJob} now @param {string} fresh */
  const drawJob = (now, fresh) => {
    const before = told;
    told = now;
    drawHead(now);
    drawActions(now, does);
    drawReport(now);
    drawApprovals(now);
    diff.state(now);
    if (fresh !== version) {
      version = fresh;
      diff.load(path("/diff"));
    }
    if (before && before.state !== now.state) changed();
  };

  /** @param {CodingJob} codingJob */
  const drawApprovals = ({ approvals: asked }) => {
    const waiting = new Set(asked.map(({ call_id: call }) => call));
    for (const [call, box] of approvals) if (!waiting.has(call)) box.node.remove();
    for (const each of asked) if (!approvals.has(each.call_id)) question(each);
  };

  /** @param {PendingCall} asked */
  const question = (asked) => {
    const box = boxFor(asked, async (answer) => {
      await ask(path(`/approvals/${encodeURIComponent(asked.call_id)}`), { ...answer, digest: asked.digest });
      box.settle(answer);
    });
    approvals.set(asked.call_id, box);
    byId("asked").append(box.node);
    box.focus();
  };

  // what one can do about it

  /** @param {string} rest @param {object} [body] */
  const act = (rest, body = {}) => careful(async () => {
    await ask(path(rest), body);
    follow();
    changed();
  });

  /** @param {string} words @param {object} body */
  const undo = async (words, body) => {
    if (!await confirmDialog(words, "Undo")) return;
    await careful(async () => {
      const said = await takenBack(body);
      if (said) say(said.lines.join("\n"), "good");
      follow();
      changed();
    });
  };

  const merge = async () => {
    if (!await confirmDialog(`Merge ${told?.branch} into ${told?.into}? Nothing is pushed.`, "Merge")) return;
    await careful(async () => {
      const { lines } = await ask(path("/merge"), {});
      say(lines.join("\n"), "good");
      follow();
      changed();
    });
  };

  /** Where somebody has changed the same files since, they are asked once more. @param {object} body */
  const takenBack = async (body) => {
    try {
      return await ask(path("/undo"), body);
    } catch (error) {
      if (!(error instanceof ServerError) || !error.said?.changed) throw error;
      if (!await confirmDialog(`${error.message} ${INSIST}`, "Undo anyway")) throw error;
      return ask(path("/undo"), { ...body, force: true });
    }
  };

  const does = {
    cancel: () => act("/cancel"),
    resume: () => act("/resume"),
    merge,
    patch: () => location.assign(path("/patch")),  // it is downloaded, and the page stays
    follow: () => {
      reveal("work");
      next.open();
    },
    last: () => undo(LAST, { steps: 1 }),
    all: () => undo(ALL, {}),
  };
  return { show, hide, get id() { return id; } };
}

/** @param {CodingJob} codingJob */
function drawHead({ kind, title, workspace, branch, model, created_at: at, doing, ...rest }) {
  const [look, , words] = stateOf(rest);
  const now = doing ? `${doing}…` : "";
  byId("job-title").textContent = title;
  byId("job").toggleAttribute("data-plain", ["review", "triage"].includes(kind));
  byId("job-facts").replaceChildren(
    element("span", { class: `tag ${look}` }, words), ` ${KINDS[kind]} in `,
    element("span", { title: workspace }, nameOf(workspace)),
    ...(branch ? [" on ", element("code", {}, branch)] : []), ...(model ? [` with ${model}`] : []), ", ", timeAgo(at * 1000));
  byId("doing").className = now ? "small busy" : "small";
  if (byId("doing").textContent !== now) byId("doing").textContent = now;
}

/**
 * The buttons. Those that are there stay, so that they keep the focus.
 * @param {CodingJob} job @param {Record<string, () => unknown>} does
 */
function drawActions(job, does) {
  const can = { ...job, can_go_on: job.can_resume && !job.approvals.length, is_over: OVER.includes(job.state) };
  const wanted = ACTIONS.filter(([needs]) => can[needs]), place = byId("job-actions");
  if (wanted.map(([, name]) => name).join() === [...place.children].map((each) => each.getAttribute("data-does")).join()) return;
  place.replaceChildren(...wanted.map(([, name, words]) =>
    element("button", { type: "button", class: "quiet small acts", "data-does": name, onclick: does[name] }, words)));
}

/** How it ended, or that no process continues it. What waits for an approval is asked elsewhere. @param {CodingJob} job */
function drawReport(job) {
  const place = byId("report"), isLost = job.state === "waiting" && !job.approvals.length;
  if (!isLost && !OVER.includes(job.state)) return place.replaceChildren();
  if (!place.firstChild) {
    place.append(element("div", {}, element("p", { class: "how" }), element("div", { class: "words" }), element("ul")));
  }
  const [look] = stateOf(job), box = query(place, "div"), [how, words, list] = box.children;
  box.className = `notice outcome ${look}`;
  list.className = "small soft";
  how.textContent = isLost ? GONE : sentence(job.words);
  showMarkdown(words, job.why.includes(job.report) ? "" : job.report);
  list.replaceChildren(...job.lines.map((line) => element("li", {}, line.replaceAll("`", ""))));
}

/** "is failed: …", without the verb. @param {string} words */
function sentence(words) {
  return words.replace(/^is (.)/, (_, letter) => letter.toUpperCase());
}

/** @param {() => Promise<void>} act */
async function careful(act) {
  say("");
  for (const button of controlsIn(byId("job-actions"))) button.disabled = true;
  try {
    await act();
  } catch (error) {
    say(messageOf(error), "bad");
  } finally {
    for (const button of controlsIn(byId("job-actions"))) button.disabled = false;
  }
}

/** @param {string} words @param {string} [kind] */
function say(words, kind = "") {
  byId("said").replaceChildren(...(words ? [element("div", { class: `notice ${kind}` }, element("p", {}, words))] : []));
}
