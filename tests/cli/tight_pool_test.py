#!/usr/bin/env python3
"""The Azure conversation trace in pools that are much too small: who waits, for what, and how long.

  tight_pool_test.py PROGRAM

Known beforehand: 19,366 requests, 22,361,870 prompt and 4,088,665 output tokens. The longest request
writes 14,050 + 39 - 1 = 14,088 rows, 881 blocks of 16: a pool of 882 ids holds it, one of 881 does not.
Waiting time is counted twice by the program, by reason and by request; the sums are equal to the
nanosecond.
"""

import json
import sys

from program import ROOT, Suite

CONVERSATION = ROOT / "traces/azure/AzureLLMInferenceTrace_conv.csv"


def run(suite, *settings):
    args = [word for setting in settings for word in ("--set", setting)]
    result = suite.run("run", CONVERSATION, "--format", "json", *args)
    return json.loads(result.out), result.err


def check_all(suite, what, found):
    suite.check(f"{what}: every request completes", found["completed"] == 19366 and
                found["unfinished"] == 0 and found["verdict"] == "ok", str(found))
    suite.check(f"{what}: every token is the trace's", (found["total_input_tokens"],
                found["total_output_tokens"]) == (22361870, 4088665), str(found))
    suite.check(f"{what}: reasons sum to the requests' waiting time",
                sum(found["wait_ns_by_reason"].values()) == found["wait_ns_total"] > 0, str(found))
    # Means are rounded to the nanosecond.
    mean_ns = found["mean_queue_ms"] * 1e6
    suite.check(f"{what}: the mean queue time is theirs",
                abs(mean_ns * 19366 - found["wait_ns_total"]) <= 19366, str(found))
    suite.check(f"{what}: blocks come back", found["blocks"]["acquired"] == found["blocks"]["released"],
                str(found["blocks"]))


def tight_pools(suite):
    roomy, said = run(suite)
    check_all(suite, "a roomy pool", roomy)
    suite.check("a roomy pool: nobody is preempted or refused, nobody waits for blocks",
                roomy["preemptions"] == 0 and roomy["admission"]["later"] == 0 and
                roomy["wait_ns_by_reason"]["blocks"] == 0, str(roomy))
    suite.check("a roomy pool: not saturated, and silent", not roomy["saturated"] and said == "", said)
    before = roomy["p99_ttft_ms"]
    for ids in (1200, 1000, 882):
        found, said = run(suite, f"engine.num_blocks={ids}")
        check_all(suite, f"{ids} ids", found)
        suite.check(f"{ids} ids: preemptions and LATER", found["preemptions"] > 0 and
                    found["admission"]["later"] > 0 and found["admission"]["never"] == 0, str(found))
        suite.check(f"{ids} ids: waits for blocks", found["wait_ns_by_reason"]["blocks"] > 0, str(found))
        suite.check(f"{ids} ids: p99 TTFT is worse than with more", found["p99_ttft_ms"] > before,
                    f"{found['p99_ttft_ms']} {before}")
        before = found["p99_ttft_ms"]
        suite.check(f"{ids} ids: a saturated run says so, on stderr too",
                    found["saturated"] == ("Saturated: the last request" in said), said)
    suite.check("882 ids: saturated", found["saturated"], str(found))
    text = suite.run("run", CONVERSATION, "--set", "engine.num_blocks=882")
    suite.check("882 ids: the text report says that it is saturated",
                "Saturated:                               yes, see below\n" in text.out and
                "\nSaturated: the last request to arrive found " in text.out and text.err == "", text.err)


def one_id_less(suite):
    found, _ = run(suite, "engine.num_blocks=881", "workload.stop=known")
    suite.check("881 ids: the longest request can never run, the others do",
                found["rejected_never"] == 1 and found["completed"] == 19365, str(found))


def with_state(suite):
    """Slots as many as sequences: a slot parked behind a step is one that is missing."""
    found, _ = run(suite, "engine.num_blocks=1300", "model.state_slots=true", "engine.slot_factor=1",
                   "engine.max_num_seqs=20", "workload.drafts=3")
    check_all(suite, "slots and drafts", found)
    waits = found["wait_ns_by_reason"]
    suite.check("slots and drafts: waits for blocks and for slots", waits["blocks"] > 0 and
                waits["slot"] > 0, str(waits))


def main():
    suite = Suite()
    tight_pools(suite)
    one_id_less(suite)
    with_state(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
