#!/usr/bin/env python3
"""Every planted bug is found by an outside check, and every check is needed for one.

usage: mutants_test.py PROGRAM PROGRAM_WITH_MUTANTS
"""

import json
import re
import sys

from program import HEADER, ROOT, Suite

suite = Suite()
sys.argv.pop(1)
mutants = Suite()

# `pinfold mutants` starts the other program.
result = suite.run("mutants", "--format", "json")
suite.check("the suite ends with exit code 0", result.status == 0, result.err)
report = json.loads(result.out)
rows = report["mutants"]

suite.check("there are at least 30 mutants", len(rows) >= 30, len(rows))
suite.check("names are unique", len({row["mutant"] for row in rows}) == len(rows))
suite.check("the one the chapter warns of is there",
            any(row["mutant"] == "early_release" for row in rows))
for row in rows:
    suite.check(f"{row['mutant']} is caught by an outside check", row["caught"], row)
    suite.check(f"{row['mutant']} breaks nothing but rules", row["broke"] == "", row["broke"])
    suite.check(f"{row['mutant']} names check and event", row["check"] and row["event"] > 0, row)

suite.check("the sound engine is clean", not report["sound"]["checks"] and
            report["sound"]["broke"] == "", report["sound"])

# Each of I1..I21, the order of ids and the shadow.
expected = {f"I{n}" for n in range(1, 22)} | {"order", "shadow"}
suite.check("every check is listed", set(report["finds_alone"]) == expected, report["finds_alone"])
for check, names in report["finds_alone"].items():
    suite.check(f"{check} is the only one to find some mutant", names)

again = suite.run("mutants", "--format", "json")
suite.check("the table is the same the second time", again.out == result.out)

# One bug alone, and the other commands with a bug switched on.
one = mutants.run("mutants", "--mutant", "early_release")
suite.check("one mutant can be run alone", one.status == 0 and "early_release" in one.out, one.err)
unknown = mutants.run("mutants", "--mutant", "nonsense")
suite.check("an unknown mutant is a usage error", unknown.status == 2, unknown.err)

trace = HEADER + "".join(f"2023-11-16 18:15:{46 + n // 4:02d}.{n % 4}000000,{40 + n},{30 + n}\n"
                         for n in range(40))
(mutants.scratch / "trace.csv").write_text(trace)
tight = ["--set", "engine.num_blocks=16", "--audit", "every"]
sound = mutants.run("run", "trace.csv", *tight)
suite.check("a run of the sound engine is clean under every audit", sound.status == 0, sound.err)
for name, check in [("unfenced_preemption", "I7"), ("late_token_twice", "I17"),
                    ("block_zero_issued", "I4"), ("need_one_too_many", "I6")]:
    broken = mutants.run("run", "trace.csv", *tight, "--mutant", name)
    suite.check(f"a run with {name} ends in a violation of {check}",
                broken.status == 3 and f"{check}:" in broken.err, broken.err)

# In a large pool an audit looks at what is in use or changed, and at all of it now and then.
large = ["--set", "engine.num_blocks=5000", "--set", "workload.drafts=3", "--audit", "20",
         "--set", "workload.samples=2",
         "--set", "model.state_slots=true"]
sound = mutants.run("run", "trace.csv", *large)
suite.check("a run in a large pool is clean", sound.status == 0, sound.err)
for name, check in [("free_id_lost", "I1"), ("draft_pinned_twice", "I2"),
                    ("parked_without_event", "I21")]:
    broken = mutants.run("run", "trace.csv", *large, "--mutant", name)
    suite.check(f"a run in a large pool with {name} ends in a violation of {check}",
                broken.status == 3 and f"{check}:" in broken.err, broken.err)

# `check`: a baseline of the sound program catches the one with a bug, by its figures or by the ledger, and says
# where they part. Old values are the baseline's own.
run_of = [ROOT / "traces/azure/slices/conv_600.csv", "--config", ROOT / "configs/runs/everything.json",
          "--set", "engine.num_blocks=900", "--set", "workload.time_scale=0.3", "--baseline", "base.json"]
accepted = mutants.run("check", *run_of, "--accept", "--events")
suite.check("the sound engine is a baseline", accepted.status == 0, accepted.err)
suite.check("and compares with itself", mutants.run("check", *run_of).status == 0)
old = json.loads((mutants.scratch / "base.json").read_text())["figures"]
for name, figure in [("forward_release", "adjacency.descending_ppm"), ("unfenced_finish", "preemptions"),
                     ("free_id_lost", "wait_ns_total"), ("listed_twice", "verdict"), ("chunk_admitted", "verdict")]:
    caught = mutants.run("check", *run_of, "--mutant", name)
    row = re.search(rf"^  {re.escape(figure)} +(\S+) +(\S+) .*exact +WORSE$", caught.out, re.MULTILINE)
    suite.check(f"check finds {name} by {figure}: exit 3, old, new, tolerance", caught.status == 3 and row and
                row.group(1) == str(old[figure]) != row.group(2), caught.out + caught.err)
    event = re.search(r"^First differing event: (\d+)\n(.*\n)*?  \1 baseline: .*\n  \1 now: ", caught.out, re.MULTILINE)
    suite.check(f"check says at which event {name} parts", event, caught.out[-2000:])

suite.passed += mutants.passed
sys.exit(suite.finish())
