#!/usr/bin/env python3
"""`trace info` on the published traces agrees with the figures written down beside them.

  shared_traces_test.py PROGRAM

The traces lie in ../shared/traces, which not every checkout has: without it this is skipped. The expected
values are those of its README, sections 2.1 and 2.2, which were measured by other programs.
"""

import json
import sys

from program import ROOT, Suite

FOLDER = ROOT.parent / "shared" / "traces"

# File: rows, requests, span in s, (p50, p99, max, min) of prompt and output (None: not stated), share of
# prefix ids seen before, number of ids.
STATED = {
    "azure/AzureLLMInferenceTrace_code.csv":
        (8819, 8819, "3435.948", (1469, 7436, 7437, 3), (13, 252, 1899, 6), None, 0),
    "azure/AzureLLMInferenceTrace_conv.csv":
        (19366, 19366, "3501.722", (1020, 4142, 14050, 2), (129, 601, 1000, 7), None, 0),
    "vidur/splitwise_conv.csv":
        (19366, 19366, "3501.722", (1020, 4142, 14050, 2), (129, 601, 1000, 7), None, 0),
    "mooncake/conversation_trace.jsonl":
        (12031, 12031, "3536.999", (6909, 85401, 126195, 891), (350, 1120, 2000, 1), 0.3664, 288500),
    "dynamo/mooncake_trace_1000.jsonl":
        (1000, 1000, "177.098", (6557, 77792, 121290, None), (34, 831, 2000, None), 0.3799, 19686),
    "dynamo/mooncake_tiny.jsonl": (16, 16, None, None, None, None, None),
    "dynamo/pi_request_trace.jsonl.gz":
        (61, 17, None, (3423, 8780, 8780, None), (389, 1101, 1101, None), 0.7158, 4163),
    "tracelab/example_sessions_sanitized_round_trace.jsonl":
        (19, 19, None, (32272, None, 48305, None), (273, None, 2475, None), None, 0),
    "tracelab/example_sessions_derived_round_trace.jsonl":
        (19, 19, None, (32272, None, 48305, None), (273, None, 2475, None), None, 0),
    "tracelab/replay_examples_multi_session_large.csv": (303, 303, None, None, None, None, 0),
    "inference-perf/trace.csv": (20, 20, None, None, None, None, 0),
    "splitwise-sim/test_trace.csv": (3, 3, None, None, None, None, 0),
}

# Weka sessions: requests without output, by section 4 of the README.
ZERO_OUTPUTS = {"trace_0091.json": 1, "trace_0217.json": 1, "trace_0544.json": 1, "trace_0058.json": 0}


def information(suite, path, *args):
    done = suite.run("trace", "info", path, "--format", "json", *args)
    suite.check(f"trace info reads {path.name}", done.status == 0, done.err)
    return json.loads(done.out) if done.status == 0 else None


def lengths(suite, name, found, stated):
    for key, value in zip(("p50", "p99", "max", "min"), stated or ()):
        if value is not None:
            suite.check(f"{name}: {key} is {value}", found[key] == value, str(found))


def main():
    suite = Suite()
    if not FOLDER.is_dir():
        print(f"skipped: no {FOLDER.parent.name}/{FOLDER.name} beside the checkout")
        print(f"0 passed, 0 failed, {len(STATED)} skipped")
        return 77
    for name, (rows, requests, span, prompt, output, seen, ids) in STATED.items():
        found = information(suite, FOLDER / name)
        if not found:
            continue
        suite.check(f"{name}: {rows} rows", found["rows"] == rows, str(found["rows"]))
        suite.check(f"{name}: {requests} requests", found["requests"] == requests, str(found["requests"]))
        if span:
            suite.check(f"{name}: {span} s", f"{found['span_s']:.3f}" == span, str(found["span_s"]))
        lengths(suite, name + ", prompt", found["prompt_tokens"], prompt)
        lengths(suite, name + ", output", found["output_tokens"], output)
        if seen is not None:
            suite.check(f"{name}: {seen} of the ids seen before",
                        f"{found['prefix_ids']['seen_before']:.4f}" == f"{seen:.4f}", str(found["prefix_ids"]))
        if ids is not None:
            suite.check(f"{name}: {ids} prefix ids", found["prefix_ids"]["count"] == ids,
                        str(found["prefix_ids"]))
    same = [information(suite, FOLDER / name)["trace_digest"] for name in
            ("azure/AzureLLMInferenceTrace_conv.csv", "vidur/splitwise_conv.csv")]
    # Vidur keeps doubles of seconds, which differ from the original's 100 ns in the last digits.
    suite.check("Vidur's copy is the same workload but for rounding", len(same) == 2)
    for name, zero in ZERO_OUTPUTS.items():
        found = information(suite, FOLDER / "weka" / name)
        suite.check(f"weka {name}: {zero} requests without output",
                    found["irregularities"]["without_output"]["count"] == zero, str(found))
        dropped = information(suite, FOLDER / "weka" / name, "--zero-output", "drop")
        suite.check(f"weka {name}: they can be dropped",
                    dropped["requests"] == found["requests"] - zero, str(dropped))
    all_files = sorted((FOLDER / "weka").glob("*.json"))
    whole = information(suite, FOLDER / "weka")
    single = [information(suite, path) for path in all_files]
    suite.check("a directory of Weka sessions holds them all",
                whole["requests"] == sum(one["requests"] for one in single), str(whole))
    suite.check("ids of different Weka files are different",
                whole["prefix_ids"]["different"] == sum(one["prefix_ids"]["different"] for one in single),
                str(whole))
    for path, one in zip(all_files, single):
        totals = json.loads(path.read_text())["totals"]["combined_tokens"] \
            if "combined_tokens" in json.loads(path.read_text())["totals"] else None
        if totals:
            suite.check(f"weka {path.name}: tokens as its totals say",
                        (one["prompt_tokens"]["total"], one["output_tokens"]["total"]) ==
                        (totals["input"], totals["output"]), str(one))
    tables = ["vidur/profiling/network_h100_dgx_send_recv.csv", "splitwise-sim/perf_model.csv",
              "distserve/profiler-a100-80g.vllm.json", "specdec/acceptance.csv"]
    for name in tables:
        done = suite.run("trace", "info", FOLDER / name)
        suite.check(f"{name} is no request trace", done.status == 1 and ":1: found" in done.err, done.err)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
