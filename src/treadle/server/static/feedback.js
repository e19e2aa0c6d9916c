// Feedback on an answer: good or bad, and after a bad one a comment.

import { messageOf } from "./errors.js";
import { icon } from "./icons.js";
import { ask, element } from "./treadle.js";

const MOST = 100;  // runs whose feedback the server returns at once
const LONGEST = 2000;  // characters of a comment, as the server has it
/** @type {[FeedbackRating, string, string][]} */
const RATINGS = [["good", "thumbs-up", "Good answer"], ["bad", "thumbs-down", "Bad answer"]];

/**
 * Two buttons, of which one at most is pressed, and a field for a comment. `answer()` is the run, and the number of the user's message
 * in it that is answered.
 * @param {() => Promise<{ runId: string, message: number }>} answer
 */
export function feedbackTools(answer) {
  const problem = element("span", { role: "alert" });
  const asked = "What was wrong?";
  const comment = element("input", { type: "text", "aria-label": asked, placeholder: asked, maxlength: `${LONGEST}` });
  const form = element("form", { class: "commenting", hidden: true }, comment, element("button", { class: "quiet" }, "Send"));
  const buttons = RATINGS.map(([rating, name, words]) => element("button", {
    type: "button", class: "tool rating", "aria-label": words, title: words, "aria-pressed": "false", "data-rating": rating,
    onclick: () => press(rating),
  }, icon(name)));
  const node = element("span", { class: "feedback" }, buttons, form, problem);

  /** Show a rating, and the comment that was given with it. @param {FeedbackRating | ""} rating */
  function draw(rating, given = "") {
    for (const button of buttons) button.setAttribute("aria-pressed", `${button.dataset.rating === rating}`);
    comment.value = given;
    form.hidden = rating !== "bad";
  }

  /** @param {FeedbackRating} rating */
  async function press(rating) {
    const isPressed = buttons.some((button) => button.dataset.rating === rating && button.getAttribute("aria-pressed") === "true");
    await careful(async () => {
      await send(isPressed ? null : { rating, comment: "" });
      draw(isPressed ? "" : rating);
      if (!form.hidden) comment.focus();
    });
  }

  /** @param {{ rating: FeedbackRating, comment: string } | null} body */
  async function send(body) {
    const { runId, message } = await answer();
    await ask(`/api/runs/${encodeURIComponent(runId)}/feedback/${message}`, body ?? undefined, { method: body ? "PUT" : "DELETE" });
  }

  /** @param {() => Promise<void>} act */
  async function careful(act) {
    problem.textContent = "";
    await act().catch((error) => { problem.textContent = messageOf(error); });
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    careful(async () => {
      await send({ rating: "bad", comment: comment.value });
      form.hidden = true;
      problem.textContent = "Thank you.";
    });
  });
  return { node, draw };
}

/** The feedback on the answers of runs, by their ids. @param {string[]} runIds @returns {Promise<Record<string, AnswerFeedback[]>>} */
export async function feedbackOn(runIds) {
  const { feedback } = await ask(`/api/feedback?${new URLSearchParams({ runs: runIds.slice(-MOST).join(",") })}`);
  return feedback;
}
