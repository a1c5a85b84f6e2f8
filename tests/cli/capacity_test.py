#!/usr/bin/env python3
"""Capacity: what bisection finds is what trying everything finds.

  capacity_test.py PROGRAM

The twin is a fine grid: 40 request rates (or pools), each a `pinfold run` of its own, judged here from its
JSON. The capacity must lie between the last of them that meets the objectives and the first that does not.
"""

import itertools
import json
import sys

from program import HEADER, ROOT, ROW, Suite

CONVERSATION = ROOT / "traces/azure/AzureLLMInferenceTrace_conv.csv"
BASE = ["engine.num_blocks=900", "engine.max_num_seqs=32"]


def run(suite, *sets):
    args = [word for one in sets for word in ("--set", one)]
    return json.loads(suite.run("run", "head.csv", "--format", "json", *args).out)


def capacity(suite, *args, base=BASE):
    sets = [word for one in base for word in ("--set", one)]
    result = suite.run("capacity", "head.csv", *sets, "--format", "json", *args)
    return json.loads(result.out) if result.out else None, result


def meets(found, limit):
    return found["p99_ttft_ms"] <= limit and found["verdict"] == "ok" and found["rejected_never"] == 0


def rate_agrees_with_grid(suite, limit):
    found, said = capacity(suite, "--slo", f"p99_ttft_ms<={limit}")
    suite.check("a rate is found", said.status == 0 and found["verdict"] == "found", said.err)
    best, failing = found["best"], found["failing"]
    closeness = failing["requests_per_second"] / best["requests_per_second"]
    suite.check("the bracket is within 1 %", 1 < closeness <= 1.0100001, str(closeness))
    for end, holds in ((best, True), (failing, False)):
        alone = run(suite, *BASE, end["setting"])
        suite.check("each end of the bracket is a run of its own", alone["digest"] == end["digest"] and
                    meets(alone, limit) == holds == end["meets"], f"{end} {alone['p99_ttft_ms']}")
        waits = {reason: ns for reason, ns in alone["wait_ns_by_reason"].items() if reason != "step"}
        binding = max(waits, key=waits.get)
        suite.check("what requests wait for most is named", (end["waits_most_for"], end["wait_ns"],
                    end["wait_ns_total"]) == (binding, waits[binding], alone["wait_ns_total"]), f"{end} {waits}")
    # 40 scales around the answer, 5 % apart from 0.38 to 2.6 times: 1.05^20 = 2.65.
    scale = float(best["setting"].split("=")[1])
    grid = []
    for step in range(-20, 20):
        text = f"{scale * 1.05 ** step:.9f}"
        grid.append((float(text), meets(run(suite, *BASE, f"workload.time_scale={text}"), limit)))
    monotone = sorted(grid) == sorted(grid, key=lambda one: (one[1], one[0]))
    slowest_failing = max((value for value, met in grid if not met), default=0)
    fastest_meeting = min((value for value, met in grid if met), default=float("inf"))
    suite.check("the grid sees both answers", slowest_failing > 0 and fastest_meeting < float("inf"), str(grid))
    if monotone:
        suite.check("the capacity lies between the grid's answers", slowest_failing <= scale and
                    float(failing["setting"].split("=")[1]) <= fastest_meeting,
                    f"{scale} {slowest_failing} {fastest_meeting}")
    else:
        # Faster arrivals may shift a preemption: then the capacity is one of the places where it changes.
        suite.check("the capacity lies among the grid's answers",
                    fastest_meeting * 0.95 <= scale <= slowest_failing * 1.05,
                    f"{scale} {slowest_failing} {fastest_meeting}")
    again, _ = capacity(suite, "--slo", f"p99_ttft_ms<={limit}")
    suite.check("the same again", again == found)
    fine, _ = capacity(suite, "--slo", f"p99_ttft_ms<={limit}", "--tolerance", "0.1%")
    suite.check("a finer tolerance is kept", 1 < fine["failing"]["requests_per_second"] /
                fine["best"]["requests_per_second"] <= 1.0010001, str(fine["best"]))


def offered_rate(suite):
    """599 arrivals after the first, over the time to the last, divided by the scale."""
    found, _ = capacity(suite, "--slo", "p99_ttft_ms<=600")
    lines = (suite.scratch / "head.csv").read_text().split()
    stamps = [line.split(",")[0] for line in lines[2::2]]  # "DATE TIME,a,b": the time of each row

    def seconds(stamp):
        hours, minutes, rest = stamp.split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(rest)

    span = seconds(stamps[-1]) - seconds(stamps[0])
    for one in found["runs"]:
        rate = 599 / (span * float(one["setting"].split("=")[1]))
        suite.check("the offered rate is that of the arrivals", abs(one["requests_per_second"] / rate - 1) < 1e-6,
                    f"{one['requests_per_second']} {rate}")


def part_of_a_trace(suite):
    """The runs are those of the part that the flags leave; a pipe is told no progress."""
    part = ["--limit", "200", "--start", "2"]
    found, said = capacity(suite, "--slo", "p99_ttft_ms<=600", *part)
    alone = json.loads(suite.run("run", "head.csv", *part, "--set", BASE[0], "--set", BASE[1], "--set",
                                 found["best"]["setting"], "--format", "json").out)
    suite.check("a part of a trace has a capacity", alone["requests"] == 200 and said.err == "" and
                found["best"]["digest"] == alone["digest"], said.err)


def memory_agrees_with_all(suite):
    found, said = capacity(suite, "--slo", "preemptions==0", "--vary", "memory", "--tolerance", "0.001%")
    suite.check("a pool is found", said.status == 0 and found["verdict"] == "found", said.err)
    ids = found["best"]["block_ids"]
    suite.check("a pool that holds is next to one that does not",
                found["failing"]["block_ids"] == ids - 1 and
                run(suite, f"engine.num_blocks={ids}", BASE[1])["preemptions"] == 0 and
                run(suite, f"engine.num_blocks={ids - 1}", BASE[1])["preemptions"] > 0, str(found["best"]))
    # The largest request of the head decides how few blocks refuse nobody.
    rows = [line.rsplit(",", 2)[1:] for line in (suite.scratch / "head.csv").read_text().split("\n")[1:] if line]
    need = max(-(-(int(prompt) + max(int(output), 1) - 1) // 16) for prompt, output in rows)
    found, _ = capacity(suite, "--slo", "p99_ttft_ms<=1000000000", "--vary", "memory", "--tolerance", "0.001%")
    suite.check("requests that can never run are no answer", found["best"]["block_ids"] >= need + 1 and
                found["required_too"] == ["verdict==ok", "unfinished==0", "rejected_never==0"],
                f"{found['best']} {need}")


def verdicts(suite):
    found, said = capacity(suite, "--slo", "p99_ttft_ms<=0.001")
    suite.check("no rate: exit 3, and the result says it", said.status == 3 and found["verdict"] == "none" and
                found["best"] is None and "no request rate meets p99_ttft_ms<=0.001" in said.err, said.err)
    found, said = capacity(suite, "--slo", "p99_ttft_ms<=0.001", "--vary", "memory")
    suite.check("no pool: it stops where more memory changes nothing", said.status == 3 and
                "nobody waits for memory" in found["why_none"] and len(found["runs"]) < 8, said.err)
    found, said = capacity(suite, "--slo", "completed>0")
    suite.check("any rate", said.status == 0 and found["verdict"] == "unbounded" and found["failing"] is None,
                said.err)
    text = suite.run("capacity", "head.csv", "--set", BASE[0], "--slo", "p99_ttft_ms<=600,p99_tpot_ms<=500")
    suite.check("the text names the answer, the next run and what binds", text.status == 0 and all(
        words in text.out for words in ("Capacity: ", "Not met at ", "missed there: ", "binds there: ",
                                        "waits most for", "--set workload.time_scale=")), text.out)
    memory, _ = capacity(suite, "--slo", "p99_ttft_ms<=600", "--vary", "memory", base=[
        "memory.available_gib=1", "model.layers=8", BASE[1]])
    suite.check("a pool given in bytes can be varied too", memory["verdict"] == "found", str(memory))


def bad_input(suite):
    suite.write("burst.csv", HEADER + 3 * ROW)
    cases = [
        (["head.csv"], "expected objectives"),
        (["--slo", "p99_ttft_ms<=1"], "expected the path of a request trace"),
        (["head.csv", "--slo", "p99_tft_ms<=1"], "--slo: column 1: found the unknown figure", "p99_ttft_ms?"),
        (["head.csv", "--slo", "p99_ttft_ms=1"], "--slo: column 12", "equality is =="),
        (["head.csv", "--slo", "p99_ttft_ms<=1", "--vary", "rates"], "did you mean rate?"),
        (["head.csv", "--slo", "p99_ttft_ms<=1", "--tolerance", "1"], "--tolerance: found \"1\""),
        (["head.csv", "--slo", "p99_ttft_ms<=1", "--tolerance", "0%"], "--tolerance: found \"0%\""),
        (["head.csv", "--slo", "p99_ttft_ms<=1", "--tolerance", "51%"], "--tolerance: found \"51%\""),
        (["head.csv", "--slo", "p99_ttft_ms<=1", "--set", "workload.concurrency=4"], "a closed loop"),
        (["head.csv", "--slo", "p99_ttft_ms<=1", "--set", "workload.time_scale=0"], "all requests at once"),
        (["burst.csv", "--slo", "p99_ttft_ms<=1"], "all arrive at once"),
        (["head.csv", "--slo", "p99_ttft_ms<=1", "--set", "engine.blok_size=4"], "engine.blok_size"),
    ]
    for args, *texts in cases:
        result = suite.run("capacity", *args)
        suite.check(f"refused: capacity {' '.join(args)}", result.status == 2 and result.out == "" and
                    all(text in result.err for text in texts), result.err)
    result = suite.run("capacity", "missing.csv", "--slo", "p99_ttft_ms<=1")
    suite.check("a missing trace is a data error", result.status == 1, result.err)


def main():
    suite = Suite()
    with open(CONVERSATION, "rb") as trace:
        suite.write("head.csv", b"".join(itertools.islice(trace, 601)))
    rate_agrees_with_grid(suite, 600)
    rate_agrees_with_grid(suite, 2000)
    offered_rate(suite)
    part_of_a_trace(suite)
    memory_agrees_with_all(suite)
    verdicts(suite)
    bad_input(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
