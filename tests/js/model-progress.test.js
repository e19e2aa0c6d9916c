// How far a model is, as text.

import assert from "node:assert/strict";
import test from "node:test";
import { ModelProgress, queueInWords } from "/static/model-progress.js";

const words = (...taken) => {
  const progress = new ModelProgress();
  progress.begin("llamacpp:qwen");
  for (const [at, given] of taken) progress.take(given, at);
  return progress.words(taken.at(-1)?.[0] ?? 0);
};

test("a model says what it does, and how far it is", () => {
  assert.equal(words(), "");
  assert.equal(words([0, { stage: "waiting" }]), "Waiting for qwen");
  assert.equal(words([0, { stage: "waiting", request: 2 }]), "Waiting for qwen, request 2");
  assert.equal(words([0, { stage: "waiting", ahead: 2 }]), "Waiting for qwen: 2 runs ahead of yours");
  assert.equal(words([0, { stage: "waiting", ahead: 2 }], [1, { stage: "waiting", ahead: 1 }]), "Waiting for qwen: 1 run ahead of yours");
  assert.equal(words([0, { stage: "waiting", ahead: 1 }], [1, { stage: "waiting", ahead: 0 }]), "Waiting for qwen");
  assert.equal(words([0, { stage: "loading", done: 0.6, total: 1 }]), "Loading qwen 60 %");
  assert.equal(words([0, { stage: "reading", done: 1240, total: 3900 }]), "Reading the prompt 31 % of 3,900 tokens");
  assert.equal(words([0, { stage: "reading" }]), "Reading the prompt");
});

test("the speed of writing is known after a second, and counts from its first token", () => {
  assert.equal(words([0, { stage: "writing" }]), "Writing");
  assert.equal(words([0, { stage: "writing", done: 1 }]), "Writing 1 token");
  assert.equal(words([0, { stage: "reading", done: 1, total: 2 }], [5, { stage: "writing", done: 1 }], [7, { stage: "writing", done: 15 }]),
    "Writing 15 tokens, 7.0 tokens/s");
  assert.equal(words([0, { stage: "writing", done: 9 }], [5, { stage: "writing", done: 2 }]), "Writing 2 tokens");
});

test("a queue of workers is worded as that of a model", () => {
  assert.equal(queueInWords("a worker", 2), "Waiting for a worker: 2 runs ahead of yours");
  assert.equal(queueInWords("a worker", 0), "Waiting for a worker: next in the queue");
});

test("another request begins anew", () => {
  const progress = new ModelProgress();
  progress.take({ stage: "writing", done: 3 }, 0);
  progress.begin();
  assert.equal(progress.words(9), "");
  progress.take({ stage: "loading" }, 0);
  assert.equal(progress.words(0), "Loading the model");
});
