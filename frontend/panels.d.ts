// JSON of the assistants' own routes, as their panels use it, for the type checker alone.

// reading

interface SourceText {
  kind: "file" | "pasted";
  name: string;
  language: string;
  hash: string;
  text: string;
  run?: string;
}

/** First and last line. */
type LineRange = [number, number];

interface CodeBlock {
  id: string;
  label: string;
  description: string;
  ranges: LineRange[];
  elements: Record<string, string[] | undefined>;
}

interface ReadingMetadata {
  execution_path?: string;
  why?: string;
  model?: string;
  seconds?: number;
  tokens?: { input: number; output: number; cached?: number; requests?: number };
  cached?: boolean;
  notes?: string;
  tool_reads?: { start_line: number; end_line: number; reason: string }[];
  fallbacks?: { path: string; reason: string }[];
}

interface FileReading {
  intent: string;
  blocks: CodeBlock[];
  how: ReadingMetadata;
}

interface ReadingState {
  folder: string;
  files: string[] | null;
  model: string;
  picking: boolean;
  tab: string;
  draft: { name: string; language: string; text: string };
  source: SourceText | null;
  latest: string;
  reading: FileReading | null;
  running: { began: number; abort: AbortController; run: string } | null;
  wanted: string;
  error: { text: string; again: () => unknown } | null;
  trouble: string;
  hovered: number;
  pinned: number;
  place: number;
  folded: number;
  opened: Set<number>;
  jump: { from: number; to: number } | null;
}

// platform

interface Finding {
  line: number;
  column: number;
  level: string;
  path?: string;
  message: string;
}

interface PlatformPerson {
  server: string;
  username?: string;
  team?: string;
  role?: string;
  signed_in?: boolean;
}

interface PlatformStatus {
  enabled: boolean;
  llm_provider: string;
  documents_loaded: number;
  message: string;
}

// courses

interface Lesson {
  number: number | null;
  title: string;
  link?: string;
}

interface Course {
  key: string;
  name: string;
  instructor: string;
  link?: string;
  lessons: Lesson[];
  sources: string[];
  owner?: string;
}

interface Passage {
  id: string;
  text: string;
  place: string;
  headings: string[];
  course: string;
  lesson: number | null;
  source: string;
  url?: string;
  before?: string;
  after?: string;
}

interface Citation {
  number: number;
  id: string;
  text: string;
}

interface AnswerSource {
  text: string;
  url?: string;
  course: string;
  passages: { id: string; place: string; owner?: string }[];
}

// coding

interface CodingJob {
  id: string;
  kind: string;
  title: string;
  state: string;
  words: string;
  why: string;
  report: string;
  lines: string[];
  workspace: string;
  branch?: string;
  into?: string;
  model?: string;
  created_at: number;
  doing?: string;
  is_good?: boolean;
  is_back?: boolean;
  can_cancel: boolean;
  can_resume: boolean;
  can_merge: boolean;
  can_undo: boolean;
  approvals: PendingCall[];
}

interface JobStep {
  id: string;
  what: string;
  tool: string;
  title: string;
  text: string;
  state: string;
  good?: boolean;
  outcome: string;
  files: string[];
  arguments: Record<string, unknown>;
  seconds?: number;
}

interface CodingModeInfo {
  name: string;
  title: string;
  summary: string;
}

interface Workspaces {
  workspaces: { path: string; is_sample?: boolean }[];
  missing: string[];
  any: boolean;
  problem?: string;
}

// guidance

interface Project {
  id: string;
  title: string;
  description: string;
  owner: string;
  members: string[];
  can_edit: boolean;
  updated_at: string;
}

interface SpecConstraint {
  name: string;
  description: string;
  weight: number;
}

interface ProblemSpec {
  constraints: SpecConstraint[];
  goals: string[];
  resolution: string;
  mode: string;
  version: number;
}

/** A spec without its version, as it is edited. */
type SpecDraft = Omit<ProblemSpec, "version">;

interface WorldEntry {
  name: string;
  type?: string;
  description?: string;
}

type WorldModel = Record<string, WorldEntry[]>;

interface ProjectRun {
  id: string;
  status: string;
  mode: string;
  created_at: string;
  started_at?: string;
  completed_at?: string;
  candidate_count: number;
  scenario_count: number;
  llm_usage: { input_tokens?: number; output_tokens?: number };
  error_summary: string;
  is_under_way: boolean;
  can_resume: boolean;
}

interface Check {
  subject: string;
  predicted: number;
  limit: { value: number; relation: string };
  holds: boolean;
}

interface ConstraintScore {
  constraint: string;
  score: number | null;
  judged: number | null;
  reason: string;
  scenario?: string;
  check?: Check;
}

interface Candidate {
  id: string;
  run_id: string;
  origin: string;
  parent_ids: string[];
  mechanism_description: string;
  predicted_effects: { effects?: unknown[] };
  scores: { constraints?: ConstraintScore[]; resources?: Check[] };
}

interface ComparedCandidate {
  id: string;
  label: string;
  status: string;
  total: number | null;
  violations: string[];
}

interface Comparison {
  candidates: ComparedCandidate[];
  constraints: { name: string; weight: number; scores: (number | null)[] }[];
}

interface ProvenanceChange {
  subject: string;
  type: string;
  version?: number;
  actor: string;
  description: string;
  timestamp: string;
  reference_ids: string[];
}

interface Issue {
  id: string;
  type: string;
  severity: string;
  description: string;
  candidate_id?: string;
  resolution_status: string;
  resolution_note?: string;
  created_at: string;
}

interface Workflow {
  stage: string;
  has_problem_spec: boolean;
  has_world_model: boolean;
  workflow_progress: { completed_steps: string[]; next_steps: string[] };
}

interface ProjectState {
  project: Project;
  workflow: Workflow;
  spec: ProblemSpec | null;
  world: WorldModel | null;
  runs: ProjectRun[];
  candidates: Candidate[];
  issues: Issue[];
  changes: ProvenanceChange[];
}

interface RunConfig {
  status: string;
  mode: string;
  parameters: Record<string, unknown>;
  blockers: { message: string }[];
  warnings: { message: string }[];
  notes?: string[];
}

interface Advice {
  suggested_actions: string[];
  recommended_run_config?: RunConfig;
  run_id: string;
  stopped: string;
}

/** A message of a guidance session. */
interface SessionMessage {
  role: string;
  content: string;
  message_metadata: {
    run_id?: string;
    stopped?: string;
    approvals?: PendingCall[];
    tool_call_audits?: CallAudit[];
    [field: string]: any;
  };
}

interface CallAudit {
  tool_name: string;
  arguments?: Record<string, unknown>;
  result_summary?: string;
  duration_ms: number;
  success: boolean;
  error?: string;
  reason?: string;
  problem?: string;
  verdict?: string;
}
