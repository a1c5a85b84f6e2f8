#!/usr/bin/env python3
"""`replay --verify` judges logs: of a small engine in Python with planted bugs, of our own runs, of changed runs.

  verify_test.py PROGRAM

The small engine issues its own ids, newest free one first, and writes its log with the recorder of
docs/recording.md, as printed there. What each planted bug must be called follows from the rule that it breaks.
"""

import json
import random
import re
import sys

from program import HEADER, ROOT, Suite

CODE = ROOT / "traces/azure/AzureLLMInferenceTrace_code.csv"
ROWS = "".join(f"2023-11-16 18:15:{40 + n // 4:02}.{n % 4 * 25:02}00000,{20 + 7 * n % 61},{3 + n % 9}\n"
               for n in range(40))
BLOCK = 4


def printed_recorder():
    """The class as docs/recording.md prints it."""
    text = (ROOT / "docs/recording.md").read_text()
    source = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    names = {}
    exec(source, names)  # pylint: disable=exec-used
    return names["Recorder"], [line for line in source.splitlines() if line.strip()]


class Sequence:
    """A request of the small engine; rows are counted when they are dispatched, tokens when they arrive."""

    def __init__(self, number, prompt, output):
        self.number, self.known, self.output = number, prompt, output
        self.table, self.rows, self.computed, self.tokens, self.last_step = [], 0, 0, 0, 0
        self.decodes = self.runs = False


class Engine:
    """Paged, with preemption by recomputation, forks with copy on write, and steps dispatched ahead."""

    def __init__(self, log, blocks, ahead=0, bug=""):
        self.log, self.ahead, self.bug = log, ahead, bug
        self.free = list(range(0 if bug == "block 0 is issued" else 1, blocks))[::-1]
        self.owners = dict.fromkeys(range(blocks), 0)
        self.waiting, self.running, self.flying, self.later = [], [], [], []

    def take(self, count):
        taken = [self.free.pop() for _ in range(count)]
        for block in taken:
            self.owners[block] += 1
        return taken

    def drop(self, blocks):
        for block in blocks:
            self.owners[block] -= 1
            if self.owners[block] == 0:
                self.free.append(block)

    def let_go(self, sequence, last_step=0):
        """Frees a table, once the steps that use it are done."""
        table = sequence.table[:-1] if self.bug == "a leak at the end" else sequence.table
        if self.bug == "blocks are reused before the step is done":
            last_step = 0
        self.log.release(sequence.number, table, 2 * last_step)
        if self.bug == "a double free":
            self.log.release(sequence.number, table)
        sequence.table = []
        if last_step > self.log.done:
            self.later.append((last_step, table))
        else:
            self.drop(table)

    def add(self, sequence):
        self.log.write(event="arrive", sequence=sequence.number, count=sequence.known, aux=sequence.output)
        self.waiting.append(sequence)

    def fork(self, parent, number):
        child = Sequence(number, parent.known, parent.output)
        child.rows = child.computed = parent.computed
        child.decodes = True
        child.table = list(parent.table)
        self.log.write(event="arrive", sequence=number, count=parent.known - 1, aux=parent.output)
        self.log.write(event="fork", sequence=number, count=parent.computed, aux=parent.number)
        self.log.write(event="pin", sequence=number, ids=child.table)
        for block in child.table:
            self.owners[block] += 1
        if child.computed % BLOCK and self.bug != "a shared block is written in place":
            source, own = child.table[-1], self.take(1)[0]
            early = self.bug == "a copy's source is freed early"
            self.log.release(number, [source], 0 if early else 2 * self.log.steps + 1)
            self.log.write(event="acquire", sequence=number, ids=[own])
            self.log.write(event="copy", sequence=number, aux=child.computed % BLOCK, ids=[source, own])
            if early:
                self.drop([source])
            else:
                self.later.append((self.log.steps + 1, [source]))
            child.table[-1] = own
        return child

    def preempt(self, sequence):
        self.log.write(event="preempt", sequence=sequence.number, count=sequence.known)
        self.let_go(sequence)
        sequence.rows = sequence.computed = 0
        sequence.decodes = False
        self.running.remove(sequence)
        self.waiting.insert(0, sequence)

    def grow(self, sequence):
        need = (sequence.rows + BLOCK) // BLOCK
        if self.bug == "a write beyond the table" and sequence.rows % BLOCK == 0:
            return True  # takes the block one step late
        while need > len(sequence.table):
            if not self.free:
                victim = self.running[-1]
                self.preempt(victim)
                if victim is sequence:
                    return False
                continue
            blocks = self.take(1)
            self.log.write(event="acquire", sequence=sequence.number, ids=blocks)
            sequence.table += blocks
        return True

    def plan(self):
        rows = {}
        for sequence in list(self.running):
            if sequence in self.running and sequence.decodes and self.grow(sequence):
                rows[sequence.number] = (sequence.rows, 1)
        for sequence in list(self.waiting):
            need = (sequence.known + BLOCK - 1) // BLOCK
            if need > len(self.free):
                break
            self.waiting.remove(sequence)
            sequence.table = self.take(need)
            self.log.write(event="acquire", sequence=sequence.number, ids=sequence.table)
            self.running.append(sequence)
            rows[sequence.number] = (0, sequence.known)
        rows = {number: row for number, row in rows.items()
                if any(number == sequence.number for sequence in self.running)}
        if not rows:
            return
        self.log.step(rows)
        flight = [(sequence, rows[sequence.number][1]) for sequence in self.running if sequence.number in rows]
        for sequence, count in flight:
            sequence.rows += count
            sequence.decodes = True
            sequence.last_step = self.log.steps
        self.flying.append(flight)

    def result(self):
        self.log.result()
        for step, blocks in [entry for entry in self.later if entry[0] <= self.log.done]:
            self.drop(blocks)
        self.later = [entry for entry in self.later if entry[0] > self.log.done]
        for sequence, rows in self.flying.pop(0):
            if sequence not in self.running:
                continue  # it has ended: a row that was dispatched ahead
            sequence.computed += rows
            sequence.known += 1
            sequence.tokens += 1
            if sequence.tokens == sequence.output:
                self.running.remove(sequence)
                self.let_go(sequence, sequence.last_step)
                self.log.write(event="end", sequence=sequence.number, count=sequence.tokens, detail=1)

    def run(self, forks=None):
        """`forks`: {step: (parent, number of the child)}; the child's first row comes a step later."""
        forks = dict(forks or {})
        late = []
        while self.log.steps < 200 and (self.waiting or self.running or self.flying or late):
            self.running += late
            late = []
            if self.log.done == self.log.steps and self.log.steps in forks:
                parent, number = forks.pop(self.log.steps)
                late = [self.fork(parent, number)]
            self.plan()
            if not self.flying and not late:
                break  # a leak has emptied the pool: the log so far is judged
            while len(self.flying) > self.ahead or (self.flying and not self.running and not self.waiting):
                self.result()
        self.log.close()


# What the rule is called, and what else the finding must say.
BUGS = {
    "a double free": ("I2 owners", "was released by sequence"),
    "blocks are reused before the step is done": ("I7 fence", "a dispatched step uses it until ticket"),
    "block 0 is issued": ("I4 block 0", "block 0 in a record of sequence"),
    "a leak at the end": ("I13 drain", "still owned by sequence"),
    "a write beyond the table": ("I6 coverage", "ends at position"),
    "a copy's source is freed early": ("I8 copy", "not held until ticket"),
    "a shared block is written in place": ("I5 shared block", "rows in it as committed"),
}


def small_engine(suite, recorder, bug):
    """Runs it three ways: tight pool, steps ahead, forks. Returns the rules broken in any, with all texts."""
    rules, texts, statuses = set(), "", set()
    for title, blocks, ahead, forks in (("tight", 9, 0, False), ("ahead", 40, 1, False), ("forks", 30, 0, True)):
        log = recorder(suite.scratch / "log.jsonl", block_size=BLOCK, num_blocks=blocks,
                       made_by=f"small engine, {title}")
        engine = Engine(log, blocks, ahead, bug)
        sequences = [Sequence(n, 5 + 3 * n % 7, 4 + n % 5) for n in range(6)]
        try:
            for sequence in sequences:
                engine.add(sequence)
            engine.run({1: (sequences[0], 6), 2: (sequences[1], 7)} if forks else None)
        except IndexError:
            log.close()
        result = suite.run("replay", "log.jsonl", "--verify", "--format", "json")
        statuses.add(result.status)
        found = json.loads(result.out) if result.out else {"broken": [], "verified": False}
        suite.check(f"{bug or 'no bug'}, {title}: exit code and verdict agree",
                    result.status == (0 if found["verified"] else 3), result.err)
        rules |= {broken["rule"] for broken in found["broken"]}
        texts += result.out
    return rules, texts, statuses


def engines(suite):
    recorder, printed = printed_recorder()
    suite.check("the printed recorder has 30 lines at most", len(printed) <= 30, len(printed))
    rules, texts, statuses = small_engine(suite, recorder, "")
    suite.check("a correct engine passes", statuses == {0}, texts)
    for bug, (rule, said) in BUGS.items():
        rules, texts, _ = small_engine(suite, recorder, bug)
        suite.check(f"{bug}: {rule}, with {said!r}", rule in rules and said in texts, texts[:3000])


def recorded(suite, title, trace, *settings):
    ran = suite.run("run", trace, *settings, "--record", "run.jsonl", "-q", "--format", "json")
    judged = suite.run("replay", "run.jsonl", "--verify")
    suite.check(f"{title}: verifies clean", ran.status == 0 and judged.status == 0, ran.err + judged.err + str(settings))


def random_settings(draw):
    state = draw.random() < 0.5
    values = {
        "engine.block_size": draw.choice([1, 2, 4, 8, 16]),
        "engine.overlap": draw.choice([0, 1, 1, 2]),
        "engine.max_num_seqs": draw.randint(2, 8),
        "engine.max_num_batched_tokens": draw.choice([16, 32, 64]),
        "engine.max_model_len": 128,
        "engine.release_order": draw.choice(["reverse", "forward"]),
        "engine.free_order": draw.choice(["fifo", "lifo"]),
        "workload.stop": draw.choice(["hidden", "known"]),
        "workload.drafts": draw.choice([0, 0, 1, 3]),
        "workload.samples": draw.choice([1, 1, 2, 3]),
        "fork.copy_lane": draw.choice(["compute", "separate"]),
        "fork.sole_owner": draw.choice(["copy", "adopt"]),
        "fault.step_failed_permille": draw.choice([0, 0, 30]),
        "model.state_slots": "true" if state else "false",
        "seed": draw.randint(1, 1000),
    }
    if state:
        values["engine.slot_factor"] = 1
    values["engine.num_blocks"] = 4 + draw.choice([90, 130, 200]) // values["engine.block_size"]
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def own_runs(suite):
    trace = suite.write("t.csv", HEADER + ROWS)
    recorded(suite, "everything", CODE, "--config", ROOT / "configs/runs/everything.json", "--set",
             "workload.time_scale=1.5")
    draw = random.Random(20)
    for number in range(20):
        recorded(suite, f"random configuration {number}", trace, *random_settings(draw))


def with_events(lines, changed):
    """The changed events with a last line that counts them and gives no digest."""
    events = len(changed) - 1
    return "".join(changed) + json.dumps({"event": "end_of_journal", "events": events}) + "\n"


def changed_runs(suite):
    """Every line that gives or takes an owner, left out and written twice: each must be found."""
    trace = suite.write("t.csv", HEADER + "".join(ROWS.splitlines(keepends=True)[:8]))
    suite.run("run", trace, "--set", "engine.block_size=4", "--set", "engine.num_blocks=40", "--set",
              "engine.max_num_seqs=3", "--set", "engine.max_model_len=128", "--set", "workload.samples=2",
              "--set", "engine.overlap=1", "--set", "model.state_slots=true", "--record", "run.jsonl")
    lines = (suite.scratch / "run.jsonl").read_text().splitlines(keepends=True)
    body = lines[:-1]
    suite.write("changed.jsonl", with_events(lines, body))
    suite.check("the run itself, without a digest", suite.run("replay", "changed.jsonl", "--verify").status == 0)
    words = {"acquire", "pin", "release", "park", "unpark"}
    missed, tried, seen = [], 0, {}
    for number, line in enumerate(body):
        word = json.loads(line).get("event")
        seen[word] = seen.get(word, 0) + 1
        if word not in words or seen[word] > 8:
            continue
        variants = {"left out": body[:number] + body[number + 1:],
                    "twice": body[:number + 1] + [line] + body[number + 1:]}
        if word == "unpark":  # before the result or the fence that allows it
            fence = max(n for n in range(number) if re.search('"event": "(result|passed)"', body[n]))
            variants["moved up"] = body[:fence] + [line] + body[fence:number] + body[number + 1:]
        for title, changed in variants.items():
            suite.write("changed.jsonl", with_events(lines, changed))
            tried += 1
            if suite.run("replay", "changed.jsonl", "--verify").status != 3:
                missed.append(f"{title}: line {number + 1}: {line}")
    suite.check(f"{tried} changed recordings are found", tried >= 50 and not missed, "".join(missed))

    number, line = next((n, line) for n, line in enumerate(body) if '"release"' in line or '"unpark"' in line)
    twice = body[:number + 1] + [line] + body[number + 1:]
    suite.write("changed.jsonl", with_events(lines, twice))
    found = suite.run("replay", "changed.jsonl", "--verify")
    suite.check("a double release names its line and the one before",
                f"changed.jsonl:{number + 2}: I2 owners: " in found.err and
                f"in line {number + 1}" in found.err, found.err)
    other = body[:]
    other[1] = other[1].replace('"count": ', '"count": 1')
    suite.write("changed.jsonl", "".join(other + lines[-1:]))
    found = suite.run("replay", "changed.jsonl", "--verify")
    suite.check("a digest that does not fit", found.status == 3 and ": digest: " in found.out, found.out)
    suite.write("changed.jsonl", "".join(body))
    found = suite.run("replay", "changed.jsonl", "--verify")
    suite.check("a file that was cut off", found.status == 1 and "cut off" in found.err, found.err)
    suite.write("changed.jsonl", with_events(lines, [lines[0], '{"event": "arrive", "sequence": 4000000000}\n']))
    found = suite.run("replay", "changed.jsonl", "--verify")
    suite.check("a sequence number that is none", found.status == 1 and "numbered from 0" in found.err, found.err)
    suite.write("changed.jsonl", with_events(lines, [lines[0], '{"event": "acquire", "sequence": 7, "ids": [1]}\n']))
    found = suite.run("replay", "changed.jsonl", "--verify")
    suite.check("a sequence that never arrived", found.status == 3 and
                ":2: I2 owners: sequence 7 is named and has not arrived" in found.err, found.err)
    arrives = '{"event": "arrive", "sequence": 0, "count": 4, "aux": 1}\n'
    suite.write("changed.jsonl", with_events(lines, [lines[0], arrives,
                                                     '{"event": "acquire", "sequence": 0, "ids": [40]}\n']))
    found = suite.run("replay", "changed.jsonl", "--verify")
    suite.check("an id that the pool does not have", found.status == 3 and
                ":3: I1 conservation: block 40, named by sequence 0, is none of the pool's" in found.err, found.err)


def labs(suite):
    expected = {"10_share_early": 3}
    for path in sorted((ROOT / "configs/labs").glob("*.jsonl")):
        judged = suite.run("replay", path, "--verify")
        suite.check(f"{path.name}: exit status {expected.get(path.stem, 0)}",
                    judged.status == expected.get(path.stem, 0), judged.err)
    early = suite.run("replay", ROOT / "configs/labs/10_share_early.jsonl", "--verify", "--format", "json")
    broken = json.loads(early.out)["broken"]
    suite.check("the early release is told with its lines",
                [(one["rule"], one["line"]) for one in broken] == [("I8 copy", 10), ("O12 visible rows", 11)] and
                broken[0]["history"] == ["block 3 was unpinned before its copy ran, by child in line 7",
                                         "block 3 was issued to writer in line 8",
                                         "row 0 of block 3 was written by writer in line 9"], early.out)


def main():
    suite = Suite()
    for part in (labs, engines, own_runs, changed_runs):
        part(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
