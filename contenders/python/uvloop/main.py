"""The contender `uvloop`: asyncio's interface on the event loop of libuv. README.md tells the decisions."""

from __future__ import annotations

import sys
from pathlib import Path

import uvloop

for folder in ("harness", "shared"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))

import event_loop_network
import event_loop_rows
from palio_harness import Contender, main

if __name__ == "__main__":
    event_loop_rows.LOOP_FACTORY = uvloop.new_event_loop
    main(
        Contender(
            id="uvloop",
            runtime="uvloop",
            version=uvloop.__version__,
            workloads=event_loop_network.WORKLOADS,
            threads_max=1,
        )
    )
