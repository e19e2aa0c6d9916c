"""What an agent's model reads besides its instructions, as the settings say: the guide of the project it works on."""

from pathlib import Path

from treadle.core.seams import Toolset
from treadle.settings.schema import Settings


def context_toolsets(settings: Settings, project: Path | None) -> list[Toolset]:
    """Return the sources of context for an agent. `project` is the folder that it works on; None where it works on none."""
    toolsets: list[Toolset] = []
    if project is not None and settings.context.project_guide:
        from treadle.toolsets.project_guide import ProjectGuide

        toolsets.append(ProjectGuide(project))
    return toolsets
