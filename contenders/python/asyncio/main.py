"""The contender `asyncio`: Python's own event loop, as it comes. README.md tells the decisions."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

for folder in ("harness", "shared"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))

import event_loop_network
from palio_harness import Contender, main

if __name__ == "__main__":
    main(
        Contender(
            id="asyncio",
            runtime="asyncio",
            version=platform.python_version(),  # asyncio is part of the interpreter, and has no version of its own
            workloads=event_loop_network.WORKLOADS,
            threads_max=1,
        )
    )
