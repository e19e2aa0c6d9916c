"""The debug report of a reading: requests, cost, lines read, and the quality of the outline. As JSON and as Markdown."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from treadle.assistants.reading.analysis import Analysis
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.shallow_tree import OutlineMetrics
from treadle.assistants.reading.reading_types import Stage

MAX_REPORTS = 50  # of each kind are kept in a folder; older ones go


def build_debug_report(analysis: Analysis, metrics: OutlineMetrics, tree: dict[str, Any]) -> dict[str, Any]:
    """Build the whole report as JSON."""
    source, metadata = analysis.source, analysis.reading.metadata
    calls = [{**msgspec.to_builtins(call), "result_length": len(call.result_content)} for call in analysis.calls]
    return {
        "filename": source.filename,
        "language": source.language,
        "snapshots": {"raw_source": source.text, "shallow_ast": tree},
        "metrics": msgspec.to_builtins(metrics),
        "llm_stages": dict(_format_stages(analysis.stages)),
        "failed_requests": msgspec.to_builtins(analysis.failed),
        "execution_path": metadata.execution_path,
        "fallbacks": msgspec.to_builtins(metadata.fallbacks),
        "tokens": msgspec.to_builtins(metadata.tokens),
        "tool_reads": msgspec.to_builtins(metadata.tool_reads),
        "tool_calls": calls,
        "tool_call_count": len(calls),
        "summary": summarize_metrics(metrics),
    }


def summarize_metrics(metrics: OutlineMetrics) -> dict[str, Any]:
    """Return the few metrics that accompany an answer."""
    return {
        "integrity_score": metrics.integrity_score,
        "has_quality_warning": metrics.integrity_score < 100,
        "node_reduction_ratio": metrics.node_reduction_ratio,
        "context_compression_ratio": metrics.context_compression_ratio,
        "comment_retention_score": metrics.comment_retention_score,
    }


def _format_stages(stages: tuple[Stage, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, stage in enumerate(stages):
        again = sum(other.name == stage.name for other in stages[:number])
        yield (
            f"{stage.name}_{again + 1}" if again else stage.name,
            {
                "name": stage.name,
                "start_time": stage.start_time,
                "end_time": stage.end_time,
                "elapsed_time_seconds": round(stage.end_time - stage.start_time, 3),
                "input_tokens": stage.tokens.input,
                "output_tokens": stage.tokens.output,
                "total_tokens": stage.tokens.total,
                "cached_tokens": stage.tokens.cached,
                "requests": stage.tokens.requests,
                "llm_response": stage.response,
                "parsed_output": stage.parsed_output,
            },
        )


def report_to_markdown(found: dict[str, Any], analysis: Analysis) -> str:
    """Format the report as Markdown."""
    metadata = analysis.reading.metadata
    lines = [
        f"# How {found['filename']} was read",
        "",
        f"Path: **{metadata.execution_path}** ({metadata.why}).",
        f"{metadata.tokens.total:,} tokens in {metadata.tokens.requests} requests, {metadata.seconds:.1f} s.",
        "",
        *([metadata.label, ""] if metadata.label else []),
        "## Outline",
        "",
        *_format_table(("measure", "value"), [(name.replace("_", " "), value) for name, value in found["metrics"].items()]),
        "",
        "## Requests",
        "",
        *_format_table(
            ("stage", "at", "input", "output", "seconds"),
            [
                (name, _format_time(s["start_time"]), s["input_tokens"], s["output_tokens"], s["elapsed_time_seconds"])
                for name, s in found["llm_stages"].items()
            ],
        ),
        "",
        "## Requests that failed",
        "",
        *_format_table(("at", "why"), [(_format_time(failed.timestamp), failed.reason) for failed in analysis.failed]),
        "",
        "## Calls",
        "",
        *_format_table(
            ("#", "at", "lines", "characters", "problem"),
            [
                (number, _format_time(call["timestamp"]), _format_lines(call), call["result_length"], call.get("problem", ""))
                for number, call in enumerate(found["tool_calls"], 1)
            ],
        ),
        "",
    ]
    for call in found["tool_calls"]:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", call["result_content"])), default=0))
        lines += [f"### Lines {_format_lines(call)}", "", f"{fence}{found['language']}", call["result_content"], fence, ""]
    return "\n".join(lines)


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _format_lines(call: dict[str, Any]) -> str:
    return f"{call['args'].get('start_line', '?')}-{call['args'].get('end_line', '?')}"


def _format_table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[str]:
    if not rows:
        return ["None."]
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *[f"| {' | '.join([_escape_cell(cell) for cell in row])} |" for row in rows],
    ]


def _escape_cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


async def file_report(
    folder: Path, analysis: Analysis, outliner: Outliner, *, raw_source: bool = False
) -> tuple[Path, OutlineMetrics]:
    """Build and write the report of a reading; return the path of its page, and the metrics."""
    text, language = analysis.source.text, analysis.source.language
    metrics, tree = await outliner.metrics(text, language), await outliner.seed_json(text, language)
    page, _ = write_report(folder, build_debug_report(analysis, metrics, tree), analysis, raw_source=raw_source)
    return page, metrics


def write_report(folder: Path, found: dict[str, Any], analysis: Analysis, *, raw_source: bool = False) -> tuple[Path, Path]:
    """Write both files of a report; only the newest reports are retained."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%d_%H%M%S_%f")
    way = ("_fast_path" if analysis.reading.metadata.execution_path == "fast-path" else "") + ("_raw_source" if raw_source else "")
    base = re.sub(r"[^\w.-]+", "_", Path(found["filename"]).name) or "source"
    page, tree = folder / f"{base}{way}_{stamp}_debug.md", folder / f"{base}{way}_{stamp}_shallow_ast.json"
    page.write_text(report_to_markdown(found, analysis), "utf-8")
    tree.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    for kind in ("*_debug.md", "*_shallow_ast.json"):
        for old in sorted(folder.glob(kind), key=lambda path: path.stat().st_mtime_ns)[:-MAX_REPORTS]:
            old.unlink(missing_ok=True)
    return page, tree
