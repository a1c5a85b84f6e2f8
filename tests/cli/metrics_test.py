#!/usr/bin/env python3
"""`pinfold run --metrics-out`: OpenMetrics text that Prometheus reads, with the result's figures at its end.

  metrics_test.py PROGRAM

promtool (Debian: prometheus) makes blocks of the text and dumps them again. The twin of the series is
requests.csv and timeline.csv of `run -o`.
"""

import bisect
import csv
import json
import re
import shutil
import subprocess
import sys

from program import ROOT, Suite

SLICE = ROOT / "traces/azure/slices/conv_600.csv"
LONG = ROOT / "traces/azure/AzureLLMInferenceTrace_conv.csv"
TIGHT = ["--set", "engine.num_blocks=900", "--set", "engine.max_num_seqs=32"]
SAMPLE = re.compile(r'([a-z0-9:_]+)\{([^}]*)\} (\S+) (\d+\.\d{3})')


def series_of(text):
    """{(name, labels without model and engine): [(time, value)]}"""
    series = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value, at = SAMPLE.fullmatch(line).groups()
        labels = tuple(one for one in labels.split(",") if not one.startswith(("engine=", "model_name=")))
        series.setdefault((name, labels), []).append((float(at), float(value)))
    return series


def is_open_metrics(suite, what, text):
    lines = text.splitlines()
    families = []
    suite.check(f"{what}: ends with EOF", lines[-1] == "# EOF" and text.endswith("# EOF\n"))
    for line in lines[:-1]:
        name = line.split()[2] if line.startswith("#") else re.sub(
            r"(_total|_bucket|_count|_sum)$", "", SAMPLE.fullmatch(line).group(1))
        if not families or families[-1] != name:
            families.append(name)
    suite.check(f"{what}: each family stands together, with type and help", len(families) == len(set(families)) and
                all(f"# TYPE {one} " in text and f"# HELP {one} " in text for one in families), str(families))
    series = series_of(text)
    times = [[at for at, _ in points] for points in series.values()]
    suite.check(f"{what}: time goes on in every series", all(a < b for one in times for a, b in zip(one, one[1:])))
    counters = [points for (name, _), points in series.items() if name.endswith(("_total", "_bucket", "_count", "_sum"))]
    suite.check(f"{what}: counters never go back",
                all(a <= b for one in counters for (_, a), (_, b) in zip(one, one[1:])))
    for (name, labels), points in series.items():
        if name.endswith("_bucket"):
            below = series[(name[:-7] + "_count", ())]
            suite.check(f"{what}: no bucket holds more than all", all(a <= b for (_, a), (_, b) in zip(points, below)))
            if labels == ('le="+Inf"',):
                suite.check(f"{what}: the last bucket holds all", points == below)
    return series


def run(suite, what, *args, trace=SLICE, files=("-o", "d")):
    shutil.rmtree(suite.scratch / "d", ignore_errors=True)
    result = suite.run("run", trace, *args, *files, "--metrics-out", "m.prom", "--format", "json")
    suite.check(f"{what}: runs", result.status == 0, result.err)
    text = (suite.scratch / "m.prom").read_text()
    return json.loads(result.out), text, is_open_metrics(suite, what, text)


def last(series, name, labels=()):
    return series[(name, labels)][-1][1]


def ends_as_the_result(suite, what, summary, series):
    suite.check(f"{what}: counters end as the result", [last(series, name) for name in (
        "vllm:num_preemptions_total", "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
        "vllm:e2e_request_latency_seconds_count", "vllm:time_to_first_token_seconds_count")] == [
        summary["preemptions"], summary["total_input_tokens"], summary["total_output_tokens"],
        summary["completed"], summary["completed"]], str(summary)[:300])
    for metric, name in (("ttft", "time_to_first_token"), ("e2el", "e2e_request_latency"),
                         ("tpot", "request_time_per_output_token")):
        total = last(series, f"vllm:{name}_seconds_sum") / last(series, f"vllm:{name}_seconds_count") * 1000
        suite.check(f"{what}: the mean {metric} is the result's", abs(total - summary[f"mean_{metric}_ms"]) < 1e-6,
                    f"{total} {summary[f'mean_{metric}_ms']}")
    suite.check(f"{what}: nothing runs, waits or is owned at the end", [last(series, name) for name in (
        "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")] == [0, 0, 0])


def agrees_with_requests(suite, what, series):
    """Tokens between those of requests that have ended and all of those that have their first token."""
    with (suite.scratch / "d/requests.csv").open() as file:
        rows = [(float(row["end_s"]), float(row["arrival_s"]) + float(row["ttft_ms"]) / 1000, float(row["e2el_ms"]) / 1000,
                 int(row["output_tokens"]), int(row["prompt_tokens"])) for row in csv.DictReader(file)]
    for at, tokens in series[("vllm:generation_tokens_total", ())]:
        low = sum(output for end, _, _, output, _ in rows if end <= at)
        high = sum(output for _, first, _, output, _ in rows if first <= at)
        suite.check(f"{what}: tokens at {at}", low <= tokens <= high, f"{low} {tokens} {high}")
    for at, tokens in series[("vllm:prompt_tokens_total", ())]:
        suite.check(f"{what}: prompt tokens at {at}", tokens == sum(row[4] for row in rows if row[1] <= at + 1e-9))
    for bound in (5, 10, 20):
        suite.check(f"{what}: the bucket of {bound} s", last(series, "vllm:e2e_request_latency_seconds_bucket",
                    (f'le="{bound}.0"',)) == sum(row[2] <= bound for row in rows))


def agrees_with_timeline(suite, what, summary, series):
    """timeline.csv has every instant of a short run, so it has each sample's gauges."""
    with (suite.scratch / "d/timeline.csv").open() as file:
        rows = [(float(row["time_s"]), [int(row["running"]), int(row["waiting"]), int(row["blocks_owned"])])
                for row in csv.DictReader(file)]
    times = [at for at, _ in rows]
    samples = series[("vllm:num_requests_running", ())]
    agree = 0
    for n, (at, running) in enumerate(samples):
        place = bisect.bisect_right(times, at) - 1
        usage = series[("vllm:kv_cache_usage_perc", ())][n][1] * summary["blocks"]["usable"]
        agree += rows[max(place, 0)][1] == [running, series[("vllm:num_requests_waiting", ())][n][1], round(usage)]
    suite.check(f"{what}: gauges agree with timeline.csv", len(rows) < 8192 and agree == len(samples),
                f"{agree} of {len(samples)}")


def prometheus(suite, summary):
    promtool = shutil.which("promtool")
    if promtool is None:
        print("skipped: 2 checks, promtool (package prometheus) is not installed")
        return
    blocks = suite.scratch / "blocks"
    made = subprocess.run([promtool, "tsdb", "create-blocks-from", "openmetrics", suite.scratch / "m.prom", blocks],
                          check=False, capture_output=True, text=True)
    suite.check("promtool makes blocks of it", made.returncode == 0, made.stderr)
    (blocks / "wal").mkdir()  # which promtool looks for
    dump = subprocess.run([promtool, "tsdb", "dump", blocks],
                          check=False, capture_output=True, text=True)
    points = [line.rsplit(" ", 2) for line in dump.stdout.splitlines() if "num_preemptions" in line]
    latest = max(points, key=lambda point: int(point[2]))
    suite.check("and a query returns the result's preemptions", float(latest[1]) == summary["preemptions"] > 0,
                str(latest))


def files(suite):
    before = suite.files()
    for path, word in (("none/m.prom", "no directory"), (".", "a directory"), ("/dev/full", "no ordinary file")):
        result = suite.run("run", SLICE, "--metrics-out", path)
        suite.check(f"{path} is refused before the run", result.status == 1 and word in result.err and
                    "--metrics-out" in result.err and not result.out, result.err)
    suite.check("nothing is left", before == suite.files())


def main():
    suite = Suite()
    summary, text, series = run(suite, "tight", *TIGHT)
    ends_as_the_result(suite, "tight", summary, series)
    agrees_with_requests(suite, "tight", series)
    prometheus(suite, summary)
    again = suite.run("run", SLICE, *TIGHT, "--metrics-out", "again.prom")
    suite.check("twice the same bytes", again.status == 0 and (suite.scratch / "again.prom").read_text() == text)
    for what, sets in (("drafts", ["workload.drafts=4"]), ("no overlap", ["engine.overlap=0"]),
                       ("failed steps", ["fault.step_failed_permille=20"]), ("known stops", ["workload.stop=known"])):
        summary, _, series = run(suite, what, *TIGHT, *[word for one in sets for word in ("--set", one)])
        ends_as_the_result(suite, what, summary, series)
        agrees_with_requests(suite, what, series)
    short = suite.write("short.csv", b"".join(SLICE.read_bytes().splitlines(True)[:201]))
    summary, _, series = run(suite, "short", *TIGHT, trace=short)
    agrees_with_timeline(suite, "short", summary, series)
    summary, _, series = run(suite, "forks", *TIGHT, "--set", "workload.samples=3", "--set", "engine.overlap=2")
    ends_as_the_result(suite, "forks", summary, series)
    shared = suite.write("shared.jsonl", suite.run(
        "trace", "synth", "--requests", 400, "--prompt", "uniform:300:900", "--output", "uniform:5:60", "--rate", 20,
        "--prefix-tree", "4:2:8", "--format", "jsonl", "--seed", 3).out)
    summary, _, series = run(suite, "prefixes", "--set", "prefix.reuse=on", "--set", "engine.num_blocks=500", trace=shared,
                             files=())
    ends_as_the_result(suite, "prefixes", summary, series)
    found = [last(series, f"vllm:prefix_cache_{name}_total") for name in ("queries", "hits")]
    suite.check("prefix counters end as the result", found == [summary["prefix_cache"]["queries"],
                summary["prefix_cache"]["hits"]] and found[1] > 0 < summary["preemptions"], f"{found} {summary}")
    store = ["--set", "prefix.reuse=on", "--set", "engine.num_blocks=500", "--set", "store.host_blocks=4000",
             "--set", "store.latency_us=4000"]
    for what, more in (("store", []), ("lost loads", ["--set", "store.lease_us=9000", "--set", "fault.load_lost=3"])):
        summary, _, series = run(suite, what, *store, *more, trace=shared, files=())
        ends_as_the_result(suite, what, summary, series)
        names = {"loads": "loads", "loads_lost": "loads_lost", "loaded_blocks": "loaded_blocks",
                 "loaded_states": "loaded_states"}
        suite.check(f"{what}: counters of the store end as the result", all(
            last(series, f"pinfold:store_{ours}_total") == summary["store"][name] for ours, name in names.items()) and
            round(last(series, "pinfold:store_loading_seconds_total") * 1e9) == summary["store"]["load_ns"] > 0 <
            summary["store"]["loads"], str(summary["store"]))
        # Of first admissions: tokens that were not found on the device, and those of them that were loaded.
        queries, hits = (last(series, f"vllm:external_prefix_cache_{name}_total") for name in ("queries", "hits"))
        here = summary["prefix_cache"]
        suite.check(f"{what}: the store is asked for what the device has not", queries == here["queries"] - here["hits"] and
                    0 < hits <= summary["store"]["hits"] and (summary["store"]["loads_lost"] > 0) == (what == "lost loads"), f"{queries} {hits} {here}")
        suite.check(f"{what}: nothing is on its way at the end", last(series, "pinfold:num_requests_loading") == 0 and
                    last(series, "pinfold:copy_bytes_in_flight", ('lane="host-to-device"',)) == 0)
    summary, text, series = run(suite, "hour", "--set", "engine.num_blocks=3000", trace=LONG)
    ends_as_the_result(suite, "hour", summary, series)
    points = series[("vllm:num_requests_running", ())]
    # 3504.6 s of run: 1 s and 2 s apart would be more than 1024 samples.
    suite.check("a long run is sampled less often", len(points) == 3504 // 4 + 2 and points[1][0] == 4 and
                last(series, "pinfold:sample_interval_seconds") == 4, f"{len(points)} {points[:3]}")
    files(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
