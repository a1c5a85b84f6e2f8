#!/usr/bin/env python3
"""Sweeps: every cell is the run that its settings say, and nothing but the settings decides the result.

  sweep_test.py PROGRAM

What is expected comes from elsewhere: each cell's digest from `pinfold run` with the same settings, block
counts from the bytes of a block worked out here, and one sweep's database from the same sweep run in
another order, with other threads, or killed on the way.
"""

import csv
import io
import itertools
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

from program import ROOT, Suite

CONVERSATION = ROOT / "traces/azure/AzureLLMInferenceTrace_conv.csv"
STATEFUL = ROOT / "configs/models/stateful_window.json"


def head(suite, name, requests):
    """The first requests of the conversation trace."""
    with open(CONVERSATION, "rb") as trace:
        return suite.write(name, b"".join(itertools.islice(trace, requests + 1)))


def sweep(suite, *args):
    result = suite.run("sweep", *args, "--format", "json")
    return json.loads(result.out) if result.out else None, result


def dump(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return "\n".join(database.iterdump())


def grid_and_linked(suite, trace):
    suite.write("linked.json", json.dumps({
        "traces": [trace],
        "config": {"engine": {"num_blocks": 1500}},
        "grid": {"engine.max_num_seqs": [16, 32, 64], "engine.block_size": [16, 32],
                 "engine.max_num_batched_tokens": [512, 1024, 2048]},
        "linked": [["engine.max_num_seqs", "engine.max_num_batched_tokens"]],
        "seeds": [3, 4]}))
    found, said = sweep(suite, "linked.json", "--jobs", "2")
    suite.check("a linked sweep runs", said.status == 0, said.err)
    settings = [(cell["settings"]["engine.max_num_seqs"], cell["settings"]["engine.max_num_batched_tokens"],
                 cell["settings"]["engine.block_size"], cell["seed"]) for cell in found["cells"]]
    expected = [(seqs, budget, size, seed) for seqs, budget in (("16", "512"), ("32", "1024"), ("64", "2048"))
                for size in ("16", "32") for seed in (3, 4)]
    suite.check("linked keys vary together, crossed with the others, seeds fastest", settings == expected,
                str(settings))
    suite.check("the trace is parsed once for all cells", "1 trace parsed, once; 12 runs computed" in said.err,
                said.err)
    listed, said = sweep(suite, "--trace", trace, "-L", "engine.block_size=16,32", "-P",
                         "engine.max_num_seqs=16:64:*2", "--seeds", "3,4", "--set", "engine.num_blocks=1500")
    suite.check("flags say a grid too", len(listed["cells"]) == 12 and
                listed["cells"][1]["settings"] == {"engine.block_size": "16", "engine.max_num_seqs": "16"},
                said.err)
    two = ["--trace", trace, "-L", "engine.block_size=16,32"]
    cut, said = sweep(suite, *two, "--limit", "50", "--start", "1.5")
    alone = json.loads(suite.run("run", trace, "--set", "engine.block_size=32", "--limit", "50", "--start", "1.5",
                                 "--format", "json").out)
    suite.check("a sweep takes a part of its traces", cut["cells"][1]["figures"]["digest"] == alone["digest"]
                and alone["requests"] == 50, said.err)
    suite.write("list.json", json.dumps({
        "traces": [trace], "list": [{"engine.block_size": 32, "engine.max_num_seqs": 64}, {},
                                    {"engine.free_order": "lifo"}]}))
    found, said = sweep(suite, "list.json")
    suite.check("a list is run as it stands", [cell["settings"] for cell in found["cells"]] == [
        {"engine.block_size": "32", "engine.max_num_seqs": "64"}, {}, {"engine.free_order": "lifo"}], said.err)


def cells_are_runs(suite, trace):
    """Every cell's digests, tokens and latencies are those of a single run."""
    base = ["--config", STATEFUL, "--set", "engine.num_blocks=700", "--set", "engine.max_num_seqs=24",
            "--set", "workload.drafts=2"]
    found, said = sweep(suite, "--trace", trace, *base, "-L", "engine.block_size=16,48", "-L",
                        "engine.slot_factor=1,1.25", "--seeds", "0,5", "-o", "runs", "--jobs", "2")
    suite.check("the sweep runs", said.status == 0 and found["ok"] == 8, said.err)
    digests = set()
    for cell in found["cells"]:
        sets = [f"{key}={value}" for key, value in cell["settings"].items()]
        sets += [f"seed={cell['seed']}", f"engine.num_blocks={cell['figures']['pool']['block_ids']}",
                 "engine.max_num_seqs=24", "workload.drafts=2"]
        args = [word for one in sets for word in ("--set", one)]
        alone = json.loads(suite.run("run", trace, "--config", STATEFUL, "--format", "json", *args).out)
        same = all(alone[key] == cell["figures"][key] for key in (
            "digest", "digest_timed", "p99_ttft_ms", "preemptions", "blocks", "slots", "drafts"))
        suite.check(f"cell {cell['cell']} is the run of its settings", same and
                    alone["config_digest"] == cell["config_digest"] and
                    alone["trace_digest"] == cell["trace_digest"], f"{sets} {cell}")
        digests.add(alone["digest"])
    suite.check("the cells differ", len(digests) == 8, str(digests))
    # Bytes by hand: 24 layers x 2 x 8 heads x 128 x 2 bytes a position, slots of 8 layers x 1030 rows x
    # 4096 bytes; the ids of the base (factor 1.2: floor(28.8) + 1 = 29) and of the cells (25 and 31).
    position, slot = 24 * 2 * 8 * 128 * 2, 8 * 1030 * 4096
    memory = 700 * 16 * position + 2 * 29 * slot
    for cell in found["cells"]:
        size = int(cell["settings"]["engine.block_size"])
        ids = 25 if cell["settings"]["engine.slot_factor"] == "1" else 31
        expected = (memory - 2 * ids * slot) // (size * position)
        pool = cell["figures"]["pool"]
        suite.check(f"cell {cell['cell']}: memory is held in bytes", pool["block_ids"] == expected and
                    pool["state_ids"] == ids and memory - size * position < pool["bytes"] <= memory,
                    f"{pool} {expected} {memory}")

    with sqlite3.connect(suite.scratch / "runs/sweep.sqlite") as database:
        rows = database.execute("SELECT cell, resolved FROM cells JOIN configs USING (config_digest)").fetchall()
        stored = dict(database.execute(
            "SELECT cell, value FROM cells JOIN figures USING (trace_digest, config_digest) "
            "WHERE name = 'digest'").fetchall())
    for cell, resolved in rows[:3]:
        suite.write("cell.json", resolved)
        alone = json.loads(suite.run("run", trace, "--config", "cell.json", "--format", "json").out)
        suite.check(f"cell {cell}: its stored configuration repeats it", alone["digest"] == stored[cell],
                    resolved)
    table = list(csv.DictReader(io.StringIO((suite.scratch / "runs/summary.csv").read_text())))
    suite.check("summary.csv has the figures of all cells",
                [row["digest"] for row in table] == [cell["figures"]["digest"] for cell in found["cells"]] and
                [row["engine.block_size"] for row in table] == ["16"] * 4 + ["48"] * 4, str(table[:1]))
    # Without a model's shape positions are held, and `hold` says otherwise.
    pools = [[cell["figures"]["pool"]["block_ids"] for cell in sweep(
        suite, "--trace", trace, "--set", "engine.num_blocks=3000", "-L", "engine.block_size=16,64", *hold)[0]
        ["cells"]] for hold in ([], ["--hold", "blocks"])]
    suite.check("positions or blocks are held", pools == [[3000, 750], [3000, 3000]], str(pools))


def means_and_intervals(suite, trace):
    found, _ = sweep(suite, "--trace", trace, "--set", "engine.num_blocks=1200", "--set", "workload.drafts=3",
                     "-L", "engine.block_size=16,64", "--seeds", "0,1,2")
    for point in found["points"]:
        cells = found["cells"][point["first_cell"]:point["first_cell"] + 3]
        values = [cell["figures"]["p99_ttft_ms"] for cell in cells]
        shown = point["figures"]["p99_ttft_ms"]
        suite.check("the interval is over the seeds", (shown["low"], shown["high"]) == (min(values), max(values))
                    and abs(shown["mean"] - sum(values) / 3) < 1e-6 and min(values) < max(values),
                    f"{shown} {values}")


def invalid_and_failed(suite, trace):
    """Cells that cannot run stay, with their reason, and so does one that stalls."""
    found, said = sweep(suite, "--trace", trace, "--config", ROOT / "configs/models/v4_like.json", "--set",
                        "engine.block_size=128", "--set", "engine.num_blocks=400", "--set",
                        "engine.max_num_seqs=8", "-L", "engine.block_size=16,128,200,256")
    status = [(cell["settings"]["engine.block_size"], cell["status"]) for cell in found["cells"]]
    suite.check("block sizes that do not fit the ratios are invalid cells", said.status == 0 and status == [
        ("16", "invalid"), ("128", "ok"), ("200", "invalid"), ("256", "ok")], said.err + str(status))
    suite.check("with their reason", "a multiple of the compression ratio 128" in found["cells"][0]["reason"],
                str(found["cells"][0]))
    found, said = sweep(suite, "--trace", trace, "--config", ROOT / "configs/models/v4_like.json", "--set",
                        "engine.block_size=128", "-L", "engine.block_size=16,200")
    suite.check("a sweep of which no cell can run is a mistake", said.status == 2
                and "none of 2 cells can run; the table says why" in said.err
                and [cell["status"] for cell in found["cells"]] == ["invalid", "invalid"], said.err)
    found, said = sweep(suite, "--trace", trace, "-L", "workload.drafts=0,2", "-L",
                        "workload.draft_acceptance_permille=500,900")
    suite.check("an option without effect is a cell without effect", [cell["status"] for cell in found["cells"]]
                == ["invalid", "invalid", "ok", "ok"] and "without effect" in found["cells"][0]["reason"],
                str(found["cells"][0]))
    result = suite.run("sweep", "--trace", trace, "-L", "engine.block_size=16,32", "--dry-run", "-o", "dry")
    suite.check("a dry run shows the cells and leaves nothing", result.status == 0 and
                "2 cells, 0 invalid; nothing was run" in result.out and not (suite.scratch / "dry").exists(),
                result.out)


GRID = ["-L", "engine.block_size=16,32,64", "-L", "engine.max_num_seqs=8,16,32", "--set",
        "engine.num_blocks=1200", "--set", "workload.drafts=2", "--seeds", "0,1"]


def any_order(suite, trace):
    """One thread or several, in any order: the same bytes in every file."""
    variants = {"one": ["--jobs", "1"], "two": ["--jobs", "2"], "five": ["--jobs", "5", "--shuffle-seed", "7"],
                "shuffled": ["--jobs", "1", "--shuffle-seed", "99"]}
    files, said = {}, {}
    for name, args in variants.items():
        result = suite.run("sweep", "--trace", trace, *GRID, "-o", name, *args)
        said[name] = result.out
        files[name] = {path.name: path.read_bytes() for path in sorted((suite.scratch / name).iterdir())}
        suite.check(f"{name}: the sweep leaves its two files and nothing else", result.status == 0 and
                    list(files[name]) == ["summary.csv", "sweep.sqlite"], result.err + str(list(files[name])))
    for name in variants:
        suite.check(f"{name}: the same bytes", files[name] == files["one"] and said[name] == said["one"])
    text = dump(suite.scratch / "one/sweep.sqlite")
    suite.check("no clock and no path of this machine in the database", str(suite.scratch) not in text and
                "INSERT INTO" in text)
    with sqlite3.connect(suite.scratch / "one/sweep.sqlite") as database:
        made = [row[0] for row in database.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL "
                                                   "ORDER BY rowid")]
    manual = (ROOT / "docs/sweeps.md").read_text(encoding="utf-8")
    suite.check("the manual shows the tables that are made", ";\n".join(made) + ";\n" in manual, str(made))
    again = suite.run("sweep", "--trace", trace, *GRID, "-o", "one")
    suite.check("results are not overwritten unasked", again.status == 1 and "--resume continues it" in again.err,
                again.err)
    resumed = suite.run("sweep", "--trace", trace, *GRID, "-o", "one", "--resume")
    suite.check("a finished sweep resumes to nothing", resumed.out == said["one"] and
                "0 runs computed, 18 resumed" in resumed.err and
                (suite.scratch / "one/sweep.sqlite").read_bytes() == files["one"]["sweep.sqlite"], resumed.err)
    other = suite.run("sweep", "--trace", trace, "-L", "engine.block_size=16", "-L", "engine.max_num_seqs=8,16",
                      "-o", "one", "--resume")
    suite.check("another sweep's results are not thrown away", other.status == 1 and
                "runs that are not of this sweep" in other.err and
                (suite.scratch / "one/sweep.sqlite").read_bytes() == files["one"]["sweep.sqlite"], other.err)
    wider = suite.run("sweep", "--trace", trace, *GRID[:1], "engine.block_size=16,32,64,128", *GRID[2:], "-o",
                      "one", "--resume")
    suite.check("a wider sweep keeps what is there", "6 runs computed, 18 resumed" in wider.err, wider.err)


def size_of(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def killed(suite, trace):
    """SIGKILL at random moments: nothing that was done is lost or done again."""
    args = ["sweep", "--trace", trace, *GRID, "--jobs", "2", "-q", "-o"]
    whole = suite.run(*args, "whole")
    rng = random.Random(20261129)
    for attempt in range(3):
        name = f"killed{attempt}"
        process = subprocess.Popen([suite.program, *args, name], cwd=suite.scratch, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        partial = suite.scratch / name / "sweep.partial.sqlite-wal"
        # The moment is counted in bytes of the log, so that it lies inside the sweep on any machine.
        enough, deadline = rng.randrange(20_000, 250_000), time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if size_of(partial) > enough:
                process.send_signal(signal.SIGKILL)
                break
        status = process.wait()
        suite.check(f"{name}: it was killed on the way", status == -signal.SIGKILL and
                    not (suite.scratch / name / "sweep.sqlite").exists(), str(status))
        refused = suite.run(*args, name)
        suite.check(f"{name}: what is left is not overwritten", refused.status == 1, refused.err)
        resumed = suite.run(*args, name, "--resume")
        words = resumed.err.split()
        computed, kept = int(words[words.index("runs") - 1]), int(words[words.index("resumed") - 1])
        suite.check(f"{name}: nothing is repeated, nothing is lost", computed + kept == 18 and kept > 0 and
                    computed < 18, resumed.err)
        suite.check(f"{name}: and the result is the same", resumed.out == whole.out and
                    all((suite.scratch / name / file).read_bytes() == (suite.scratch / "whole" / file).read_bytes()
                        for file in ("sweep.sqlite", "summary.csv")) and
                    len(list((suite.scratch / name).iterdir())) == 2)


def one_reading(suite, trace):
    """A pipe can be read once: a sweep that opened its trace twice would hang or fail."""
    os.mkfifo(suite.scratch / "pipe.csv")
    feeder = subprocess.Popen(["sh", "-c", f"cat {trace} > pipe.csv"], cwd=suite.scratch)
    found, said = sweep(suite, "--trace", "pipe.csv", "-L", "engine.block_size=16,32", "--jobs", "2")
    feeder.wait()
    suite.check("a trace from a pipe does for all cells", said.status == 0 and found["ok"] == 2, said.err)


# Sweep files with one mistake each: (what is changed, what the error says).
BAD_FILES = [
    ("[]", "found an array, expected an object"),
    ("{", "bad.json:1:2"),
    ('{"traces": ["t.csv"], "traces": ["t.csv"]}', "traces"),
    ({"trace": ["t.csv"]}, "trace: found an unknown member", "did you mean traces?"),
    ({"traces": None}, "traces: found nothing, expected an array of paths"),
    ({"traces": []}, "traces: found an empty array"),
    ({"traces": "t.csv"}, 'traces: found "t.csv", expected an array of paths'),
    ({"traces": [3]}, "traces[0]: found 3, expected the path"),
    ({"traces": [""]}, "traces[0]"),
    ({"traces": ["t.csv", "t.csv"]}, "traces[1]: found \"t.csv\", expected each trace once"),
    ({"learnt": 3}, "learnt: found 3, expected a text"),
    ({"learnt": ["a", 4]}, "learnt[1]: found 4"),
    ({"config": 3}, "config: found 3, expected a configuration"),
    ({"config": "nowhere.json"}, "nowhere.json: found no file of this name"),
    ({"config": {"engine": {"blok_size": 16}}}, "engine.blok_size: found an unknown option",
     "did you mean engine.block_size?"),
    ({"config": {"engine": {"block_size": 0}}}, "engine.block_size: found 0, expected an integer from 1"),
    ({"config": {"model": {"compression_ratios": [128]}}}, "a multiple of the compression ratio 128",
     "valid without its settings"),
    ({"grid": []}, "grid: found an array"),
    ({"grid": {}}, "grid: found no option"),
    ({"grid": {"engine.blok_size": [16]}}, "grid.engine.blok_size[0]: found an unknown option",
     "did you mean engine.block_size?"),
    ({"grid": {"engine.block_size": 16}}, "grid.engine.block_size: found 16, expected an array"),
    ({"grid": {"engine.block_size": []}}, "grid.engine.block_size: found an empty array"),
    ({"grid": {"engine.block_size": [16, 0]}}, "grid.engine.block_size[1]: found 0, expected an integer"),
    ({"grid": {"engine.block_size": ["16"]}}, "grid.engine.block_size[0]", "write it without quotes"),
    ({"grid": {"engine.block_size": [16, 16]}}, "grid.engine.block_size[1]: found 16, expected each value once"),
    ({"grid": {"engine.slot_factor": [1.2]}}, "without effect"),
    ({"grid": {"engine.free_order": ["filo"]}}, "grid.engine.free_order[0]", "did you mean fifo?"),
    ({"grid": {"seed": [1, 2]}}, "seed: found a seed as a key, expected seeds apart"),
    ({"grid": {"engine.num_blocks": [9], "memory.available_gib": [1]}}, "a second figure that sizes the pool"),
    ({"linked": [["engine.block_size"]]}, "linked[0]: found an array, expected an array of two or more"),
    ({"linked": [["engine.block_size", "engine.overlap"]]}, "linked[0][1]", "expected a key of the grid"),
    ({"grid": {"engine.block_size": [16, 32], "engine.overlap": [0, 1, 2]},
      "linked": [["engine.block_size", "engine.overlap"]]}, "linked[0][1]: found 3 values of engine.overlap",
     "as many values as engine.block_size has, 2"),
    ({"grid": {"engine.block_size": [16, 32], "engine.overlap": [0, 1]},
      "linked": [["engine.block_size", "engine.overlap"], ["engine.overlap", "engine.block_size"]]},
     "linked[1][0]", "each key in one group"),
    ({"list": []}, "list: found an empty array"),
    ({"list": [3]}, "list[0]: found 3"),
    ({"list": [{"engine.overlap": 7}]}, "list[0].engine.overlap: found 7, expected an integer from 0 to 2"),
    ({"list": [{"engine.overlap": 1}, {"engine.overlap": 1}]}, "list[1]: found the same settings again"),
    ({"list": [{"engine.block_size": 64}]}, "engine.block_size: found an option that is varied twice"),
    ({"seeds": []}, "seeds: found an empty array"),
    ({"seeds": [1, 1]}, "seeds[1]: found 1, expected each seed once"),
    ({"seeds": [-1]}, "seeds[0]: found -1"),
    ({"hold": "bytes"}, "hold: found \"bytes\", expected \"memory\" or \"blocks\""),
    ({"hold": "memory", "grid": {"engine.num_blocks": [100, 200]}}, "hold: found \"memory\", expected no hold"),
    ({"figures": ["p99_tft_ms"]}, "figures[0]: found the unknown figure", "did you mean p99_ttft_ms?"),
    ({"figures": ["verdict"]}, "figures[0]: found the unknown figure \"verdict\""),
    ({"front": ["preemptions", "preemptions"]}, "front[1]"),
    ({"grid": None}, "found nothing that varies"),
    ({"grid": {"engine.max_num_seqs": list(range(1, 400)), "engine.num_blocks": list(range(10, 400))}},
     "more than 100000 cells"),
]

BAD_FLAGS = [
    ([], "found no trace"),
    (["--trace", "t.csv"], "nothing that varies"),
    (["bad.json", "--trace", "t.csv"], "found --trace beside a sweep file"),
    (["--trace", "t.csv", "-L", "engine.block_size=16,x"], "-L engine.block_size=16,x"),
    (["--trace", "t.csv", "-P", "engine.block_size=16:64"], "expected KEY=LO:HI:*F"),
    (["--trace", "t.csv", "--trace", "t.csv", "-L", "engine.overlap=0,1"], "the trace twice"),
    (["--trace", "t.csv", "-L", "engine.overlap=0,1", "-L", "engine.overlap=2"], "varied twice"),
    (["--trace", "t.csv", "-L", "engine.overlap=0,1", "--seeds", "a"], "--seeds a"),
    (["--trace", "t.csv", "-L", "engine.overlap=0,1", "--hold", "x"], "--hold: found \"x\""),
    (["--trace", "t.csv", "-L", "engine.overlap=0,1", "--figures", "x"], "--figures: found the unknown figure"),
    (["--trace", "t.csv", "-L", "engine.overlap=0,1", "--resume"], "found --resume without -o"),
    (["--trace", "t.csv", "-L", "engine.overlap=0,1", "--jobs", "0"], "--jobs: found \"0\""),
    (["--trace", "t.csv", "-L", "engine.overlap=0,1", "--set", "engine.blok_size=1"], "engine.blok_size"),
]


def bad_input(suite, trace):
    (suite.scratch / "t.csv").write_bytes((suite.scratch / trace).read_bytes())
    good = {"traces": ["t.csv"], "grid": {"engine.block_size": [16, 32]}}
    for change, *texts in BAD_FILES:
        content = change
        if isinstance(change, dict):
            changed = {key: value for key, value in {**good, **change}.items() if value is not None}
            content = json.dumps(changed, indent=1)
        suite.write("bad.json", content)
        before = suite.files()
        result = suite.run("sweep", "bad.json", "-o", "never")
        if change == {"grid": {"engine.slot_factor": [1.2]}}:  # settings that do not go together: a cell
            suite.check("an invalid cell is in the table, though none can run", result.status == 2 and texts[0] in result.out
                        and "none of 1 cells can run" in result.err, result.out)
            continue
        suite.check(f"refused before anything runs: {str(change)[:70]}", result.status == 2 and
                    result.out == "" and all(text in result.err for text in texts) and
                    suite.files() == before, result.err)
    suite.write("bad.json", json.dumps({"tracs": ["t.csv"], "grid": {"engine.block_size": [0], "x.y": [1]},
                                        "seeds": [1, 1]}, indent=1))
    result = suite.run("sweep", "bad.json")
    suite.check("all mistakes at once, each with its place", result.err.count("pinfold: error: bad.json:") == 5,
                result.err)
    for args, text in BAD_FLAGS:
        result = suite.run("sweep", *args)
        suite.check(f"refused: sweep {' '.join(args)}", result.status == 2 and text in result.err and
                    result.out == "", result.err)
    suite.write("bad.json", json.dumps({**good, "traces": ["missing.csv"]}))
    result = suite.run("sweep", "bad.json")
    suite.check("a missing trace is found before anything else runs", result.status == 2 and
                "bad.json:1:13: traces[0]: found no file of this name" in result.err, result.err)
    suite.write("bad.json", json.dumps({"traces": ["missing.csv", "head.csv"], "grid": {"engine.blok_size": [16]}, "seeds": [-1],
                                        "config": {"engine": {"overlap": 7, "num_blocks": "many"}}, "extra": 1}))
    result = suite.run("sweep", "bad.json", "-o", "nothing")
    keys = ["extra", "traces[0]", "engine.overlap", "engine.num_blocks", "grid.engine.blok_size[0]", "seeds[0]"]
    suite.check("all mistakes of a file are said at once, each with its place", result.status == 2 and
                sorted(re.findall(r"^pinfold: error: bad.json:1:\d+: (\S+): found", result.err, re.MULTILINE)) == sorted(keys) and
                not (suite.scratch / "nothing").exists(), result.err)


def shipped(suite):
    """Every sweep that ships can be planned, and says what it taught."""
    for path in sorted((ROOT / "configs/sweeps").glob("*.json")):
        result = suite.run("sweep", path, "--dry-run", "--format", "json")
        suite.check(f"{path.name} is planned", result.status == 0 and json.loads(result.out)["cells"], result.err)
        suite.check(f"{path.name} says what was learnt", '"learnt"' in path.read_text(encoding="utf-8"))


def main():
    suite = Suite()
    trace = head(suite, "head.csv", 600)
    grid_and_linked(suite, trace)
    cells_are_runs(suite, trace)
    means_and_intervals(suite, head(suite, "longer.csv", 2000))
    invalid_and_failed(suite, trace)
    any_order(suite, trace)
    killed(suite, head(suite, "slow.csv", 2500))
    one_reading(suite, trace)
    bad_input(suite, trace)
    shipped(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
