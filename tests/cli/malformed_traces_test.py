#!/usr/bin/env python3
"""Every broken trace of tests/fuzz/corpus/traces is refused where it is broken, in these words.

  malformed_traces_test.py PROGRAM

malformed_traces.txt holds a line for each file: its name, how many rows `--on-error skip` passes over (- where
the file as a whole cannot be read), and the message behind the file's name. Each line was written from the
file: column and line were counted in it.
"""

import json
import shutil
import sys

from program import ROOT, Suite

CORPUS = ROOT / "tests/fuzz/corpus/traces"
TABLE = ROOT / "tests/cli/malformed_traces.txt"


def main():
    suite = Suite()
    table = [line.split("\t") for line in TABLE.read_text().splitlines()]
    names = [row[0] for row in table]
    suite.check("the table names every file once",
                sorted(names) == sorted(path.name for path in CORPUS.iterdir()), str(names))
    suite.check("there are at least sixty", len(names) >= 60, str(len(names)))
    for name, skipped, message in table:
        shutil.copyfile(CORPUS / name, suite.scratch / name)
        before = suite.files()
        for command in (["trace", "info"], ["run"], ["trace", "convert"]):
            done = suite.run(*command, name)
            suite.check(f"{command} {name}: exit status 1", done.status == 1, f"{done.status} {done.err}")
            suite.check(f"{command} {name}: {message}", done.err == f"pinfold: error: {name}{message}\n",
                        done.err)
            if command != ["trace", "convert"]:
                suite.check(f"{command} {name}: nothing on stdout", done.out == "", done.out)
        suite.check(f"{name}: nothing written", suite.files() == before)
        done = suite.run("trace", "info", name, "--on-error", "skip", "--format", "json")
        if skipped == "-":
            suite.check(f"{name}: cannot be skipped over", done.status == 1, done.err)
        else:
            found = json.loads(done.out) if done.status == 0 else {}
            suite.check(f"{name}: {skipped} rows skipped", done.status == 0 and
                        found["irregularities"]["skipped"] == int(skipped), done.out + done.err)
            suite.check(f"{name}: the place of what was skipped is said", f"  {name}{message}\n" in done.err,
                        done.err)
        (suite.scratch / name).unlink()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
