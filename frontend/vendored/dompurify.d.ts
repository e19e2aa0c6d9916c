// Types of DOMPurify, as far as pages use it, for the type checker alone.

declare const DOMPurify: {
  sanitize(html: string, options: Record<string, unknown> & { RETURN_DOM_FRAGMENT: true }): DocumentFragment;
};

export default DOMPurify;
