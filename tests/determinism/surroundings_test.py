#!/usr/bin/env python3
"""Do the surroundings show? A run prints the same bytes whatever the processor offers, the locale, the time
zone, the environment, the memory it is given and the folder it runs in.

  surroundings_test.py PROGRAM
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from across_builds import CASES, ROOT

CHOSEN = ("code trace, defaults", "four H100, roofline", "everything, code trace, overlap 2",
          "shared prefixes")

# Names before and since glibc 2.33. Without them libc takes other copies of memcpy, strlen and libm.
WITHOUT_VECTORS = "glibc.cpu.hwcaps=" + ",".join(
    f"-{name}{suffix}" for suffix in ("", "_Usable")
    for name in ("AVX", "AVX2", "AVX512F", "AVX512VL", "FMA", "FMA4", "ERMS", "SSE4_2", "BMI2"))
CHANGED = {
    "GLIBC_TUNABLES without AVX and FMA": {"GLIBC_TUNABLES": WITHOUT_VECTORS},
    "TZ=Asia/Kolkata": {"TZ": "Asia/Kolkata"},
    "every byte of fresh memory set": {"MALLOC_PERTURB_": "165"},
    "one malloc arena": {"MALLOC_ARENA_MAX": "1"},
    "a larger environment": {f"PINFOLD_{n}": "x" * 1000 for n in range(50)} | {"SEED": "5", "COLUMNS": "7"},
}
LOCALES = ("tr_TR.UTF-8", "de_DE.UTF-8", "ar_EG.UTF-8", "C.UTF-8", "POSIX")


def surroundings():
    """Yields (title, words before the program, environment, folder)."""
    for title, change in CHANGED.items():
        yield title, [], os.environ | change, ROOT
    yield "no environment", [], {}, ROOT
    known = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.lower()
    for name in LOCALES:
        if name.lower().replace("-", "") in known.replace("-", "").split():
            yield f"LC_ALL={name}", [], os.environ | {"LC_ALL": name, "LANG": name, "LANGUAGE": ""}, ROOT
    if shutil.which("setarch") and subprocess.run(["setarch", "-R", "true"], check=False,
                                                  capture_output=True).returncode == 0:
        yield "addresses not random", ["setarch", "-R"], dict(os.environ), ROOT
    yield "another folder", [], dict(os.environ), pathlib.Path(tempfile.gettempdir())


def run(words, program, arguments, environment, folder):
    # Paths stand in the output, so they are the same from every folder.
    arguments = [str(ROOT / word) if (ROOT / word).is_file() else word for word in arguments]
    done = subprocess.run([*words, program, "run", *arguments, "--format", "json"], env=environment, cwd=folder,
                          capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else done.stderr


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    passed = failed = 0
    expected = {case: run([], program, CASES[case], dict(os.environ), ROOT) for case in CHOSEN}
    for case, output in expected.items():
        if b'"digest_timed"' not in output:
            print(f"{case}: no result: {output.decode(errors='replace')[-1000:]}")
            failed += 1
    for title, words, environment, folder in surroundings():
        different = [case for case in CHOSEN
                     if run(words, program, CASES[case], environment, folder) != expected[case]]
        passed += not different
        failed += bool(different)
        print(f"{title}: {', '.join(different) + ': other bytes' if different else 'the same bytes'}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
