#!/usr/bin/env python3
"""Every case under configs/cases comes out as it says, and under its planted bugs as it says there.

  cases_test.py PROGRAM [PROGRAM_WITH_MUTANTS]

The figures were worked out by hand; `story` says how. Every case runs with shadow memory and all invariants, and
its recording is judged. docs/cases.md must name every file, and no other.
"""

import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

from program import ROOT, Suite

CHECKED = ["--audit", "every", "--shadow", "on", "-q", "--format", "json"]


def check_of(found):
    """The name of the check that a finding names first."""
    if found["verdict"] == "stall":
        return "I9"
    named = re.match(r"(I\d+|order)\b", found.get("verdict_detail") or "")
    if named:
        return named.group(1)
    return "shadow" if "findings in shadow memory" in (found.get("verdict_detail") or "") else "none"


def run(program, *args):
    done = subprocess.run([program, *map(str, args)], check=False, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def correct(suite, path):
    """Checks to make: (sentence, holds, detail)."""
    log = suite.scratch / f"{path.stem}.jsonl"
    status, _, err = run(suite.program, "run", path, *CHECKED, "--record", log)
    # Blocks shared by content are replayed, not judged: docs/recording.md.
    reuses = "prefix" in json.loads(path.read_text())["config"]
    judged, out, _ = run(suite.program, "replay", log, *([] if reuses else ["--verify"]))
    return [(f"{path.name}: as it says", status == 0, err),
            (f"{path.name}: its recording is judged clean", judged == 0, out)]


def mutated(program, path, mutant, expected):
    # The ledger would find some of these too, in its own words.
    status, out, err = run(program, "run", path, "--mutant", mutant, *CHECKED, "--ledger", "off")
    found = json.loads(out) if out.startswith("{") else {"verdict": err, "verdict_detail": err}
    said = {"check": check_of(found), "verdict": found["verdict"]}
    return [(f"{path.name} with {mutant}: {expected}", status == 3 and said == expected, f"{said} {err}")]


def named_in_docs(suite, files):
    text = (ROOT / "docs/cases.md").read_text()
    named = set(re.findall(r"`(b\d+\w*)`", text))
    suite.check("docs/cases.md names the files that there are", named == {path.stem for path in files},
                str(named ^ {path.stem for path in files}))


def main():
    suite = Suite()
    files = sorted((ROOT / "configs/cases").glob("b[0-9]*.json"))
    with_bugs = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    jobs, bugs = [], 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path in files:
            jobs.append(pool.submit(correct, suite, path))
            expected = json.loads(path.read_text())["expect"].get("mutants", {})
            bugs += len(expected)
            if with_bugs:
                jobs += [pool.submit(mutated, with_bugs, path, *item) for item in expected.items()]
        for job in jobs:
            for sentence, holds, detail in job.result():
                suite.check(sentence, holds, detail)
    named_in_docs(suite, files)

    # B103: 15 usable blocks of 4; 32 positions, the longest request, are 8 blocks: floor(15 / 8) = 1 at a time.
    # The same pool with 9 positions at most, 3 blocks: 5, and of 64 positions, 16 blocks: none.
    for longest, blocks, concurrency in ((32, 8, 1), (9, 3, 5), (64, 16, 0)):
        status, out, err = run(suite.program, "size", "--config", ROOT / "configs/cases/base.json", "--set",
                               "engine.num_blocks=16", "--set", f"engine.max_model_len={longest}", "--format", "json")
        said = json.loads(out)["longest_request"] if status == 0 else {}
        suite.check(f"B103: {concurrency} requests of {longest} positions",
                    (said.get("blocks_needed"), said.get("by_blocks")) == (blocks, concurrency), f"{said} {err}")
    status, _, err = run(suite.program, "run", ROOT / "configs/cases/b00_one_slot.json", "--set",
                         "engine.slot_factor=0.5")
    suite.check("fewer slots than places are refused", status != 0 and "from 1 to 16 slots a sequence" in err, err)
    # B113: three of three usable blocks are the waiting fork's own pins, and it wants one more.
    status, out, _ = run(suite.program, "run", ROOT / "configs/zoo/02_fork_holds_the_pool.demote_off.json", "-q")
    suite.check("B113: a stall says who lacks how much of what, and who holds it",
                status == 3 and "sequence 1 waits for blocks (1 blocks short), held by sequence 1" in out
                and "sequence 1, a waiting fork, pins 3 blocks" in out, out[-400:])
    skipped = "" if with_bugs else f", {bugs} runs with planted bugs skipped: no pinfold-mutants"
    print(f"{len(files)} cases, {bugs} planted bugs{skipped}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
