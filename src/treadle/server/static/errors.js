// What requests throw, and what is said of it. No page is needed.

/** What the server refused: `message` is a sentence for people, `said` the whole response where it was JSON. */
export class ServerError extends Error {
  /** @param {string} message @param {number} status @param {any} said */
  constructor(message, status, said) {
    super(message);
    this.status = status;
    this.said = said;
  }
}

/**
 * The error of a response that is no success. Assistants say why as `error`, or as `detail`. Pages show sentences as plain text, so
 * commands in backticks get quotation marks.
 * @param {number} status @param {any} said
 */
export function refused(status, said) {
  const sentence = said?.error ?? said?.detail ?? `The server responded with ${status}, and not in JSON.`;
  return new ServerError(typeof sentence === "string" ? sentence.replace(/`([^`]+)`/g, "“$1”") : sentence, status, said);
}

/** The sentence of what was thrown. @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** Whether the page itself has aborted a request. @param {unknown} error */
export function isAbort(error) {
  return error instanceof Error && error.name === "AbortError";
}
