#!/usr/bin/env python3
"""Do the files of `run -o` agree with each other, and do they appear together or not at all?

  files_test.py PROGRAM

Expected values: sums over requests.csv are the totals of summary.json, which the simulation counts
elsewhere (docs/results.md says which); rows of a table that is not thinned out are counted.
"""

import base64
import csv
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from environment import conversation  # noqa: E402
from program import ROOT, Suite  # noqa: E402

NAMES = ["blockmap.json", "config.resolved.json", "preemptions.csv", "recording.json", "requests.csv",
         "summary.json", "timeline.csv", "trace.pftrace"]
PRESSURE = ["--set", "engine.num_blocks=900", "--set", "cost.step_base_us=60000"]
EVERYTHING = ["--config", ROOT / "configs/runs/everything.json", "--set", "workload.time_scale=0.3"]
REASONS = ["blocks", "slot", "fence", "fork", "run_limit", "budget", "step"]


def rows_of(path):
    return list(csv.DictReader(path.open()))


def nanoseconds(milliseconds):
    """"1.234567" ms, exactly; 0 for an empty field."""
    return int(milliseconds.replace(".", "")) if milliseconds else 0


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def agreement(suite, title, arguments, count, exact, trace=None):
    """`exact`: one sequence a request, no drafts, no faults. `trace`: another than the conversation trace's start."""
    trace = trace or conversation(suite.scratch, count)
    ran = suite.run("run", trace, *arguments, "-o", title, "--format", "json")
    suite.check(f"{title}: runs", ran.status == 0, ran.err)
    folder = suite.scratch / title
    summary = json.loads((folder / "summary.json").read_text())
    suite.check(f"{title}: summary.json is what is printed", (folder / "summary.json").read_text() == ran.out)
    suite.check(f"{title}: these files and no others", sorted(path.name for path in folder.iterdir()) == NAMES)

    requests = rows_of(folder / "requests.csv")
    suite.check(f"{title}: a row a request", sorted(int(row["request"]) for row in requests) == list(range(count)))
    suite.check(f"{title}: rows in order of their ends",
                all(a["end_s"].rjust(30) <= b["end_s"].rjust(30) for a, b in zip(requests, requests[1:])))
    complete = [row for row in requests if row["end"] in ("stop", "limit")]
    total = lambda name, among=requests: sum(int(row[name]) for row in among)  # noqa: E731
    suite.check(f"{title}: prompt tokens add up", total("prompt_tokens", complete) == summary["total_input_tokens"])
    suite.check(f"{title}: output tokens add up", total("output_tokens", complete) == summary["total_output_tokens"])
    suite.check(f"{title}: preemptions add up", total("preemptions") == summary["preemptions"] > 0)
    recomputed = total("recomputed_tokens")
    # Rows in flight at a preemption count as computed here, whether they come to something or not.
    holds = recomputed == summary["recomputed_tokens"] if exact else recomputed >= summary["recomputed_tokens"]
    suite.check(f"{title}: recomputed tokens add up", holds, f"{recomputed}, {summary['recomputed_tokens']}")
    for reason in REASONS:
        found = sum(nanoseconds(row[f"wait_{reason}_ms"]) for row in requests)
        suite.check(f"{title}: waits for {reason} add up to the nanosecond",
                    found == summary["wait_ns_by_reason"][reason], f"{found}, {summary['wait_ns_by_reason']}")
    suite.check(f"{title}: a request's waits are its time in the queue", all(
        nanoseconds(row["queue_ms"]) == sum(nanoseconds(row[f"wait_{reason}_ms"]) for reason in REASONS)
        for row in requests))
    # A request with samples has one time per token, the longest; the summary has one a sample.
    for metric in ("ttft", "tpot", "e2el", "queue") if exact else ("ttft", "e2el", "queue"):
        values = sorted(nanoseconds(row[f"{metric}_ms"]) for row in complete if row[f"{metric}_ms"])
        mean = (2 * sum(values) + len(values)) // (2 * len(values))
        suite.check(f"{title}: the mean of {metric} is the summary's",
                    abs(mean - round(summary[f"mean_{metric}_ms"] * 1e6)) <= 1, f"{mean}, {summary[f'mean_{metric}_ms']}")
    loads = {"loads": "loads", "loads_lost": "loads_lost", "loaded_tokens": "hits", "loaded_blocks": "loaded_blocks",
             "loaded_states": "loaded_states"}
    store = summary.get("store", dict.fromkeys(["load_ns", *loads.values()], 0))
    suite.check(f"{title}: loads add up, their time to the nanosecond", all(
        total(column) == store[name] for column, name in loads.items()) and
        sum(nanoseconds(row["loading_ms"]) for row in requests) == store["load_ns"], str(store))
    ends = [row["end"] for row in requests]
    suite.check(f"{title}: requests end as the summary says",
                (len(complete), ends.count("aborted"), ends.count("never"), ends.count("unfinished")) ==
                tuple(summary[name] for name in ("completed", "aborted", "rejected_never", "unfinished")), str(set(ends)))

    preemptions = rows_of(folder / "preemptions.csv")
    suite.check(f"{title}: a row a preemption", len(preemptions) == summary["preemptions"])
    attempts, misnumbered = {}, []
    for row in preemptions:
        sequence = row["request"], row["sample"]
        if int(row["attempt"]) != attempts.get(sequence, 0):
            misnumbered.append(row)
        attempts[sequence] = int(row["attempt"]) + 1
    suite.check(f"{title}: a victim's attempts are numbered", not misnumbered, str(misnumbered[:2]))
    by_request = {}
    for (request, _), times in attempts.items():
        by_request[request] = by_request.get(request, 0) + times
    suite.check(f"{title}: victims are those whose row says so", by_request == {
        row["request"]: int(row["preemptions"]) for row in requests if row["preemptions"] != "0"})

    timeline = rows_of(folder / "timeline.csv")
    recording = json.loads((folder / "recording.json").read_text())
    suite.check(f"{title}: the timeline is as long as said, and within its cap",
                len(timeline) == recording["timeline"]["rows"] <= recording["timeline"]["rows_max"])
    parts = ("blocks_reserved", "blocks_committed", "blocks_shared", "blocks_parked")
    suite.check(f"{title}: an owned block is in one state",
                all(int(row["blocks_owned"]) == sum(int(row[part]) for part in parts) for row in timeline))
    suite.check(f"{title}: the timeline goes forward", all(
        float(a["time_s"]) < float(b["time_s"]) for a, b in zip(timeline, timeline[1:])))
    classes = [name for name in timeline[0] if name.startswith("ledger_")]
    positions = summary["blocks"]["usable"] * 16
    suite.check(f"{title}: the ledger's nine classes sum to the pool", len(classes) == 9 and all(
        sum(int(row[name]) for name in classes) == positions for row in timeline))
    suite.check(f"{title}: free blocks are free positions, parked ones parked", all(
        int(row["ledger_free"]) + int(row["ledger_cached_idle"]) == positions - 16 * int(row["blocks_owned"]) and
        int(row["ledger_parked"]) == 16 * int(row["blocks_parked"]) for row in timeline))
    last = timeline[-1]
    suite.check(f"{title}: the timeline ends with everything done", all(
        int(last[name]) == value for name, value in {
            "running": 0, "waiting": 0, "loading": 0, "blocks_owned": 0, "load_bytes_in_flight": 0, "steps": summary["steps"], "ended": summary["requests"],
            "preemptions": summary["preemptions"], "sat_out": summary["sat_out"],
            "drafts_accepted": summary["drafts"]["accepted"]}.items()), str(last))
    by_place = recording["drafts"]
    suite.check(f"{title}: drafts by place add up", (sum(by_place["proposed_by_place"]), sum(by_place["accepted_by_place"])) ==
                (summary["drafts"]["proposed"], summary["drafts"]["accepted"]), str(by_place))

    gaps = recording["inter_token"]
    suite.check(f"{title}: the gaps between tokens go up, around their median",
                len(gaps["ms"]) == 201 and gaps["ms"] == sorted(gaps["ms"]) and
                gaps["ms"][99] <= round(summary["p50_itl_ms"], 3) <= gaps["ms"][101], str(gaps)[:200])
    lives(suite, title, trace, arguments, requests)
    block_map(suite, title, folder, summary, preemptions)
    again = suite.run("run", trace, *arguments, "-o", f"{title} again", "--fast-path", "off")
    suite.check(f"{title}: runs again on the slow path", again.status == 0, again.err)
    for name in NAMES:
        suite.check(f"{title}: {name} is the same, byte by byte",
                    (folder / name).read_bytes() == (suite.scratch / f"{title} again" / name).read_bytes())


def lives(suite, title, trace, arguments, requests):
    """`run --why` follows a request by other means, and says what its row says."""
    asked = [row for kind in (lambda row: row["samples"] != "1", lambda row: row["preemptions"] != "0",
                              lambda row: row["end"] not in ("stop", "limit"), lambda row: row["loads"] != "0",
                              lambda row: row["loads_lost"] != "0", lambda row: True)
             for row in [row for row in requests if kind(row)][:3]]
    for row in asked:
        life = json.loads(suite.run("run", trace, *arguments, "--why", row["request"], "--format", "json").out)
        ends = [event for event in life["events"] if event["event"] == "end"]
        found = ({reason: life["wait_ns_by_reason"][reason] for reason in REASONS},
                 sum(event["event"] == "preempt" for event in life["events"]),
                 life["load_ns_total"], sum(event.get("outcome") == "given_up" for event in life["events"]),
                 sum(event["blocks"] for event in life["events"] if event.get("outcome") == "passed"),
                 sum(event["tokens"] for event in ends), max([event["blocks_most"] for event in ends], default=0),
                 [event["time_s"] for event in life["events"]] == sorted(event["time_s"] for event in life["events"]))
        expected = ({reason: nanoseconds(row[f"wait_{reason}_ms"]) for reason in REASONS}, int(row["preemptions"]),
                    nanoseconds(row["loading_ms"]), int(row["loads_lost"]), int(row["loaded_blocks"]),
                    int(row["output_tokens"]), int(row["blocks_most"]), True)
        suite.check(f"{title}: --why {row['request']} ({row['samples']} samples, {row['end']}) says what its row says",
                    found == expected, f"{found}, {expected}")


def block_map(suite, title, folder, summary, preemptions):
    """Replays blockmap.json by its description in docs/results.md."""
    found = json.loads((folder / "blockmap.json").read_text())
    overview, focus = found["overview"], found["focus"]
    suite.check(f"{title}: the map has all blocks", found["blocks"] == summary["blocks"]["usable"])
    states = base64.b64decode(overview["states"])
    owners = list(varints(base64.b64decode(overview["owners"])))
    suite.check(f"{title}: the map has a cell a lane and column",
                len(states) == len(owners) == overview["lanes"] * overview["columns"] and
                overview["columns"] <= overview["columns_max"])
    # What was shared and is not any more has an owner, but the map does not know which.
    suite.check(f"{title}: free cells have no owner, parked and reserved ones have one",
                all(owner == 0 if state in (0, 6) else owner > 0 or state in (2, 3) for state, owner in zip(states, owners)))
    lane_states = list(base64.b64decode(focus["initial_states"]))
    lane_owners = list(varints(base64.b64decode(focus["initial_owners"])))
    stream = base64.b64decode(focus["stream"])
    # A state is one byte below 128, so the whole stream reads as varints.
    numbers = list(varints(stream))
    suite.check(f"{title}: the focus has as many changes as said",
                len(numbers) == 4 * focus["changes"] <= 4 * focus["changes_max"])
    at, taken, wrong = round(focus["from_s"] * 10**9), set(), []
    reuse = 6 in states  # then what is parked may be found by its content
    for n in range(0, len(numbers), 4):
        passed, lane, state, owner = numbers[n:n + 4]
        at += passed
        if (lane_states[lane], lane_owners[lane]) == (state, owner):
            wrong.append(n)
        if lane_states[lane] in (4, 5) and state not in (0, 3, 4, 5, 6) and not reuse:
            wrong.append(n)  # what is parked is free before somebody takes it
        if state == 5 and lane_states[lane] != 5:
            taken.add(owner - 1)
        lane_states[lane], lane_owners[lane] = state, owner
    suite.check(f"{title}: every change changes something, and nothing parked is taken", not wrong, str(wrong[:3]))
    suite.check(f"{title}: the focus ends where it says", abs(at - round(focus["to_s"] * 10**9)) <= 10**9)
    victims = {int(row["request"]) for row in preemptions}
    suite.check(f"{title}: blocks are taken from victims", taken and taken <= victims, str(taken - victims))


def bytes_in_flight(suite):
    """The run of configs/cases/b02, in which A waits for its load. A block has 2 (key and value) * 2 layers * 4
    heads * 8 elements * 2 bytes * 4 positions = 1024 bytes, and a transfer takes 3 ms: W's two blocks are on their way
    to the host from 1 to 4 ms, and to the device from 6 to 9 ms."""
    case = json.loads((ROOT / "configs/cases/b02_aborted_load_passes.json").read_text())
    case["config"]["include"] = [str(ROOT / "configs/cases/base.json")]
    case["config"]["model"] = {"layers": 2, "kv_heads": 4, "head_dim": 8}
    case["config"]["store"]["bandwidth_gb_s"] = 0  # the latency alone
    case["requests"] = case["requests"][:3]
    del case["requests"][2]["abort_at_ms"], case["expect"]
    suite.write("loads.json", json.dumps(case))
    ran = suite.run("run", "loads.json", "-o", "loads", "--metrics-out", "loads.prom")
    suite.check("a run with one load succeeds", ran.status == 0, ran.err)
    rows = {row["time_s"]: row for row in rows_of(suite.scratch / "loads/timeline.csv")}
    at = lambda ms: tuple(int(rows[f"0.{ms:03}000000"][name]) for name in (  # noqa: E731
        "loading", "running", "waiting", "save_bytes_in_flight", "load_bytes_in_flight"))
    suite.check("its bytes are in flight from its queueing to its end", [at(ms) for ms in (1, 2, 4, 6, 9)] == [
        (0, 0, 0, 2048, 0), (0, 0, 1, 2048, 0), (0, 1, 0, 0, 0), (1, 0, 0, 0, 2048), (0, 1, 0, 0, 0)], str(rows))
    row = rows_of(suite.scratch / "loads/requests.csv")[2]
    suite.check("its row has them", [row[name] for name in (
        "loads", "loads_lost", "loading_ms", "loaded_tokens", "loaded_blocks", "loaded_states", "queue_ms", "ttft_ms")] ==
        ["1", "0", "3.000000", "8", "2", "0", "0.000000", "4.000000"], str(row))
    life = suite.run("run", "loads.json", "--why", "2").out
    suite.check("--why says what it waited for", "  0.006000   loads 2 blocks from the external store: 0.003000 s, "
                "spares 8 tokens\n" in life and "\nWaited 0.000000 s, then 0.003000 s for loads\n" in life, life)
    for case, request, sentence in (
            ("b01_lost_load_lease", 2, "loads 2 blocks from the external store: aborted after 0.001000 s"),
            ("b01_lost_load_stalls", 2, "loads 2 blocks from the external store: not there when the run ended, ")):
        life = suite.run("run", ROOT / f"configs/cases/{case}.json", "--why", request).out
        suite.check(f"--why in {case} says {sentence}", sentence in life, life)


def memory(suite):
    """What `-o` takes does not grow with the run: six times the requests, the same memory within 3 MB."""
    # A child of a small process: the largest size of one that forks is its child's too.
    small = ("import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions="
             "[(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)]); _, status, usage = os.wait4(pid, 0); "
             "print(status, usage.ru_maxrss)")

    def most_kb(*arguments):
        done = subprocess.run([sys.executable, "-S", "-E", "-c", small, suite.program, "run", *map(str, arguments)],
                              cwd=suite.scratch, capture_output=True, check=False)
        status, size = map(int, done.stdout.split())
        suite.check("a run to be measured succeeds", status == 0, done.stderr.decode())
        return size

    whole = ROOT / "traces/azure/AzureLLMInferenceTrace_conv.csv"
    extra = {title: most_kb(trace, "-o", "measured") - most_kb(trace)
             for title, trace in (("short", conversation(suite.scratch, 3000)), ("long", whole))}
    suite.check("the files of a run take little memory", 0 < extra["short"] < 20_000 and extra["long"] < 20_000, str(extra))
    suite.check("and no more for a longer one", extra["long"] < extra["short"] + 3_000, str(extra))
    sizes = {path.name: path.stat().st_size for path in (suite.scratch / "measured").iterdir()}
    suite.check("what is bounded is small", sizes["timeline.csv"] < 1_500_000 and sizes["blockmap.json"] < 1_200_000 and
                sizes["requests.csv"] < 19_366 * 250, str(sizes))


def everything_or_nothing(suite):
    trace = conversation(suite.scratch, 300)
    suite.run("run", trace, "-o", "kept")
    before = {name: hashlib.sha256((suite.scratch / "kept" / name).read_bytes()).digest() for name in NAMES}

    def untouched(sentence, folder="kept"):
        now = {path.name: path.read_bytes() for path in (suite.scratch / folder).iterdir() if path.is_file()}
        suite.check(sentence, sorted(now) == NAMES and
                    all(hashlib.sha256(now[name]).digest() == before[name] for name in NAMES), str(sorted(now)))

    def no_room():
        """A disk of 100,000 bytes."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    full = suite.run("run", trace, *PRESSURE, "-o", "kept", preexec_fn=no_room)
    suite.check("a full disk is an error that names the file", full.status == 1 and
                re.search(r"kept/\S+: found File too large, expected a directory to write into", full.err), full.err)
    suite.check("after it nothing is printed", full.out == "", full.out[:200])
    untouched("after it the earlier files are as they were")
    suite.check("after it no temporary file is left", sorted(
        path.name for path in (suite.scratch / "kept").iterdir()) == NAMES)
    fresh = suite.run("run", trace, *PRESSURE, "-o", "deep/new", preexec_fn=no_room)
    suite.check("a full disk leaves no new directory", fresh.status == 1 and
                not (suite.scratch / "deep").exists() and not (suite.scratch / "deep.partial").exists(), fresh.err)

    suite.write("file", "mine")
    for place in ("file", "file/below"):
        done = suite.run("run", trace, "-o", place)
        suite.check(f"-o {place} is refused", done.status == 1 and "which is a file" in done.err + ", which is a file",
                    done.err)
    suite.check("the file in the way is as it was", (suite.scratch / "file").read_text() == "mine")

    slow = ["--audit", "every"]  # long enough to be interrupted
    for name, number in (("SIGINT", signal.SIGINT), ("SIGTERM", signal.SIGTERM), ("SIGKILL", signal.SIGKILL)):
        for place, staging in (("kept", "kept/.pinfold.partial"), ("a/b", "a.partial")):
            with subprocess.Popen([suite.program, "run", trace, *PRESSURE, *slow, "-o", place], cwd=suite.scratch,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                for _ in range(5000):
                    if (suite.scratch / staging).exists():
                        break
                    time.sleep(0.002)
                process.send_signal(number)
                out, _ = process.communicate(timeout=60)
            gone = number != signal.SIGKILL
            suite.check(f"{name} ends a run that writes into {place}", out == b"" and
                        process.returncode == (130 if gone else -signal.SIGKILL), f"{process.returncode} {out[:200]}")
            suite.check(f"{name} leaves {'nothing' if gone else 'its temporary files'} of {place}",
                        (suite.scratch / staging).exists() != gone and not (suite.scratch / "a").exists())
            if place == "kept":
                untouched(f"after {name} the earlier files are as they were")
    after = suite.run("run", trace, "-o", "kept")
    suite.check("the next run cleans up and succeeds", after.status == 0 and sorted(
        path.name for path in (suite.scratch / "kept").iterdir()) == NAMES, after.err)
    untouched("and writes the same again")
    after = suite.run("run", trace, "-o", "a/b")
    suite.check("where the directory was new, too", after.status == 0 and not (suite.scratch / "a.partial").exists(), after.err)
    untouched("with the same files", "a/b")

    if os.geteuid() != 0:
        (suite.scratch / "locked").mkdir(mode=0o500)
        done = suite.run("run", trace, "-o", "locked")
        suite.check("a directory that may not be written is refused at once",
                    done.status == 1 and "which this user may not write" in done.err, done.err)


def report(suite):
    trace = conversation(suite.scratch, 300)
    suite.run("run", trace, *PRESSURE, "-o", "page")
    done = suite.run("report", "page")
    if "has no chart library" in done.err:
        return
    suite.check("report names the page", done.status == 0 and done.out == "page/report.html\n", done.out + done.err)
    first = (suite.scratch / "page/report.html").read_bytes()
    suite.run("report", "page")
    suite.check("the page is the same again", (suite.scratch / "page/report.html").read_bytes() == first)
    suite.check("a page of a small run is small", len(first) < 2_000_000, str(len(first)))
    nothing = suite.run("report", "nowhere")
    suite.check("report of no directory is an error", nothing.status == 1 and
                "nowhere/summary.json" in nothing.err and "run -o" in nothing.err, nothing.err)
    without = suite.run("report")
    suite.check("report without a directory is a usage error", without.status == 2, without.err)
    table = suite.scratch / "page/requests.csv"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:5]) + lines[5].replace(",", ";") + "".join(lines[6:]))
    broken = suite.run("report", "page")
    suite.check("a broken table is placed", broken.status == 1 and "page/requests.csv:6:" in broken.err, broken.err)
    suite.check("and the earlier page stays", (suite.scratch / "page/report.html").read_bytes() == first)
    suite.run("run", trace, "-o", "page")
    suite.check("a new run takes the page of the earlier one away", not (suite.scratch / "page/report.html").exists())


def stall(suite):
    """A run that ends early leaves the files of what happened: the event of its first copy is lost."""
    trace = conversation(suite.scratch, 60)
    ran = suite.run("run", trace, "--set", "workload.samples=2", "--set", "fault.copy_lost=1", "-o", "stall")
    summary = json.loads((suite.scratch / "stall/summary.json").read_text())
    rows = rows_of(suite.scratch / "stall/requests.csv")
    ends = [row["end"] for row in rows]
    suite.check("a run that stalls leaves its files", ran.status == 3 and summary["verdict"] == "stall", ran.err[:300])
    suite.check("in which some are unfinished", ends.count("unfinished") == sum(
        row["end_s"] == "" for row in rows) > 0, str(ends))
    suite.check("and the page can be made of them", suite.run("report", "stall").status in (0, 1))


def main():
    suite = Suite()
    agreement(suite, "pressure", PRESSURE, 1500, exact=True)
    agreement(suite, "everything", EVERYTHING, 1500, exact=False)
    agreement(suite, "reuse", ["--set", "prefix.reuse=on", "--set", "engine.num_blocks=3000"], 300, exact=False,
              trace=ROOT / "traces/mooncake/conversation_300.jsonl")
    shared = suite.write("shared.jsonl", suite.run(
        "trace", "synth", "--requests", 400, "--prompt", "uniform:300:900", "--output", "uniform:5:60", "--rate", 20,
        "--prefix-tree", "4:2:8", "--format", "jsonl", "--seed", 3).out)
    store = ["--set", "prefix.reuse=on", "--set", "engine.num_blocks=500", "--set", "store.host_blocks=4000",
             "--set", "store.latency_us=4000"]
    lost = ["--set", "store.lease_us=9000", "--set", "fault.load_lost=3"]
    for title, arguments, least in (("store", store, 0), ("lost loads", store + lost, 1)):
        agreement(suite, title, arguments, 400, exact=False, trace=shared)
        rows = rows_of(suite.scratch / title / "requests.csv")
        suite.check(f"{title}: there are loads", sum(int(row["loads"]) for row in rows) > 100 and
                    sum(int(row["loads_lost"]) for row in rows) == least)
    bytes_in_flight(suite)
    memory(suite)
    everything_or_nothing(suite)
    report(suite)
    stall(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
