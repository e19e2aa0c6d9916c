"""What a call returned, in a few words for one line: a summary where the data of its result has one, else its text. Pure."""

from treadle.cli.ui.render import format_count
from treadle.core.calls import Result


def summarize_result(result: Result) -> str:
    """Return what a call returned: how much of a file or of a search, or the text itself."""
    match result.data:
        case {"text": str(), "start": int(start), "end": int(end), "total": int(total)} if total:  # of `FileLines`
            return format_count(total, "line") if (start, end) == (1, total) else f"lines {start} to {end} of {total:,}"
        case {"hits": [_, *_] as hits, "more": bool(more)}:  # of `GrepResult`
            files = {hit["path"] for hit in hits}
            return f"{_format_found(len(hits), 'match', 'matches', more=more)} in {format_count(len(files), 'file')}"
        case {"paths": [_, *_] as paths, "more": bool(more)}:  # of `FileNames`
            return _format_found(len(paths), "file", "files", more=more)
        case _:
            return result.content


def _format_found(count: int, one: str, many: str, *, more: bool) -> str:
    return f"{count:,} or more {many}" if more else format_count(count, one, many)
