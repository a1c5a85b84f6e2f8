#!/usr/bin/env python3
"""Checks that wrong code does not compile, and does not compile for the right reason.

  must_not_compile.py SOURCE COMPILER [FLAGS...]

A source holds a control and numbered cases:

  // Case 1: a block id does not become a state slot by accident.
  // Expect 1: cannot convert|no viable conversion
  ...
  #if CASE == 1
  ...
  #endif

The control (CASE == 0) must compile: otherwise every case would "fail" because of a missing include.
Each case must fail, and the compiler's message must match the regular expression, which names the
wording of both compilers.
"""

import re
import subprocess
import sys


def compile_case(command, source, case):
    """(compiled, messages) of the source with CASE defined."""
    result = subprocess.run(
        command + ["-fsyntax-only", f"-DCASE={case}", source],
        capture_output=True, text=True, check=False,
    )
    return result.returncode == 0, result.stderr + result.stdout


def judge(case, expected, compiled, messages):
    """None if the case behaves, else what is wrong."""
    if case == 0:
        return None if compiled else f"the control does not compile:\n{messages}"
    if compiled:
        return "compiles, but must not"
    if not re.search(expected, messages):
        return f"fails, but not with /{expected}/:\n{messages}"
    return None


def main():
    source, command = sys.argv[1], sys.argv[2:]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    titles = dict(re.findall(r"^// Case (\d+): (.*)$", text, re.MULTILINE))
    expected = dict(re.findall(r"^// Expect (\d+): (.*)$", text, re.MULTILINE))
    used = set(re.findall(r"^#(?:el)?if CASE == (\d+)$", text, re.MULTILINE))
    if not titles or not set(titles) == set(expected) == used:
        print(f"{source}: cases {sorted(titles)}, expectations {sorted(expected)} and #if blocks "
              f"{sorted(used)} do not name the same numbers")
        return 1
    failed = 0
    for number in ["0"] + sorted(titles, key=int):
        compiled, messages = compile_case(command, source, number)
        trouble = judge(int(number), expected.get(number), compiled, messages)
        if trouble:
            failed += 1
            print(f"{source}: case {number} ({titles.get(number, 'the control')}): {trouble}")
    print(f"{len(titles) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
