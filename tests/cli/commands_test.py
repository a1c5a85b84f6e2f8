#!/usr/bin/env python3
"""Each command prints what its help promises, to the right stream, with the right exit status.

  commands_test.py PROGRAM
"""

import csv
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

from program import HEADER, ROOT, ROW, Suite

CONVERSATION = ROOT / "traces/azure/AzureLLMInferenceTrace_conv.csv"

# DESIGN's fixed names, as far as a run computes them.
FIXED_NAMES = """completed rejected_never aborted unfinished verdict duration_s total_input_tokens
  total_output_tokens request_throughput output_throughput request_goodput saturated preemptions recomputed_tokens sat_out
  wait_ns_by_reason wait_ns_total admission later_by_reason forks cow_copies copies drafts blocks slots steps events
  ledger_position_ns fragmentation_percent fragmentation sharing adjacency state_slots_ns draft_slots_ns
  digest digest_timed""".split() + [
    f"{statistic}_{metric}_ms" for metric in ("ttft", "tpot", "itl", "e2el", "queue")
    for statistic in ("mean", "p50", "p90", "p99")]


def three_requests(suite):
    return suite.write("t.csv", HEADER + "2023-11-16 18:15:46,100,3\n"
                       "2023-11-16 18:15:47,200,1\n2023-11-16 18:15:47,300,0")


def formats(suite):
    trace = three_requests(suite)
    text = suite.run("run", trace)
    suite.check("run prints vLLM's block first",
                text.out.startswith("============ Serving Benchmark Result ============\n"
                                    "Successful requests:                     3\n"), text.out)
    suite.check("run says nothing on stderr where it is no terminal", text.err == "", text.err)

    first = suite.run("run", trace, "--format", "json")
    result = json.loads(first.out)
    for name in FIXED_NAMES:
        suite.check(f"run --format json has {name}", name in result, first.out)
    suite.check("the verdict is ok", result["verdict"] == "ok", first.out)
    suite.check("prompt and output tokens are the trace's",
                (result["total_input_tokens"], result["total_output_tokens"]) == (600, 4), first.out)
    suite.check("the result carries what repeats the run",
                {"version", "trace", "trace_digest", "config_digest", "seed"} <= result.keys(),
                first.out)
    suite.check("the same run gives the same bytes",
                suite.run("run", trace, "--format", "json").out == first.out)
    suite.check("the slow path gives the same bytes",
                suite.run("run", trace, "--format", "json", "--fast-path", "off").out == first.out)
    for audit in ("every", "2", "end"):
        suite.check(f"an audit ({audit}) changes nothing",
                    suite.run("run", trace, "--format", "json", "--audit", audit).out == first.out)

    ledger(suite, trace, result)
    rows = list(csv.DictReader(io.StringIO(suite.run("run", trace, "--format", "csv").out)))
    suite.check("run --format csv has one row", len(rows) == 1, str(rows))
    suite.check("csv and json agree", rows[0]["blocks.acquired"] == str(result["blocks"]["acquired"]),
                str(rows))
    table = suite.run("run", trace, "--format", "md").out
    suite.check("run --format md is a table", table.startswith("| figure | value |\n"), table)
    after = suite.run("run", "--", trace)
    suite.check("-- ends the flags", after.status == 0 and after.out == text.out, after.err)


def ledger(suite, trace, result):
    classes = {name: int(value) for name, value in result["ledger_position_ns"].items()}
    capacity = classes.pop("capacity")
    suite.check("the classes sum to the capacity", sum(classes.values()) == capacity > 0, str(classes))
    usable = result["blocks"]["usable"] * 16
    suite.check("the capacity is positions times time", capacity % usable == 0, str(capacity))
    owned = capacity - classes["free"] - classes["cached_idle"]
    suite.check("committed and the parts of fragmentation are what is owned",
                abs(100 * (owned - classes["committed"]) / owned - result["fragmentation_percent"]) < 1e-6
                and abs(sum(result["fragmentation"].values()) - result["fragmentation_percent"]) < 1e-5,
                str(result["fragmentation"]))
    text = suite.run("run", trace).out
    suite.check("the text report says where the memory went", "Where the Memory Went" in text, text)
    off = suite.run("run", trace, "--format", "json", "--ledger", "off")
    without = json.loads(off.out)
    suite.check("--ledger off has no figures and the same run",
                without["ledger_position_ns"]["committed"] is None
                and without["fragmentation_percent"] is None
                and without["digest"] == result["digest"], off.out)
    text = suite.run("run", trace, "--ledger", "off").out
    suite.check("nor has its text", "Where the Memory Went" not in text, text)
    wrong = suite.run("run", trace, "--ledger", "maybe")
    suite.check("--ledger takes on and off", wrong.status == 2 and wrong.out == "", wrong.err)


def configurations(suite):
    trace = three_requests(suite)
    plain = suite.run("run", trace, "--format", "json").out
    default = suite.run("run", trace, "--format", "json", "--config",
                        ROOT / "configs/runs/default.json").out
    suite.check("without --config the run is that of configs/runs/default.json", plain == default)
    suite.write("c.json", '{"engine": {"block_size": 8}, "workload": {"stop": "known"}}')
    from_file = json.loads(suite.run("run", trace, "--format", "json", "--config", "c.json").out)
    from_flags = json.loads(suite.run("run", trace, "--format", "json", "--set",
                                      "engine.block_size=8", "--set", "workload.stop=known").out)
    suite.check("a file and overrides that say the same run the same", from_file == from_flags)
    # ceil((p + max(o, 1) - 1) / 8) for 100/3, 200/1 and 300/0 tokens.
    suite.check("blocks of 8 are acquired as the lengths ask", from_file["blocks"]["acquired"] ==
                13 + 25 + 38, str(from_file["blocks"]))
    both = json.loads(suite.run("run", trace, "--format", "json", "--config", "c.json", "--set",
                                "engine.block_size=16").out)
    suite.check("an override beats the file", both["blocks"]["acquired"] == 7 + 13 + 19,
                str(both["blocks"]))


def output_directory(suite):
    trace = three_requests(suite)
    done = suite.run("run", trace, "-o", "out/one", "--set", "workload.drafts=2")
    suite.check("run -o succeeds", done.status == 0, done.err)
    directory = suite.scratch / "out/one"
    names = sorted(path.name for path in directory.iterdir())
    suite.check("run -o writes its files", names == [
        "blockmap.json", "config.resolved.json", "preemptions.csv", "recording.json", "requests.csv",
        "summary.json", "timeline.csv", "trace.pftrace"], names)
    summary = (directory / "summary.json").read_text()
    suite.check("summary.json is what --format json prints",
                suite.run("run", trace, "--format", "json", "--set", "workload.drafts=2").out == summary)
    again = suite.run("run", trace, "--format", "json", "--config", "out/one/config.resolved.json")
    suite.check("config.resolved.json repeats the run", again.out == summary, again.err)


def trace_commands(suite):
    info = json.loads(suite.run("trace", "info", CONVERSATION, "--format", "json").out)
    # traces/azure/README.md; counted by tests/oracle/azure_statistics.py.
    suite.check("trace info counts requests", info["requests"] == 19366, str(info))
    suite.check("trace info counts prompt tokens", info["prompt_tokens"]["total"] == 22361870, str(info))
    suite.check("trace info counts output tokens", info["output_tokens"]["total"] == 4088665, str(info))
    suite.check("trace info knows the longest prompt", info["prompt_tokens"]["max"] == 14050, str(info))
    suite.check("trace info's rate is that of the gaps", abs(info["request_rate"] * info["span_s"] - 19365) < 0.01,
                str(info))
    text = suite.run("trace", "info", CONVERSATION)
    suite.check("trace info prints a table", "Requests:                19366\n" in text.out, text.out)

    head = suite.run("trace", "head", CONVERSATION, "-n", "2")
    suite.check("trace head shows the first requests", head.out.splitlines()[1:] == [
        "       0        0.000000000        374         44",
        "       1        4.314579000        396        109"], head.out)
    rows = json.loads(suite.run("trace", "head", CONVERSATION, "--format", "json").out)["requests"]
    suite.check("trace head shows 10 by default", len(rows) == 10, str(rows))
    short = suite.run("trace", "head", three_requests(suite), "-n", "99")
    suite.check("trace head shows what there is", len(short.out.splitlines()) == 4, short.out)


    made_up = ["trace", "synth", "--requests", "3", "--prompt", "uniform:8:9", "--output", "5"]
    synth = suite.run(*made_up, "--rate", "0.5")
    lines = synth.out.splitlines()
    suite.check("trace synth prints a header and its requests",
                lines[0] + "\n" == HEADER and len(lines) == 4, synth.out)
    suite.check("trace synth spaces arrivals evenly", [line.split(",")[0][-12:] for line in lines[1:]] ==
                ["00.000000000", "02.000000000", "04.000000000"], synth.out)
    suite.check("trace synth keeps to its lengths",
                all(line.split(",")[1] in "89" and line.endswith(",5") for line in lines[1:]), synth.out)
    suite.write("synth.csv", suite.run(*made_up).out)
    info = json.loads(suite.run("trace", "info", "synth.csv", "--format", "json").out)
    suite.check("trace synth writes what trace info reads", info["requests"] == 3, str(info))
    suite.check("trace synth draws by its seed",
                suite.run(*made_up[:-4], "--prompt", "uniform:1:9999", "--output", "1", "--seed", "7").out !=
                suite.run(*made_up[:-4], "--prompt", "uniform:1:9999", "--output", "1").out)


def devices(suite):
    device = ["--set", "cost.device=llama_3_1_8b_h100_sxm_vllm"]
    trace = three_requests(suite)
    ran = suite.run("run", trace, *device, "--format", "json", "-o", "device")
    result = json.loads(ran.out)
    suite.check("run names its device", result["device"]["name"] == "llama_3_1_8b_h100_sxm_vllm" and
                result["device"]["engine"] == "vllm 0.24.0" and result["device"]["fit"] == "table", ran.out)
    suite.check("run says what block size does not change",
                result["device"]["block_size_effect"] == "copies only", ran.out)
    again = suite.run("run", trace, "--config", "device/config.resolved.json", "--format", "json")
    suite.check("the resolved configuration repeats the device", again.out == ran.out, again.err)
    short = suite.write("short.csv", HEADER + "2023-11-16 18:15:46,10,3\n")  # the fits begin at 64
    knots = json.loads(suite.run("run", short, *device, "--set", "cost.fit=knots", "--format", "json").out)
    suite.check("run counts steps outside the fitted range",
                knots["device"]["steps_out_of_range"] > 0 and
                knots["steps_out_of_range"]["context_per_row_min"] > 0, str(knots["steps_out_of_range"]))
    text = suite.run("run", short, *device, "--set", "cost.fit=knots").out
    suite.check("the text says so too", "Steps out of its range:" in text and
                "  by context_per_row_min:" in text, text)

    built_in = (ROOT / "configs/devices/llama_3_1_8b_h100_sxm_vllm.json").read_text()
    suite.write("own.json", built_in)
    own = suite.run("run", trace, "--set", "cost.device=own.json", "--format", "json")
    suite.check("a device file of one's own gives the same times",
                json.loads(own.out)["digest_timed"] == result["digest_timed"], own.err)
    suite.write("own.json", built_in.replace('"step_ns":', '"step_us":', 1))
    broken = suite.run("run", trace, "--set", "cost.device=own.json")
    suite.check("a mistake in it is placed by line, column and path",
                broken.status == 2 and "own.json:" in broken.err and
                "entries[0].linear: found no key \"step_ns\"" in broken.err, broken.err)


def help_and_schema(suite):
    flags = {
        ("run",): ["TRACE", "--config", "--set", "--vllm-args", "--why", "--goodput", "--measure-from",
                   "--measure-to", "-o", "--format", "--fast-path", "--audit", "-q",
                   "Default: text.", "Default: on.", "Default: end.", "events"],
        ("size",): ["--config", "--set", "--vllm-args", "--available-gib", "--num-blocks",
                    "--prompt-tokens", "--output-tokens", "--format"],
        ("replay",): ["EVENTS", "--format", "--verify"],
        ("trace",): ["info", "head", "convert", "synth"],
        ("trace", "synth"): ["--requests", "--prompt", "--output", "--rate", "--seed", "Default: 1000."],
        ("trace", "info"): ["TRACE", "--format", "Default: text."],
        ("trace", "head"): ["TRACE", "-n", "--format", "Default: 10."],
        ("schema",): ["JSON Schema"],
        (): ["run", "replay", "trace", "schema", "--version", "Exit codes"],
    }
    for command, parts in flags.items():
        done = suite.run(*command, "--help")
        suite.check(f"{' '.join(command)} --help succeeds", done.status == 0 and done.err == "", done.err)
        for part in parts:
            suite.check(f"{' '.join(command)} --help names {part}", part in done.out, done.out)
        suite.check(f"{' '.join(command)} --help fits 105 columns",
                    max(map(len, done.out.splitlines())) <= 105, done.out)
    version = suite.run("--version")
    suite.check("--version prints one line", version.out == "pinfold 0.1.0\n", version.out)

    schema = json.loads(suite.run("schema").out)
    suite.check("schema is draft-07", "draft-07" in schema["$schema"], str(schema)[:200])
    engine = schema["properties"]["engine"]["properties"]
    suite.check("schema has units and defaults", "Unit: token positions." in
                engine["block_size"]["description"] and engine["block_size"]["default"] == 16,
                str(engine["block_size"]))


def replay(suite):
    lab = ROOT / "configs/labs/09_blocks.jsonl"
    shown = suite.run("replay", lab)
    suite.check("replay shows tables", shown.status == 0 and "A=[1, 2]" in shown.out, shown.err)
    json.loads(suite.run("replay", lab, "--format", "json").out)
    judged = suite.run("replay", lab, "--verify")
    suite.check("replay --verify judges", judged.status == 0 and judged.out == shown.out, judged.err)
    missing = suite.run("replay", "none.jsonl")
    suite.check("replay of a missing file", missing.status == 1 and missing.out == "" and
                "none.jsonl" in missing.err, missing.err)


def never(suite):
    """A prompt that no pool of this size can hold."""
    trace = suite.write("t.csv", HEADER + "2023-11-16 18:15:46,100,1\n2023-11-16 18:15:46,16,1\n")
    result = suite.run("run", trace, "--format", "json", "--set", "engine.num_blocks=4")
    found = json.loads(result.out)
    suite.check("a prompt larger than the pool is answered NEVER, the rest runs",
                result.status == 0 and found["rejected_never"] == 1 and found["completed"] == 1,
                result.out)
    suite.check("and is not passed over in silence", "note: 1 of 2 requests can never run" in result.err and
                "The first is request 0\n" in result.err, result.err)


def nothing_to_run(suite):
    """A trace of which nothing is left is a mistake of every command that reads one, in memory or not."""
    trace = suite.write("n.csv", HEADER + ROW * 2)
    for words in (["run"], ["trace", "info"], ["trace", "head"], ["trace", "convert"],
                  ["capacity", "--slo", "p99_ttft_ms<=1"]):
        for name, text in ((trace, ""), ("-", HEADER + ROW)):
            done = suite.run(*words, name, "--start", "9", input=text.encode())
            suite.check(f"{words[:2]} of no request from {name}", done.status == 1 and done.out == "" and
                        "found no request, expected at least one (left out by --start)" in done.err,
                        f"{done.status} {done.err}")


def too_long(suite):
    """2 x 4 x 10^9 s are more than half of 2^63 ns, in every command that runs a trace."""
    trace = suite.write("far.csv", "arrival_ms,prompt,output\n0,10,2\n4000000000000,10,2\n")
    for words in (["run"], ["capacity", "--slo", "p99_ttft_ms<=1"], ["check", "--require", "verdict==ok"],
                  ["sweep", "-L", "engine.block_size=16,32", "--trace"]):
        done = suite.run(*words, trace, "--set", "workload.time_scale=2")
        suite.check(f"{words[0]} of 8 x 10^9 s is refused", done.status == (2 if words[0] == "sweep" else 1) and
                    "found an arrival 4000000000 s after the first" in done.out + done.err, done.out + done.err)


def without_effect(suite):
    """A block without a known size moves in no time, which a bandwidth does not change."""
    trace = suite.write("b.csv", HEADER + ROW)
    store = ["--set", "prefix.reuse=on", "--set", "store.host_blocks=9", "--set", "store.bandwidth_gb_s=5"]
    done = suite.run("run", trace, *store)
    suite.check("a bandwidth of unknown bytes is noted", done.status == 0 and
                "store.bandwidth_gb_s is without effect" in done.err, done.err)
    done = suite.run("run", trace, *store, "--config", ROOT / "configs/models/llama_3_1_8b.json")
    suite.check("of known ones it is not", done.status == 0 and "without effect" not in done.err, done.err)


def wrong_places(suite):
    """What new users typed."""
    for words, said in (
            (["run", ROOT / "configs/runs/default.json"], "found a configuration, expected a scenario (--config takes it"),
            (["run", "t", "--goodput"], "--goodput: found no value, expected METRIC:MS\n"),
            (["run", "t", "--set", "prefix.reuse=yes"], 'found "yes", expected "off" or "on"\n'),
            (["run", "t", "--set", "engine.blok=1"], "(did you mean engine.block_size?)"),
            (["run", "t", "--start", "5", "--end", "5"], "found --start 5 and --end 5, expected the first to be less")):
        done = suite.run(*words)
        suite.check(f"{words[1:]} is told what to do", done.status in (1, 2) and said in done.err, done.err)


def goodput(suite):
    """Four requests that come alone: 100/3 tokens and so on. A step is 8 ms and 20 us a row, a prompt
    token 40 us, so that a prompt of 1,000 takes 48.02 ms to its first token and one of 100 takes 12."""
    trace = suite.write("g.csv", HEADER + "".join(
        f"2023-11-16 18:15:{second},{prompt},5\n" for second, prompt in
        ((10, 100), (20, 1000), (30, 100), (40, 1000))))
    plain = json.loads(suite.run("run", trace, "--format", "json").out)
    suite.check("without objectives goodput is null", plain["request_goodput"] is None and
                "goodput" not in plain, str(plain))
    for args, good in ((["ttft:30"], 2), (["ttft:500"], 4), (["ttft:500", "tpot:1"], 0),
                       (["ttft:30", "tpot:9", "e2el:9000"], 2), (["ttft:30.000001 e2el:9000"], 2)):
        done = suite.run("run", trace, "--format", "json", "--goodput", *args)
        found = json.loads(done.out)
        suite.check(f"--goodput {args}: {good} requests are good", found["goodput"]["requests"] == good,
                    str(found["goodput"]))
        rate = good / found["duration_s"]
        suite.check(f"--goodput {args}: goodput is a rate", abs(found["request_goodput"] - rate) < 1e-6)
        suite.check(f"--goodput {args}: the run is the same", found["digest_timed"] == plain["digest_timed"])
    for form, part in (("text", "Request goodput (req/s):                 "), ("md", "| request_goodput | "),
                       ("csv", ",request_goodput,goodput.ttft_ms,")):
        suite.check(f"--goodput shows in {form}",
                    part in suite.run("run", trace, "--format", form, "--goodput", "ttft:30").out)


def windows(suite):
    trace = suite.write("w.csv", HEADER + "".join(
        f"2023-11-16 18:15:{second},{100 + second},5\n" for second in range(10, 50, 10)))
    whole = json.loads(suite.run("run", trace, "--format", "json").out)
    part = json.loads(suite.run("run", trace, "--format", "json", "--measure-from", "10", "--measure-to",
                                "30").out)
    suite.check("a window counts the requests that arrive in it", (part["requests"], part["completed"],
                part["total_input_tokens"]) == (2, 2, 120 + 130), str(part))
    suite.check("a window says so", part["measured"] == {"from_s": 10, "to_s": 30, "trace_requests": 4},
                str(part))
    suite.check("a window's duration is its own", 10 < part["duration_s"] < 11, str(part["duration_s"]))
    suite.check("a window leaves the run alone", part["digest_timed"] == whole["digest_timed"] and
                part["blocks"] == whole["blocks"] and part["steps"] == whole["steps"])
    suite.check("no window, no word of it", "measured" not in whole, str(whole))
    open_end = suite.run("run", trace, "--measure-from", "0.000000001").out
    suite.check("a window may be open", "Measured arrivals before (s):            the end\n" in open_end and
                "Successful requests:                     3\n" in open_end, open_end)


def why(suite):
    trace = three_requests(suite)
    text = suite.run("run", trace, "--why", "0")
    suite.check("--why shows one request's life", text.status == 0 and text.err == "" and
                [line[19:] for line in text.out.splitlines()[2:-2]] == [
                    "arrives: 100 prompt tokens, 3 output tokens", "OK: gets 7 blocks",
                    "chunk: prompt positions 0 to 99 in step 1",
                    "decodes, with 100 tokens known", "first token",
                    "ends (stop) after 3 tokens; it held at most 7 blocks"], text.out)
    found = json.loads(suite.run("run", trace, "--why", "0", "--format", "json").out)
    suite.check("--why in JSON", [event["event"] for event in found["events"]] == [
        "arrive", "admit", "chunk", "decode", "first_token", "end"] and found["wait_ns_total"] == 0,
                str(found))
    done = suite.run("run", CONVERSATION, "--why", "8001", "--set", "engine.num_blocks=900")
    for part in ("LATER, for blocks: it asks for 149 blocks\n", " OK: gets 149 blocks\n", " for blocks, ",
                 " for the running step to end\n", "in step ", " after 72 tokens;"):
        suite.check(f"--why in a tight pool says {part.strip()}", part in done.out, done.out)
    both = suite.run("run", trace, "--why", "1", "-o", "why")
    suite.check("--why still writes the summary", both.out.startswith("Request 1 of ") and
                json.loads((suite.scratch / "why/summary.json").read_text())["completed"] == 3, both.err)


def streams(suite):
    trace = three_requests(suite)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([suite.program, "run", trace], cwd=suite.scratch, stdout=full,
                              stderr=subprocess.PIPE, check=False)
    suite.check("a result that cannot be written is an error",
                done.returncode == 1 and b"stdout: cannot write the result" in done.stderr,
                str(done))
    suite.check("progress on a terminal, wiped at the end",
                b" requests ended" in on_terminal(suite, "run", CONVERSATION))
    # Row by row it takes long enough for a pace.
    slow = on_terminal(suite, "run", CONVERSATION, "--fast-path", "off", "--shadow", "on", "--audit", "20")
    suite.check("progress says how long a slow run will take", b" s left" in slow, str(slow[-200:]))
    suite.check("no progress with -q", on_terminal(suite, "run", CONVERSATION, "-q") == b"")
    search = ["capacity", CONVERSATION, "--limit", "300", "--slo", "p99_ttft_ms<=500"]
    suite.check("capacity tells of its runs on a terminal", b" runs ended" in on_terminal(suite, *search))
    suite.check("and not with -q", on_terminal(suite, *search, "-q") == b"")
    suite.check("no colours", b"\x1b" not in on_terminal(suite, "run", CONVERSATION))


def on_terminal(suite, *args):
    """What the program writes to stderr if that is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([suite.program, *map(str, args)], cwd=suite.scratch, stderr=theirs,
                          stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        written = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the last writer closed it
                break
            if not part:
                break
            written += part
        process.wait(timeout=60)
    os.close(ours)
    return written


def interrupt(suite):
    """A named pipe that nobody writes keeps the program waiting for its trace."""
    os.mkfifo(suite.scratch / "pipe.csv")
    with subprocess.Popen([suite.program, "run", "pipe.csv", "-o", "interrupted"], cwd=suite.scratch,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        writer = os.open(suite.scratch / "pipe.csv", os.O_WRONLY)  # returns once the program reads
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        os.close(writer)
    suite.check("SIGINT ends a run with 130", process.returncode == 130, str(process.returncode))
    suite.check("an interrupted run prints and writes nothing",
                out == b"" and not (suite.scratch / "interrupted").exists())


def unsafe_fences(suite):
    """What configs/zoo/43_copy_lane.fence_unordered_writers.json breaks is said where a run chooses it."""
    suite.write("one.csv", HEADER + ROW)
    both = ["--set", "engine.fence=unordered_writers", "--set", "fork.copy_lane=separate"]
    result = suite.run("run", "one.csv", *both)
    suite.check("fences off and copies apart: runs, with a note", result.status == 0 and "is not safe" in result.err,
                result.err)
    for alone in (both[:2], both[2:]):
        result = suite.run("run", "one.csv", *alone)
        suite.check(f"{alone[1]} alone: no note", "is not safe" not in result.err, result.err)


def main():
    suite = Suite()
    formats(suite)
    unsafe_fences(suite)
    configurations(suite)
    output_directory(suite)
    trace_commands(suite)
    devices(suite)
    help_and_schema(suite)
    replay(suite)
    never(suite)
    nothing_to_run(suite)
    too_long(suite)
    without_effect(suite)
    wrong_places(suite)
    goodput(suite)
    windows(suite)
    why(suite)
    streams(suite)
    interrupt(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
