"""Every exhibit of configs/zoo: what it expects of an exploration and of a run holds, and a
counter-example reproduces. Under a mutant only where pinfold-mutants is there.

  zoo_test.py PINFOLD

pinfold-mutants is looked for beside it.
"""

import json
import sys

from program import ROOT, Suite

ZOO = ROOT / "configs" / "zoo"
CASES_LEAST = 25
WATCHED_STATES_MOST = 5000  # the invariants take several times as long; 42_everything is for the suite `long`


def found(suite, *args):
    done = suite.run(*args, "--format", "json")
    return done, json.loads(done.out) if done.out.startswith("{") else {}


def expectation(result):
    """What an exploration shows, as `expect.explore` says it."""
    shown = {"verdict": result.get("verdict")}
    if result.get("counterexample_events") is not None:
        shown["check"] = result["check"]
        shown["counterexample_events"] = result["counterexample_events"]
    return shown


def check_exhibit(suite, path):
    scenario = json.loads(path.read_text())
    expected = scenario["expect"]
    done, result = found(suite, "explore", path)
    suite.check(f"{path.name}: the exploration finds what the exhibit says",
                expectation(result) == expected["explore"], f"{expectation(result)}\n{done.err}")
    status = 0 if expected["explore"]["verdict"] == "proved" else 3
    suite.check(f"{path.name}: explore ends with {status}", done.status == status, done.err)
    held = suite.run("explore", path, "--expect")
    suite.check(f"{path.name}: --expect ends with 0", held.status == 0, held.err)
    if status == 0 and result["states"] <= WATCHED_STATES_MOST:
        watched, judged = found(suite, "explore", path, "--invariants")
        suite.check(f"{path.name}: the invariants and shadow memory agree",
                    (watched.status, judged.get("states")) == (0, result.get("states")), watched.err)
    if status == 3:
        name = path.stem + ".jsonl"
        suite.run("explore", path, "-o", name)
        replayed, again = found(suite, "replay", name)
        same = again.get("text") == result["text"] or again.get("verdict") == result["verdict"]
        suite.check(f"{path.name}: the counter-example reproduces",
                    replayed.status == 3 and same, replayed.err)
    if set(expected) - {"explore", "mutants"}:
        run = suite.run("run", path)
        suite.check(f"{path.name}: the run's figures hold", run.status == 0, run.err)
    return expected.get("mutants", {})


def check_mutants(suite, program, exhibits):
    suite.program = program
    for path, mutants in exhibits:
        for name, expected in mutants.items():
            done, result = found(suite, "explore", path, "--mutant", name)
            suite.check(f"{path.name}: {name} is found as the exhibit says",
                        expectation(result) == expected["explore"],
                        f"{expectation(result)}\n{done.err}")


def main():
    suite = Suite()
    paths = sorted(ZOO.glob("*.json"))
    suite.check(f"the zoo has at least {CASES_LEAST} exhibits",
                len({path.name[:2] for path in paths}) >= CASES_LEAST)
    exhibits = [(path, check_exhibit(suite, path)) for path in paths]
    program = suite.program.with_name("pinfold-mutants")
    mutants = sum(len(names) for _, names in exhibits)
    if program.exists():
        check_mutants(suite, program, exhibits)
    else:
        print(f"skipped: {mutants} mutants of exhibits, there is no pinfold-mutants here")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
