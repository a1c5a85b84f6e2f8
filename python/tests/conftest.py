"""Paths, and the closing line that ./dev counts."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def program():
    """The program that the package is compared with."""
    return os.environ.get("PINFOLD", str(ROOT / "build" / "pinfold"))


@pytest.fixture
def small(tmp_path):
    """A trace of 40 requests in two bursts, as a file."""
    path = tmp_path / "small.csv"
    rows = ["arrival_ms,prompt,output"]
    rows += [f"{1000 * (n // 20)},{50 + 7 * n % 90},{5 + n % 11}" for n in range(40)]
    path.write_text("\n".join(rows) + "\n")
    return path


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    count = {name: len(stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    for report in stats.get("skipped", []):
        terminalreporter.write_line(f"skipped: {report.longrepr[2]}")
    terminalreporter.write_line(f"{count['passed']} passed, {count['failed'] + count['error']} failed"
                                + (f", {count['skipped']} skipped" if count["skipped"] else ""))
