"""The table of docs/explore.md: every planted bug that an exploration can reach is found in the exhibit, by the
check and after the events and states that it says, and every bug is in the table or named as out of reach.

  explored_mutants_test.py PROGRAM PROGRAM_WITH_MUTANTS

A row is `| bug | exhibit | judged by | check | events | states | ...`.
"""

import json
import re
import sys

from program import ROOT, Suite

PAGE = ROOT / "docs" / "explore.md"
ZOO = ROOT / "configs" / "zoo"
ROW = re.compile(r"^\| `(\w+)` \| `([\w.]+)` \| (own checks|invariants) \| (\w+) \| (\d+) \| (\d+) \|", re.MULTILINE)
OUT_OF_REACH = re.compile(r"^- Out of reach: (.*?):", re.MULTILINE | re.DOTALL)


def main():
    suite = Suite()
    suite.program = suite.program.with_name("pinfold-mutants")
    page = PAGE.read_text()
    rows = ROW.findall(page)
    found = {row[0] for row in rows}
    beyond = {name for line in OUT_OF_REACH.findall(page) for name in re.findall(r"`(\w+)`", line)}
    header = (ROOT / "src/base/mutant.h").read_text()
    planted = set(re.findall(r'X\(k\w+, "(\w+)"', header))
    suite.check("every planted bug is in the table or named as out of reach", found | beyond == planted,
                f"missing {planted - found - beyond}, unknown {(found | beyond) - planted}")
    suite.check("nothing is both found and out of reach", not found & beyond, found & beyond)
    for mutant, exhibit, judge, check, events, states in rows:
        options = ["--invariants"] if judge == "invariants" else []
        done = suite.run("explore", ZOO / f"{exhibit}.json", "--mutant", mutant, "--format", "json", *options)
        result = json.loads(done.out) if done.out.startswith("{") else {}
        seen = (result.get("check"), result.get("counterexample_events"), result.get("states"))
        suite.check(f"{mutant} is found in {exhibit} as the table says",
                    done.status == 3 and seen == (check, int(events), int(states)), f"{seen}\n{done.err}")
        if options:
            alone = suite.run("explore", ZOO / f"{exhibit}.json", "--mutant", mutant)
            suite.check(f"{mutant} needs the invariants in {exhibit}", alone.status == 0, alone.err)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
