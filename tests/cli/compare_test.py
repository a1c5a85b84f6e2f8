#!/usr/bin/env python3
"""`pinfold compare`: two earlier runs, figure by figure and event by event.

  compare_test.py PROGRAM

Figures are those of the two results; the first differing event is the first line that differs in recordings.
"""

import json
import sys

from program import ROOT, Suite

SLICE = ROOT / "traces/azure/slices/conv_600.csv"
TIGHT = ["--set", "engine.num_blocks=900", "--set", "engine.max_num_seqs=32"]
OTHER = ["--set", "engine.release_order=forward"]


def make(suite):
    for name, sets in (("a", []), ("b", OTHER)):
        suite.run("run", SLICE, *TIGHT, *sets, "-o", name, "--record", f"{name}.jsonl")
        suite.write(f"{name}.json", suite.run("run", SLICE, *TIGHT, *sets, "--format", "json").out)
        suite.run("check", SLICE, *TIGHT, *sets, "--baseline", f"{name}.base.json", "--accept")
    lines = [(suite.scratch / name).read_text().splitlines()[1:] for name in ("a.jsonl", "b.jsonl")]
    return next(n for n, (a, b) in enumerate(zip(*lines), 1) if a != b)


def compare(suite, a, b, *args):
    result = suite.run("compare", a, b, "--format", "json", *args)
    return json.loads(result.out) if result.out else None, result


def directories(suite, event):
    found, result = compare(suite, "a", "b")
    old, new = (json.loads((suite.scratch / name / "summary.json").read_text()) for name in ("a", "b"))
    rows = {row["metric"]: row for row in found["figures"]}
    suite.check("two directories are compared", result.status == 0 and not found["same"], result.err)
    suite.check("figures are those of the results", (rows["adjacency.ascending_ppm"]["a"],
                rows["adjacency.ascending_ppm"]["b"]) == (str(old["adjacency"]["ascending_ppm"]),
                                                          str(new["adjacency"]["ascending_ppm"])), str(rows)[:500])
    suite.check("settings that differ are listed", found["settings"] ==
                [{"option": "engine.release_order", "a": '"reverse"', "b": '"forward"'}], str(found["settings"]))
    suite.check("the first differing event is the recordings'", found["first_difference"]["event"] == event,
                str(found["first_difference"]))
    suite.check("with --exit-code they differ", compare(suite, "a", "b", "--exit-code")[1].status == 3)
    same, result = compare(suite, "a", "a", "--exit-code")
    suite.check("a run is the same as itself", result.status == 0 and same["same"] and
                same["first_difference"] is None, result.out[:300])
    text = suite.run("compare", "a", "b")
    suite.check("in words", f"First differing event: {event}" in text.out and
                "adjacency.ascending_ppm" in text.out and "preemptions" not in text.out, text.out)
    suite.check("as Markdown", "| adjacency.ascending_ppm |" in suite.run("compare", "a", "b", "--format", "md").out)
    suite.check("twice the same bytes", text.out == suite.run("compare", "a", "b").out)


def kinds(suite, event):
    found, result = compare(suite, "a.jsonl", "b.jsonl")
    suite.check("recordings are compared event by event", result.status == 0 and
                found["first_difference"]["event"] == event and not found["same"], result.out + result.err)
    found, result = compare(suite, "a.jsonl", "a.jsonl", "--exit-code")
    suite.check("one recording is the same as itself", result.status == 0 and found["same"], result.out + result.err)
    found, result = compare(suite, "a.json", "b.json")
    suite.check("results alone are compared, and why there is no event is said", result.status == 0 and
                found["first_difference"] is None and "without its configuration" in found["notes"][0], result.out)
    found, result = compare(suite, "a.base.json", "b.base.json", "--trace", SLICE)
    suite.check("baselines with a trace are run again", found["first_difference"]["event"] == event, result.out)
    found, result = compare(suite, "a.base.json", "b")
    suite.check("a baseline and a directory", found["first_difference"]["event"] == event, result.out)
    found, result = compare(suite, "a.base.json", "b.base.json")
    suite.check("without a trace it says so", "--trace" in found["notes"][0], result.out)
    other = ROOT / "traces/azure/slices/code_400.csv"
    found, result = compare(suite, "a", "b", "--trace", other)
    suite.check("another trace is not used", "is another trace" in found["notes"][0], result.out)


def mistakes(suite):
    suite.write("no.json", '{"digest_": 1}')
    (suite.scratch / "empty").mkdir()
    cut = (suite.scratch / "a.jsonl").read_text()
    suite.write("cut.jsonl", cut[:len(cut) // 2])
    for arguments, status, word in ((["a", "none"], 1, "none: found"), (["a", "no.json"], 1, "no result with a digest"),
                                    (["a", "empty"], 1, "without summary.json"), (["a"], 2, "found no B"),
                                    (["a", "a.jsonl"], 2, "a recorded journal and a result"),
                                    (["a.jsonl", "cut.jsonl"], 1, "cut.jsonl:"),
                                    (["a", "b", "--trace", "none.csv"], 1, "none.csv"),
                                    (["a", "b", "--exitcode"], 2, "did you mean --exit-code?")):
        result = suite.run("compare", *arguments)
        suite.check(f"{arguments} ends in {status}", result.status == status and word in result.err and not result.out,
                    f"{result.status} {result.err} {result.out[:200]}")


def main():
    suite = Suite()
    event = make(suite)
    directories(suite, event)
    kinds(suite, event)
    mistakes(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
