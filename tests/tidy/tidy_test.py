#!/usr/bin/env python3
"""Plants each kind of violation in a small clean tree and sees tidy report it, at its line.

Runs under `meson test` and by hand: tidy_test.py
"""

import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tidy  # pylint: disable=wrong-import-position

# A tree without a finding: each layer once, a driver, a kernel, the build files that list them.
CLEAN = {
    "meson.build": "subdir('src')\n",
    "src/base/meson.build": "sources += files('ids.cc')\n",
    "src/base/ids.h": "#pragma once\nenum class Id : int {};\n",
    "src/base/ids.cc": '#include "base/ids.h"\n',
    "src/pool/meson.build": "sources += files('pool.cc')\n",
    "src/pool/pool.h": '#pragma once\n#include "base/ids.h"\n',
    "src/pool/pool.cc": '#include "pool/pool.h"\n',
    "src/engine/meson.build": "sources += files('scheduler.cc')\n",
    "src/engine/scheduler.h": '#pragma once\n#include "pool/pool.h"\n',
    "src/engine/scheduler.cc": '#include "engine/scheduler.h"\n',
    "src/engine/locked_scheduler.h": "#pragma once\n#include <mutex>\n",
    "sim/core/meson.build": "sources += files('loop.cc')\n",
    "sim/core/loop.cc": '#include "engine/locked_scheduler.h"\n',
    "sim/cli/meson.build": "sources += files('main.cc')\n",
    "sim/cli/main.cc": '#include "sim/cli/words.h"\n\n#include <fstream>\n\n'
                       '#include "sim/report/version.h"\n',
    "sim/report/meson.build": "configure_file(input : 'version.in', output : 'version.h')\n",
    "sim/report/version.in": "#pragma once\n",
    "sim/cli/words.h": "#pragma once\n",
    "tests/unit/meson.build": "tests += {'unit/pool_test': ['pool']}\n",
    "tests/unit/pool_test.cc": '#include "pool/pool.h"\n',
    "tests/toy_engine/meson.build": "sources += files('toy.cc')\n",
    "tests/toy_engine/toy.cc": '#include "engine/scheduler.h"\n',
    "kernels/meson.build": "sources += files('copy.cc')\n",
    "kernels/copy.cc": "#include <cmath>\n",
    "README.md": "# Words\n",
    "traces/Odd-Name.csv": "a,b \r\n1,2",
    ".clang-format": "BasedOnStyle: Google\nIncludeBlocks: Preserve\n",
}

# What looks like a violation and is none: comments, strings, digit separators, members named alike.
INNOCENT = """#include "pool/pool.h"

// A double costs 1.5 times as much; std::unordered_map and time(nullptr) are words here.
/* float
   getenv("HOME") */
const char* kText = "double printf( std::mutex";
const char* kRaw = R"(3.14 " rand()
float)";
const int kMillion = 1'000'000;
const char kQuote = '"';
int at(const Event& event) { return event.time(0) + x.rand(); }
"""

# (what is planted, {path: text}, path and line that must be reported, a part of the finding)
RESULT_FILE = "src/pool/pool.cc"


def line(code):
    """A clean library file with one more line, which is line 2."""
    return {RESULT_FILE: f'#include "pool/pool.h"\n{code}\n'}


PLANTED = [
    ("an edge that points up", {"src/pool/pool.h": '#pragma once\n#include "engine/scheduler.h"\n'},
     "src/pool/pool.h:2", "points up"),
    ("the library includes the simulator", line('#include "sim/cli/words.h"'), RESULT_FILE + ":2",
     "stands alone"),
    ("the simulator looks inside", {"sim/core/loop.cc": '#include "pool/pool.h"\n'},
     "sim/core/loop.cc:1", "is public"),
    ("the loop includes the command line", {"sim/core/loop.cc": '#include "sim/cli/words.h"\n'},
     "sim/core/loop.cc:1", "points up"),
    ("a toy engine looks inside", {"tests/toy_engine/toy.cc": '#include "pool/pool.h"\n'},
     "tests/toy_engine/toy.cc:1", "is public"),
    ("a kernel includes ours", {"kernels/copy.cc": '#include "base/ids.h"\n'}, "kernels/copy.cc:1",
     "nothing of ours"),
    ("a layer nobody declared", {"src/magic/spell.h": '#pragma once\n#include "base/ids.h"\n'},
     "src/magic/spell.h:2", "unknown layer"),
    ("a path that leads nowhere", line('#include "../base/ids.h"'), RESULT_FILE + ":2",
     "not in the tree"),
    ("ours in angle brackets", line("#include <base/ids.h>"), RESULT_FILE + ":2", "included in"),
    ("a cycle", {"src/pool/pool.h": '#pragma once\n#include "pool/table.h"\n',
                 "src/pool/table.h": '#pragma once\n#include "pool/pool.h"\n'},
     "src/pool/table.h:2", "include cycle"),
    ("not formatted", line("int  f( ) ;"), RESULT_FILE + ":2", "not formatted"),
    ("a clock's header", line("#include <chrono>"), RESULT_FILE + ":2", "takes the time"),
    ("a clock", line("auto t = std::chrono::steady_clock::now();"), RESULT_FILE + ":2",
     "takes the time"),
    ("time()", line("auto t = time(nullptr);"), RESULT_FILE + ":2", "takes the time"),
    ("clock_gettime", line("int t = clock_gettime(0, &now);"), RESULT_FILE + ":2", "takes the time"),
    ("std::rand", line("int r = std::rand();"), RESULT_FILE + ":2", "random"),
    ("random_device", line("std::random_device device;"), RESULT_FILE + ":2", "random"),
    ("<random>", line("#include <random>"), RESULT_FILE + ":2", "random"),
    ("std::rand in a test", {"tests/unit/pool_test.cc": "int r = std::rand();\n"},
     "tests/unit/pool_test.cc:1", "random"),
    ("<fstream>", line("#include <fstream>"), RESULT_FILE + ":2", "files"),
    ("fopen", line('auto* f = fopen("x", "r");'), RESULT_FILE + ":2", "files"),
    ("<filesystem>", line("#include <filesystem>"), RESULT_FILE + ":2", "files"),
    ("<cstdio>", line("#include <cstdio>"), RESULT_FILE + ":2", "files"),
    ("printf", line('int n = printf("x");'), RESULT_FILE + ":2", "prints"),
    ("<iostream>", line("#include <iostream>"), RESULT_FILE + ":2", "prints"),
    ("a log", line("#include <spdlog/spdlog.h>"), RESULT_FILE + ":2", "prints"),
    ("JSON in the loop", {"sim/core/loop.cc": "#include <nlohmann/json.hpp>\n"},
     "sim/core/loop.cc:1", "JSON"),
    ("<thread>", line("#include <thread>"), RESULT_FILE + ":2", "threads"),
    ("<atomic>", line("#include <atomic>"), RESULT_FILE + ":2", "threads"),
    ("a mutex", line("std::mutex mutex;"), RESULT_FILE + ":2", "threads"),
    ("<cmath>", line("#include <cmath>"), RESULT_FILE + ":2", "libm"),
    ("std::floor", line("int n = std::floor(x);"), RESULT_FILE + ":2", "libm"),
    ("double", line("double x;"), RESULT_FILE + ":2", "floating point"),
    ("float in the device", {"sim/device/meson.build": "sources += files('cost.cc')\n",
                             "sim/device/cost.cc": "float x;\n"},
     "sim/device/cost.cc:1", "floating point"),
    ("a floating literal", line("auto x = 1.5;"), RESULT_FILE + ":2", "floating point"),
    ("a literal with an exponent", line("auto x = 1e9;"), RESULT_FILE + ":2", "floating point"),
    ("an unordered container", line("std::unordered_map<int, int> map;"), RESULT_FILE + ":2",
     "unordered"),
    ("getenv", line('auto* home = getenv("HOME");'), RESULT_FILE + ":2", "environment"),
    ("a locale", line("#include <locale>"), RESULT_FILE + ":2", "locale"),
    ("atoi", {"sim/cli/main.cc": '#include "sim/cli/words.h"\nint n = atoi(text);\n'},
     "sim/cli/main.cc:2", "silent 0"),
    ("openmp", line("#pragma omp parallel for"), RESULT_FILE + ":2", "order"),
    ("fast math in a build file", {"meson.build": "subdir('src')\nflags = ['-ffast-" "math']\n"},
     "meson.build:2", "lets the compiler"),
    ("no newline at the end", {"README.md": "# Words"}, "README.md:1", "no newline"),
    ("a blank line at the end", {"README.md": "# Words\n\n"}, "README.md:2", "blank line"),
    ("trailing white space", {"README.md": "# Words \n"}, "README.md:1", "white space"),
    ("CRLF", {"README.md": "# Words\r\n"}, "README.md:1", "CRLF"),
    ("a tab", line("\tint n;"), RESULT_FILE + ":2", "tab"),
    ("a name in another case", {"docs/BlockTable.md": "x\n"}, "docs/BlockTable.md:1", "snake_case"),
    ("a vague name", {"tests/unit/utils.h": "#pragma once\n"}, "tests/unit/utils.h:1", "vague"),
    ("a source in no build file", {"src/pool/forgotten.cc": "int n;\n"}, "src/pool/forgotten.cc:1",
     "dead file"),
    ("a header nobody includes", {"src/pool/forgotten.h": "#pragma once\n"},
     "src/pool/forgotten.h:1", "dead file"),
    ("a header without a guard", {"sim/cli/words.h": "int words();\n"}, "sim/cli/words.h:1",
     "#pragma once"),
    ("a leftover", line("// TO" "DO: later"), RESULT_FILE + ":2", "leftover"),
    ("a path of one machine", {"README.md": "# Words\n\nSee /ho" "me/someone/notes.\n"}, "README.md:3",
     "path of one machine"),
    ("a large file", {"docs/large.txt": "x" * 80 + "\n" + "y" * (1 << 20) + "\n"},
     "docs/large.txt:1", "bytes in one file"),
]


def findings_with(planted):
    """What tidy says about the clean tree with some files replaced."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {**CLEAN, **planted}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode())
        found, _ = tidy.check(root)
        return [finding for of_rule in found.values() for finding in of_rule]


def main():
    passed, failed, skipped = 0, 0, 0

    def expect(condition, title, detail):
        nonlocal passed, failed
        passed, failed = passed + bool(condition), failed + (not condition)
        if not condition:
            print(f"{title}: {detail}")

    clean = findings_with({})
    expect(not clean, "the clean tree", f"has findings: {[str(f) for f in clean]}")
    innocent = [f for f in findings_with({RESULT_FILE: INNOCENT}) if "formatted" not in f.what]
    expect(not innocent, "the innocent file", f"has findings: {[str(f) for f in innocent]}")
    for title, files, place, part in PLANTED:
        if part == "not formatted" and not shutil.which("clang-format"):
            skipped += 1
            print("skipped: clang-format is not installed")
            continue
        found = [str(f) for f in findings_with(files)]
        expect(any(f.startswith(place + ":") and part in f for f in found), title,
               f"not reported at {place}; reported: {found}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
