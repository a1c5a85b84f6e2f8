#!/usr/bin/env python3
"""Does each fuzzer find a bug that was planted in its reader within a minute of the processor?

  planted.py FOLDER [--seconds N] [--only TARGET] [--seed N]

FOLDER is a build folder with -Dfuzz=enabled, built. For each bug of PLANTED below one source is compiled again with
one check gone and linked in front of the library; the tree is not touched. The corpus must not know the bug: the
fuzzer runs over it first. Prints the processor's seconds and the inputs until it was found: the clock's say little on a busy machine.
The second bug of a target was chosen before the mutator learned names.
"""

import argparse
import json
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile

from fuzz import CORPUS, LENGTH_MAX, OPTIONS, ROOT, TARGETS, processor_seconds

THROW = 'throw std::logic_error("planted");'
# Target: bugs, each a source, what is replaced there, by what. Where nothing else would notice that a check is
# missing, going on without it throws.
PLANTED = {
    "event": [("sim/record/event_file.cc", 'fields.count(object, "block_size", 1, kBlockSizeMost)',
               'fields.count(object, "block_size", 0, kBlockSizeMost)')],  # divides by it
    "journal": [("sim/record/journal_file.cc",
                 'return fail(ids->position.column, "ids", fmt::format("{} ids", event.ids.size()),', THROW + " //")],
    "config": [("sim/config/parse.cc", 'return relation("engine.max_num_batched_tokens", "engine.max_num_seqs",',
                THROW + " //"),
               ("sim/config/parse.cc", 'return relation("store.interval", "engine.block_size",', THROW + " //")],
    "scenario": [("sim/explore/scenario_file.cc", "if (request.samples > 1) {",
                  "if (request.samples > 1) { " + THROW),
                 ("sim/explore/scenario_file.cc", 'refuse(fmt::format("from 1 to {} ids:', THROW + " //")],
    "trace": [("sim/trace/table_schema.cc", "if (request.prompt >= extras.prefix) return std::nullopt;",
               "if (request.prompt >= extras.prefix) return std::nullopt; " + THROW),
              ("sim/trace/mooncake.cc", "if (!extras.has_delay) {", "if (!extras.has_delay) { " + THROW)],
}
TRIED = re.compile(r"^(?:#|stat::number_of_executed_units: +)(\d+)", re.MULTILINE)


def command_of(build, source):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if (build / entry["file"]).resolve() == ROOT / source and "mutants" not in entry["command"]:
            return entry["command"]
    raise LookupError(source)


def plant(build, target, bug, scratch):
    """The fuzzer with its bug."""
    source, old, new = bug
    text = (ROOT / source).read_text()
    if text.count(old) != 1:
        raise LookupError(f"{source} does not hold `{old}` once")
    changed = scratch / pathlib.Path(source).name
    # A line that is thrown away may go on in the next ones, up to its semicolon.
    at = text.index(old)
    if new.endswith("//"):
        text = text[:at] + new[:-2] + text[text.index(";", at) + 1:]
    else:
        text = text.replace(old, new)
    changed.write_text("#include <stdexcept>\n" + text)
    words = shlex.split(command_of(build, source))
    planted = scratch / "planted.o"
    words[words.index("-o") + 1] = str(planted)
    words[words.index("-c") + 1] = str(changed)
    words = [word for n, word in enumerate(words) if word not in ("-MD", "-Werror") and not
             (word in ("-MQ", "-MF") or (n and words[n - 1] in ("-MQ", "-MF")))]
    subprocess.run(words, cwd=build, check=True)
    link = subprocess.run(["ninja", "-t", "commands", f"tests/fuzz/{target}_fuzz"], cwd=build, check=True,
                          capture_output=True, text=True).stdout.splitlines()[-1]
    words = shlex.split(link)
    at = words.index("-o")
    program = scratch / f"{target}_planted"
    subprocess.run([*words[:at], "-o", str(program), str(planted), *words[at + 2:]], cwd=build, check=True)
    return program


def attack(build, target, bug, seconds, seed):
    """True if the bug was found, and not by the corpus."""
    with tempfile.TemporaryDirectory(prefix="pinfold-planted-") as name:
        scratch = pathlib.Path(name)
        program = plant(build, target, bug, scratch)
        folders, lessons = TARGETS[target]
        seeds = [*(CORPUS / folder for folder in folders), *(ROOT / lesson for lesson in lessons)]
        options = [f"-artifact_prefix={scratch}/", f"-max_len={LENGTH_MAX}", "-print_final_stats=1", f"-seed={seed}", *OPTIONS]
        before = subprocess.run([program, *seeds, "-runs=0", *options], capture_output=True, check=False)
        if before.returncode:
            print(f"{target:10} the corpus meets the planted bug: nothing is shown")
            return False
        grown = scratch / "grown"
        grown.mkdir()
        used = processor_seconds()
        done = subprocess.run([program, grown, *seeds, *options], capture_output=True, text=True, errors="replace",
                              check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds,) * 2))
        used = processor_seconds() - used
        tried = TRIED.findall(done.stderr)
        inputs = f"{int(tried[-1]):,}" if tried else "?"
        found = done.returncode > 0  # else the limit ended it
        print(f"{target:10} {'found' if found else 'not found'} after {used:.1f} s of the processor and {inputs} "
              "inputs", flush=True)
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", choices=PLANTED)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    targets = [arguments.only] if arguments.only else list(PLANTED)
    found = [attack(arguments.build.resolve(), target, bug, arguments.seconds, arguments.seed)
             for target in targets for bug in PLANTED[target]]
    print(f"{sum(found)} passed, {len(found) - sum(found)} failed")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
