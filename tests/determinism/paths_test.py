#!/usr/bin/env python3
"""Does the path show? Every run must print the same bytes with the fast path on and off, with audits
often or only at the end, and when it is run twice; where prefixes are reused also with shadow memory.

  paths_test.py PROGRAM

What the runs must also say is known beforehand: 19,366 requests, 22,361,870 prompt and 4,088,665 output
tokens of the conversation trace (8,819, 18,059,974 and 245,896 of the code trace; 300, 4,269,971 and
113,079 of the Mooncake sample) are sums over the files; blocks acquired without preemption are the sum of ceil((p + o - 1) / 16) with known stops or no
overlap, of ceil((p + o) / 16) with hidden stops and overlap 1 (one overrun row each).
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONVERSATION = ROOT / "traces/azure/AzureLLMInferenceTrace_conv.csv"
CODE = ROOT / "traces/azure/AzureLLMInferenceTrace_code.csv"
MOONCAKE = ROOT / "traces/mooncake/conversation_300.jsonl"
EVERYTHING = ["--config", str(ROOT / "configs/runs/everything.json")]
WITH_PREFIXES = EVERYTHING + ["--set", "engine.num_blocks=9000", "--set",
                              "engine.max_model_len=131072"]
EVERYTHING_REUSE = ["--config", str(ROOT / "configs/runs/everything_reuse.json")]
FOUR_H100 = ["--config", str(ROOT / "configs/runs/llama_3_1_70b_4xh100.json")]

SUMS = {CONVERSATION: (19366, 22361870, 4088665), CODE: (8819, 18059974, 245896),
        MOONCAKE: (300, 4269971, 113079)}


def option(*pairs):
    return [word for pair in pairs for word in ("--set", pair)]


# trace, settings, blocks acquired (None: the pool is tight, so preemption adds to them)
CASES = {
    "known stops, no overlap": (
        CONVERSATION, option("workload.stop=known", "engine.overlap=0"), 1660963),
    "known stops, overlap 1": (
        CONVERSATION, option("workload.stop=known", "engine.overlap=1"), 1660963),
    "known stops, overlap 2": (
        CONVERSATION, option("workload.stop=known", "engine.overlap=2"), 1660963),
    "hidden stops, no overlap": (CONVERSATION, option("engine.overlap=0"), 1660963),
    "hidden stops, overlap 1": (CONVERSATION, [], 1662197),
    "code trace, known stops": (CODE, option("workload.stop=known"), 1147791),
    "four H100": (CONVERSATION, FOUR_H100, 1662197),
    "a tight pool": (CONVERSATION, option("engine.num_blocks=1200", "cost.step_base_us=30000"), None),
    "everything": (CONVERSATION, EVERYTHING, None),
    "prefixes reused": (MOONCAKE, option("prefix.reuse=on", "engine.num_blocks=9000",
                                         "engine.max_num_seqs=24", "workload.drafts=3"), None),
    "prefixes reused, first in first out": (
        MOONCAKE, option("prefix.reuse=on", "prefix.eviction=fifo", "engine.num_blocks=9000",
                         "engine.max_num_seqs=24", "engine.overlap=2"), None),
    "everything, prefixes reused": (MOONCAKE, EVERYTHING_REUSE, None),
    "everything, external store": (MOONCAKE, WITH_PREFIXES, None),
    "external store": (MOONCAKE, option("prefix.reuse=on", "store.host_blocks=300000",
                                        "engine.num_blocks=9000"), None),
}


def run(program, trace, arguments):
    command = [program, "run", str(trace), *arguments, "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ValueError(f"exit status {result.returncode}: {result.stderr.strip()[-1000:]}")
    return result.stdout


def check(program, title, case):
    trace, arguments, blocks = case
    first = run(program, trace, arguments)
    same = True
    hows = [["--fast-path", "off"], ["--audit", "5000"], []]
    if trace == MOONCAKE:
        hows.append(["--shadow", "on", "--audit", "1000"])
    for how in hows:
        if run(program, trace, [*arguments, *how]) != first:
            print(f"{title}: another result with {' '.join(how) or 'a second run'}")
            same = False
    report = json.loads(first)
    if trace == MOONCAKE and min(report["prefix_cache"][key] for key in ("hits", "evicted")) == 0:
        print(f"{title}: nothing was found, or nothing evicted")
        same = False
    if report["aborted"] > 0:  # everything*.json: how many tokens an aborted request yields is its own affair
        ended = report["completed"] + report["aborted"]
        if report["verdict"] != "ok" or ended != SUMS[trace][0] or report["forks"] == 0:
            print(f"{title}: verdict {report['verdict']}, {ended} ended, {report['forks']} forks")
            same = False
        print(f"{title}: {report['digest']} {report['digest_timed']}")
        return same
    found = (report["completed"], report["total_input_tokens"], report["total_output_tokens"])
    if report["verdict"] != "ok" or found != SUMS[trace]:
        print(f"{title}: verdict {report['verdict']}, {found} instead of {SUMS[trace]}")
        same = False
    if blocks is not None and report["blocks"]["acquired"] != blocks:
        print(f"{title}: {report['blocks']['acquired']} blocks acquired instead of {blocks}")
        same = False
    if blocks is None and (report["preemptions"] == 0 or report["admission"]["later"] == 0):
        print(f"{title}: nobody was preempted or refused")
        same = False
    if same:
        print(f"{title}: {report['digest']} {report['digest_timed']}")
    return same


def main():
    program = sys.argv[1]
    passed = 0
    for title, case in CASES.items():
        try:
            passed += check(program, title, case)
        except ValueError as error:
            print(f"{title}: {error}")
    print(f"{passed} passed, {len(CASES) - passed} failed")
    return 0 if passed == len(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
