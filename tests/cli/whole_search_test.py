"""The search without reductions says what the reduced one says: the verdict, and all the ways in which requests
end. Every exhibit of the zoo; configs/zoo/42_everything.json with the invariants too.

  whole_search_test.py PROGRAM
"""

import json
import sys
import time

from program import ROOT, Suite

ZOO = ROOT / "configs" / "zoo"


def explored(suite, path, *options):
    done = suite.run("explore", path, *options, "--format", "json")
    return json.loads(done.out) if done.out.startswith("{") else {"verdict": done.err}


def main():
    suite = Suite()
    for path in sorted(ZOO.glob("*.json")):
        reduced = explored(suite, path)
        start = time.monotonic()
        whole = explored(suite, path, "--no-reduction")
        took = time.monotonic() - start
        suite.check(f"{path.name}: the verdict is the same", whole["verdict"] == reduced["verdict"],
                    (whole["verdict"], reduced["verdict"]))
        if reduced["verdict"] == "proved":
            suite.check(f"{path.name}: requests end in the same ways", whole["outcomes"] == reduced["outcomes"])
        else:
            suite.check(f"{path.name}: the same check finds it", whole["check"] == reduced["check"],
                        (whole["check"], reduced["check"]))
        if path.stem == "42_everything":
            print(f"{path.stem}: {reduced['states']:,} states, {whole['states']:,} without reductions in {took:.1f} s,"
                  f" {len(whole['outcomes'])} outcomes")
            watched = explored(suite, path, "--invariants")
            suite.check("with the invariants too", (watched["verdict"], watched["states"]) ==
                        ("proved", reduced["states"]), watched["verdict"])
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
