#!/usr/bin/env python3
"""Small random runs, many of which stall: is every wait booked once, whoever counts it?

  stalled_runs_test.py PROGRAM

Waiting time is counted twice by the program, by reason and by request, and a third time by what writes requests.csv;
so is the time that requests spend loading. Expected: the same, to the nanosecond, wherever the run ends. The draws
are Python's own generator, seeded with the run's number.
"""

import csv
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import Suite  # noqa: E402

RUNS = 300


def drawn(number):
    """A configuration with faults, and the requests of its trace. In the second half clients are a closed loop."""
    draw = random.Random(number)
    seats = draw.randint(1, 6)
    config = {"engine": {"block_size": draw.choice([1, 2, 4, 16]), "num_blocks": draw.randint(3, 24), "max_num_seqs": seats,
                         "max_num_batched_tokens": max(seats, draw.choice([1, 4, 8, 32])), "overlap": draw.randint(0, 2),
                         "max_model_len": 256},
              "workload": {"stop": draw.choice(["hidden", "known"])}, "cost": {"plan_us": draw.choice([0, 50])},
              "fork": {"wait": draw.choice(["block", "poll"]), "copy_lane": draw.choice(["compute", "separate"])},
              "fault": {"copy_lost": draw.randint(1, 3)}}
    store = draw.random() < 0.5
    if store:
        size = config["engine"]["block_size"]
        config["prefix"] = {"reuse": "on"}
        config["store"] = {"host_blocks": draw.randint(4, 20), "interval": size, "latency_us": draw.choice([0, 100, 5000])}
        config["fault"]["load_lost"] = draw.randint(1, 2)
    rows, at = [], 0
    closed = number >= RUNS // 2
    if closed:
        config["workload"]["concurrency"] = draw.randint(2, 12)
    for n in range(draw.randint(10, 40) if closed else draw.randint(2, 8)):
        at += draw.choice([0, 3, 1_000_000, 7_777_777])
        row = {"arrival_ns": at, "prompt": draw.randint(1, 60), "output": draw.randint(1, 30)}
        if draw.random() < 0.4:
            row["samples"] = draw.randint(2, 4)
        if draw.random() < 0.2:
            row["abort_ns"] = at + draw.randint(0, 40_000_000)
        if store:
            row["prefix_ids_4"] = [draw.randint(1, 2) * 1000 + k if k == 0 else k for k in range((row["prompt"] + 3) // 4)]
        rows.append(row)
    return config, rows


def nanoseconds(milliseconds):
    return int(milliseconds.replace(".", ""))


def main():
    suite = Suite()
    stalled, loading = 0, 0
    for number in range(RUNS):
        config, rows = drawn(number)
        suite.write("c.json", json.dumps(config))
        suite.write("t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        ran = suite.run("run", "t.jsonl", "--config", "c.json", "--format", "json", "-o", "out")
        suite.check(f"run {number} ends", ran.status in (0, 3), ran.err)
        summary = json.loads(ran.out)
        stalled += summary["verdict"] == "stall"
        total = summary["wait_ns_total"]
        suite.check(f"run {number} ({summary['verdict']}): reasons sum to the requests' waiting time",
                    sum(summary["wait_ns_by_reason"].values()) == total, f"{summary['wait_ns_by_reason']} {total}")
        with (suite.scratch / "out/requests.csv").open() as file:
            table = list(csv.DictReader(file))
        found = sum(nanoseconds(row["queue_ms"]) for row in table)
        suite.check(f"run {number} ({summary['verdict']}): so do the rows of requests.csv", found == total, f"{found} {total}")
        parts = {reason: sum(nanoseconds(row[f"wait_{reason}_ms"]) for row in table)
                 for reason in summary["wait_ns_by_reason"]}
        suite.check(f"run {number} ({summary['verdict']}): and reason by reason", parts == summary["wait_ns_by_reason"],
                    f"{parts} {summary['wait_ns_by_reason']}")
        if "store" in summary:
            loads = sum(nanoseconds(row["loading_ms"]) for row in table)
            loading += loads > 0
            suite.check(f"run {number}: rows sum to the time of loads", loads == summary["store"]["load_ns"],
                        f"{loads} {summary['store']}")
    suite.check("many runs stall, some load", stalled > RUNS // 10 and loading > 0, f"{stalled} {loading}")
    # One demoted sample computes 311 rows again in chunks of 4, 78 passes: longer than any limit of passes.
    suite.write("c.json", json.dumps({"engine": {"block_size": 64, "num_blocks": 6, "max_num_seqs": 2,
                                                 "max_num_batched_tokens": 4}}))
    suite.write("t.csv", "arrival_ns,prompt,output,samples\n0,311,2,3\n")
    ran = suite.run("run", "t.csv", "--config", "c.json", "--format", "json")
    suite.check("rows computed again are no stall", ran.status == 0 and json.loads(ran.out)["completed"] == 1, ran.err)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
