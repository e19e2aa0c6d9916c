"""All forms at once: whichever arrives is read. What is taught is the form most models have seen."""

from msgspec.structs import replace

from treadle.dialects import bare_json, commands, tagged_json, tool_use
from treadle.dialects.dialect import TextDialect

_FORMS = (tagged_json.HERMES, tool_use.TOOL_USE, bare_json.BARE, commands.LINES)

AUTO = TextDialect("auto", _FORMS, tagged_json.DIALECTS["hermes"].lesson)
STRICT = replace(AUTO, strict=True)

DIALECTS = {"auto": AUTO}
