"""A small working platform to try the assistant on, and to test it against: an example, not a product.

Implements innominatus as far as the assistant uses it, in two API versions: `new` and `old` (before 2025-10-18).
Needs `pip install 'treadle[platform]'`; nothing heavy is imported before it starts.
"""

from treadle.demo.platform.clock import Clock, ManualClock, SystemClock
from treadle.demo.platform.demo_server import DemoServer, run_demo, start_demo

__all__ = ["Clock", "DemoServer", "ManualClock", "SystemClock", "run_demo", "start_demo"]
