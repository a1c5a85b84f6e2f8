#!/usr/bin/env python3
"""A second program for the ownership labs, written from the book's chapter alone.

It has its own pool, block tables, resize, fork and row store, none of them taken from the C++ code.
It makes random labs, writes each as an ownership-event file together with the text that the chapter's
rules give for it, and compares that text with what `pinfold replay` prints (runs of spaces count as
one). Two things do not come from the chapter: how events and lines are spelled
(configs/labs/README.md), and that the destination of a copy is kept until the copy has run.

    python3 tests/oracle/labs.py --pinfold build/pinfold [--count 200] [--seed 4] [--keep DIR]
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve"]


class Pool:
    """Ids 1..n-1: allocate from the front, release in table order reversed, push to the back."""

    def __init__(self, ids, forward):
        self.ids = ids
        self.forward = forward
        self.free = collections.deque(range(1, ids))
        self.count = [0] * ids

    def answer(self, wanted):
        if wanted >= self.ids:
            return "NEVER"
        return "OK" if wanted <= len(self.free) else "LATER"

    def allocate(self):
        block = self.free.popleft()
        assert self.count[block] == 0
        self.count[block] = 1
        return block

    def pin(self, blocks):
        for block in blocks:
            assert self.count[block] > 0
            self.count[block] += 1

    def release(self, blocks):
        for block in blocks if self.forward else reversed(blocks):
            assert self.count[block] > 0
            self.count[block] -= 1
            if self.count[block] == 0:
                self.free.append(block)

    def check(self, owned_by):
        """Each usable id is either owned or free, and the counts are exactly these owners."""
        expected = collections.Counter(owned_by)
        for block in range(1, self.ids):
            assert self.count[block] == expected[block], (block, self.count[block], expected[block])
            assert (self.count[block] == 0) == (block in self.free)
        assert len(set(self.free)) == len(self.free)


class Sequence:
    def __init__(self):
        self.state = "waiting"  # waiting for admission, live, forking (waits with its pins), ended, never
        self.tokens = 0
        self.drafts = 0
        self.table = []
        self.slot = None
        self.should_hold = []  # row values, position by position
        self.fork = None       # (parent, processed)
        self.release_list = None  # (slots, blocks) once forked, None again once handed over


class Copy:
    def __init__(self, number, what, source, destination):
        self.number, self.what, self.source, self.destination = number, what, source, destination


def blocks_for(tokens, size):
    return -(-tokens // size)


def show_rows(values):
    text = ["-" if value is None else str(value) for value in values]
    if len(text) <= 4:
        return "[" + ", ".join(text) + "]"
    return f"[{text[0]}, {text[1]}]...[{text[-2]}, {text[-1]}]"


def plural(number, word):
    return f"{number} {word}" + ("" if number == 1 else "s")


class Lab:
    def __init__(self, header):
        self.view = header.get("view", "tables")
        self.title = header.get("title")
        options = header["pool"]
        self.size = options["block_size"]
        forward = options.get("release_order") == "forward"
        self.blocks = Pool(options["num_blocks"], forward)
        self.slots = Pool(options["num_state_slots"], forward) if "num_state_slots" in options else None
        self.sequences = {}
        self.rows = collections.defaultdict(lambda: [None] * self.size)
        self.queue = collections.deque()  # copies, and writes as (block, row, value) lists
        self.copies_queued = 0            # number of the last copy
        self.copies_run = 0
        self.was_source = set()           # blocks that a copy has read
        self.waiting_release = []         # (number of the copy awaited, slots, blocks)
        self.forked = False
        self.lines = []                   # lists of columns
        self.open_wait = None

    # --- the chapter's mechanisms -------------------------------------------------------------

    def resize(self, sequence, positions):
        need = blocks_for(positions, self.size)
        while len(sequence.table) < need:
            sequence.table.append(self.blocks.allocate())
        surplus = sequence.table[need:]
        sequence.table[need:] = []
        self.blocks.release(surplus)

    def can_resize(self, sequence, positions):
        return blocks_for(positions, self.size) - len(sequence.table) <= len(self.blocks.free)

    def queue_copy(self, what, source, destination):
        self.copies_queued += 1
        self.queue.append(Copy(self.copies_queued, what, source, destination))

    def pending_copies(self):
        return [work for work in self.queue if isinstance(work, Copy)]

    def separate(self, child):
        """Listing 4.1 and the state clone: keep full blocks, copy a partial tail."""
        processed = child.fork[1]
        if self.slots is not None:
            old, child.slot = child.slot, self.slots.allocate()
            self.queue_copy("slot", old, child.slot)
            slots = [old]
        else:
            slots = []
        keep = processed // self.size
        unpin = child.table[keep:]
        child.table[keep:] = []
        if processed % self.size:
            tail = self.blocks.allocate()
            self.queue_copy("block", unpin[0], tail)
            child.table.append(tail)
        child.release_list = (slots, unpin)
        child.state = "live"

    def release_waiting(self):
        still = []
        for number, slots, blocks in self.waiting_release:
            if number > self.copies_run:
                still.append((number, slots, blocks))
                continue
            if slots:
                self.slots.release(slots)
            self.blocks.release(blocks)
        self.waiting_release = still

    def run_queued_writes(self):
        while self.queue and not isinstance(self.queue[0], Copy):
            self.store(self.queue.popleft())

    def store(self, write):
        for block, row, value in write:
            self.rows[block][row] = value

    def check(self):
        in_use = [s for s in self.sequences.values() if s.state in ("live", "forking")]
        lists = [s.release_list for s in self.sequences.values() if s.release_list is not None]
        lists += [(slots, blocks) for _, slots, blocks in self.waiting_release]
        self.blocks.check([b for s in in_use for b in s.table] + [b for _, bs in lists for b in bs])
        if self.slots is not None:
            self.slots.check([s.slot for s in in_use] + [x for xs, _ in lists for x in xs])

    # --- what is printed -----------------------------------------------------------------------

    def in_tables(self):
        return [(name, s) for name, s in self.sequences.items() if s.state in ("live", "forking")]

    def held(self, pool, used):
        return [i for i in range(1, pool.ids) if pool.count[i] > 0 and i not in used]

    def free_text(self):
        text = f"free={list(self.blocks.free)}"
        held = self.held(self.blocks, {b for _, s in self.in_tables() for b in s.table})
        return text + (f" held={held}" if held else "")

    def slots_text(self):
        text = f"free={list(self.slots.free)}"
        held = self.held(self.slots, {s.slot for _, s in self.in_tables()})
        return text + (f" held={held}" if held else "")

    def tables_line(self, sentence):
        columns = [sentence, " ".join(f"{name}={s.table}" for name, s in self.in_tables()),
                   self.free_text()]
        if self.slots is not None:
            owners = "".join(f" {name}={s.slot}" for name, s in self.in_tables())
            columns.append("slots" + owners + " " + self.slots_text())
        self.lines.append(columns)

    def say(self, sentence):
        """A sharing line; a waiting admission that is not continued becomes a line of its own."""
        self.close_wait()
        self.lines.append([sentence])

    def close_wait(self):
        if self.open_wait is not None:
            self.lines.append([f"{self.open_wait} waits"])
            self.open_wait = None

    def output(self):
        self.close_wait()
        indent = "" if self.title is None else "  "
        text = [] if self.title is None else [self.title]
        return text + [indent + " ".join(columns) for columns in self.lines]

    # --- events --------------------------------------------------------------------------------

    def perform(self, event):
        getattr(self, "on_" + event["event"])(event)
        self.check()

    def on_admit(self, event):
        refused = ""
        for entry in event["sequences"]:
            name = entry["sequence"]
            sequence = self.sequences.setdefault(name, Sequence())
            answer = self.answer(blocks_for(entry["tokens"], self.size), 1)
            if answer == "OK":
                sequence.state = "live"
                sequence.tokens = entry["tokens"]
                self.resize(sequence, sequence.tokens)
                if self.slots is not None:
                    sequence.slot = self.slots.allocate()
            else:
                sequence.state = "waiting" if answer == "LATER" else "never"
                refused += f"; {name}: {answer}"
            if self.view == "sharing" and self.forked:
                self.say_admission(name, answer, sequence.table)
        if self.view == "tables":
            names = ", ".join(f"{e['sequence']}({e['tokens']})" for e in event["sequences"])
            self.tables_line(f"admit {names}{refused}")

    def answer(self, blocks, slots):
        answers = [self.blocks.answer(blocks)]
        if self.slots is not None:
            answers.append(self.slots.answer(slots))
        return next(a for a in ("NEVER", "LATER", "OK") if a in answers)

    def say_admission(self, name, answer, table):
        if answer == "NEVER":
            self.say(f"{name}: NEVER")
        elif answer == "LATER":
            if self.open_wait != name:
                self.close_wait()
                self.open_wait = name
        else:
            waited = self.open_wait == name
            if waited:
                self.open_wait = None
            self.close_wait()
            text = f"{name} waits; " if waited else f"{name} "
            text += f"receives block {table[0]}" if len(table) == 1 else f"receives blocks {table}"
            sources = {c.source for c in self.pending_copies() if c.what == "block"}
            if sources & set(table):
                text += " before the copy runs"
            elif self.was_source & set(table):
                text += " after the copy"
            self.lines.append([text])

    def show_change(self, name, sentence):
        if self.view == "tables":
            self.tables_line(sentence)
        else:
            self.say(f"{sentence}: {name}={self.sequences[name].table} free={list(self.blocks.free)}")

    def on_grow(self, event):
        sequence = self.sequences[event["sequence"]]
        sequence.tokens = event["tokens"]
        self.resize(sequence, sequence.tokens)
        self.show_change(event["sequence"],
                         f"{event['sequence']} reaches {plural(sequence.tokens, 'token')}")

    def on_draft(self, event):
        sequence = self.sequences[event["sequence"]]
        sequence.tokens, sequence.drafts = event["tokens"], event["drafts"]
        self.resize(sequence, sequence.tokens + sequence.drafts)
        number = WORDS[sequence.drafts] if sequence.drafts <= 12 else str(sequence.drafts)
        word = "draft" if sequence.drafts == 1 else "drafts"
        self.show_change(event["sequence"],
                         f"{event['sequence']} at {sequence.tokens}, {number} {word} reserved")

    def on_commit(self, event):
        sequence = self.sequences[event["sequence"]]
        accepted, drafts = event["accepted"], sequence.drafts
        del sequence.should_hold[sequence.tokens + accepted:]
        sequence.tokens += accepted + 1
        sequence.drafts = 0
        self.resize(sequence, sequence.tokens)
        word = "draft" if drafts == 1 else "drafts"
        if accepted == 0:
            text = f"{word} rejected"
        elif accepted == drafts:
            text = f"{word} accepted"
        else:
            text = f"{accepted} of {drafts} drafts accepted"
        self.show_change(event["sequence"], f"{text}; {event['sequence']} at {sequence.tokens}")

    def on_check(self, event):
        text = f"admission check for {plural(event['blocks'], 'block')}"
        if "state_slots" in event:
            text += f" and {plural(event['state_slots'], 'state slot')}"
        self.say(f"{text}: {self.answer(event['blocks'], event.get('state_slots', 0))}")

    def on_fork(self, event):
        self.forked = True
        parent = self.sequences[event["parent"]]
        child = self.sequences.setdefault(event["child"], Sequence())
        if child.state != "forking":
            child.state = "forking"
            child.fork = (event["parent"], event["processed"])
            child.tokens = event["processed"]
            child.table = list(parent.table)
            child.should_hold = parent.should_hold[:event["processed"]]
            self.blocks.pin(child.table)
            if self.slots is not None:
                child.slot = parent.slot
                self.slots.pin([child.slot])
        before = self.copies_queued
        missing_tail = event["processed"] % self.size and not self.blocks.free
        missing_slot = self.slots is not None and not self.slots.free
        if not missing_tail and not missing_slot:
            self.separate(child)
        self.show_fork(event, parent, child, [c for c in self.pending_copies() if c.number > before])

    def show_fork(self, event, parent, child, copies):
        waits = child.state == "forking"
        block_copies = [(c.source, c.destination) for c in copies if c.what == "block"]
        slot_copies = [(c.source, c.destination) for c in copies if c.what == "slot"]
        if self.view == "tables":
            text = f"{event['child']} forks {event['parent']} at {event['processed']}: "
            text += "LATER" if waits else f"copy={block_copies}"
            if self.slots is not None and not waits:
                text += f" slot copy={slot_copies}"
            self.tables_line(text)
            return
        shown = [(event["parent"], parent)] if parent.state == "live" else []
        shown.append((event["child"], child))
        slot_list, block_list = child.release_list or ([], [])
        text = "fork: " + " ".join(f"{name}={s.table}" for name, s in shown) + " refs"
        for block in sorted({b for _, s in shown for b in s.table} | set(block_list)):
            text += f" {block}:{self.blocks.count[block]}"
        text += " waits" if waits else f" copy={block_copies}"
        if self.slots is not None:
            text += " slots " + " ".join(f"{name}={s.slot}" for name, s in shown) + " refs"
            for slot in sorted({s.slot for _, s in shown} | set(slot_list)):
                text += f" {slot}:{self.slots.count[slot]}"
            text += "" if waits else f" copy={slot_copies}"
        self.say(text)

    def on_unpin(self, event):
        child = self.sequences[event["sequence"]]
        slots, blocks = child.release_list
        child.release_list = None
        number = 0 if event["when"] == "now" else self.copies_queued
        self.waiting_release.append((number, slots, blocks))
        self.release_waiting()
        if self.view == "tables":
            text = f"unpin {blocks}" + (f" and slots {slots}" if self.slots is not None else "")
            self.tables_line(text + (" now" if event["when"] == "now" else " after the copies"))

    def on_copy_done(self, event):
        copy = self.queue.popleft()
        if copy.what == "block":
            self.rows[copy.destination] = list(self.rows[copy.source])
            self.was_source.add(copy.source)
        self.run_queued_writes()
        self.copies_run = copy.number
        self.release_waiting()
        if self.view == "tables":
            word = "slot copy" if copy.what == "slot" else "copy"
            self.tables_line(f"{word} {(copy.source, copy.destination)} done")

    def on_finish(self, event):
        sequence = self.sequences[event["sequence"]]
        sequence.state = "ended"
        later = {}  # copy number -> (slots, blocks): destinations of copies that have not run
        for copy in self.pending_copies():
            if copy.what == "slot" and copy.destination == sequence.slot:
                later.setdefault(copy.number, ([], []))[0].append(copy.destination)
            if copy.what == "block" and copy.destination in sequence.table:
                later.setdefault(copy.number, ([], []))[1].append(copy.destination)
        kept_slots = {x for slots, _ in later.values() for x in slots}
        kept_blocks = {b for _, blocks in later.values() for b in blocks}
        if self.slots is not None and sequence.slot not in kept_slots:
            self.slots.release([sequence.slot])
        self.blocks.release([b for b in sequence.table if b not in kept_blocks])
        for number in sorted(later):
            self.waiting_release.append((number,) + later[number])
        in_other = {b for _, s in self.in_tables() for b in s.table}
        if self.view == "tables":
            self.tables_line(f"{event['sequence']} finishes")
            return
        text = f"{event['sequence']} finishes: free={list(self.blocks.free)}"
        shared = [b for b in sequence.table if b in in_other]
        if shared:
            text += f"; shared {shared} kept"
        if self.slots is not None:
            text += f"; slots free={list(self.slots.free)}"
        self.say(text)

    def on_write(self, event):
        sequence = self.sequences[event["sequence"]]
        values = event["values"]
        position = event.get("position", len(sequence.should_hold))
        sequence.should_hold[position:position + len(values)] = values
        write = []
        for offset, value in enumerate(values):
            p = position + offset
            write.append((sequence.table[p // self.size], p % self.size, value))
        copies = len(self.pending_copies())
        queued = event.get("when") == "after_copies" and copies > 0
        if queued:
            self.queue.append(write)
        else:
            self.store(write)
        text = f"{event['sequence']} writes {show_rows(values)}"
        if self.view == "tables":
            self.say(f"{text} at {position}" + (" after the copies" if queued else ""))
        elif queued:
            self.say(text + (" behind the copy" if copies == 1 else " behind the copies"))

    def on_read(self, event):
        sequence = self.sequences[event["sequence"]]
        found = [self.rows[sequence.table[p // self.size]][p % self.size]
                 for p in range(len(sequence.should_hold))]
        correct = found == sequence.should_hold
        self.say(f"{event['sequence']} reads {show_rows(found)}: correct={correct}")

    def on_note(self, event):
        self.say(event["text"])


class Generator:
    """Draws events that are possible in the lab's present state, and performs each at once."""

    def __init__(self, rng, number):
        self.rng = rng
        size = rng.randint(1, 9)
        pool = {"num_blocks": rng.randint(2, 20), "block_size": size}
        if rng.random() < 0.3:
            pool["release_order"] = "forward"
        if rng.random() < 0.35:
            pool["num_state_slots"] = rng.randint(2, 9)
        self.header = {"pinfold_events": 1, "view": rng.choice(["tables", "sharing"]), "pool": pool}
        if rng.random() < 0.5:
            self.header["title"] = f"random lab {number}"
        self.lab = Lab(self.header)
        self.events = []
        self.names = 0
        self.value = 100
        self.first_tokens = {}  # by the name of who was told LATER
        self.story = []         # events of a sharing story that are still to come, in order
        self.seen = collections.Counter()

    def make(self):
        kinds = ["admit"] * 3 + ["grow"] * 3 + ["draft"] * 3 + ["commit"] * 4 + ["check"] * 2 \
            + ["fork"] * 4 + ["unpin"] * 3 + ["copy_done"] * 3 + ["finish"] * 4 + ["write"] * 5 \
            + ["read"] * 3
        wanted = self.rng.randint(10, 60)
        if self.rng.random() < 0.6:
            self.set_the_scene()
        for _ in range(20 * wanted):
            if len(self.events) >= wanted:
                break
            if self.story and self.rng.random() < 0.8:
                self.go_on_with_story()
                continue
            kind = self.rng.choice(kinds)
            event = getattr(self, "draw_" + kind)()
            if event is None:
                continue
            self.emit({"event": kind, **event})
            if kind == "fork" and not self.story:
                self.story = self.plan_story(event)
        self.drain()
        return self.lab.output()

    def set_the_scene(self):
        """The chapter's second experiment: a parent with rows in all of its positions, then a fork."""
        tokens = self.rng.randint(1, 3 * self.lab.size)
        parent = self.new_name()
        self.first_tokens[parent] = tokens
        self.emit({"event": "admit", "sequences": [{"sequence": parent, "tokens": tokens}]})
        if self.lab.sequences[parent].state != "live":
            return
        self.emit({"event": "write", "sequence": parent, "values": list(range(100, 100 + tokens))})
        self.value += tokens
        processed = self.rng.choice([tokens, tokens, self.rng.randint(1, tokens)])
        fork = {"parent": parent, "child": self.new_name(), "processed": processed}
        self.emit({"event": "fork", **fork})
        self.story = self.plan_story(fork)

    def plan_story(self, fork):
        """What follows the fork in the chapter's experiment, its order drawn anew."""
        writer = {"sequence": self.new_name(), "tokens": self.rng.randint(1, 2 * self.lab.size)}
        self.first_tokens[writer["sequence"]] = writer["tokens"]
        admit = {"event": "admit", "sequences": [writer]}
        free_source = [
            {"event": "finish", "sequence": fork["parent"]},
            {"event": "unpin", "sequence": fork["child"],
             "when": self.rng.choice(["now", "after_copies"])}]
        self.rng.shuffle(free_source)
        values = list(range(self.value + 800, self.value + 800 + writer["tokens"]))
        write = {"event": "write", "sequence": writer["sequence"], "values": values,
                 "when": self.rng.choice(["now", "now", "after_copies"])}
        read = {"event": "read", "sequence": fork["child"]}
        story = free_source + [admit, write, {"event": "copy_done"}, admit, read]
        free = len(self.lab.blocks.free)
        if free > 0 and self.rng.random() < 0.8:  # the chapter's pool is full after the fork
            filler = {"sequence": self.new_name(), "tokens": free * self.lab.size}
            self.first_tokens[filler["sequence"]] = filler["tokens"]
            story.insert(0, {"event": "admit", "sequences": [filler]})
        return story

    def go_on_with_story(self):
        """Skips what has become impossible."""
        event = self.story.pop(0)
        state = {name: s.state for name, s in self.lab.sequences.items()}
        name = event.get("sequence")
        possible = {
            "finish": lambda: state[name] in ("live", "forking"),
            "unpin": lambda: self.lab.sequences[name].release_list is not None,
            "admit": lambda: state.get(event["sequences"][0]["sequence"], "waiting") == "waiting",
            "write": lambda: state.get(name) == "live" and not self.lab.sequences[name].should_hold,
            "copy_done": lambda: len(self.lab.pending_copies()) > 0,
            "read": lambda: state[name] == "live" and self.lab.sequences[name].should_hold,
        }
        if possible[event["event"]]():
            self.emit(event)

    def drain(self):
        """Lets every copy run and every sequence read and end, in a random order."""
        while self.lab.pending_copies():
            self.emit({"event": "copy_done"})
        names = [name for name, _ in self.lab.in_tables()]
        self.rng.shuffle(names)
        for name in names:
            sequence = self.lab.sequences[name]
            if sequence.state == "live" and sequence.should_hold:
                self.emit({"event": "read", "sequence": name})
            self.emit({"event": "finish", "sequence": name})

    def emit(self, event):
        lines = len(self.lab.lines)
        self.events.append(event)
        self.lab.perform(event)
        self.seen[event["event"]] += 1
        for line in self.lab.lines[lines:]:
            for mark in ("LATER", "NEVER", "waits", "correct=False", "before the copy", "after the copy",
                         "behind the cop", "held=["):
                if mark in " ".join(line):
                    self.seen[mark] += 1

    def live(self, condition=lambda s: True):
        names = [n for n, s in self.lab.sequences.items() if s.state == "live" and condition(s)]
        return self.rng.choice(names) if names else None

    def new_name(self):
        self.names += 1
        return f"s{self.names}"

    def draw_admit(self):
        waiting = [n for n, s in self.lab.sequences.items() if s.state == "waiting"]
        entries = []
        if waiting and self.rng.random() < 0.6:
            name = self.rng.choice(waiting)
            entries.append({"sequence": name, "tokens": self.first_tokens[name]})
        else:
            for _ in range(self.rng.choice([1, 1, 2, 3])):
                blocks = self.rng.choice([1, 2, 2, 3, self.rng.randint(1, self.lab.blocks.ids + 1)])
                tokens = self.rng.randint(max(1, (blocks - 1) * self.lab.size), blocks * self.lab.size)
                entries.append({"sequence": self.new_name(), "tokens": tokens})
        for entry in entries:
            self.first_tokens[entry["sequence"]] = entry["tokens"]
        return {"sequences": entries}

    def draw_grow(self):
        name = self.live(lambda s: s.drafts == 0)
        if name is None:
            return None
        sequence = self.lab.sequences[name]
        tokens = sequence.tokens + self.rng.choice([0, 1, 1, 1, 2, self.rng.randint(1, 3 * self.lab.size)])
        return {"sequence": name, "tokens": tokens} if self.lab.can_resize(sequence, tokens) else None

    def draw_draft(self):
        name = self.live(lambda s: s.drafts == 0)
        if name is None:
            return None
        sequence = self.lab.sequences[name]
        tokens = sequence.tokens + self.rng.randint(0, 2)
        drafts = self.rng.choice([1, 2, 3, 5, self.rng.randint(1, 16)])
        if not self.lab.can_resize(sequence, tokens + drafts):
            return None
        return {"sequence": name, "tokens": tokens, "drafts": drafts}

    def draw_commit(self):
        name = self.live(lambda s: s.drafts > 0)
        if name is None:
            return None
        sequence = self.lab.sequences[name]
        accepted = self.rng.choice([0, 0, sequence.drafts, self.rng.randint(0, sequence.drafts)])
        possible = self.lab.can_resize(sequence, sequence.tokens + accepted + 1)
        return {"sequence": name, "accepted": accepted} if possible else None

    def draw_check(self):
        event = {"blocks": self.rng.randint(0, self.lab.blocks.ids + 1)}
        if self.lab.slots is not None and self.rng.random() < 0.7:
            event["state_slots"] = self.rng.choice([0, 1, 1, 2, self.lab.slots.ids])
        return event

    def draw_fork(self):
        forking = [n for n, s in self.lab.sequences.items() if s.state == "forking"]
        if forking and self.rng.random() < 0.6:
            child = self.rng.choice(forking)
            parent, processed = self.lab.sequences[child].fork
            return {"parent": parent, "child": child, "processed": processed}
        parent = self.live()
        if parent is None:
            return None
        tokens = self.lab.sequences[parent].tokens
        whole = tokens // self.lab.size * self.lab.size
        processed = self.rng.choice([tokens, max(whole, 1), self.rng.randint(1, tokens)])
        return {"parent": parent, "child": self.new_name(), "processed": processed}

    def draw_unpin(self):
        names = [n for n, s in self.lab.sequences.items() if s.release_list is not None]
        if not names:
            return None
        return {"sequence": self.rng.choice(names), "when": self.rng.choice(["now", "after_copies"])}

    def draw_copy_done(self):
        pending = self.lab.pending_copies()
        if not pending:
            return None
        if self.rng.random() < 0.5:
            return {}
        return {"from": pending[0].source, "to": pending[0].destination}

    def draw_finish(self):
        names = [name for name, _ in self.lab.in_tables()]
        return {"sequence": self.rng.choice(names)} if names and self.rng.random() < 0.6 else None

    def draw_write(self):
        name = self.live()
        if name is None:
            return None
        sequence = self.lab.sequences[name]
        room = min(len(sequence.table) * self.lab.size, sequence.tokens + sequence.drafts)
        position = len(sequence.should_hold)
        event = {"sequence": name}
        if position > 0 and (position >= room or self.rng.random() < 0.15):
            position = self.rng.randint(0, min(position, room - 1))
            event["position"] = position
        if position >= room:
            return None
        count = room - position if self.rng.random() < 0.7 else self.rng.randint(1, room - position)
        event["values"] = list(range(self.value, self.value + count))
        self.value += count + self.rng.randint(1, 50)
        if self.rng.random() < 0.3:
            event["when"] = self.rng.choice(["now", "after_copies"])
        return event

    def draw_read(self):
        name = self.live(lambda s: len(s.should_hold) > 0)
        return None if name is None else {"sequence": name}


def collapse(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pinfold", required=True, help="the program to compare with")
    parser.add_argument("--count", type=int, default=200, help="number of random labs")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--keep", help="write the event files and the expected texts to this folder")
    options = parser.parse_args()

    passed = failed = 0
    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(options.count):
            generator = Generator(random.Random(options.seed * 1_000_003 + number), number)
            expected = generator.make()
            seen.update(generator.seen.keys())
            path = folder / f"lab_{number:03d}.jsonl"
            path.write_text("".join(json.dumps(e) + "\n" for e in [generator.header] + generator.events))
            (folder / f"lab_{number:03d}.txt").write_text("\n".join(expected) + "\n")
            run = subprocess.run([options.pinfold, "replay", str(path)], capture_output=True, text=True)
            found = collapse(run.stdout)
            wanted = collapse("\n".join(expected))
            if run.returncode == 0 and found == wanted:
                passed += 1
                continue
            failed += 1
            if failed <= 3:
                print(f"lab {number} differs (exit code {run.returncode}) {run.stderr.strip()}")
                for n in range(max(len(found), len(wanted))):
                    want = wanted[n] if n < len(wanted) else "(nothing)"
                    have = found[n] if n < len(found) else "(nothing)"
                    if want != have:
                        print(f"  line {n + 1}\n    expected {want}\n    found    {have}")
                        break
    print("labs in which each occurred: " + ", ".join(f"{k} {v}" for k, v in sorted(seen.items())))
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed == options.count else 1


if __name__ == "__main__":
    sys.exit(main())
