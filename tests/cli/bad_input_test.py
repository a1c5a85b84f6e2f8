#!/usr/bin/env python3
"""Whatever is wrong with the input, the program says where, what it found and what it expected, exits
with the right status, prints nothing on stdout and writes nothing.

  bad_input_test.py PROGRAM
"""

import os
import sys

from program import HEADER, ROW, Suite

# Each case: what is wrong, the trace's bytes, what the message must contain.
TRACES = [
    ("a truncated line", HEADER + ROW + "2023-11-16 18:15:50,39",
     ":3:23: found 2 fields", "expected 3 as in the header", "is the line cut off?"),
    ("a negative count", HEADER + "2023-11-16 18:15:50,-5,1\n",
     ":2:21: found the negative count \"-5\"", "expected ContextTokens from 1 to 4294967295"),
    ("a bad date", HEADER + "2023-02-30 18:15:50,5,1\n",
     ":2:9: found \"2023-02-30 18:15:50\"", "expected a day that this month has"),
    ("a missing column", "TIMESTAMP,ContextTokens\n2023-11-16 18:15:50,5\n",
     ":1: found the header \"TIMESTAMP,ContextTokens\"", "expected a column GeneratedTokens"),
    ("a misspelt column", "TIMESTAMP,ContextToken,GeneratedTokens\n",
     "expected a column ContextTokens", "is column \"ContextToken\" meant?"),
    ("an empty file", "", "t.csv: found an empty file", "expected a CSV header"),
    ("a header only", HEADER, ":2: found the end of the file", "expected at least one row"),
    ("binary rubbish", b"\x00\x01\x02\xff\xfe" * 40, ":1: found binary data", "a CSV header"),
    ("compressed data that is cut off", b"\x1f\x8b\x08\x00", "found gzip data that ends in the middle"),
    ("a number too large", HEADER + "2023-11-16 18:15:50,99999999999,1\n",
     ":2:21: found the too large count \"99999999999\"", "to 4294967295"),
    ("a word for a number", HEADER + "2023-11-16 18:15:50,5,few\n", ":2:23: found \"few\""),
    ("a fraction", HEADER + "2023-11-16 18:15:50,5,1.5\n", "a count has no fraction"),
    ("no prompt", HEADER + "2023-11-16 18:15:50,0,1\n", ":2:21: found 0 tokens", "from 1 to"),
    ("quotes", HEADER + "2023-11-16 18:15:50,\"5\",1\n", "found the quoted field"),
    ("stray spaces", HEADER + "2023-11-16 18:15:50, 5,1\n", "remove the spaces around"),
    ("a blank last line", HEADER + ROW + "\n", ":3: found a blank line at the end", "delete it"),
    ("a blank line", HEADER + "\n" + ROW, ":2: found a blank line", "expected 3 fields"),
    ("rows out of order", HEADER + ROW + "2023-11-16 18:15:46.6805899,1,1\n",
     ":3:1: found", "earlier than line 2", "sort the rows"),
    ("offsets in some rows only", HEADER + ROW + "2023-11-16 18:15:47Z,1,1\n",
     ":3:1: found", "with an offset", "as in line 2"),
    ("more tokens than a request can have", HEADER + "2023-11-16 18:15:50,4294967295,1\n",
     ":2: found 4294967295 prompt and 1 generated tokens"),
    ("a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
     "found a Git LFS pointer", "git lfs pull"),
]

# Each case: what is wrong, the configuration's text, what the message must contain.
CONFIGURATIONS = [
    ("an unknown key", '{"engine": {"blok_size": 16}}',
     "c.json:1:13: engine.blok_size: found an unknown option", "did you mean engine.block_size?"),
    ("an unknown section", '{"engin": {}}', "c.json:1:2: engin:", "did you mean engine?"),
    ("a value out of range", '{\n "engine": {\n  "block_size": 0\n }\n}',
     "c.json:3:17: engine.block_size: found 0", "expected an integer from 1 to 65536"),
    ("text for a number", '{"engine": {"block_size": "16"}}', "found \"16\"", "without quotes"),
    ("an unknown word", '{"workload": {"stop": "knwon"}}',
     "workload.stop: found \"knwon\"", "did you mean known?"),
    ("a key twice", '{"seed": 1,\n "seed": 2}',
     "c.json:2:2: found a second key \"seed\"", "the first one is in line 1"),
    ("broken JSON", '{"engine": {"block_size": 16,}}',
     "c.json:1:30: found \"}\"", "no comma behind the last one"),
    ("an empty file", "", "c.json:1:1: found the end of the file"),
    ("a list", "[]", "c.json:1:1: found an array", "expected an object"),
    ("a profile that is not built yet", '{"engine": {"profile": "vllm-v1"}}',
     "engine.profile: found \"vllm-v1\"", "no other profile is built yet"),
    ("too fine a decimal", '{"cost": {"row_us": 0.0000001}}',
     "cost.row_us: found 0.0000001", "at most 6 digits behind the point"),
    ("an option without effect", '{"workload": {"draft_acceptance_permille": 500}}',
     "found an option without effect", "workload.drafts is at least 1"),
    ("a block size that the model cannot have",
     '{"engine": {"block_size": 16}, "model": {"compression_ratios": [4, 128]}}',
     "c.json:1:27: engine.block_size: found a block size of 16",
     "a multiple of the compression ratio 128"),
    ("a ring shorter than the window",
     '{"model": {"state_slots": true, "window_tokens": 128, "ring_tokens": 128}, '
     '"workload": {"drafts": 5}}',
     "model.ring_tokens: found a ring of 128 rows", "128 + 5 = 133"),
    ("a budget below the run limit", '{"engine": {"max_num_batched_tokens": 8}}',
     "engine.max_num_batched_tokens: found a token budget of 8", "at least max_num_seqs = 256"),
]

# Each case: what is wrong, the arguments behind `run t.csv`, what the message must contain.
OVERRIDES = [
    ("a misspelt option", ["--set", "engine.blok_size=16"],
     "--set engine.blok_size=16: engine.blok_size: found an unknown option",
     "did you mean engine.block_size?"),
    ("no block at all", ["--set", "engine.block_size=0"],
     "engine.block_size: found 0", "expected an integer from 1 to 65536 token positions"),
    ("no section", ["--set", "block_size=16"], "did you mean engine.block_size?"),
    ("no value", ["--set", "engine.block_size"], "an option and its value"),
    ("an empty value", ["--set", "engine.block_size="], "found an empty value"),
    ("two values", ["--set", "seed=1", "--set", "seed=2"], "seed: found two values"),
    ("a watermark", ["--set", "engine.watermark=4"], "a watermark is not built yet"),
    ("no sample", ["--set", "workload.samples=0"],
     "workload.samples: found 0", "an integer from 1 to 64 completions"),
    ("a share of no samples", ["--set", "workload.samples_permille=100"],
     "expected it only where workload.samples is at least 2"),
    ("two laws of acceptance", ["--set", "workload.drafts=2", "--set",
                                "workload.draft_acceptance_by_position=[900, 500]", "--set",
                                "workload.draft_acceptance_permille=700"],
     "workload.draft_acceptance_permille: found an option without effect"),
    ("sessions of a closed loop", ["--set", "workload.concurrency=4", "--set",
                                   "workload.sessions=closed"],
     "expected it only where workload.concurrency is 0"),
    ("a storm's steps without a storm", ["--set", "fault.abort_storm_steps=5"],
     "expected it only where fault.abort_storm_permille is at least 1"),
    ("no option", ["--set"], "--set: found no value"),
]

# Each case: what is wrong, all arguments, what the message must contain.
USAGE = [
    ("no command", [], "found no command", "run, replay, explore, size, trace", "See `pinfold --help`"),
    ("an unknown command", ["rnu"], "unknown command \"rnu\"", "did you mean run?"),
    ("a command that nobody knows", ["unheard", "t.csv"], "unknown command \"unheard\"", "expected one of"),
    ("no command of trace", ["trace"], "found no command", "info, head", "`pinfold trace --help`"),
    ("an unknown command of trace", ["trace", "infos"], "\"infos\"", "did you mean info?"),
    ("no trace", ["run"], "found no TRACE", "the path of a request trace"),
    ("no events", ["replay"], "found no EVENTS"),
    ("an unknown flag", ["run", "t.csv", "--fromat", "json"],
     "unknown flag --fromat", "did you mean --format?", "See `pinfold run --help`"),
    ("a ledger neither on nor off", ["run", "t.csv", "--ledger=maybe"], "--ledger", "one of on, off"),
    ("an unknown short flag", ["run", "t.csv", "-x"], "unknown flag -x"),
    ("two traces", ["run", "t.csv", "u.csv"], "one argument too many", "\"u.csv\""),
    ("an unknown format", ["run", "t.csv", "--format", "jsn"],
     "--format: found \"jsn\"", "text, json, csv, md", "did you mean json?"),
    ("a fast path that is neither", ["run", "t.csv", "--fast-path", "of"],
     "--fast-path: found \"of\"", "on, off"),
    ("an audit of nothing", ["run", "t.csv", "--audit", "0"], "--audit: found \"0\"", "every, end"),
    ("a flag without its value", ["run", "t.csv", "--config"], "--config: found no value"),
    ("a flag twice", ["run", "t.csv", "--format", "csv", "--format", "md"], "--format: found several"),
    ("a value for a switch", ["run", "t.csv", "--quiet=2"], "quiet: found a value"),
    ("no rows to show", ["trace", "head", "t.csv", "-n", "0"], "-n: found \"0\""),
    ("half a row to show", ["trace", "head", "t.csv", "-n", "1.5"], "-n: found \"1.5\""),
    ("a format that trace lacks", ["trace", "info", "t.csv", "--format", "csv"], "text, json"),
    ("lengths in a shape of their own", ["trace", "synth", "--prompt", "normal:8:9", "--output", "5"],
     "--prompt: found \"normal:8:9\"", "uniform:LO:HI or one number"),
    ("lengths from high to low", ["trace", "synth", "--prompt", "5", "--output", "uniform:9:8"],
     "--output: found \"uniform:9:8\"", "LO up to HI"),
    ("no lengths", ["trace", "synth", "--prompt", "5"], "--output: found no value"),
    ("a trace of centuries", ["trace", "synth", "--prompt", "5", "--output", "5", "--rate", "1e-9"],
     "--rate: found \"1e-9\"", "within 200 years"),
    ("a device with a typing error", ["run", "t.csv", "--set", "cost.device=llama_3_1_8b_h100_sxm_vlm"],
     "cost.device: found", "did you mean llama_3_1_8b_h100_sxm_vllm?"),
    ("a device without this many GPUs", ["run", "t.csv", "--set", "cost.device=llama_3_1_70b_h100_sxm_vllm"],
     "engine.tensor_parallel_size: found 1", "has: 2, 4, 8"),
    ("a host without a device", ["run", "t.csv", "--set", "cost.host_us=5"],
     "cost.host_us: found an option without effect", "where cost.device names a device"),
    ("a metric that goodput lacks", ["run", "t.csv", "--goodput", "tfft:500"],
     "--goodput: found the unknown metric \"tfft\"", "ttft, tpot or e2el", "did you mean ttft?"),
    ("an objective without its limit", ["run", "t.csv", "--goodput", "ttft"],
     "--goodput: found \"ttft\"", "as ttft:500"),
    ("an objective that is no number", ["run", "t.csv", "--goodput", "ttft:fast"], "milliseconds with"),
    ("two objectives for one metric", ["run", "t.csv", "--goodput", "ttft:5", "ttft:6"],
     "found two objectives for ttft"),
    ("a trace behind the objectives", ["run", "--goodput", "ttft:5", "t.csv"],
     "found no TRACE"),
    ("a window that ends before it begins", ["run", "t.csv", "--measure-from", "9", "--measure-to", "9"],
     "found --measure-from 9 and --measure-to 9", "the first to be less"),
    ("a window of words", ["run", "t.csv", "--measure-from", "noon"], "--measure-from: found \"noon\""),
    ("a request that is not in the trace", ["run", "t.csv", "--why", "1"], "--why: found \"1\"",
     "a request from 0 to 0", "`pinfold trace head`"),
    ("a request of words", ["run", "t.csv", "--why", "all"], "--why: found \"all\""),
    ("a timeline as a table", ["run", "t.csv", "--why", "0", "--format", "csv"], "--format text or json"),
    ("an engine flag with a typing error", ["run", "t.csv", "--vllm-args", "--max-num-sqes 9"],
     "--vllm-args: found the unknown flag", "did you mean --max-num-seqs?"),
    ("a missing configuration", ["run", "t.csv", "--config", "none.json"],
     "none.json: found no file of this name", "expected a configuration (JSON)"),
    ("a directory for a configuration", ["run", "t.csv", "--config", "directory"],
     "directory: found a directory", "expected a configuration (JSON)"),
]


def expect(suite, what, status, args, parts):
    """The run fails with `status`, says all `parts`, and leaves nothing behind."""
    before = suite.files()
    result = suite.run(*args)
    suite.check(f"{what}: exit status {status}", result.status == status,
                f"exit status {result.status}: {result.err}")
    suite.check(f"{what}: begins with the program's name", result.err.startswith("pinfold: error: "),
                result.err)
    for part in parts:
        suite.check(f"{what}: says {part}", part in result.err, result.err)
    suite.check(f"{what}: nothing on stdout", result.out == "", result.out)
    suite.check(f"{what}: nothing written", suite.files() == before, str(suite.files().keys()))


def bad_traces(suite):
    for what, content, *parts in TRACES:
        suite.write("t.csv", content)
        for args in (["run", "t.csv", "-o", "result"], ["trace", "info", "t.csv"],
                     ["trace", "head", "t.csv"]):
            expect(suite, f"{args[0]} {args[1]}, {what}", 1, args, ["t.csv", *parts])
    os.remove(suite.scratch / "t.csv")
    for args in (["run", "t.csv", "-o", "result"], ["trace", "info", "t.csv"]):
        expect(suite, "a missing trace", 1, args, ["t.csv: found no file of this name"])
    expect(suite, "a directory for a trace", 1, ["run", "directory", "-o", "result"],
           ["directory: found a directory", "expected a request trace"])
    suite.write("t.csv", HEADER + "1970-01-01 00:00:00,1,1\n2261-12-31 00:00:00,1,1\n")
    expect(suite, "a trace longer than simulated time", 1, ["run", "t.csv", "-o", "result"],
           ["t.csv:3:1: found a time more than 146 years after the first", "expected at most 146 years"])
    suite.write("t.csv", HEADER + "1970-01-01 00:00:00,1,1\n2100-12-31 00:00:00,1,1\n")
    expect(suite, "a trace stretched beyond simulated time", 1,
           ["run", "t.csv", "-o", "result", "--set", "workload.time_scale=2"],
           ["t.csv: found an arrival", "workload.time_scale", "expected at most 4611686018 s"])
    os.remove(suite.scratch / "t.csv")
    if os.geteuid() != 0:  # root may read everything
        suite.write("secret.csv", HEADER + ROW)
        os.chmod(suite.scratch / "secret.csv", 0)
        expect(suite, "a secret trace", 1, ["run", "secret.csv"], ["this user may not read"])
        os.remove(suite.scratch / "secret.csv")


def bad_output_directories(suite):
    suite.write("file", "mine")
    expect(suite, "a file for a directory", 1, ["run", "t.csv", "-o", "file"],
           ["file: found a file", "expected a directory to write into"])
    expect(suite, "a directory below a file", 1, ["run", "t.csv", "-o", "file/below"],
           ["file/below: found ", "which is a file"])
    expect(suite, "no directory's name", 1, ["run", "t.csv", "-o", ""], ["-o: found an empty name"])
    if os.geteuid() != 0:
        os.mkdir(suite.scratch / "locked", 0o555)
        expect(suite, "a locked directory", 1, ["run", "t.csv", "-o", "locked/new"],
               ["which this user may not write"])


def all_mistakes(suite):
    """Every mistake of a configuration is said, in order, each with its place; what needs all options comes after them."""
    suite.write("c.json", '{"engine": {"num_blocks": "many",\n "block_size": 0, "max_num_seq": 3},\n"seeed": 1}')
    said = suite.run("run", "t.csv", "--config", "c.json", "--set", "engine.overlap=9", "--set", "model.window_tokens=5")
    found = [line.removeprefix("pinfold: error: ").split(": found")[0] for line in said.err.splitlines()]
    suite.check("all mistakes are said at once", said.status == 2 and said.out == "" and found == [
        "c.json:1:27: engine.num_blocks", "c.json:2:16: engine.block_size", "c.json:2:19: engine.max_num_seq", "c.json:3:1: seeed",
        "--set engine.overlap=9: engine.overlap"], said.err)
    said = suite.run("run", "t.csv", "--set", "model.window_tokens=5", "--set", "cost.variant=x")
    suite.check("then all without effect", said.status == 2 and said.err.count("an option without effect") == 2, said.err)
    said = suite.run("run", "t.csv", "--set", "model.compression_ratios=[3]", "--set", "engine.max_num_seqs=9000", "--set",
                     "engine.max_num_batched_tokens=100")
    suite.check("then all that do not go together", said.status == 2 and len(said.err.splitlines()) == 2 and
                "compression ratio 3" in said.err and "max_num_seqs = 9000" in said.err, said.err)
    suite.write("inner.json", '{"engine": {"block_size": 0}}')
    suite.write("c.json", '{"include": ["inner.json", "missing.json"], "seeed": 1}')
    said = suite.run("run", "t.csv", "--config", "c.json")
    suite.check("those of included files too, with the file that includes them", said.status == 2 and
                len(said.err.splitlines()) == 3 and said.err.count("included by c.json:1:") == 2 and "seeed" in said.err, said.err)


def main():
    suite = Suite()
    (suite.scratch / "directory").mkdir()
    bad_traces(suite)
    suite.write("t.csv", HEADER + ROW)
    suite.check("the trace of the cases below is good", suite.run("run", "t.csv").status == 0)
    for what, content, *parts in CONFIGURATIONS:
        suite.write("c.json", content)
        expect(suite, f"a configuration with {what}", 2,
               ["run", "t.csv", "--config", "c.json", "-o", "result"], parts)
    for what, args, *parts in OVERRIDES:
        expect(suite, f"an override with {what}", 2, ["run", "t.csv", "-o", "result", *args], parts)
    for what, args, *parts in USAGE:
        expect(suite, f"a command line with {what}", 2, args, parts)
    all_mistakes(suite)
    bad_output_directories(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
