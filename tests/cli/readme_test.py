#!/usr/bin/env python3
"""Runs the examples of README.md: what the README shows is what the program prints.

  readme_test.py PROGRAM [README]

Runs each block fenced as `console` or `sh` that follows a line `<!-- run -->`. A line `$ COMMAND` is
run by the shell from the root of the repository, with `build/pinfold` standing for PROGRAM; the lines
below it are what it prints to standard output, where a line `...` stands for any lines and `…` inside
a line for any text. A block without expected lines only has to succeed.
"""

import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^<!-- run -->\n+```(?:console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(text):
    """Yields (command, expected lines) of all marked blocks."""
    for block in BLOCK.findall(text):
        command, expected = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, expected
                command, expected = line[2:], []
            else:
                expected.append(line)
        if command:
            yield command, expected


def pattern(expected):
    """The expected lines as one regular expression."""
    parts = []
    for line in expected:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(piece) for piece in line.split("…")) + r"\n")
    return re.compile("".join(parts))


def trouble_with(command, expected, program):
    """None if the example does what the README shows."""
    command = re.sub(r"(?<![\w/.])(?:\./)?build/pinfold\b", shlex.quote(str(program)), command)
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True,
                            check=False)
    if result.returncode != 0:
        return f"exit status {result.returncode}:\n{result.stderr}"
    if expected and not pattern(expected).fullmatch(result.stdout):
        return "expected:\n" + "\n".join(expected) + f"\nfound:\n{result.stdout}"
    return None


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    readme = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "README.md"
    if not program.exists():
        print(f"skipped: {program} is not built")
        return 77
    found = list(examples(readme.read_text(encoding="utf-8")))
    if not found:
        print(f"{readme.name} has no block marked with <!-- run -->")
        return 1
    failed = 0
    for command, expected in found:
        trouble = trouble_with(command, expected, program)
        if trouble:
            failed += 1
            print(f"$ {command}\n{trouble}")
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
