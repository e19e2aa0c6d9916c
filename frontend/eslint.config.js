// ESLint's rules for the pages' modules and their unit tests. Types are checked by tsc (tsconfig.json).

import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/katex/**", "**/markdown-it/**", "**/dompurify/**", "**/highlight/**", "**/mermaid/**", "**/node_modules/**"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2025, globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-control-regex": "off",  // text is made visible by what it may contain
      "no-unused-vars": ["error", { args: "after-used", caughtErrors: "all" }],
      "no-implicit-globals": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-self-compare": "error",
      "no-unmodified-loop-condition": "error",
      "no-unreachable-loop": "error",
      "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
      "object-shorthand": "error",
      "consistent-return": "off",  // `return act();` ends a handler, whatever that gives
      "max-len": ["error", { code: 140 }],
    },
  },
  { files: ["**/visible.js"], rules: { "no-misleading-character-class": "off" } },  // it names the very characters
  { files: ["**/theme.js"], languageOptions: { sourceType: "script" } },
  { files: ["**/tests/js/**", "**/frontend/**"], languageOptions: { globals: globals.node } },
];
