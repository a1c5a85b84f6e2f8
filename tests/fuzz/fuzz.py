#!/usr/bin/env python3
"""Fuzzes each reader for a while, beginning with the corpus.

  fuzz.py FOLDER [--seconds N] [--only TARGET] [--keep FOLDER]

FOLDER is a build folder with -Dfuzz=enabled. N counts the processor's seconds, since the clock's say little on a busy
machine. Prints for each target the edges reached, the corpus before and after, inputs tried and both kinds of seconds;
what it finds stays in FOLDER/found. `--keep` leaves the grown corpora, reduced to inputs that reach something new, in a
folder. The repository's corpus is never written.
"""

import argparse
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"
# Target: folders of its corpus, and folders that it may learn from besides.
TARGETS = {
    "event": (["events"], ["configs/labs"]),
    "journal": (["journals"], []),
    "config": (["configs"], ["configs/models", "configs/engines", "configs/runs"]),
    "scenario": (["scenarios"], ["configs/zoo"]),
    "trace": (["traces", "traces_read", "traces_found"], []),
}
STATUS = re.compile(r"^#(\d+)\s+\w+\s+cov: (\d+) ft: \d+ corp: (\d+)/(\S+)", re.MULTILINE)
OPTIONS = ["-mutate_depth=2"]  # changes one after the other, from one input
LENGTH_MAX = 4096  # bytes of one input: what readers get wrong fits into that


def processor_seconds():
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def end_after(running, seconds):
    """Lets a started fuzzer run until it has used so many seconds of the processor, or has ended by itself."""
    stat = pathlib.Path(f"/proc/{running.pid}/stat")
    ticks = os.sysconf("SC_CLK_TCK")
    while running.poll() is None:
        # Fields 14 and 15, the user's and the system's ticks; the name before them is in parentheses.
        fields = stat.read_text().rpartition(")")[2].split()
        if int(fields[11]) + int(fields[12]) >= seconds * ticks:
            running.send_signal(signal.SIGUSR1)  # libFuzzer ends after the current input
            return
        time.sleep(0.5)


def fuzz(build, target, seconds, keep):
    """True if nothing was found."""
    folders, lessons = TARGETS[target]
    program = build / "tests/fuzz" / f"{target}_fuzz"
    found = build / "found" / target
    found.mkdir(parents=True, exist_ok=True)
    seeds = [CORPUS / folder for folder in folders]
    before = sum(len(list(folder.iterdir())) for folder in seeds)
    with tempfile.TemporaryDirectory(prefix="pinfold-fuzz-") as scratch:
        command = [program, scratch, *seeds, *(ROOT / lesson for lesson in lessons),
                   f"-max_len={LENGTH_MAX}", "-timeout=20", "-rss_limit_mb=3000",
                   f"-artifact_prefix={found}/", "-print_final_stats=1", "-seed=1", *OPTIONS]
        start, used = time.monotonic(), processor_seconds()
        log = pathlib.Path(scratch + ".log")
        with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output, env=os.environ | {
                "ASAN_OPTIONS": "quarantine_size_mb=8"}) as running:
            end_after(running, seconds)
        printed = log.read_text(errors="replace")
        log.unlink()
        took, used = time.monotonic() - start, processor_seconds() - used
        if keep:
            kept = keep / target
            kept.mkdir(parents=True, exist_ok=True)
            subprocess.run([program, "-merge=1", f"-max_len={LENGTH_MAX}", kept, *seeds, scratch],
                           capture_output=True, check=False)
    status = STATUS.findall(printed)
    tried, edges, corpus, size = status[-1] if status else ("0", "0", "0", "0b")
    print(f"{target:10} {edges:>6} edges, corpus {before} -> {corpus} ({size}), {tried} inputs in {took:.0f} s "
          f"({used:.0f} s of the processor)", flush=True)
    if running.returncode == 0:
        return True
    print(printed[-4000:])
    print(f"{target}: found something; the inputs are in {found}", flush=True)
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.build / "found", ignore_errors=True)
    targets = [arguments.only] if arguments.only else list(TARGETS)
    held = [fuzz(arguments.build.resolve(), target, arguments.seconds, arguments.keep) for target in targets]
    print(f"{sum(held)} passed, {len(held) - sum(held)} failed")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
