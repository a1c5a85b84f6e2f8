"""The Python packages of constraints.txt, from the virtual environment that `./dev test` makes."""

import importlib.util
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/venv/bin/python"


def skip(reason):
    """Ends the test as one that was not run."""
    print(f"skipped: {reason}")
    sys.exit(77)


def need(module):
    """Returns where `module` can be imported: here, or, started again, in the virtual environment."""
    if importlib.util.find_spec(module):
        return
    if PYTHON.exists() and pathlib.Path(sys.prefix) != PYTHON.parent.parent:
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    skip(f"no Python module {module}; ./dev test installs constraints.txt into build/venv")


def conversation(scratch, requests):
    """The first requests of the conversation trace as a file of its own; returns its name."""
    lines = (ROOT / "traces/azure/AzureLLMInferenceTrace_conv.csv").read_text().splitlines()
    (scratch / "conv.csv").write_text("\n".join(lines[:requests + 1]) + "\n")
    return "conv.csv"
