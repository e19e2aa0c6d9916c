// Types of markdown-it, as far as pages use it, for the type checker alone.

interface Token {
  type: string;
  tag: string;
  nesting: number;
  level: number;
  map: [number, number] | null;
  content: string;
  info: string;
  markup: string;
  children: Token[] | null;
  meta: any;
  block: boolean;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

declare class MarkdownIt {
  constructor(options: Record<string, unknown>);
  block: { ruler: any; parse(source: string, md: MarkdownIt, env: object, tokens: Token[]): void };
  inline: { ruler: any };
  core: { ruler: any };
  linkify: any;
  renderer: { rules: Record<string, (tokens: Token[], index: number, options: any, env: any, self: any) => string> };
  utils: { escapeHtml(text: string): string };
  validateLink: (address: string) => boolean;
  render(source: string, env?: object): string;
  renderInline(source: string, env?: object): string;
}

export default MarkdownIt;
export { Token };
