#!/usr/bin/env python3
"""Keeps the house rules that a compiler does not: layers, cycles, formatting, banned sources of
irreproducibility, dead files.

  tidy.py [ROOT]

Prints `path:line: what: hint` for each finding, then one closing line that counts the rules, and exits
with status 1 if there was a finding. Needs the standard library only; formatting needs clang-format.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

# --- Layers --------------------------------------------------------------------------------------
# A folder is a layer. A file may include its own folder and the folders before it in its list.

LIBRARY_LAYERS = ["base", "pool", "sequence", "scheduler", "engine"]

# The simulator, lowest first. Traces and configurations are plain data; a device and the metrics know
# nothing of the loop that drives them; `core` is that loop; `record` and `check` read its journal
# through the library's types only; what runs many simulations stands above it, the command line on
# top.
SIMULATOR_LAYERS = ["trace", "config", "device", "metrics", "check", "record", "core", "explore",
                    "sweep", "gate", "report", "cli"]

# Headers of a high folder that every simulator folder may include, because all of them draw from it.
# Such a header stands on the library's base alone.
SIMULATOR_FLOOR = {"sim/core/draw.h"}

# What the library shows to those who drive it: the simulator, the toy engine, drivers, the C interface.
LIBRARY_SURFACE = ["base", "engine"]
DRIVERS = ("tests/toy", "tests/drivers", "include")

# The only file of the library that may know of threads: the facade with the lock.
LOCKED_FACADE = {"src/engine/locked_scheduler.h"}

# --- Scopes of the ban list ----------------------------------------------------------------------

# Everything that reaches a result: the library, and the simulator from event to number.
RESULT_PATH = ("src/", "sim/core/", "sim/device/", "sim/check/", "sim/metrics/")
CODE = ("src/", "sim/", "tests/", "kernels/", "include/")

SOURCE_SUFFIXES = (".cc", ".h", ".cu", ".cuh")
SIZE_MAX = 1 << 20

CLOCK = "takes the time itself"
CLOCK_HINT = "take an Instant as an argument; only sim/core owns now"
RANDOM = "draws its own random numbers"
RANDOM_HINT = "take a named stream of sim/core/draw.h"
FILES = "touches files or prints"
FILES_HINT = "return a value; sim/cli, sim/record and sim/report own files and output"
JSON = "knows JSON"
JSON_HINT = "take a plain struct; sim/config parses and sim/report writes JSON"
THREADS = "knows threads"
THREADS_HINT = "use src/engine/locked_scheduler.h, the one place with a lock"
LIBM = "calls libm"
LIBM_HINT = "use integers or rationals; libm differs between machines"
FLOAT = "uses floating point"
FLOAT_HINT = "use integers: ns, ps, rationals"
HASHED = "uses an unordered container"
HASHED_HINT = "use a vector or std::map: iteration order must not depend on a hash"
ENVIRONMENT = "reads environment or locale"
ENVIRONMENT_HINT = "take a configuration value"
FAST_MATH = "lets the compiler change results"
FAST_MATH_HINT = "leave it out: the same bytes on every compiler"

# Headers: (scope, names, what, hint). A name ending in "/" stands for the whole folder.
BANNED_HEADERS = [
    (RESULT_PATH, ("chrono", "ctime", "time.h", "sys/time.h"), CLOCK, CLOCK_HINT),
    (RESULT_PATH, ("random",), RANDOM, RANDOM_HINT),
    (RESULT_PATH, ("fstream", "filesystem", "cstdio", "stdio.h", "fcntl.h", "unistd.h", "iostream",
                   "ostream", "istream", "sstream", "print", "syslog.h", "spdlog/"),
     FILES, FILES_HINT),
    (RESULT_PATH, ("nlohmann/", "simdjson.h", "rapidjson/"), JSON, JSON_HINT),
    (RESULT_PATH, ("thread", "mutex", "shared_mutex", "atomic", "condition_variable", "future",
                   "semaphore", "latch", "barrier", "stop_token", "pthread.h"),
     THREADS, THREADS_HINT),
    (RESULT_PATH, ("cmath", "math.h", "complex", "cfenv", "numbers"), LIBM, LIBM_HINT),
    (RESULT_PATH, ("unordered_map", "unordered_set"), HASHED, HASHED_HINT),
    (RESULT_PATH, ("locale", "clocale", "codecvt"), ENVIRONMENT, ENVIRONMENT_HINT),
]

# Tokens outside comments and strings: (scope, pattern, what, hint).
BANNED_TOKENS = [
    (RESULT_PATH, r"\b(?:system|steady|high_resolution|utc|file)_clock\b", CLOCK, CLOCK_HINT),
    (RESULT_PATH, r"\b(?:clock_gettime|gettimeofday|timespec_get|__rdtsc)\b", CLOCK, CLOCK_HINT),
    (RESULT_PATH, r"(?<![\w.>])time\s*\(\s*(?:nullptr|NULL|0|&)", CLOCK, CLOCK_HINT),
    (CODE, r"(?<![\w.>])s?rand\s*\(|\brandom_device\b|\bdrand48\b", RANDOM, RANDOM_HINT),
    (RESULT_PATH, r"\bmt19937(?:_64)?\b|\b\w+_distribution\b|\bdefault_random_engine\b",
     RANDOM, RANDOM_HINT),
    (RESULT_PATH, r"\b(?:fopen|freopen|[io]?fstream)\b|\bstd::filesystem\b", FILES, FILES_HINT),
    (RESULT_PATH, r"\bstd::(?:cout|cerr|clog)\b|\b\w*printf\s*\(|\b(?:fputs|puts)\s*\(|\bspdlog\b",
     FILES, FILES_HINT),
    (RESULT_PATH, r"\bnlohmann\b", JSON, JSON_HINT),
    (RESULT_PATH, r"\bstd::(?:j?thread|\w*mutex|atomic\w*|async|condition_variable\w*)\b"
                  r"|\bthread_local\b|\bpthread_\w+", THREADS, THREADS_HINT),
    (RESULT_PATH, r"\bstd::(?:sqrt|cbrt|exp2?|expm1|log2|log10|log1p|log|pow|hypot|floor|ceil|l?round|"
                  r"trunc|fmod|fma|sin|cos|tan|tanh|erf|lgamma|tgamma)\b", LIBM, LIBM_HINT),
    (RESULT_PATH, r"\b(?:float|double)\b", FLOAT, FLOAT_HINT),
    (RESULT_PATH, r"(?<![\w.])(?:\d[\d']*\.[\d']*(?:[eE][+-]?\d+)?|\d[\d']*[eE][+-]?\d+)[fFlL]?(?![\w.])",
     FLOAT, FLOAT_HINT),
    (RESULT_PATH, r"\bunordered_(?:multi)?(?:map|set)\b", HASHED, HASHED_HINT),
    (RESULT_PATH, r"\b(?:secure_)?getenv\b|\bsetlocale\b|\bstd::locale\b",
     ENVIRONMENT, ENVIRONMENT_HINT),
    (CODE, r"\b(?:atoi|atol|atoll|atof)\s*\(", "turns a typo into a silent 0",
     "use std::from_chars and check the whole text was read"),
    (CODE, r"#\s*pragma\s+omp\b", "adds up in an order of the machine's choosing",
     "write the loop, or run whole simulations side by side"),
]

BUILD_BANNED = re.compile(r"-ffast-math|-Ofast|-funsafe-math-optimizations|-fassociative-math|"
                          r"-freciprocal-math|-fopenmp|openmp")

# Spelled in two parts, so that this file passes its own test.
LEFTOVER = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:wo" r"rk|ho" r"me|ro" r"ot|Us" r"ers)/\w")

NAME = re.compile(r"\.?[a-z0-9_]+(?:[.][a-z0-9_]+)*")
UPPERCASE_NAMES = {"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"}
VAGUE = re.compile(r"(?:utils?|common|misc|helpers?|stuff|my_?\w*)\.\w+")


class Finding(NamedTuple):
    path: str
    line: int
    what: str
    hint: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}: {self.hint}"


# Comments, strings, numbers and words of C++. Numbers come before characters because of digit
# separators (1'000), raw strings before words because of their prefix.
CPP_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>\.?\d(?:'?[\w.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<character>'(?:\\.|[^'\\\n])+')""",
    re.DOTALL | re.VERBOSE)


def code_only(text):
    """The text with comments, strings and characters blanked out; lines and columns stay."""
    def blank(match):
        if match["number"] or match["word"]:
            return match[0]
        return "".join(c if c == "\n" else " " for c in match[0])
    return CPP_TOKEN.sub(blank, text)


class Tree:
    """The files of the repository, read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.paths = sorted(self._list())
        self.text, self.lines, self.code = {}, {}, {}
        for path in self.paths:
            data = (self.root / path).read_bytes()
            # Traces and broken inputs are evidence: their bytes are what they are.
            if len(data) > SIZE_MAX or b"\0" in data or path.startswith(("traces/", "tests/fuzz/corpus/")):
                continue
            self.text[path] = data.decode("utf-8", errors="replace")
            self.lines[path] = self.text[path].split("\n")
            if path.endswith(SOURCE_SUFFIXES):
                self.code[path] = code_only(self.text[path])
        self.known = set(self.paths) | self._generated()
        self.includes = {path: list(self._includes_of(path)) for path in self.code}

    def _list(self):
        """What git tracks or would track; without git, everything but build folders."""
        if (self.root / ".git").exists() and shutil.which("git"):
            listed = subprocess.run(
                ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others",
                 "--exclude-standard"],
                capture_output=True, check=False)
            if listed.returncode == 0:
                names = listed.stdout.decode().split("\0")
                return [n for n in set(names) if n and (self.root / n).is_file()]
        found = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in (".git", "__pycache__", ".cache")
                          and not f.startswith("build")]
            for name in files:
                found.append((pathlib.Path(folder) / name).relative_to(self.root).as_posix())
        return found

    def _generated(self):
        """Headers that Meson writes: `output : 'version.h'`, in the folder of the meson.build."""
        return {path[:-len("meson.build")] + name
                for path, text in self.text.items() if path.endswith("meson.build")
                for name in re.findall(r"output *: *'([^']+\.h)'", text)}

    def _includes_of(self, path):
        """Yields (line number, written name, is_quoted, path in the tree or None)."""
        code_lines = self.code[path].split("\n")
        for number, line in enumerate(self.lines[path], 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not match or not code_lines[number - 1].lstrip().startswith("#"):
                continue
            name = match[2]
            target = next((t for t in ("src/" + name, name) if t in self.known), None)
            yield number, name, match[1] == '"', target


# --- The rules: each takes a tree and yields findings --------------------------------------------

def layer_of(path):
    parts = path.split("/")
    return (parts[0], parts[1]) if len(parts) > 2 else (parts[0], "")


def wrong_edge(source, target):
    """What is wrong with `source` including `target`, or None."""
    (top, folder), (target_top, target_folder) = layer_of(source), layer_of(target)

    def below(layers):
        if folder not in layers or target_folder not in layers:
            return f"an unknown layer: the layers are {' <- '.join(layers)}"
        if layers.index(target_folder) > layers.index(folder):
            return f"an edge that points up: the layers are {' <- '.join(layers)}"
        return None

    if top == "kernels":
        return None if target_top == "kernels" else "kernels include nothing of ours"
    if top == "src":
        return below(LIBRARY_LAYERS) if target_top == "src" else "the library stands alone"
    surface = f"only src/{{{','.join(LIBRARY_SURFACE)}}} is public"
    if source in SIMULATOR_FLOOR:
        return None if (target_top, target_folder) == ("src", "base") else "it stands on src/base alone"
    if top == "sim":
        if target_top == "src":
            return None if target_folder in LIBRARY_SURFACE else surface
        if target_top == "sim":
            return None if target in SIMULATOR_FLOOR else below(SIMULATOR_LAYERS)
        if target_top == "kernels" and folder == "device":
            return None
        return "the simulator includes the library's surface and itself"
    if source.startswith(DRIVERS):
        same = target.startswith(tuple(d for d in DRIVERS if source.startswith(d)))
        public = target_top == "src" and target_folder in LIBRARY_SURFACE
        return None if same or public else surface
    return None


def rule_layers(tree):
    for path, includes in tree.includes.items():
        for number, name, quoted, target in includes:
            if target is None:
                if quoted:
                    yield Finding(path, number, f'includes "{name}", which is not in the tree',
                                  "write it from src/ or from the repository root; others in <>")
                continue
            trouble = wrong_edge(path, target)
            if trouble:
                yield Finding(path, number, f"includes {target}", trouble)
            if not quoted:
                yield Finding(path, number, f"includes <{name}>", 'ours are included in ""')


def rule_cycles(tree):
    """Depth-first over the includes; a grey file met again closes a cycle."""
    state, stack = {}, []

    def visit(path):
        state[path] = "open"
        stack.append(path)
        for number, _, _, target in tree.includes.get(path, ()):
            if target is None:
                continue
            if state.get(target) == "open":
                cycle = stack[stack.index(target):] + [target]
                yield Finding(path, number, f"include cycle {' -> '.join(cycle)}",
                              "move what both need one layer down")
            elif target not in state:
                yield from visit(target)
        stack.pop()
        state[path] = "done"

    for path in tree.includes:
        if path not in state:
            yield from visit(path)


def rule_banned(tree):
    for path, code in tree.code.items():
        for scope, names, what, hint in BANNED_HEADERS:
            if not path.startswith(scope) or (what == THREADS and path in LOCKED_FACADE):
                continue
            for number, name, _, target in tree.includes[path]:
                if target is None and any(name == n or (n[-1] == "/" and name.startswith(n))
                                          for n in names):
                    yield Finding(path, number, f"{what} (<{name}>)", hint)
        for scope, pattern, what, hint in BANNED_TOKENS:
            if not path.startswith(scope) or (what == THREADS and path in LOCKED_FACADE):
                continue
            for match in re.finditer(pattern, code):
                number = code.count("\n", 0, match.start()) + 1
                if not tree.lines[path][number - 1].lstrip().startswith("#include"):
                    yield Finding(path, number, f"{what} ({match[0].strip()})", hint)


def rule_build_flags(tree):
    for path, lines in tree.lines.items():
        if not (path.endswith("meson.build") or path in ("dev", ".ci/run", "meson_options.txt")):
            continue
        for number, line in enumerate(lines, 1):
            match = BUILD_BANNED.search(line.split("#")[0])
            if match:
                yield Finding(path, number, f"{FAST_MATH} ({match[0]})", FAST_MATH_HINT)


def rule_whitespace(tree):
    for path, lines in tree.lines.items():
        if path.startswith("tests/golden/") and not path.endswith((".cc", ".h", ".py", ".build")):
            continue
        if tree.text[path] and not tree.text[path].endswith("\n"):
            yield Finding(path, len(lines), "no newline at the end", "add one")
        if tree.text[path].endswith("\n\n"):
            yield Finding(path, len(lines) - 1, "blank line at the end", "remove it")
        tabs = path.endswith(SOURCE_SUFFIXES + (".py", ".build")) or path == "dev"
        for number, line in enumerate(lines, 1):
            if line.endswith("\r"):
                yield Finding(path, number, "CRLF line end", "write LF")
            elif line != line.rstrip():
                yield Finding(path, number, "trailing white space", "remove it")
            if tabs and "\t" in line:
                yield Finding(path, number, "tab", "indent with spaces")


def rule_names(tree):
    for path in tree.paths:
        parts = path.split("/")
        if parts[0] == "traces" or parts[-1] in UPPERCASE_NAMES:
            continue
        for part in parts:
            if not NAME.fullmatch(part.replace("-", "_") if part[0] == "." else part):
                yield Finding(path, 1, f"the name {part} is not snake_case", "rename it")
        if VAGUE.fullmatch(parts[-1]) and path.endswith(SOURCE_SUFFIXES + (".py",)):
            yield Finding(path, 1, "named after its vagueness", "name the one concept it holds")


def rule_dead_files(tree):
    """A source is in a meson.build, a header is included by somebody or listed."""
    listed = set()
    for path in tree.paths:
        if path.split("/")[-1] != "meson.build" or path not in tree.text:
            continue
        folder = path[:-len("meson.build")]
        for name in re.findall(r"'([^'\n]+)'", tree.text[path]):
            # tests/ lists its programs by path below tests/, without the suffix.
            for base in {folder, "tests/" if folder.startswith("tests/") else folder}:
                listed |= {base + name, base + name + ".cc"}
    included = {target for includes in tree.includes.values() for *_, target in includes}
    for path in tree.code:
        if path in listed or (path in included and path.endswith((".h", ".cuh"))):
            continue
        if path.endswith((".h", ".cuh")):
            yield Finding(path, 1, "dead file: nobody includes this header", "use it or delete it")
        else:
            yield Finding(path, 1, "dead file: in no meson.build", "list it or delete it")


def rule_headers(tree):
    for path, lines in tree.lines.items():
        if path.endswith((".h", ".cuh")) and not path.startswith("include/"):
            if "#pragma once" not in lines:
                yield Finding(path, 1, "header without #pragma once", "add it")


def rule_leftovers(tree):
    for path, lines in tree.lines.items():
        for number, line in enumerate(lines, 1):
            match = LEFTOVER.search(line)
            if match:
                yield Finding(path, number, f"leftover {match[0]}", "do it, or file an issue")
            match = MACHINE_PATH.search(line)
            if match:
                yield Finding(path, number, "a path of one machine", "write it from the root")


def rule_size(tree):
    for path in tree.paths:
        size = (tree.root / path).stat().st_size
        if size > SIZE_MAX and not path.startswith("traces/"):
            yield Finding(path, 1, f"{size} bytes in one file", "keep data small, or in traces/")


def rule_format(tree):
    if not shutil.which("clang-format"):
        raise FileNotFoundError("clang-format is not installed")
    paths = [path for path in tree.code]
    chunks = [paths[i::os.cpu_count() or 1] for i in range(os.cpu_count() or 1)]

    def run(chunk):
        if not chunk:
            return ""
        return subprocess.run(["clang-format", "--dry-run", *chunk], cwd=tree.root,
                              capture_output=True, text=True, check=False).stderr

    seen = set()
    with ThreadPoolExecutor() as pool:
        for output in pool.map(run, chunks):
            for path, number in re.findall(r"^(\S+?):(\d+):\d+: warning: code should", output, re.M):
                if path not in seen:
                    seen.add(path)
                    yield Finding(path, int(number), "not formatted", "run ./dev format")


RULES = [rule_layers, rule_cycles, rule_banned, rule_build_flags, rule_whitespace, rule_names,
         rule_dead_files, rule_headers, rule_leftovers, rule_size, rule_format]


def check(root, rules=None):
    """(findings by rule name, {rule name: reason it was skipped})."""
    tree = Tree(root)
    findings, skipped = {}, {}
    for rule in rules or RULES:
        try:
            findings[rule.__name__] = sorted(set(rule(tree)))
        except FileNotFoundError as reason:
            skipped[rule.__name__] = str(reason)
    return findings, skipped


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    findings, skipped = check(root)
    for found in findings.values():
        for finding in found:
            print(finding)
    for reason in skipped.values():
        print(f"skipped: {reason}")
    failed = sum(1 for found in findings.values() if found)
    tail = f", {len(skipped)} skipped" if skipped else ""
    print(f"{len(findings) - failed} passed, {failed} failed{tail}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
