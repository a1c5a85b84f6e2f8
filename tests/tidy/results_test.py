#!/usr/bin/env python3
"""Feeds .ci/results.py small logs and sees it count them: the closing line must be the truth."""

import json
import pathlib
import subprocess
import sys
import tempfile

RESULTS = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "results.py"

DOCTEST = "[doctest] test cases:  5 |  4 passed |  1 failed | 2 skipped\n[doctest] assertions: 9 |\n"
COLOURED = "[doctest] test cases: \x1b[0m 3 | \x1b[32m3 passed\x1b[0m | 0 failed | 0 skipped\n"


def test(result, stdout="", suite="unit"):
    """One line of a meson log."""
    return json.dumps({"name": f"pinfold:{suite} / a test", "result": result, "stdout": stdout,
                       "duration": 0.5})


# (title, arguments after the label with {log} for the file, the file's text, closing line)
CASES = [
    ("a doctest program counts its test cases", "stage", [test("FAIL", DOCTEST)],
     "4 passed, 1 failed, 2 skipped"),
    ("colours do not matter", "stage", [test("OK", COLOURED)], "3 passed, 0 failed"),
    ("a script counts its closing line", "stage", [test("OK", "7 passed, 9 failed\n8 passed, 0 failed\n")],
     "8 passed, 0 failed"),
    ("anything else counts one", "stage", [test("OK"), test("OK", "fine")], "2 passed, 0 failed"),
    ("a crash after a good count is a failure", "stage", [test("FAIL", "8 passed, 0 failed\n")],
     "8 passed, 1 failed"),
    ("a time-out is a failure", "stage", [test("TIMEOUT")], "0 passed, 1 failed"),
    ("a skip is counted", "stage", [test("OK"), test("SKIP", "skipped: no device\n")],
     "1 passed, 0 failed, 1 skipped"),
    ("a failed build is a failure", "stage", None, "0 passed, 1 failed"),
    ("a script that fails without a count", "script 1", ["boom"], "0 passed, 1 failed"),
    ("a script that fails despite its count", "script 2", ["3 passed, 0 failed"],
     "3 passed, 1 failed"),
    ("a script that skips", "script 77", ["skipped: no device"], "0 passed, 0 failed, 1 skipped"),
    ("a script that passes", "script 0", ["3 passed, 0 failed"], "3 passed, 0 failed"),
]


def closing_line(verb, lines):
    """(last line, exit status, all output) of counting one log and asking for the total."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        log = folder / "log"
        if lines is not None:
            log.write_text("\n".join(lines) + "\n")
        (folder / "output").write_text("")
        verb, *status = verb.split()
        tail = [*status, "1"] if verb == "script" else [str(folder / "output")]
        outputs = []
        for arguments in ([verb, name, "label", str(log), *tail], ["total", name]):
            result = subprocess.run([sys.executable, str(RESULTS), *arguments],
                                    capture_output=True, text=True, check=False)
            outputs.append(result.stdout + result.stderr)
        return outputs[1].splitlines()[-1], result.returncode, "".join(outputs)


def main():
    failed = 0
    for title, verb, lines, expected in CASES:
        last, status, output = closing_line(verb, lines)
        # A run that executed nothing is not a success either.
        good = " 0 failed" in expected and not expected.startswith("0 passed")
        reason_said = "no device" not in str(lines) or "skipped: " in output
        if last != expected or status != (0 if good else 1) or not reason_said:
            failed += 1
            print(f"{title}: expected '{expected}', found '{last}', exit status {status}\n{output}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
