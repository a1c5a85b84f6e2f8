#!/usr/bin/env python3
"""A second program for the cost models, written from configs/devices/README.md with exact fractions.

It makes random steps, prices each with the models of built-in device files, and writes the steps and
their times in picoseconds to tests/golden/step_costs.txt, which a C++ test prices again. Without --write it only
checks that the file is what it would write.

    python3 tests/oracle/step_costs.py [--write]
"""

import argparse
import json
import math
import pathlib
import random
import sys
from fractions import Fraction

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "step_costs.txt"
SEED = 20241
STEPS = 40
ENTRIES = [
    ("llama_3_1_70b_h100_sxm_vllm", 4, "fp8"),
    ("llama_3_1_70b_b200_sxm_trtllm", 8, "fp8s_kv8"),
    ("llama_3_1_8b_a100_sxm_vllm", 1, "bf16"),
    ("qwen3_32b_h200_sxm_trtllm", 2, "fp8_kv8"),
]


def curve(rows, times_ns, x, power=1):
    """Picoseconds at x, rounded down."""
    if x == 0:
        return 0
    if x <= rows[0]:
        return 1000 * times_ns[0]
    if x >= rows[-1]:
        return math.floor(1000 * times_ns[-1] * Fraction(x, rows[-1]) ** power)
    i = next(i for i, node in enumerate(rows) if node > x)
    share = Fraction(x - rows[i - 1], rows[i] - rows[i - 1])
    return math.floor(1000 * (times_ns[i - 1] * (1 - share) + times_ns[i] * share))


class Step:
    """Decode rows, draft rows, context, and chunks of (past, rows, last)."""

    def __init__(self, decode, drafts, context, chunks):
        self.decode, self.drafts, self.context, self.chunks = decode, drafts, context, chunks
        self.P = sum(rows for _, rows, _ in chunks)
        self.D = decode + drafts
        self.Q = sum(rows * past + rows * (rows + 1) // 2 for past, rows, _ in chunks)
        self.S = self.D + sum(last for _, _, last in chunks)

    def text(self):
        chunks = " ".join(f"{past}+{rows}{'.' if last else ''}" for past, rows, last in self.chunks)
        return f"{self.decode} {self.drafts} {self.context} {chunks}".rstrip()


def attention_ps(model, s):
    """The terms that linear and roofline share, in picoseconds as a fraction."""
    return model["context_position_ps"] * s.context + Fraction(model["pair_fs"] * s.Q, 1000)


def linear(model, s):
    return math.floor(1000 * model["step_ns"] + model["prompt_row_ps"] * s.P
                      + model["decode_row_ps"] * s.D + attention_ps(model, s))


def roofline(model, s):
    rows = s.P + s.D
    return math.floor(1000 * model["step_ns"]
                      + model["row_from_knee_ps"] * max(rows, model["knee_rows"])
                      + model["row_ps"] * rows + model["decode_row_ps"] * s.D
                      + attention_ps(model, s))


def knots(model, s):
    time = curve(model["dense"]["rows"], model["dense"]["ns"], s.P + s.D)
    time += curve(model["head"]["rows"], model["head"]["ns"], s.S)
    time += 1000 * model["any_decode_ns"] if s.D > 0 else 0
    time += model["decode_row_ps"] * s.D + 1000 * model["chunk_ns"] * len(s.chunks)
    time += model["prompt_position_ps"] * sum(past + rows for past, rows, _ in s.chunks)
    return math.floor(time + attention_ps(model, s))


def decode_attention(table, s):
    if s.D == 0:
        return 0
    context = Fraction(s.context, s.D)
    nodes, lines = table["rows"], table["layer_ns"]

    def line(i):
        return curve(table["context"][:len(lines[i])], lines[i], context)

    if s.D <= nodes[0]:
        return line(0)
    if s.D >= nodes[-1]:
        return math.floor(Fraction(line(len(nodes) - 1) * s.D, nodes[-1]))
    i = next(i for i, node in enumerate(nodes) if node > s.D)
    share = Fraction(s.D - nodes[i - 1], nodes[i] - nodes[i - 1])
    return math.floor(line(i - 1) * (1 - share) + line(i) * share)


def prompt_attention(table, past, rows):
    whole = past + rows
    beyond = whole >= table["rows"][-1]
    time = curve(table["rows"], table["layer_ns"], whole, power=2 if beyond else 1)
    return math.floor(time * Fraction(whole ** 2 - past ** 2, whole ** 2))


def table(model, s):
    layer = decode_attention(model["decode_attention"], s)
    layer += sum(prompt_attention(model["prompt_attention"], past, rows)
                 for past, rows, _ in s.chunks)
    return (layer * model["layers"] + curve(model["dense"]["rows"], model["dense"]["ns"], s.P + s.D)
            + curve(model["head"]["rows"], model["head"]["ns"], s.S))


MODELS = {"linear": linear, "roofline": roofline, "knots": knots, "table": table}


def random_step(draw):
    """Small, ordinary and absurd counts alike; now and then exactly a node."""
    def count(most):
        return draw.choice([0, 1, 2 ** draw.randrange(1, most.bit_length()), draw.randrange(1, most)])

    decode = count(4096)
    drafts = draw.choice([0, 0, draw.randrange(1, 6)]) * decode
    context = decode * draw.choice([1, 2, 64, 4096, 200_000]) + draw.randrange(decode + 1)
    chunks = [(draw.choice([0, 0, count(20_000)]), max(1, count(12_000)), draw.random() < 0.5)
              for _ in range(draw.choice([0, 0, 1, 1, 2, 4]))]
    if not decode and not chunks:
        chunks = [(0, 1, True)]
    return Step(decode, drafts, context, chunks)


def text():
    draw = random.Random(SEED)
    lines = ["# Written by tests/oracle/step_costs.py: a device's entry, then steps as",
             "# FIT DECODE DRAFTS CONTEXT [PAST+CHUNK, with a point where it ends its prompt]... = PICOSECONDS"]
    for name, size, variant in ENTRIES:
        device = json.loads((ROOT / "configs" / "devices" / f"{name}.json").read_text(encoding="utf-8"))
        entry = next(e for e in device["entries"]
                     if e["tensor_parallel_size"] == size and e["variant"] == variant)
        lines.append(f"{name} {size} {variant}")
        for fit, price in MODELS.items():
            if fit not in entry:
                continue
            for _ in range(STEPS):
                step = random_step(draw)
                lines.append(f"{fit} {step.text()} = {price(entry[fit], step)}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pinfold", help="not needed: a C++ test prices the steps")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    expected = text()
    if arguments.write:
        GOLDEN.write_text(expected, encoding="utf-8")
    steps = sum(" = " in line for line in expected.splitlines() if not line.startswith("#"))
    if GOLDEN.read_text(encoding="utf-8") == expected:
        print(f"{steps} passed, 0 failed")
        return 0
    print(f"{GOLDEN.name} is not what this program gives; --write writes it\n0 passed, 1 failed")
    return 1


if __name__ == "__main__":
    sys.exit(main())
