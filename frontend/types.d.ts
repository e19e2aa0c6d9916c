// JSON of the server's API and values that the pages' modules share, for the type checker alone: no page loads this file. Of each
// object, the fields that pages read are listed.

/** What `element` takes besides a tag: attributes, and listeners under `on…`. */
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => unknown)>;
type Child = Node | string | null | undefined;
type ElementOf<Tag extends string> = Tag extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Tag] : HTMLElement;

// runs

interface Call {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** A conversation of the user's: a run, or several with one session. */
interface ConversationInfo {
  id: string;
  run_id: string;
  assistant: string;
  title: string;
  status: string;
  updated_at: number;
  pinned: boolean;
  path: string;
}

interface Verdict {
  verdict: string;
  by?: string;
  reason?: string;
}

interface Usage {
  requests?: number;
  calls?: number;
  input_tokens?: number;
  output_tokens?: number;
  cache_read_tokens?: number;
  cost?: number | null;
}

interface ToolResult {
  call_id: string;
  name: string;
  content: string;
  problem?: string | null;
  data?: unknown;
  structured?: boolean;
}

/** A call that waits for a person: to be approved, or (`unclear`) to be settled after a crash. */
interface PendingCall {
  run_id: string;
  call_id: string;
  root: string;
  name: string;
  arguments: Record<string, unknown>;
  reason: string;
  preview?: string;
  digest?: string;
  unclear?: boolean;
  began_at?: number;
  patterns?: Record<string, ArgumentPattern>[];
  effect?: "" | "read" | "write" | "destroy";
  asked_at: number;
  assistant: string;
  title: string;
}

/** What a person decides about a pending call. */
interface Decision {
  approved?: boolean;
  settled?: "happened" | "not_happened" | "again";
  reason?: string;
  arguments?: Record<string, unknown>;
  scope?: Scope;
}

type Scope = "once" | "conversation" | "always";

/** What an argument has to be for calls to be allowed without asking. */
interface ArgumentPattern {
  kind: string;
  value: string;
}

/** What is allowed for always. */
interface Grant {
  id: string;
  tool: string;
  agent: string;
  by?: string;
  at?: number;
  where?: Record<string, ArgumentPattern>;
}

/** A box that asks for a decision. */
interface DecisionBox {
  node: HTMLElement;
  focus(): void;
  busy(on: boolean): void;
  settle(decision: Decision): void;
}

/** One event of a run's stream; what else it has depends on `event`. */
interface RunEvent {
  event: string;
  run_id?: string;
  [field: string]: any;
}

type EventSourceOf = (abort: AbortController) => AsyncIterable<RunEvent>;

/** The end of a turn, as the event `reply` and as conversations are recalled. */
interface Reply {
  message: string;
  stopped: string;
  run_id?: string;
  reason?: string;
  approvals: PendingCall[];
  tokens_used?: number;
  cost?: number | null;
  data?: any;
  ungrounded?: { start: number, end: number, text: string, kind: string }[];
}

type FeedbackRating = "good" | "bad";

/** What a user has said about the answer to the message with this number. */
interface AnswerFeedback {
  message: number;
  rating: FeedbackRating;
  comment: string;
  at: number;
}

interface RecalledReply extends Reply {
  events: RunEvent[];
}

interface RecalledTurn {
  message: string | null;
  replies: RecalledReply[];
}

/** One entry of a journal; what else it has depends on `kind`. */
interface Entry {
  kind: string;
  at?: number;
  position?: number;
  [field: string]: any;
}

/** A run that a call of another one has begun. */
interface NestedRun {
  run_id: string;
  within: string;
  agent: string;
}

interface RunInfo {
  run_id: string;
  title: string;
  agent: string;
  model: string;
  user: string;
  status: string;
  parent?: string;
  entries: number;
  opened_at: number;
  updated_at: number;
}

/** Where a run waits for a worker. */
interface RunsAhead {
  queue: string;
  ahead: number;
  at: number;
}

/** `GET /api/runs` */
interface RunPage {
  runs: RunInfo[];
  more: boolean;
  next: string;
}

// assistants, models, jobs

interface AssistantInfo {
  name: string;
  title: string;
  summary: string;
  panel?: string | null;
  only_panel?: string;
  asks_in_panel?: boolean;
  quick?: boolean;
  questions: string[];
}

interface Fetching {
  name: string;
  done: number;
  total: number;
  problem?: string;
}

interface ModelList {
  models: { name: string; title?: string; note?: string }[];
  default?: string;
  problem?: string;
  fetching: Fetching | null;
  hint?: string;
  local?: boolean;
}

interface Job {
  id: string;
  title: string;
  state: string;
  why: string;
  kind: string;
  assistant: string;
  workspace: string;
  user: string;
  origin?: { model?: string };
  output?: Record<string, unknown>;
  facts?: Record<string, unknown>;
  given?: Record<string, unknown>;
  created_at: number;
  started_at?: number;
  finished_at?: number;
}

/** A file of a diff, from `/api/jobs/{id}/diff`. */
interface FileChange {
  path: string;
  was?: string;
  kind: "added" | "modified" | "deleted" | "renamed";
  lines: string[];
  added: number;
  removed: number;
  left_out: number;
  is_binary: boolean;
}

// audit, statistics

interface AuditRecord {
  seq: number;
  hash: string;
  run_id: string;
  tool_name: string;
  user: string;
  verdict: string;
  verdict_by: string;
  duration_ms: number;
  success: boolean;
  error?: string;
  at: number;
  stage: string;
  arguments?: Record<string, unknown>;
  result_summary?: string;
}

type Outcome = "fine" | "failed" | "denied" | "cancelled";

interface Spending {
  runs: number;
  requests: number;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
  unpriced: number;
}

/** A row of `/api/stats`, or its total. */
interface StatsRow extends Record<Outcome, number> {
  key: string;
  calls: number;
  cached: number;
  tokens: number;
  inner_tokens: number;
  seconds: { timed: number; median: number; p95: number; total: number } | null;
  problems: Record<string, number>;
  spent: Spending | null;
}

interface StatsReport {
  total: StatsRow;
  rows: StatsRow[];
  unread: number;
}

// Markdown

interface Formula {
  tex: string;
  source: string;
  isDisplay: boolean;
  end: number;
}

/** KaTeX, which math.js loads with the first formula. */
declare var katex: {
  render(tex: string, node: HTMLElement, options: Record<string, unknown>): void;
  ParseError: new () => Error;
};

// settings

interface SettingValue {
  key: string;
  value: unknown;
  source: string;
  locked: string;
}

/** The settings as the page has them; `locked` says why none can be changed. */
interface SettingsState {
  locked: string;
  values: Map<string, SettingValue>;
  save(key: string, value: unknown): Promise<void>;
}

interface ProviderInfo {
  kind: string;
  title: string;
  variable: string;
  key: string;
  ending: string;
  added_at: number;
  problem: string;
  default_model: string;
  local: boolean;
}

interface LocalModelInfo {
  name: string;
  title: string;
  size: number;
  licence: string;
  installed: boolean;
}

interface ToolSource {
  kind: "mcp" | "openapi";
  name: string;
  address: string;
  private: boolean;
  assistants: string[];
  variables: string[];
}

/** A past decision about a call. */
interface PastDecision {
  run_id: string;
  call_id: string;
  root: string;
  assistant: string;
  title: string;
  name: string;
  arguments: Record<string, unknown>;
  preview: string;
  outcome: "approved" | "denied" | "happened" | "not_happened" | "again";
  by: string;
  at: number;
  waited: number;
  reason: string;
  scope: Scope;
  edited: boolean;
}
