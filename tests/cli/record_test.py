#!/usr/bin/env python3
"""Recorded runs replay to the same digest, and a recording that was changed does not.

  record_test.py PROGRAM

The expected digest is the run's own, which comes from the scheduler; the replay has pools only and performs
what the file says. A changed file must be refused or differ at the line that was changed.
"""

import json
import sys

from program import HEADER, ROOT, Suite

CODE = ROOT / "traces/azure/AzureLLMInferenceTrace_code.csv"
EVERYTHING = ["--config", ROOT / "configs/runs/everything.json"]
ROWS = "".join(f"2023-11-16 18:15:{40 + n // 4:02}.{n % 4 * 25:02}00000,{20 + 7 * n % 61},{3 + n % 9}\n"
               for n in range(40))
SMALL = ["--set", "engine.block_size=4", "--set", "engine.num_blocks=40", "--set", "engine.max_num_seqs=6",
         "--set", "engine.max_model_len=128", "--set", "engine.max_num_batched_tokens=16", "--set",
         "workload.samples=2", "--set", "model.state_slots=true", "--set", "engine.slot_factor=1"]

# What replaces the first line that holds the key, and what the replay must say of it.
CHANGES = [
    ("another block", '"event": "acquire", "sequence": 0, "ids"', lambda line: line.replace("[1, 2", "[1, 9"), 3, "the pool issues"),
    ("block 0", '"event": "acquire", "sequence": 0, "ids"', lambda line: line.replace("[1, 2", "[0, 2"), 3, "the pool issues"),
    ("a release twice", '"event": "unpark"', lambda line: line + line, 3, "does not happen again"),
    ("a lost release", '"event": "unpark"', lambda line: "", 3, "does not happen again"),
    ("a lost word", '"event": "answer"', lambda line: "", 1, "lines are missing or were added"),
    ("a pin of a free block", '"event": "pin"', lambda line: line.replace("[", "[39, "), 3, "pin of free block 39"),
    ("an id outside", '"event": "pin"', lambda line: line.replace("[", "[40, "), 3, "block 40"),
    ("another count", '"event": "arrive"', lambda line: line.replace('"count": ', '"count": 1'), 3,
     "the digest is"),
    ("an unknown event", '"event": "acquire"', lambda line: line.replace("acquire", "aquire"), 1,
     'did you mean "acquire"?'),
    ("an unknown key", '"event": "acquire"', lambda line: line.replace("ids", "id"), 1, 'unknown key "id"'),
    ("no ids", '"event": "acquire"', lambda line: line[:line.index(', "ids"')] + "}\n", 1, 'no key "ids"'),
    ("ids where none are", '"event": "arrive"', lambda line: line.replace("}", ', "ids": [1]}'), 1,
     "none for this event"),
    ("an unknown pool", '"pool": "state_slot"', lambda line: line.replace("state_slot", "state_slots"), 1,
     'did you mean "state_slot"?'),
    ("a negative count", '"event": "arrive"', lambda line: line.replace('"count": ', '"count": -'), 1,
     "expected a whole number"),
    ("no JSON", '"event": "acquire"', lambda line: line[:20] + "\n", 1, "journal.jsonl:"),
    ("a copy with one id", '"event": "copy"', lambda line: line[:line.index("[")] + "[1]}\n", 1,
     "where the copy reads and where it writes"),
    ("a header with another version", '"pinfold_journal"', lambda line: line.replace(": 1,", ": 2,", 1), 1,
     "expected a whole number from 1 to 1"),
    ("a header without a pool", '"pinfold_journal"', lambda line: line.replace("num_blocks", "num_block"), 1,
     'did you mean "num_blocks"?'),
    ("another free order", '"pinfold_journal"', lambda line: line.replace("fifo", "lifo"), 3,
     "does not happen again"),
]


def round_trip(suite, title, trace, *settings):
    ran = suite.run("run", trace, *settings, "--record", "run.jsonl", "-q", "--format", "json")
    found = json.loads(ran.out)
    again = suite.run("replay", "run.jsonl", "--format", "json")
    replayed = json.loads(again.out) if again.out else {}
    suite.check(f"{title}: the replay has the run's digest and counts",
                again.status == 0 and replayed["digest"] == found["digest"] and
                replayed["events"] == found["events"] and
                replayed["blocks"]["acquired"] == found["blocks"]["acquired"] and
                replayed["blocks"]["owned_at_the_end"] == 0, again.err)
    plain = json.loads(suite.run("run", trace, *settings, "-q", "--format", "json").out)
    suite.check(f"{title}: recording changes nothing", plain == found, ran.err)


def main():
    suite = Suite()
    trace = suite.write("t.csv", HEADER + ROWS)
    round_trip(suite, "a small run", trace, *SMALL)
    round_trip(suite, "everything", CODE, *EVERYTHING, "--set", "workload.time_scale=1.5")

    suite.check("nothing else is left", sorted(suite.files()) == ["run.jsonl", "t.csv"], str(suite.files().keys()))
    suite.run("run", trace, *SMALL, "--record", "run.jsonl")
    lines = (suite.scratch / "run.jsonl").read_text().splitlines(keepends=True)
    for title, key, change, status, said in CHANGES:
        number = next(n for n, line in enumerate(lines) if key in line)
        changed = lines[:]
        changed[number] = change(lines[number])
        suite.write("journal.jsonl", "".join(changed))
        result = suite.run("replay", "journal.jsonl")
        suite.check(f"{title}: exit status {status} and {said!r}", changed != lines and
                    result.status == status and said in result.err, result.err)
    suite.write("journal.jsonl", "".join(lines[:-1]))
    cut = suite.run("replay", "journal.jsonl")
    suite.check("a file that was cut off says so", cut.status == 1 and "cut off" in cut.err, cut.err)

    before = (suite.scratch / "run.jsonl").read_bytes()
    refused = suite.run("run", trace, "--record", "no/such/folder.jsonl")
    suite.check("a folder that is not there", refused.status == 1 and refused.out == "" and
                "No such file or directory" in refused.err, refused.err)
    suite.run("run", "none.csv", "--record", "run.jsonl")
    suite.check("a run that does not begin leaves the old recording",
                (suite.scratch / "run.jsonl").read_bytes() == before, "")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
