#!/usr/bin/env python3
"""Computes the table of traces/azure/README.md again, from the files alone, and compares it.

Shares no code with the simulator: what a reader of the trace must find is written down here a second
time. (`./dev oracle` names the program to every oracle; this one needs none.)
"""

import calendar
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "traces" / "azure"
COLUMNS = ("conv", "code")
BLOCK = 16


def instant_ns(text):
    """Nanoseconds since 1970 of `2023-11-16 18:15:46.6805900`, in integers."""
    date, clock = text.split(" ")
    seconds, fraction = clock.split(".")
    assert len(fraction) == 7
    parts = [int(n) for n in date.split("-") + seconds.split(":")]
    return calendar.timegm((*parts, 0, 0, 0)) * 10**9 + int(fraction) * 100


def nearest_rank(values, percent):
    ordered = sorted(values)
    return ordered[-(-percent * len(ordered) // 100) - 1]


def statistics(name):
    """The table's rows for one trace, as text, in the table's order."""
    data = (FOLDER / f"AzureLLMInferenceTrace_{name}.csv").read_bytes()
    header, *lines = data.decode("ascii").split("\r\n")
    assert header == "TIMESTAMP,ContextTokens,GeneratedTokens"
    assert lines[-1], "the last row has no line end"
    rows = [line.split(",") for line in lines]
    times = [instant_ns(row[0]) for row in rows]
    prompts, outputs = [int(row[1]) for row in rows], [int(row[2]) for row in rows]
    gaps = [after - before for before, after in zip(times, times[1:])]
    assert min(gaps) > 0, "in order of time, no two equal"
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    span = (times[-1] - times[0]) / 1e9

    def spread(values):
        return [
            f"{sum(values):,}",
            " / ".join([f"{sum(values) / len(values):.1f}"]
                       + [str(nearest_rank(values, p)) for p in (50, 90, 99)]),
            f"{min(values)} / {max(values):,}",
        ]

    blocks = sum(-(-(p + max(o, 1) - 1) // BLOCK) for p, o in zip(prompts, outputs))
    return [f"{len(data):,}", f"{len(rows):,}", f"{span:.3f}", f"{len(rows) / span:.3f}",
            f"{deviation / mean:.2f}", *spread(prompts), *spread(outputs), f"{blocks:,}"]


def table():
    """The table of the README: {first cell: [conversation, code]}, without the file names."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = [line.strip("|\n ").split("|") for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row] for row in rows]
    return {row[0]: row[1:] for row in cells if len(row) == 3 and row[0] not in ("", "file")}


def main():
    written = table()
    computed = list(zip(*(statistics(name) for name in COLUMNS)))
    failed = 0
    for (label, cells), values in zip(written.items(), computed):
        if cells != list(values):
            failed += 1
            print(f"{label}: the README says {cells}, the files say {list(values)}")
    if len(written) != len(computed):
        failed += 1
        print(f"the README has {len(written)} rows, {len(computed)} are computed")
    print(f"{len(computed) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
