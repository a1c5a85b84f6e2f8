#!/usr/bin/env python3
"""Do all builds of the program give the same bytes?

  across_builds.py PROGRAM PROGRAM...

Runs each case below with every program and compares `digest` and `digest_timed` with those of the
first. Compilers, optimisation and sanitizers differ between the builds; the digests must not.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONVERSATION = "traces/azure/AzureLLMInferenceTrace_conv.csv"
CODE = "traces/azure/AzureLLMInferenceTrace_code.csv"

# What to run, as arguments of `pinfold run`: default settings, and a pool so small that requests wait
# and are preempted.
MOONCAKE = "traces/mooncake/conversation_300.jsonl"
TIGHT = ["--set", "engine.num_blocks=1200"]
MOONCAKE = "traces/mooncake/conversation_300.jsonl"
FOUR_H100 = ["--config", "configs/runs/llama_3_1_70b_4xh100.json"]
CASES = {
    "conversation trace, defaults": [CONVERSATION],
    "code trace, defaults": [CODE],
    "conversation trace, small pool": [CONVERSATION, *TIGHT],
    "conversation trace, small pool, no overlap": [
        CONVERSATION, *TIGHT, "--set", "engine.overlap=0"],
    "code trace, small pool, known stops": [CODE, *TIGHT, "--set", "workload.stop=known"],
    "four H100, table": [CONVERSATION, *FOUR_H100],
    "four H100, knots": [CONVERSATION, *FOUR_H100, "--set", "cost.fit=knots"],
    "four H100, roofline": [CODE, *FOUR_H100, "--set", "cost.fit=roofline"],
    "shared prefixes": [MOONCAKE, "--set", "prefix.reuse=on", "--set", "engine.num_blocks=12000"],
    "everything": [CONVERSATION, "--config", "configs/runs/everything.json"],
    "everything, code trace, overlap 2": [
        CODE, "--config", "configs/runs/everything.json", "--set", "engine.overlap=2"],
    "everything, prefixes reused": [MOONCAKE, "--config", "configs/runs/everything_reuse.json"],
    "everything, external store, shadow memory": [
        MOONCAKE, "--config", "configs/runs/everything.json", "--set", "engine.num_blocks=9000",
        "--set", "engine.max_model_len=131072", "--shadow", "on", "--audit", "1000"],
    "everything, prefixes reused, overlap 2, shadow memory": [
        MOONCAKE, "--config", "configs/runs/everything_reuse.json", "--set", "engine.overlap=2",
        "--shadow", "on", "--audit", "1000"],
}
KEYS = ("digest", "digest_timed")


def digests(program, arguments):
    """The digests of one run; raises ValueError with the reason if there are none."""
    command = [str(program), "run", *arguments, "--format", "json"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ValueError(f"exit status {result.returncode}: {result.stderr.strip()[-2000:]}")
    report = json.loads(result.stdout)
    return {key: report[key] for key in KEYS}


def compare(programs, title, arguments):
    """True if all programs agree; says what differs."""
    try:
        found = {program: digests(program, arguments) for program in programs}
    except (ValueError, KeyError) as error:
        print(f"{title}: no digests: {error}")
        return False
    first = found[programs[0]]
    same = True
    for program, digest in found.items():
        for key in KEYS:
            if digest[key] != first[key]:
                same = False
                print(f"{title}: {key} is {digest[key]} from {program} "
                      f"and {first[key]} from {programs[0]}")
    if same:
        print(f"{title}: {first['digest']} {first['digest_timed']} from {len(programs)} builds")
    return same


def main():
    programs = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    absent = [str(program) for program in programs if not program.exists()]
    if absent or len(programs) < 2:
        print("not built:", ", ".join(absent) or "needs at least two programs")
        print("0 passed, 1 failed")
        return 1
    passed = sum(compare(programs, title, arguments) for title, arguments in CASES.items())
    failed = len(CASES) - passed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
