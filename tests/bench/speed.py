#!/usr/bin/env python3
"""Prints what the conversation replay costs beside the bare anchor loop: nanoseconds and instructions
per output token. Machines differ and may be busy, so nothing here is asserted; the instruction counts
repeat exactly for one binary.

  speed.py REPLAY_BENCH TRACE
"""

import re
import shutil
import subprocess
import sys

OUTPUT_TOKENS = 4088665  # the trace's own sum


def instructions(program, trace, mode, function):
    command = ["valgrind", "--tool=callgrind", "--collect-atstart=no",
               f"--toggle-collect={function}", "--callgrind-out-file=/dev/null",
               program, trace, mode]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", result.stderr)
    return int(found.group(1)) if found and result.returncode == 0 else None


def main():
    program, trace = sys.argv[1:3]
    timed = subprocess.run([program, trace], capture_output=True, text=True, check=False)
    print(timed.stdout, end="")
    if timed.returncode != 0:
        print(timed.stderr, end="")
        return timed.returncode
    if shutil.which("valgrind") is None:
        print("instructions: not counted, valgrind is not installed")
        return 0
    anchor = instructions(program, trace, "anchor", "pinfold::bench::run_anchor*")
    simulate = "pinfold::sim::simulate(pinfold::sim::Trace*"
    engine = instructions(program, trace, "engine", simulate)
    shadow = instructions(program, trace, "shadow", simulate)
    if anchor is None or engine is None or shadow is None:
        print("instructions: valgrind could not count them")
        return 0
    print(f"instructions per output token: anchor {anchor / OUTPUT_TOKENS:.1f}, "
          f"replay {engine / OUTPUT_TOKENS:.1f}, {engine / anchor:.2f} x anchor, "
          f"with shadow memory {shadow / OUTPUT_TOKENS:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
