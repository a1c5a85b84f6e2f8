#!/usr/bin/env python3
"""Runs clang-tidy over src/ and sim/ with the compile commands of a clang build.

  clang_tidy.py BUILD_FOLDER
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main():
    if not shutil.which("clang-tidy"):
        print("skipped: clang-tidy is not installed")
        return 77
    build = ROOT / sys.argv[1]
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        entries = json.load(file)
    files = {(build / entry["file"]).resolve() for entry in entries}
    ours = sorted(f for f in files if f.relative_to(ROOT).parts[0] in ("src", "sim"))

    def check(path):
        command = ["clang-tidy", "--quiet", "-p", str(build), str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, result in zip(ours, pool.map(check, ours)):
            if result.returncode:
                failed += 1
                print(f"{path.relative_to(ROOT)}:\n{result.stdout}")
    print(f"{len(ours) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
