#!/usr/bin/env python3
"""One scenario file serves `run` and `explore`: faults at a step, drafts of a request, and what either refuses.

  scenarios_test.py PINFOLD

Blocks hold 4 positions and a step takes 1 ms, so every figure is worked out by hand beside it.
"""

import json
import sys

from program import Suite

CONFIG = {
    "engine": {"block_size": 4, "num_blocks": 9, "overlap": 0, "max_num_seqs": 4, "max_num_batched_tokens": 64,
               "max_model_len": 32},
    "workload": {"stop": "known"},
    "cost": {"step_base_us": 1000, "row_us": 0, "prompt_token_us": 0, "block_copy_us": 0},
}
# A's prompt is step 1; the fork's copy of the third row's block runs ahead of step 2.
FORK = [{"name": "A", "prompt": 3, "output": 4},
        {"name": "D", "prompt": 3, "output": 2, "fork_of": "A", "fork_at": 3}]


def scenario(suite, requests, faults=(), **sections):
    config = {key: CONFIG.get(key, {}) | sections.get(key, {}) for key in CONFIG | sections}
    text = json.dumps({"story": "by hand", "config": config, "requests": requests, "faults": list(faults)})
    return suite.write("scenario.json", text)


def ran(suite, name, **expected):
    """Runs it, with shadow and all invariants; its figures."""
    done = suite.run("run", name, "--audit", "every", "--shadow", "on", "--format", "json")
    figures = json.loads(done.out) if done.out else {}
    said = {key: figures.get(key) for key in expected}
    return said == expected, f"{said} {done.err}"


def explored(suite, name, verdict):
    done = suite.run("explore", name, "--format", "json")
    result = json.loads(done.out) if done.out else {}
    return result.get("verdict") == verdict, done.out + done.err


def refused(suite, command, name, *words):
    done = suite.run(command, name)
    return done.status == 2 and all(word in done.err for word in words), f"{done.status} {done.err}"


def main():
    suite = Suite()
    one = [{"name": "A", "prompt": 4, "output": 3}]

    name = scenario(suite, one)
    suite.check("three tokens are three steps", *ran(suite, name, verdict="ok", steps=3, duration_s=0.003))
    name = scenario(suite, one, [{"kind": "step_failed", "step": 2}])
    suite.check("a failed step is run again", *ran(suite, name, verdict="ok", steps=4, duration_s=0.004))
    suite.check("and explored", *explored(suite, name, "proved"))

    name = scenario(suite, one, [{"kind": "step_lost", "step": 2}])
    done = suite.run("run", name)
    suite.check("a lost result is a stall", done.status == 3 and "the result of step 2 was lost" in done.err, done.err)
    suite.check("for run and explore", *explored(suite, name, "stall"))
    name = scenario(suite, one, [{"kind": "step_lost", "step": 3}], engine={"overlap": 1})
    done = suite.run("run", name)
    suite.check("with a step ahead too", done.status == 3 and "the result of step 3 was lost" in done.err, done.err)

    # Without the delay: A's four tokens, steps 1 to 4; step 2 waits 5 ms for its copy, step 3 has none.
    polls = {"copy_lane": "separate", "wait": "poll"}
    for title, fork, step, duration in (("in its lane", {}, 2, 0.009), ("on its own lane", polls, 2, 0.009),
                                        ("where there is no copy", {}, 3, 0.004)):
        name = scenario(suite, FORK, [{"kind": "copy_delay", "step": step, "delay_ms": 5}], fork=fork)
        suite.check(f"a delayed copy {title}", *ran(suite, name, verdict="ok", forks=1, duration_s=duration))
    suite.check("every delay is explored anyway", *explored(suite, name, "proved"))

    name = scenario(suite, FORK, [{"kind": "copy_lost", "step": 2}], fork=polls)
    suite.check("a lost copy event parks its source for good", *ran(suite, name, verdict="stall", forks=1))
    suite.check("and is explored", *explored(suite, name, "violation"))
    name = scenario(suite, FORK, [{"kind": "copy_lost", "step": 2}])
    done = suite.run("run", name)
    suite.check("a host that waits for it stalls", done.status == 3 and "copies of step 2" in done.err, done.err)
    suite.check("explore has no host that waits",
                *refused(suite, "explore", name, "copy_lost", "fork.copy_lane separate"))

    # X: its first token, then one verify row of 1 + 2, all accepted. A: four steps.
    drafts = [{"name": "A", "prompt": 4, "output": 4, "drafts": 0},
              {"name": "X", "prompt": 4, "output": 4, "accepted": [2]}]
    name = scenario(suite, drafts, workload={"drafts": 2})
    suite.check("one request drafts, the other does not",
                *ran(suite, name, verdict="ok", steps=4, drafts={"proposed": 2, "accepted": 2}))
    suite.check("for explore too", *explored(suite, name, "proved"))
    digest = json.loads(suite.run("run", name, "--format", "json").out)["trace_digest"]
    drafts[0]["drafts"] = 1
    name = scenario(suite, drafts, workload={"drafts": 2})
    other = json.loads(suite.run("run", name, "--format", "json").out)["trace_digest"]
    suite.check("a request's drafts are part of the workload's digest", digest != other, digest)

    for title, sections, key in (
            ("drawn samples", {"workload": {"samples": 2}}, "workload.samples"),
            ("drawn aborts", {"workload": {"abort_permille": 100}}, "workload.abort_permille"),
            ("drawn failures", {"fault": {"step_failed_permille": 100}}, "fault")):
        name = scenario(suite, one, **sections)
        suite.check(f"{title}: run draws them", suite.run("run", name).status == 0)
        suite.check(f"{title}: explore says that it does not", *refused(suite, "explore", name, key))

    ids = [{"name": "A", "prompt": 9, "output": 1, "prefix_ids": [1, 2, 3, 4]}]
    name = scenario(suite, ids, prefix={"reuse": "on"})
    done = suite.run("run", name)
    suite.check("more ids than blocks of the prompt",
                done.status == 1 and "requests[0].prefix_ids" in done.err and "from 1 to 3 ids" in done.err, done.err)
    ids[0]["prefix_ids"] = [1]
    suite.write("mistaken.json", '{"story": "s", "config": {"engine": {"blok_size": 4}}, "requests": []}')
    for command in ("run", "explore"):
        done = suite.run(command, "mistaken.json")
        suite.check(f"{command}: a mistake in its configuration is one of configuration", done.status == 2 and
                    "mistaken.json:1:" in done.err and "config.engine.blok_size: found an unknown option" in done.err, done.err)
    done = suite.run("run", scenario(suite, ids))
    suite.check("ids without reuse", done.status == 1 and "only where prefix.reuse is on" in done.err, done.err)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
