#!/usr/bin/env python3
"""Counts the prefix ids of a Mooncake trace: new, seen, seen as a partial tail.

  prefix_classes.py TRACE.jsonl
  prefix_classes.py --pinfold PROGRAM

An id stands for 512 tokens behind the ids before it, a prompt's last one for what is left. It is seen if an
earlier line has the same id for as many tokens behind the same ids. With a program, its run of the sample under
traces/ must have classes that add up to these counts, whatever the pool and the times were.
"""

import json
import pathlib
import subprocess
import sys

BLOCK = 512
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "traces/mooncake/conversation_300.jsonl"


def count(path):
    """total, new, partial tails, seen whole, leading: over all lines."""
    seen = {}
    total = new = tails = whole = leading = 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            request = json.loads(line)
            node = 0
            all_seen = True
            for place, name in enumerate(request["hash_ids"]):
                tokens = min(BLOCK, request["input_length"] - place * BLOCK)
                key = (node, name, tokens)
                total += 1
                if key not in seen:
                    seen[key] = len(seen) + 1
                    new += 1
                    all_seen = False
                elif tokens < BLOCK:
                    tails += 1
                else:
                    whole += 1
                leading += all_seen
                node = seen[key]
    return {"total": total, "new": new, "partial_tail": tails, "whole": whole, "leading": leading}


def main():
    if sys.argv[1] != "--pinfold":
        print(json.dumps(count(sys.argv[1])))
        return 0
    program = pathlib.Path(sys.argv[2]).resolve()
    counted = count(SAMPLE)
    ran = subprocess.run([program, "run", SAMPLE, "--set", "prefix.reuse=on", "--set", "engine.block_size=512",
                          "--format", "json", "-q"], capture_output=True, text=True, check=False)
    figures = json.loads(ran.stdout)["prefix_cache"]
    ids = {name.removeprefix("ids."): value for name, value in figures.items() if name.startswith("ids.")}
    whole = sum(ids[name] for name in
                ("hit", "writer_not_finished", "behind_a_miss", "evicted", "cut"))
    found = {"total": ids["total"], "new": ids["new"], "partial_tail": ids["partial_tail"],
             "whole": whole}
    wrong = {name: value for name, value in found.items() if counted[name] != value}
    for name in wrong:
        print(f"{name}: the run says {found[name]}, the trace holds {counted[name]}")
    print(f"{len(found) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
