"""Makes values that fit a JSON schema, in a fixed order of chances: arguments for tools, and answers for servers."""

import random
import re._parser as sre
from typing import Any

DEEPEST = 5
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
ODD = ["ü", " ", "/", "?", "&", "#", "%", "=", "+", ";", ",", "[", "日本", "'", '"', ":", "@", "\\", "|", "~", "<"]
FORMATS = {
    "date-time": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "time": "03:04:05Z",
    "uuid": "12345678-1234-4234-8234-123456789abc",
    "email": "a@example.com",
    "uri": "https://example.com/a?b=c",
    "url": "https://example.com/a",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "ip": "192.0.2.1",
    "byte": "YWJj",
    "duration": "PT1H",
    "regex": "a+",
    "timestamp": "2026-01-02T03:04:05Z",
    "repo.nwo": "a/b",
    "json": "{}",
}


class Maker:
    """Values from schemas. `more` is the chance of a field that isn't required; `odd` of letters that need escaping."""

    def __init__(self, seed: int, root: dict[str, Any], *, more: float = 0.5, odd: float = 0.2) -> None:
        self.chance = random.Random(seed)
        self.root = root
        self.more = more
        self.odd = odd

    def make(self, schema: Any, depth: int = 0) -> Any:
        if not isinstance(schema, dict):
            return {} if schema is not True else "x"
        if "$ref" in schema:
            return self.make(self._found(schema["$ref"]), depth + 1)
        for keyword in ("const", "enum"):
            if keyword in schema:
                return schema["const"] if keyword == "const" else self.chance.choice(schema["enum"] or [None])
        for keyword in ("oneOf", "anyOf"):
            if schema.get(keyword):
                branches = sorted(schema[keyword], key=lambda branch: "$ref" in str(branch)) if depth > 3 else schema[keyword]
                chosen = branches[0] if depth > 3 else self.chance.choice(branches)
                rest = {key: value for key, value in schema.items() if key != keyword}
                both = {**rest, "allOf": [*rest.get("allOf", []), chosen]} if set(rest) - {"description"} else chosen
                return self.make(both, depth)
        if schema.get("allOf"):
            return self.make(self._merged(schema), depth)
        return self._typed(schema, depth)

    def _typed(self, schema: dict[str, Any], depth: int) -> Any:
        types = schema.get("type", "object" if "properties" in schema else "string")
        kind = types if isinstance(types, str) else next((each for each in types if each != "null"), "null")
        if schema.get("nullable") and self.chance.random() < 0.1:
            return None
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                least = schema.get("minItems", 0)
                most = max(least, min(schema.get("maxItems", 3), 0 if depth > DEEPEST else 3))
                made = [self.make(schema.get("items", True), depth + 1) for _ in range(self.chance.randint(least, most))]
                return [each for at, each in enumerate(made) if each not in made[:at]] if schema.get("uniqueItems") else made
            case "integer" | "number":
                return self._number(schema, kind)
            case "boolean":
                return self.chance.random() < 0.5
            case "null":
                return None
            case _:
                return self._text(schema)

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        made: dict[str, Any] = {}
        for name, part in schema.get("properties", {}).items():
            if name in required or (depth < DEEPEST and self.chance.random() < self.more):
                made[name] = self.make(part, depth + 1)
        for name in required:
            made.setdefault(name, self.make(self._others(schema), depth + 1))
        while len(made) < schema.get("minProperties", 0):
            made[f"k{len(made)}"] = self.make(self._others(schema), depth + 1)
        if not made and isinstance(schema.get("additionalProperties"), dict) and depth < DEEPEST:
            made["key"] = self.make(schema["additionalProperties"], depth + 1)
        return made

    def _others(self, schema: dict[str, Any]) -> Any:
        others = schema.get("additionalProperties", True)
        return others if isinstance(others, dict) else {"type": "string"}

    def _number(self, schema: dict[str, Any], kind: str) -> float:
        least = schema.get("minimum", schema.get("exclusiveMinimum", -5 if "maximum" in schema else 0))
        least = least + 1 if "exclusiveMinimum" in schema and not isinstance(schema["exclusiveMinimum"], bool) else least
        most = schema.get("maximum", schema.get("exclusiveMaximum", least + 100))
        most = most - 1 if "exclusiveMaximum" in schema and not isinstance(schema["exclusiveMaximum"], bool) else most
        step = schema.get("multipleOf")
        if kind == "number" and not step:
            return round(self.chance.uniform(least, max(least, min(most, least + 1000))), 2) if most > least + 1 else least
        found = self.chance.randint(int(least), max(int(least), int(min(most, least + 1000))))
        return found if not step else -(-found // int(step)) * int(step)

    def _text(self, schema: dict[str, Any]) -> str:
        if "pattern" in schema:
            return self._matching(schema)
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        least = schema.get("minLength", 1)
        most = max(least, min(schema.get("maxLength", 12), least + 12))
        letters = [self.chance.choice(LETTERS) for _ in range(self.chance.randint(least, most))]
        if letters and self.chance.random() < self.odd:
            letters[self.chance.randrange(len(letters))] = self.chance.choice(ODD)[:1]
        return "".join(letters)

    def _matching(self, schema: dict[str, Any]) -> str:
        """A text of a pattern, for the patterns that are common."""
        try:
            parsed = sre.parse(schema["pattern"])
        except Exception:  # noqa: BLE001 - a pattern of another language
            return "x"
        made = "".join(self._piece(*each) for each in parsed)
        return made + "a" * max(0, schema.get("minLength", 0) - len(made))

    def _piece(self, op: Any, given: Any) -> str:
        match str(op):
            case "LITERAL":
                return chr(given)
            case "NOT_LITERAL":
                return "a" if given != ord("a") else "b"
            case "ANY":
                return "a"
            case "IN":
                return self._one_of(given)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = given
                times = self.chance.randint(least, min(int(most), least + 2)) if least else min(1, int(most))
                return "".join(self._piece(*each) for _ in range(times) for each in inner)
            case "SUBPATTERN":
                return "".join(self._piece(*each) for each in given[3])
            case "BRANCH":
                return "".join(self._piece(*each) for each in self.chance.choice(given[1]))
            case _:
                return ""

    def _one_of(self, given: Any) -> str:
        excluded = str(given[0][0]) == "NEGATE"
        allowed = [letter for letter in LETTERS + "_-. " if any(_is_in(letter, each) for each in given) != excluded]
        return self.chance.choice(allowed) if allowed else "a"

    def _merged(self, schema: dict[str, Any]) -> dict[str, Any]:
        out = {key: value for key, value in schema.items() if key != "allOf"}
        for branch in schema["allOf"]:
            while isinstance(branch, dict) and "$ref" in branch:
                branch = self._found(branch["$ref"])
            if not isinstance(branch, dict):
                continue
            part = self._merged(branch) if branch.get("allOf") else branch
            for key, value in part.items():
                if key == "properties":
                    mine = out.get("properties", {})
                    both = {name: {"allOf": [mine[name], inner]} if name in mine else inner for name, inner in value.items()}
                    out["properties"] = {**mine, **both}
                elif key == "required":
                    out["required"] = [*out.get("required", []), *value]
                elif key == "enum" and "enum" in out:
                    out["enum"] = [each for each in value if each in out["enum"]]
                else:
                    out[key] = value if key not in out or key not in ("minLength", "minimum") else max(value, out[key])
        return out

    def _found(self, reference: str) -> Any:
        found: Any = self.root
        for step in reference.split("/")[1:]:
            found = found[step.replace("~1", "/").replace("~0", "~")]
        return found


def _is_in(letter: str, each: Any) -> bool:
    match str(each[0]):
        case "LITERAL":
            return ord(letter) == each[1]
        case "RANGE":
            return each[1][0] <= ord(letter) <= each[1][1]
        case "CATEGORY":
            return {
                "CATEGORY_DIGIT": letter.isdigit(),
                "CATEGORY_WORD": letter.isalnum() or letter == "_",
                "CATEGORY_SPACE": letter == " ",
                "CATEGORY_NOT_SPACE": letter != " ",
                "CATEGORY_NOT_DIGIT": not letter.isdigit(),
                "CATEGORY_NOT_WORD": not (letter.isalnum() or letter == "_"),
            }[str(each[1])]
        case _:
            return False
