"""A small real platform to try the assistant on, and to test it against: an example, not a product.

Speaks innominatus where the assistant touches it, in two shapes: `new` and `old` (before 2025-10-18). Needs
`pip install 'treadle[platform]'`; nothing heavy is imported before it starts.
"""

from treadle.assistants.platform.demo.clock import Clock, SetClock, SystemClock
from treadle.assistants.platform.demo.serving import Running, run_demo, start_demo

__all__ = ["Clock", "Running", "SetClock", "SystemClock", "run_demo", "start_demo"]
