#!/usr/bin/env python3
"""Counts the prefix ids of a Mooncake trace: new, seen, seen as a partial tail.

  prefix_classes.py TRACE.jsonl [RUN.json]

An id stands for 512 tokens behind the ids before it, a prompt's last one for what is left. It is seen if an
earlier line has the same id for as many tokens behind the same ids. RUN.json is what
`pinfold run TRACE --set prefix.reuse=on --set engine.block_size=512 --format json` printed: its classes must
add up to these counts whatever the pool and the times were. Exit status 1 if they do not.
"""

import json
import sys

BLOCK = 512


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
    counted = count(sys.argv[1])
    print(json.dumps(counted))
    if len(sys.argv) < 3:
        return 0
    with open(sys.argv[2], encoding="utf-8") as file:
        ids = json.load(file)["prefix_cache"]["ids"]
    whole = sum(ids[name] for name in
                ("hit", "writer_not_finished", "behind_a_miss", "evicted", "cut"))
    found = {"total": ids["total"], "new": ids["new"], "partial_tail": ids["partial_tail"],
             "whole": whole}
    wrong = {name: value for name, value in found.items() if counted[name] != value}
    if wrong:
        print("the run says", json.dumps(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
