"""Running the built program from tests: shared by the scripts beside it."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

TIMEOUT_S = 300  # of one start of the program: long, for sanitizers on a busy machine

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
ROW = "2023-11-16 18:15:46.6805900,374,44\n"


class Result:
    """What a run left: exit status, stdout, stderr."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


class Suite:
    """Collects checks; each is a sentence, and only those that fail are printed."""

    def __init__(self):
        self.program = pathlib.Path(sys.argv[1]).resolve()
        self.passed = 0
        self.failed = 0
        self._scratch = tempfile.TemporaryDirectory(prefix="pinfold-cli-")
        self.scratch = pathlib.Path(self._scratch.name)

    def run(self, *args, **options):
        """Runs the program in the scratch directory; `input` is what it reads from its standard input."""
        if "input" not in options:
            options["stdin"] = subprocess.DEVNULL
        done = subprocess.run([self.program, *map(str, args)], cwd=self.scratch, check=False,
                              capture_output=True, timeout=TIMEOUT_S, **options)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def write(self, name, content):
        """A file in the scratch directory; returns its name, as a user there would give it."""
        path = self.scratch / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_bytes(content.encode())
        return name

    def files(self):
        """Every path below the scratch directory with its content."""
        return {str(path.relative_to(self.scratch)): path.read_bytes() if path.is_file() else None
                for path in sorted(self.scratch.rglob("*"))}

    def check(self, sentence, holds, detail=""):
        if holds:
            self.passed += 1
            return
        self.failed += 1
        print(f"failed: {sentence}\n  {detail}")

    def finish(self):
        self._scratch.cleanup()
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
