#!/usr/bin/env python3
"""`pinfold check`: what holds, what fails, what cannot be compared, and what is left behind.

  check_test.py PROGRAM

JUnit is read by xml.etree, and by junitparser where ./dev test has installed it. Expected figures come from `pinfold run
--format json` of the same settings.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

from program import HEADER, ROOT, ROW, Suite

SLICE = ROOT / "traces/azure/slices/conv_600.csv"
SUITE = ROOT / "configs/checks/ci.json"
TIGHT = ["--set", "engine.num_blocks=900", "--set", "engine.max_num_seqs=32"]
# A name that means something to XML, to a workflow's log, to Markdown and to a terminal.
HOSTILE = "100% <a href=\"x\">&amp;'</a>]]>::error title=x::y, \n| # `z` \x1b[31m\u00e9"


# Prints what junitparser understands: name, cases, failures, errors and class names of every suite.
JUNIT_READER = """
import json, sys
try:
    import junitparser
except ImportError:
    sys.exit(77)
suites = junitparser.JUnitXml.fromstring(sys.stdin.buffer.read())
json.dump([[one.name, len(list(one)), sum(isinstance(r, junitparser.Failure) for case in one for r in case.result),
            sum(isinstance(r, junitparser.Error) for case in one for r in case.result), [case.classname for case in one]]
           for one in suites], sys.stdout)
"""


def accept(suite, name="base.json", *args):
    return suite.run("check", SLICE, *TIGHT, *args, "--baseline", name, "--accept")


def check(suite, *args, name="base.json"):
    return suite.run("check", SLICE, *TIGHT, *args, "--baseline", name)


def as_json(result):
    return json.loads(result.out)["checks"][0]


def run_json(suite, *args):
    return json.loads(suite.run("run", SLICE, *TIGHT, *args, "--format", "json").out)


def requirements(suite):
    figures = run_json(suite)
    holds = f"preemptions<={figures['preemptions']},p99_ttft_ms<={figures['p99_ttft_ms']:.6f}"
    result = suite.run("check", SLICE, *TIGHT, "--require", holds)
    suite.check("requirements that hold end in 0", result.status == 0 and not result.err, result.out + result.err)
    fails = f"preemptions<{figures['preemptions']},fragmentation_percent<=99"
    result = suite.run("check", SLICE, *TIGHT, "--require", fails, "--format", "json")
    rows = {row["requirement"]: row for row in as_json(result)["requirements"]}
    suite.check("one that does not ends in 3 and is named with what was found",
                result.status == 3 and [row["holds"] for row in rows.values()] == [False, True, True] and
                rows[f"preemptions<{figures['preemptions']}"]["found"] == str(figures["preemptions"]), result.out)
    stall = suite.run("check", ROOT / "traces/hand/one_prompt.csv", "--config", ROOT / "configs/runs/decode_forks.json",
                      "--set", "engine.num_blocks=70", "--set", "fork.demote=off", "--require", "preemptions>=0")
    suite.check("a run that does not end fails though nobody asked",
                (stall.status == 3 and "verdict==ok" in stall.out) or "holds" in stall.out, stall.out + stall.err)


def baselines(suite):
    result = accept(suite)
    suite.check("a baseline is accepted", result.status == 0 and "accepted" in result.out, result.out + result.err)
    held = json.loads((suite.scratch / "base.json").read_text())
    figures = run_json(suite)
    suite.check("it holds digest, version, configuration and figures",
                held["trace_digest"] == figures["trace_digest"] and held["version"] == figures["version"] and
                held["config"]["engine"]["num_blocks"] == 900 and
                held["figures"]["digest"] == figures["digest"] and
                held["figures"]["blocks.peak_owned"] == figures["blocks"]["peak_owned"], str(held)[:400])
    first = check(suite)
    suite.check("the same run holds", first.status == 0 and "holds" in first.out, first.out)
    suite.check("twice the same bytes", first.out == check(suite).out)
    before = (suite.scratch / "base.json").read_bytes()
    accept(suite)
    suite.check("accepting again writes the same bytes", before == (suite.scratch / "base.json").read_bytes())
    better = suite.run("check", SLICE, "--set", "engine.num_blocks=3000", TIGHT[2], TIGHT[3], "--baseline", "base.json",
                       "--tolerance", "adjacency.*=1000000",
                   "--tolerance", "blocks.*_owned=3000", "--tolerance", "*_itl_ms=5%", "--tolerance", "fragmentation_percent=20")
    suite.check("what is better passes and is said", better.status == 0 and " better" in better.out and
                'engine.num_blocks 900 -> 3000' in better.out, better.out)


def planted_changes(suite):
    old = run_json(suite)
    for setting, figure, path in (("engine.release_order=forward", "adjacency.ascending_ppm",
                                   ("adjacency", "ascending_ppm")),
                                  ("engine.overlap=2", "sat_out", ("sat_out",))):
        new = run_json(suite, "--set", setting)
        result = check(suite, "--set", setting, "--format", "json")
        found = as_json(result)
        row = next(row for row in found["baseline"]["figures"] if row["metric"] == figure)
        values = []
        for one in (old, new):
            for key in path:
                one = one[key]
            values.append(str(one))
        suite.check(f"{setting} fails with metric, old, new and tolerance",
                    result.status == 3 and row["verdict"] == "WORSE" and [row["old"], row["new"]] == values and
                    row["tolerance"] == "exact", str(row) + str(values))
        suite.check("what differs is listed", [one["option"] for one in found["baseline"]["settings"]] ==
                    [setting.split("=")[0]], str(found["baseline"]["settings"]))
        # The twin: both journals recorded, and the first line that is not the same.
        suite.run("run", SLICE, *TIGHT, "--record", "a.jsonl")
        suite.run("run", SLICE, *TIGHT, "--set", setting, "--record", "b.jsonl")
        lines = [(suite.scratch / name).read_text().splitlines()[1:] for name in ("a.jsonl", "b.jsonl")]
        event = next(n for n, (a, b) in enumerate(zip(*lines), 1) if a != b)
        difference = found["baseline"]["first_difference"]
        suite.check("the first differing event is the journals'", difference["event"] == event, str(difference))
        sequence = json.loads(lines[1][event - 1]).get("sequence")
        tables = {table["sequence"]: table for table in difference["block_tables"]}
        if sequence is not None:
            table = []
            for line in lines[0][:event - 1]:
                one = json.loads(line)
                if one.get("sequence") != sequence or one.get("pool"):
                    continue
                if one["event"] in ("acquire", "pin"):
                    table += one["ids"]
                elif one["event"] in ("release", "park"):
                    table = [block for block in table if block not in one["ids"]]
            suite.check("with the block table before it", tables[sequence]["before"] == table, str(tables))
        text = check(suite, "--set", setting).out
        suite.check("and in words", f"First differing event: {event}\n" in text and "baseline:" in text, text)
    wide = check(suite, "--set", "engine.release_order=forward", "--tolerance", "adjacency.*=1000000")
    suite.check("a tolerance lets it pass, and says so", wide.status == 0 and "2 within tolerance" in wide.out, wide.out)


def another_program(suite):
    """A program whose allocator differs under the same settings: played by a baseline made with others."""
    accept(suite, "other.json", "--set", "engine.release_order=forward", "--events")
    path = suite.scratch / "other.json"
    path.write_text(path.read_text().replace('"forward"', '"reverse"'))
    result = check(suite, name="other.json")
    suite.check("with kept events, the event is found under equal settings",
                result.status == 3 and "First differing event: 99" in result.out and
                "Settings that differ" not in result.out, result.out)
    events = suite.scratch / "other.events.jsonl"
    text = events.read_text()
    events.write_text(text[:len(text) // 2])
    result = check(suite, name="other.json")
    suite.check("events of another run are not used, and why is said", result.status == 3 and
                "is of another run" in result.out and "First differing" not in result.out, result.out)
    events.unlink()
    result = check(suite, name="other.json")
    suite.check("without events it says what would show it", result.status == 3 and
                "the program is what differs" in result.out and "--accept --events" in result.out, result.out)


def not_comparable(suite):
    for setting in ("seed=3", "workload.stop=known", "model.layers=4", "cost.row_us=21", "fault.copy_delay_us=5"):
        result = check(suite, "--set", setting)
        suite.check(f"{setting} is not comparable", result.status == 2 and "NOT COMPARABLE" in result.out and
                    setting.split("=")[0] in result.out, result.out)
    result = suite.run("check", ROOT / "traces/azure/slices/code_400.csv", *TIGHT, "--baseline", "base.json")
    suite.check("another trace is not comparable", result.status == 2 and "the trace is another one" in result.out,
                result.out)
    # An older baseline does not know every option and figure.
    held = json.loads((suite.scratch / "base.json").read_text())
    del held["config"]["engine"]["free_order"]
    del held["config"]["fork"]
    del held["figures"]["preemptions"]
    suite.write("older.json", json.dumps(held))
    result = check(suite, name="older.json")
    suite.check("options that a baseline does not hold are defaults", result.status == 0 and "1 new" in result.out,
                result.out + result.err)
    result = check(suite, "--set", "engine.free_order=lifo", name="older.json")
    suite.check("... and differ from others", 'engine.free_order "fifo" -> "lifo"' in result.out, result.out)


def formats(suite):
    document = {"checks": [{"name": HOSTILE, "trace": str(SLICE), "set": {"engine.num_blocks": 900},
                            "require": ["preemptions<0", "verdict==ok"]},
                           {"name": "b", "trace": str(SLICE), "config": {"engine": {"num_blocks": 900,
                            "max_num_seqs": 32}, "seed": 9}, "baseline": "base.json"},
                           {"name": "c", "trace": str(SLICE), "config": {"engine": {"num_blocks": 900,
                            "max_num_seqs": 32, "release_order": "forward"}}, "baseline": "base.json",
                            "tolerance": "adjacency.ascending_ppm=1000000"}]}
    suite.write("hostile.json", json.dumps(document))
    junit = suite.run("check", "hostile.json", "--format", "junit")
    root = ElementTree.fromstring(junit.out)
    suites = root.findall("testsuite")
    expected = HOSTILE.replace("\x1b", "\ufffd")
    suite.check("a hostile name comes through a real XML parser", suites[0].get("name") == expected,
                repr(suites[0].get("name")))
    suite.check("each suite counts its cases and failures",
                all(int(one.get("tests")) == len(one.findall("testcase")) and
                    int(one.get("failures")) == len(one.findall("testcase/failure")) and
                    int(one.get("errors")) == len(one.findall("testcase/error")) for one in suites), junit.out[:2000])
    suite.check("a requirement, not comparable, and a figure",
                [(one.get("failures"), one.get("errors")) for one in suites] == [("1", "0"), ("0", "1"), ("1", "0")],
                junit.out[:2000])
    suite.check("a failure says figure, old, new and tolerance",
                re.search(r"adjacency\.descending_ppm: baseline \d+, now \d+, change .*, tolerance exact",
                          suites[2].find("testcase/failure").text), junit.out[:2000])
    suite.check("where the runs part is the suite's output",
                "First differing event: 99" in suites[2].find("system-out").text)
    suite.check("3 beats 2 where something failed", junit.status == 3)
    # A parser that is not ours and not Python's own. A name has to come through it letter by letter.
    interpreter = ROOT / "build/venv/bin/python"
    reader = [str(interpreter) if interpreter.exists() else sys.executable, "-c", JUNIT_READER]
    parsed = subprocess.run(reader, input=junit.out.encode(), capture_output=True, check=False)
    if parsed.returncode == 77:
        print("skipped: 1 check, junitparser is not installed (./dev test installs constraints.txt)")
    else:
        cases = json.loads(parsed.stdout or "[]")
        suite.check("junitparser reads names, cases and failures", [name for name, *_ in cases] == [expected, "b", "c"] and
                    cases[0][1:] == [2, 1, 0, [expected] * 2] and cases[1][2:4] == [0, 1] and cases[2][2:4] == [1, 0],
                    parsed.stderr.decode() + str(cases)[:600])
    environment = dict(os.environ, GITHUB_STEP_SUMMARY=str(suite.scratch / "summary.md"))
    suite.write("summary.md", "# earlier\n")
    github = suite.run("check", "hostile.json", "--format", "github", env=environment)
    lines = github.out.splitlines()
    command = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)")
    matched = [command.fullmatch(line) for line in lines]
    suite.check("every line is one workflow command", all(matched), github.out[:2000])

    def unescaped(text):
        for code, letter in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(code, letter)
        return text
    suite.check("the runner reads the name back", unescaped(matched[0][2]) ==
                "pinfold check " + HOSTILE.replace("\x1b", "?"), lines[0])
    suite.check("nothing in it is a second command", github.out.count("::error") ==
                sum(one[1] == "error" for one in matched) + HOSTILE.count("::error") * 0, github.out[:2000])
    summary = (suite.scratch / "summary.md").read_text()
    suite.check("the step's summary keeps what it had and gets the report",
                summary.startswith("# earlier\n## Pinfold: 0 of 3 checks hold") and "<a href" not in summary, summary)
    markdown = suite.run("check", "hostile.json", "--format", "md").out
    suite.check("which is the Markdown report", summary == "# earlier\n" + markdown)
    for table in re.findall(r"(?:^\|.*\n)+", markdown, re.M):
        widths = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        suite.check("tables have the same columns in every row", len(widths) == 1, table)
    suite.check("a failed run colours nothing", "\x1b" not in suite.run("check", "hostile.json").out.replace(HOSTILE, ""))
    # A step's summary that cannot be written is an error, and no success.
    suite.write("fine.json", json.dumps({"checks": [{"name": "a", "trace": str(SLICE), "require": "preemptions<=9999"}]}))
    environment["GITHUB_STEP_SUMMARY"] = "/dev/full"
    full = suite.run("check", "fine.json", "--format", "github", env=environment)
    suite.check("a full disk behind the summary is said", full.status == 1 and "GITHUB_STEP_SUMMARY" in full.err, full.err)


def annotations_are_few(suite):
    result = suite.run("check", SLICE, *TIGHT[:2], "--set", "engine.max_num_seqs=8", "--baseline", "base.json",
                       "--format", "github")
    kinds = [line.split(" ", 1)[0] for line in result.out.splitlines()]
    suite.check("nine of a kind and how many more", kinds.count("::error") == 10 and
                re.search(r"^::error title=pinfold check::\d+ more$", result.out, re.M), result.out)


def mistakes(suite):
    document = {"checks": [
        {"name": "a", "trace": "t.csv", "require": "preemption<=0"},
        {"trace": 3, "require": [7], "toleranse": "x"},
        {"name": "a", "trace": "t.csv", "baseline": "", "tolerance": "steps=1%,steps=x", "set": {"engine.blocksize": 3}},
        {"name": "d", "trace": "t.csv", "config": {"engine": {"num_blocks": 1}}, "require": "steps>0"},
        {"name": "e", "trace": "t.csv", "config": "absent.json", "require": "steps>0"},
        {"name": "f", "trace": "t.csv"}, 5], "abuot": 1}
    suite.write("bad.json", json.dumps(document))
    before = suite.files()
    result = suite.run("check", "bad.json")
    lines = result.err.splitlines()
    for path in ("abuot", "checks[0].require, column 1", "checks[1].name", "checks[1].trace", "checks[1].require[0]",
                 "checks[1].toleranse", "checks[2].name", "checks[2].baseline", "checks[2].tolerance, column 16",
                 "checks[2].set.engine.blocksize", "checks[3].config", "checks[4].config", "checks[5]", "checks[6]"):
        suite.check(f"a suite's mistake is reported at {path}",
                    any(re.match(r"pinfold: error: bad\.json:1:\d+: " + re.escape(path) + ": found", line)
                        for line in lines), result.err)
    suite.check("all before anything runs", result.status == 2 and not result.out and len(lines) == 14, result.err)
    suite.check("with a hint", "did you mean preemptions?" in result.err and "did you mean tolerance?" in result.err and
                "did you mean about?" in result.err, result.err)
    suite.write("missing.json", json.dumps({"checks": [
        {"name": "a", "trace": "none.csv", "require": "steps>0"},
        {"name": "b", "trace": str(SLICE), "baseline": "none.json"},
        {"name": "c", "trace": str(SLICE), "baseline": "bad.json"}]}))
    result = suite.run("check", "missing.json")
    suite.check("missing and broken inputs are all named", result.status == 1 and not result.out and
                "checks[0]: none.csv" in result.err and "--accept writes it" in result.err and
                "checks[2]: bad.json: found no baseline" in result.err, result.err)
    for arguments, word in ((["x.csv"], "neither --require nor --baseline"),
                            (["x.csv", "--require", "steps>0", "--accept"], "--accept without --baseline"),
                            (["x.csv", "--baseline", "b", "--events"], "--events without --accept"),
                            (["x.csv", "--require", "steps=>0"], "--require: column 6"),
                            (["x.csv", "--baseline", "b", "--tolerance", "step=1"], "did you mean steps?"),
                            (["ci.json", "--require", "steps>0"], "--require beside a suite"),
                            (["x.csv", "--require", "steps>0", "--format", "junitt"], "did you mean junit?"),
                            (["x.csv", "--requires", "steps>0"], "did you mean --require?"), ([], "found no TRACE")):
        result = suite.run("check", *arguments)
        suite.check(f"usage: {word}", result.status == 2 and word in result.err and not result.out, result.err)
    suite.check("nothing was written", {**before, "missing.json": None}.keys() == suite.files().keys())


def files(suite):
    base = suite.scratch / "base.json"
    before = base.read_bytes()
    suite.write("config.json", '{"engine": {"num_blocks": 900}}')
    result = accept(suite, "config.json")
    suite.check("--accept replaces baselines only", result.status == 1 and "replaces baselines only" in result.err and
                (suite.scratch / "config.json").read_text().startswith('{"engine"'), result.err)
    result = accept(suite, "none/base.json")
    suite.check("a missing directory is named", result.status == 1 and "no directory" in result.err and
                "--baseline none/base.json" in result.err, result.err)
    result = accept(suite, "/dev/full")
    suite.check("a device is no baseline", result.status == 1 and pathlib.Path("/dev/full").is_char_device(), result.err)
    result = suite.run("check", SLICE, *TIGHT, "--baseline", "base.json", "--accept", "--require", "preemptions<0")
    suite.check("what does not hold is not accepted", result.status == 3 and base.read_bytes() == before, result.out)

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # a disk that is full after 1000 bytes
    result = suite.run("check", SLICE, *TIGHT, "--set", "engine.overlap=0", "--baseline", "base.json", "--accept",
                       preexec_fn=small_files)
    suite.check("a full disk leaves the earlier baseline", result.status == 1 and "too large" in result.err and
                base.read_bytes() == before and not (suite.scratch / "base.json.partial").exists(), result.err)
    if os.geteuid() != 0:
        locked = suite.scratch / "locked"
        locked.mkdir()
        locked.chmod(0o555)
        result = accept(suite, "locked/base.json")
        suite.check("an unwritable directory is named", result.status == 1 and "Permission denied" in result.err, result.err)
        locked.chmod(0o755)
    else:
        print("skipped: 1 check, root may write everywhere")
    # Killed half-way, at several moments, on a trace that takes a while.
    long = ROOT / "traces/azure/AzureLLMInferenceTrace_conv.csv"
    for number in (signal.SIGKILL, signal.SIGINT):
        running = subprocess.Popen([suite.program, "check", long, *TIGHT, "--baseline", "base.json", "--accept"],
                                   cwd=suite.scratch, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.15)
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
        expected = -number if number == signal.SIGKILL else 130
        suite.check(f"killed by {number.name} it leaves the earlier baseline and says nothing half",
                    running.returncode == expected and base.read_bytes() == before and not out, f"{running.returncode} {err}")
    result = check(suite)
    suite.check("which still holds", result.status == 0, result.out)


def shipped_suite(suite):
    result = suite.run("check", SUITE)
    suite.check("the suite that ships holds", result.status == 0 and "5 of 5 checks hold" in result.out, result.out[-3000:])
    result = suite.run("check", SUITE, "--set", "engine.release_order=forward", "--format", "json")
    states = [one["state"] for one in json.loads(result.out)["checks"]]
    suite.check("and finds another order of release, but where no block is ever issued twice", result.status == 3 and
                states == ["holds"] + ["FAILED"] * 4, str(states))
    result = suite.run("check", SUITE, "--set", "engine.num_blocks=1500", "--format", "json")
    blocks = [one["baseline"]["settings"][0]["new"] for one in json.loads(result.out)["checks"]]
    suite.check("--set beats what a suite sets", blocks == ["1500"] * 5, str(blocks))
    copy = suite.scratch / "copy"
    shutil.copytree(ROOT / "configs", copy / "configs")
    (copy / "traces/azure").mkdir(parents=True)
    shutil.copytree(ROOT / "traces/azure/slices", copy / "traces/azure/slices")
    suite.run("check", copy / "configs/checks/ci.json", "--accept")
    result = suite.run("check", copy / "configs/checks/ci.json", "--format", "json")
    words = [row["verdict"] for one in json.loads(result.out)["checks"] for row in one["baseline"]["figures"]]
    suite.check("accepted again, every figure is the same", set(words) == {"same"}, str(set(words)))


def main():
    suite = Suite()
    requirements(suite)
    baselines(suite)
    planted_changes(suite)
    another_program(suite)
    not_comparable(suite)
    formats(suite)
    annotations_are_few(suite)
    mistakes(suite)
    files(suite)
    shipped_suite(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
