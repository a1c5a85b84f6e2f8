#!/usr/bin/env python3
"""Is trace.pftrace what Perfetto reads, and does it say what summary.json and requests.csv say?

  perfetto_test.py PROGRAM

Decodes the trace with Perfetto's own protobuf classes. By docs/results.md: slices of a track nest; steps
follow one another on their lane; an attempt of a request has a track of its own, from its arrival or
preemption to its preemption or end; each preemption has an arrow to the attempt that resumes; the last
value of each counter is the figure of that name in summary.json.
"""

import csv
import json
import pathlib
import re
import sys
from collections import Counter, defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from environment import conversation, need  # noqa: E402
from program import ROOT, Suite  # noqa: E402

need("perfetto")
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages  # noqa: E402

EVENT = messages.TrackEvent
REQUEST = re.compile(r"request (\d+)(?: sample (\d+))?\.(\d+)")


class Track:
    def __init__(self, descriptor):
        self.name = descriptor.name or descriptor.process.process_name
        self.parent = descriptor.parent_uuid
        self.counter = descriptor.HasField("counter")
        self.slices = []   # (begin, end, depth, name, arguments, event)
        self.instants = []  # (time, name, arguments, event)
        self.values = []   # (time, value)


class Every:
    """Properties of many things, each one check; the first thing that lacks it is shown."""

    def __init__(self, suite, title):
        self.suite, self.title, self.first = suite, title, {}

    def check(self, sentence, holds, detail=""):
        self.first.setdefault(sentence, None)
        if not holds and self.first[sentence] is None:
            self.first[sentence] = detail or "it does not"

    def finish(self):
        for sentence, detail in self.first.items():
            self.suite.check(f"{self.title}: {sentence}", detail is None, detail)


def nanoseconds(decimal):
    """"1.234567891" seconds, exactly."""
    seconds, fraction = decimal.split(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def read(path):
    """Returns the tracks by uuid, and what is wrong with the nesting."""
    trace = messages.Trace()
    trace.ParseFromString(path.read_bytes())
    words, arguments, tracks, open_slices, wrong = {}, {}, {}, defaultdict(list), []
    events = []
    for packet in trace.packet:
        for entry in packet.interned_data.event_names:
            words[entry.iid] = entry.name
        for entry in packet.interned_data.debug_annotation_names:
            arguments[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            uuid = packet.track_descriptor.uuid
            if uuid in tracks:
                wrong.append(f"track {uuid} twice")
            tracks[uuid] = Track(packet.track_descriptor)
        elif packet.HasField("track_event"):
            events.append((packet.timestamp, packet.track_event))
    events.sort(key=lambda event: event[0])  # as Perfetto does: stable
    for at, event in events:
        track = tracks[event.track_uuid]
        name = event.name or words.get(event.name_iid, "")
        values = {arguments[one.name_iid]: one.uint_value for one in event.debug_annotations}
        if event.type == EVENT.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid].append((at, name, values, event))
        elif event.type == EVENT.TYPE_SLICE_END:
            stack = open_slices[event.track_uuid]
            if not stack:
                wrong.append(f"an end without a begin on {track.name} at {at}")
                continue
            begin, name, values, begun = stack.pop()
            track.slices.append((begin, at, len(stack), name, values, begun))
        elif event.type == EVENT.TYPE_INSTANT:
            track.instants.append((at, name, values, event))
        elif event.type == EVENT.TYPE_COUNTER:
            track.values.append((at, event.counter_value))
    for uuid, stack in open_slices.items():
        wrong += [f"{tracks[uuid].name}: {name} has no end" for _, name, _, _ in stack]
    return tracks, wrong


def check_run(suite, title, arguments, requests):
    trace = conversation(suite.scratch, requests)
    ran = suite.run("run", trace, *arguments, "-o", "out")
    suite.check(f"{title}: runs", ran.status == 0, ran.err)
    summary = json.loads((suite.scratch / "out/summary.json").read_text())
    rows = list(csv.DictReader((suite.scratch / "out/requests.csv").open()))
    tracks, wrong = read(suite.scratch / "out/trace.pftrace")
    suite.check(f"{title}: every slice begins and ends on its track", not wrong, str(wrong[:5]))

    # Steps.
    [lane] = [track for track in tracks.values() if track.name == "compute lane: steps"]
    steps = sorted(lane.slices, key=lambda one: one[0])
    suite.check(f"{title}: steps follow one another",
                all(a[1] <= b[0] for a, b in zip(steps, steps[1:])) and all(one[0] <= one[1] for one in steps))
    counted = sum(values.get("count", 1) for _, _, _, _, values, _ in steps)
    suite.check(f"{title}: every step is there", counted == summary["steps"], f"{counted}, {summary['steps']}")

    copies = sum(values["count"] for track in tracks.values() if track.name.endswith(" lane: copies")
                 for _, _, _, _, values, _ in track.slices)
    suite.check(f"{title}: every copy is on a lane", copies == summary["copies"]["count"],
                f"{copies}, {summary['copies']}")

    # Counters.
    counters = {track.name: track for track in tracks.values() if track.counter}
    suite.check(f"{title}: counters go forward in time", all(
        a[0] < b[0] for track in counters.values() for a, b in zip(track.values, track.values[1:])))
    expected = {"steps": summary["steps"], "ended": summary["requests"], "preemptions": summary["preemptions"],
                "sat_out": summary["sat_out"], "forks": summary["forks"], "copies": summary["copies"]["count"],
                "drafts_proposed": summary["drafts"]["proposed"],
                "drafts_accepted": summary["drafts"]["accepted"],
                # Everybody has gone.
                "running": 0, "waiting": 0, "preempted_waiting": 0, "blocks_owned": 0, "blocks_parked": 0,
                "state_slots": 0, "draft_slots": 0}
    last = {name: track.values[-1][1] for name, track in counters.items()}
    for name, value in expected.items():
        suite.check(f"{title}: the last value of {name} is that of the summary", last.get(name) == value,
                    f"{last.get(name)}, expected {value}")
    most = max(value for _, value in counters["blocks_owned"].values)
    suite.check(f"{title}: no instant owns more blocks than the peak", most <= summary["blocks"]["peak_owned"],
                f"{most}, {summary['blocks']['peak_owned']}")

    # Attempts.
    every = Every(suite, title)
    attempts, flows, resumed = {}, Counter(), Counter()
    for track in tracks.values():
        if track.name != "requests" or not track.parent:
            continue
        outer = [one for one in track.slices if one[2] == 0]
        inner = [one for one in track.slices if one[2] == 1]
        every.check("one attempt a track", len(outer) == 1 and len(track.slices) == 1 + len(inner),
                    str(track.slices[:4]))
        request, sample, attempt = (int(n or 0) for n in REQUEST.fullmatch(outer[0][3]).groups())
        every.check("an attempt is there once", (request, sample, attempt) not in attempts, outer[0][3])
        attempts[request, sample, attempt] = (outer[0], inner, track.instants)
        names = [one[3] for one in sorted(inner, key=lambda one: (one[0], one[1]))]
        every.check("an attempt is queued, then prefills, then decodes",
                    names == ["queued", "prefill", "decode"][:len(names)], f"request {request} sample {sample}.{attempt}: {names}")
    preempted = 0
    for (request, sample, attempt), (outer, inner, instants) in attempts.items():
        for at, name, _, event in instants:
            if name != "preempt":
                continue
            preempted += 1
            flows.update(event.flow_ids)
            every.check("a preemption ends its attempt", at == outer[1], f"request {request} sample {sample}.{attempt}")
            following = attempts.get((request, sample, attempt + 1))
            every.check("the next attempt begins at the preemption",
                        following is not None and following[0][0] == at, f"request {request} sample {sample}.{attempt}")
            starts = [one for one in following[1] if one[3] == "prefill"] if following else []
            arrows = [list(one[5].terminating_flow_ids) for one in starts]
            every.check("an arrow leads to where it resumes",
                        not starts or (len(event.flow_ids) == 1 and arrows == [list(event.flow_ids)]),
                        f"request {request} sample {sample}.{attempt}: {list(event.flow_ids)}, {arrows}")
        for one in inner:
            resumed.update(one[5].terminating_flow_ids)
    suite.check(f"{title}: every preemption is there", preempted == summary["preemptions"],
                f"{preempted}, {summary['preemptions']}")
    suite.check(f"{title}: no arrow has two heads or two tails",
                all(count == 1 for count in [*flows.values(), *resumed.values()]) and set(resumed) <= set(flows))

    # Lifetimes.
    by_request = defaultdict(list)
    for (request, _, _), (outer, _, _) in attempts.items():
        by_request[request].append((outer[0], outer[1]))
    for row in rows:
        lives = by_request[int(row["request"])]
        every.check("a request lives from its arrival to its end",
                    min(begin for begin, _ in lives) == nanoseconds(row["arrival_s"]) and
                    max(end for _, end in lives) == nanoseconds(row["end_s"]), f"request {row['request']}: {lives}")
        every.check("as many attempts as sequences and preemptions",
                    len(lives) == int(row["samples"]) + int(row["preemptions"]), f"request {row['request']}")
    every.finish()


def main():
    suite = Suite()
    check_run(suite, "everything", ["--config", ROOT / "configs/runs/everything.json", "--set",
                                    "workload.time_scale=0.3"], 400)
    check_run(suite, "pressure", ["--set", "engine.num_blocks=900", "--set", "cost.step_base_us=60000"], 600)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
