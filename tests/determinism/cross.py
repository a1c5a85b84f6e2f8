#!/usr/bin/env python3
"""Does another processor compute the same bytes?

  cross.py DIGESTS FOLDER [--target TRIPLE] [--jobs N]

Builds tests/determinism/digests.cc and what it needs of src/ and sim/ for the target with Debian's cross
compiler, one static program, runs it under qemu's user mode and compares what it prints with DIGESTS, the
native program. Nothing but that compiler and qemu is needed: libraries that exist for the machine here alone
are left out (simdjson, zlib, zstd, and the readers of JSON Lines with them), headers are the same everywhere.
Objects stay in FOLDER, and are made again when the source or a header changed. A cross compiler or qemu that
is not installed is a skip.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROCESSORS = {"aarch64-linux-gnu": "qemu-aarch64-static", "riscv64-linux-gnu": "qemu-riscv64-static"}
# Folders of which the linker takes what the program needs; files that include a library which is missing
# are never needed.
FOLDERS = ["src", "sim/trace", "sim/config", "sim/device", "sim/metrics", "sim/check", "sim/record", "sim/core"]
MISSING = ("simdjson.h", "zlib.h", "zstd.h")
STANDS_IN = "tests/determinism/plain_bytes.cc"
HEADERS = ["fmt", "nlohmann", "xxhash.h", "xxh3.h"]  # of /usr/include, which itself belongs to another machine
FLAGS = ["-std=c++20", "-O2", "-ffp-contract=off", "-DFMT_HEADER_ONLY", "-Wno-overlength-strings"]


def sources():
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.cc"))]
    return [path for path in found if not any(f"<{name}>" in path.read_text() for name in MISSING)]


def newest(paths):
    return max(path.stat().st_mtime for path in paths)


def compile_all(compiler, folder, paths, jobs):
    """The objects of the sources; raises RuntimeError with the compiler's words."""
    include = folder / "include"
    include.mkdir(parents=True, exist_ok=True)
    for name in HEADERS:
        link = include / name
        if (pathlib.Path("/usr/include") / name).exists() and not link.exists():
            link.symlink_to(pathlib.Path("/usr/include") / name)
    headers = newest(path for top in ("src", "sim") for path in (ROOT / top).rglob("*.h"))
    command = [compiler, *FLAGS, "-I", ROOT, "-I", ROOT / "src", "-isystem", include, "-c"]
    if shutil.which("ccache"):
        command.insert(0, "ccache")

    def compile_one(path):
        inside = path.relative_to(ROOT) if path.is_relative_to(ROOT) else pathlib.Path(path.name)
        target = folder / (str(inside).replace("/", "_") + ".o")
        if target.exists() and target.stat().st_mtime > max(headers, path.stat().st_mtime):
            return target
        done = subprocess.run([*command, path, "-o", target], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{inside}: {done.stderr[-3000:]}")
        return target

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(compile_one, paths))


def build(target, folder, jobs):
    folder.mkdir(parents=True, exist_ok=True)
    devices = folder / "built_in_devices.cc"
    subprocess.run([sys.executable, ROOT / "configs/devices/embed.py", devices,
                    *sorted((ROOT / "configs/devices").glob("*.json"))], check=True)
    compiler = f"{target}-g++"
    parts = [*sources(), ROOT / STANDS_IN, devices]
    main, *objects = compile_all(compiler, folder, [ROOT / "tests/determinism/digests.cc", *parts], jobs)
    library, program = folder / "parts.a", folder / "pinfold-digests"
    library.unlink(missing_ok=True)
    subprocess.run([f"{target}-ar", "rcs", library, *objects], check=True)
    done = subprocess.run([compiler, "-static", main, library, "-o", program], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("native", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--target", choices=PROCESSORS, default="aarch64-linux-gnu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    emulator = PROCESSORS[arguments.target]
    absent = [name for name in (f"{arguments.target}-g++", emulator) if not shutil.which(name)]
    if absent:
        print(f"skipped: {' and '.join(absent)} not installed: no digests of {arguments.target}")
        return 77
    try:
        program = build(arguments.target, arguments.folder.resolve(), arguments.jobs)
    except RuntimeError as error:
        print(f"{arguments.target}: not built: {error}\n0 passed, 1 failed")
        return 1
    here = subprocess.run([arguments.native.resolve(), ROOT], capture_output=True, text=True, check=False)
    there = subprocess.run([emulator, program, ROOT], capture_output=True, text=True, check=False)
    print(here.stderr + there.stderr, end="")
    native, other = here.stdout.splitlines(), there.stdout.splitlines()
    passed = 0
    for n, line in enumerate(native):
        same = n < len(other) and other[n] == line
        passed += same
        print(line if same else f"here {line}; {arguments.target} {other[n] if n < len(other) else 'nothing'}")
    failed = len(native) - passed + (here.returncode != 0) + (there.returncode != 0) + (not native)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
