#!/usr/bin/env python3
"""Counts what the test stages of ./dev really ran.

  results.py stage FOLDER LABEL TESTLOG OUTPUT            a `meson test` log (one JSON object a line)
  results.py script FOLDER LABEL OUTPUT STATUS SECONDS    a program's output and exit status
  results.py total FOLDER                                 the closing line; exit status 1 on a failure

A doctest program counts as many tests as it has test cases, a script as many as its closing line
`N passed, N failed` says, anything else as one. A program that ends badly although its own count says
that nothing failed counts one failure more. A missing log is a failed build, one failure, unless Meson
says that the suites asked for hold no test: one skip.
"""

import json
import pathlib
import re
import sys
from collections import defaultdict

DOCTEST = re.compile(r"test cases: +\d+ \| +(\d+) passed \| +(\d+) failed(?: \| +(\d+) skipped)?")
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)
SKIP_REASON = re.compile(r"^skipped: (.*)$", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def count(output, outcome):
    """(passed, failed, skipped) of one program; outcome is "ok", "skip" or "bad"."""
    if outcome == "skip":
        return (0, 0, 1)
    text = COLOUR.sub("", output)
    found = DOCTEST.search(text)
    if not found:
        closing = list(CLOSING.finditer(text))
        found = closing[-1] if closing else None
    if not found:
        return (1, 0, 0) if outcome == "ok" else (0, 1, 0)
    # doctest calls filtered-out cases skipped; no filter is used here, so the number is real.
    passed, failed, skipped = (int(n or 0) for n in found.groups())
    if outcome == "bad" and failed == 0:
        failed = 1
    return (passed, failed, skipped)


def read_stage(log):
    """Yields (suite, title, counts, seconds, output, outcome) of each test in a meson log."""
    outcomes = {"OK": "ok", "EXPECTEDFAIL": "ok", "SKIP": "skip"}
    for line in log.read_text().splitlines():
        test = json.loads(line)
        # Meson names a test "project:suite / title", or only the title where there is no suite.
        where, _, title = test["name"].rpartition(" / ")
        suite = where.split(":")[-1] or "other"
        outcome = outcomes.get(test["result"], "bad")
        output = test.get("stdout", "")
        yield suite, title, count(output, outcome), test["duration"], output, outcome


def report(folder, label, suites, reasons):
    """Prints one line per suite and keeps the counts for the closing line."""
    with (folder / "counts.tsv").open("a") as counts:
        for suite, (passed, failed, skipped, seconds) in suites.items():
            tail = f", {skipped} skipped" if skipped else ""
            print(f"  {' '.join([label, suite]).strip()}: {passed} passed, {failed} failed{tail}, {seconds:.1f} s")
            counts.write(f"{label}\t{suite}\t{passed}\t{failed}\t{skipped}\t{seconds:.3f}\n")
    for reason in reasons:
        print(f"  skipped: {reason}")


def main():
    verb, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if verb == "total":
        rows = [line.split("\t") for line in (folder / "counts.tsv").read_text().splitlines()]
        passed, failed, skipped = (sum(int(row[i]) for row in rows) for i in (2, 3, 4))
        for row in rows:
            if int(row[3]):
                print("failed:", " ".join(row[:2]))
        print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
        return 1 if failed or not passed else 0

    label = sys.argv[3]
    suites, reasons = defaultdict(lambda: [0, 0, 0, 0.0]), []
    log = pathlib.Path(sys.argv[4])
    if verb == "script":
        outcome = {"0": "ok", "77": "skip"}.get(sys.argv[5], "bad")
        output = log.read_text()
        tests = [("", label, count(output, outcome), float(sys.argv[6]), output, outcome)]
    elif log.exists():
        tests = read_stage(log)
    elif "No suitable tests defined" in pathlib.Path(sys.argv[5]).read_text():
        tests = [("", "this stage", (0, 0, 1), 0.0, "skipped: its suites hold no test", "skip")]
    else:
        tests = [("build", label, (0, 1, 0), 0.0, "", "bad")]
    for suite, title, counts, seconds, output, outcome in tests:
        for i, n in enumerate(counts):
            suites[suite][i] += n
        suites[suite][3] += seconds
        if counts[2]:
            found = SKIP_REASON.findall(output)
            reasons += [f"{title}: {reason}" for reason in found or ["no reason given"]]
    report(folder, label, suites, reasons)
    return 0


if __name__ == "__main__":
    sys.exit(main())
