#!/usr/bin/env python3
"""Traces of every format are read by every command, and a converted trace is the same workload.

  trace_formats_test.py PROGRAM
"""

import gzip
import json
import subprocess
import sys

from program import HEADER, ROOT, Suite

TRACES = ROOT / "traces"
CONVERSATION = TRACES / "azure/AzureLLMInferenceTrace_conv.csv"

# Each sample and what a reader of the file counts by hand (grep, jq): format, rows, requests, ids' size.
SAMPLES = {
    "mooncake/conversation_300.jsonl": ("mooncake", 300, 300, 512),
    "dynamo/pi_request_trace.jsonl.gz": ("dynamo", 61, 17, 16),
    "weka": ("weka", 13, 13, 64),
    "weka/trace_0091.json": ("weka", 10, 10, 64),
    "tracelab/example_sessions_sanitized_round_trace.jsonl": ("tracelab", 19, 19, 0),
    "tracelab/replay_examples_multi_session_large.csv": ("tracelab_replay", 303, 303, 0),
    # Sum of rate times 600 s over the rows of chunk-6-trace.csv.
    "servegen": ("servegen", None, None, 0),
}


def information(suite, *args, **options):
    done = suite.run("trace", "info", *args, "--format", "json", **options)
    suite.check(f"trace info {args} succeeds", done.status == 0, done.err)
    return json.loads(done.out) if done.status == 0 else {}


def samples(suite):
    for name, (form, rows, requests, block) in SAMPLES.items():
        found = information(suite, TRACES / name)
        suite.check(f"{name} is of format {form}", found["trace_format"] == form, str(found))
        if rows is not None:
            suite.check(f"{name} has {rows} rows and {requests} requests",
                        (found["rows"], found["requests"]) == (rows, requests), str(found))
        suite.check(f"{name}: ids of {block} tokens", found["prefix_ids"]["block_tokens"] == block, str(found))
    asked = sum(round(float(line.split(",")[1]) * 600)
                for line in (TRACES / "servegen/chunk-6-trace.csv").read_text().splitlines())
    made = information(suite, TRACES / "servegen")
    suite.check(f"ServeGen's rates ask for {asked} requests", made["requests"] == asked, str(made))
    other = suite.run("trace", "convert", TRACES / "servegen", "--seed", "1").out
    suite.check("ServeGen draws by its seed",
                other != suite.run("trace", "convert", TRACES / "servegen").out)
    reference = information(suite, TRACES / "mooncake/conversation_300.jsonl")
    ids = [i for line in (TRACES / "mooncake/conversation_300.jsonl").read_text().splitlines()
           for i in json.loads(line)["hash_ids"]]
    suite.check("the share of ids seen before is that of the file",
                abs(reference["prefix_ids"]["seen_before"] - (1 - len(set(ids)) / len(ids))) < 1e-6,
                str(reference["prefix_ids"]))


def converted(suite):
    """Converting changes neither the trace's digest nor a run's."""
    for name in ("mooncake/conversation_300.jsonl", "dynamo/pi_request_trace.jsonl.gz", "weka", "servegen",
                 "tracelab/replay_examples_multi_session_large.csv", "azure/AzureLLMInferenceTrace_code.csv"):
        before = information(suite, TRACES / name)
        ran = {}
        for form, ending in (("jsonl", "jsonl"), ("csv", "csv")):
            file = f"converted.{ending}"
            done = suite.run("trace", "convert", TRACES / name, "--format", form, "-o", file)
            suite.check(f"{name} converts to {form}", done.status == 0 and done.out == "", done.err)
            after = information(suite, file)
            suite.check(f"{name} as {form} is the same trace",
                        after["trace_digest"] == before["trace_digest"] and
                        after["prefix_ids"] == before["prefix_ids"] and
                        after["prompt_tokens"] == before["prompt_tokens"], f"{before}\n{after}")
            piped = suite.run("trace", "convert", TRACES / name, "--format", form)
            if form == "jsonl":
                suite.check(f"{name} to standard output is the same",
                            piped.out == (suite.scratch / file).read_text())
            again = suite.run("trace", "convert", file, "--format", form)
            suite.check(f"{name} as {form} converts to itself",
                        again.out == (suite.scratch / file).read_text(), again.err)
            run = suite.run("run", file, "--format", "json", "--limit", "200", "--set",
                            "workload.stop=known")
            ran[form] = json.loads(run.out)["digest_timed"] if run.status == 0 else run.err
        run = suite.run("run", TRACES / name, "--format", "json", "--limit", "200", "--set",
                        "workload.stop=known")
        original = json.loads(run.out)["digest_timed"] if run.status == 0 else run.err
        suite.check(f"{name} runs to the same digest, converted or not",
                    ran == {"jsonl": original, "csv": original}, f"{original} {ran}")
    done = suite.run("trace", "convert", CONVERSATION, "--format", "azure", "-o", "again.csv")
    suite.check("as an Azure CSV the workload is the same", done.status == 0 and
                information(suite, "again.csv")["trace_digest"] ==
                information(suite, CONVERSATION)["trace_digest"], done.err)
    bad = suite.write("bad.csv", HEADER + "2023-11-16 18:15:46,1,1\nx\n")
    done = suite.run("trace", "convert", bad, "-o", "never.jsonl")
    suite.check("a conversion that fails leaves nothing", done.status == 1 and
                not [name for name in suite.files() if name.startswith("never")], done.err)
    done = suite.run("trace", "convert", CONVERSATION, "-o", "none/there.jsonl")
    suite.check("a conversion into no folder says so", done.status == 1 and "none/there.jsonl" in done.err,
                done.err)


def packed(suite):
    plain = CONVERSATION.read_bytes()
    digest = information(suite, CONVERSATION)["trace_digest"]
    # Two members, as `cat a.gz b.gz` makes them.
    suite.write("c.gz", gzip.compress(plain[:300000]) + gzip.compress(plain[300000:]))
    suite.check("gzip is unpacked, whatever the name", information(suite, "c.gz")["trace_digest"] == digest)
    # A Zstandard frame of one raw block: magic, no flags with a 1 KiB window, the block's size and kind.
    few = plain[:500].rsplit(b"\n", 1)[0]
    frame = b"\x28\xb5\x2f\xfd\x00\x00" + (len(few) << 3 | 1).to_bytes(3, "little") + few
    suite.write("few.csv", few)
    suite.write("few", frame)
    suite.check("Zstandard is unpacked", information(suite, "few")["trace_digest"] ==
                information(suite, "few.csv")["trace_digest"])
    for name in (CONVERSATION, suite.scratch / "c.gz", suite.scratch / "few",
                 TRACES / "dynamo/pi_request_trace.jsonl.gz", TRACES / "mooncake/conversation_300.jsonl"):
        with open(name, "rb") as file:
            done = subprocess.run([suite.program, "trace", "info", "-", "--format", "json"], stdin=file,
                                  capture_output=True, timeout=120, check=False)
        found = json.loads(done.stdout) if done.returncode == 0 else {}
        suite.check(f"{name.name} is the same from standard input",
                    found.get("trace_digest") == information(suite, name)["trace_digest"], done.stderr)


def transformed(suite):
    whole = information(suite, CONVERSATION)
    shares = [information(suite, CONVERSATION, "--shard", f"{k}/3") for k in (1, 2, 3)]
    suite.check("shares together are the trace",
                sum(one["requests"] for one in shares) == whole["requests"] and
                sum(one["prompt_tokens"]["total"] for one in shares) == whole["prompt_tokens"]["total"],
                str(shares))
    first = information(suite, CONVERSATION, "--limit", "100")
    suite.check("--limit takes the first", first["requests"] == 100, str(first))
    lines = CONVERSATION.read_text().splitlines()[1:101]
    suite.check("... of the file", first["prompt_tokens"]["total"] ==
                sum(int(line.split(",")[1]) for line in lines), str(first))
    twice = information(suite, TRACES / "mooncake/conversation_300.jsonl", "--repeat", "2")
    once = information(suite, TRACES / "mooncake/conversation_300.jsonl")
    suite.check("--repeat has prefixes of its own each time",
                twice["requests"] == 600 and
                twice["prefix_ids"]["different"] == 2 * once["prefix_ids"]["different"], str(twice))
    middle = information(suite, CONVERSATION, "--start", "1000", "--end", "2000.5")
    rest = [information(suite, CONVERSATION, "--end", "1000"),
            information(suite, CONVERSATION, "--start", "2000.5")]
    suite.check("stretches of time together are the trace",
                middle["requests"] + rest[0]["requests"] + rest[1]["requests"] == whole["requests"],
                str(middle))
    suite.check("a stretch is at most so long", middle["span_s"] <= 1000.5, str(middle))
    own = suite.write("own.csv", "when,how_long,answer\n5,100,7\n6.5,200,8\n")
    found = information(suite, own, "--columns", "arrival_s=when,prompt=how_long,output=answer")
    suite.check("--columns reads a table of one's own", (found["requests"], found["span_s"]) == (2, 1.5),
                str(found))
    head = suite.run("trace", "head", TRACES / "weka/trace_0091.json", "-n", "1", "--format", "json")
    suite.check("head shows sessions and ids", {"session", "delay_s", "prefix_ids"} <=
                json.loads(head.out)["requests"][0].keys(), head.err)


def synthetic(suite):
    made = ["trace", "synth", "--requests", "500", "--rate", "20"]
    lengths = ["--prompt", "lognormal:500:1", "--output", "exponential:100"]
    for law in ("even", "poisson", "gamma:3", "weibull:0.5", "onoff:1:3", "diurnal:100:4"):
        done = suite.run(*made, *lengths, "--arrivals", law)
        suite.check(f"synth --arrivals {law}", done.status == 0 and len(done.out.splitlines()) == 501, done.err)
        suite.check(f"synth --arrivals {law} is the same again",
                    suite.run(*made, *lengths, "--arrivals", law).out == done.out)
        suite.write("s.csv", done.out)
        information(suite, "s.csv")
    like = suite.run(*made, "--like", CONVERSATION)
    pairs = {tuple(line.split(",")[1:]) for line in CONVERSATION.read_text().splitlines()}
    suite.check("synth --like draws lengths of the trace", like.status == 0 and
                all(tuple(line.split(",")[1:]) in pairs for line in like.out.splitlines()), like.err)
    rich = suite.run(*made, *lengths, "--arrivals", "poisson", "--sessions", "4:5", "--prefix-tree", "3:2:4",
                     "--forks", "100", "--aborts", "50:2")
    suite.write("rich.jsonl", rich.out)
    found = information(suite, "rich.jsonl")
    suite.check("synth makes sessions, prefixes, forks and aborts", rich.status == 0 and
                found["sessions"]["requests"] == 500 and found["forks"] > 20 and found["aborts"] > 5 and
                found["prefix_ids"]["seen_before"] > 0.3, str(found))
    for args, part in ((["--arrivals", "normal:1", "--rate", "1"], "--arrivals: found \"normal:1\""),
                       (["--arrivals", "poisson"], "--arrivals without --rate"),
                       (["--arrivals", "gamma:99", "--rate", "1"], "from 0.03125 to 32"),
                       (["--sessions", "4"], "TURNS:THINK_S"),
                       (["--prefix-tree", "1:2"], "FANOUT:DEPTH:BLOCKS"),
                       (["--forks", "5", "--format", "azure"], "expected csv or jsonl"),
                       (["--like", "t"], "found --like beside --prompt")):
        done = suite.run("trace", "synth", "--prompt", "5", "--output", "5", *args)
        suite.check(f"synth {args} is refused", done.status == 2 and part in done.err and done.out == "",
                    done.err)


def usage(suite):
    for args, part in ((["--trace-format", "mooncak"], "did you mean mooncake?"),
                       (["--columns", "prompts=a"], "did you mean prompt?"),
                       (["--columns", "prompt"], "FIELD=COLUMN"),
                       (["--on-unordered", "maybe"], "error, sort, segments"),
                       (["--shard", "4/3"], "K/N with K from 1 to N"),
                       (["--limit", "0"], "a number of requests from 1"),
                       (["--start", "noon"], "seconds from 0")):
        for command in (["run"], ["trace", "info"], ["trace", "head"], ["trace", "convert"]):
            done = suite.run(*command, CONVERSATION, *args)
            suite.check(f"{command} {args} is refused", done.status == 2 and part in done.err and
                        done.out == "", done.err)


def main():
    suite = Suite()
    samples(suite)
    converted(suite)
    packed(suite)
    transformed(suite)
    synthetic(suite)
    usage(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
