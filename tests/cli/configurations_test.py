#!/usr/bin/env python3
"""Every configuration that ships works, and says only what the schema knows.

  configurations_test.py PROGRAM
"""

import json
import re
import sys

from program import HEADER, ROOT, Suite

CONFIGS = ROOT / "configs"
SCHEMA = CONFIGS / "config.schema.json"


def content(path):
    """JSON without its comments; no string here holds two slashes."""
    return json.loads(re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8")))


def unknown_keys(found, schema, path=""):
    """Paths that the schema does not have, or whose values it does not allow in kind or range."""
    kinds = {"integer": int, "number": (int, float), "string": str, "boolean": bool, "array": list,
             "object": dict}
    for key, value in found.items():
        place = f"{path}{key}"
        entry = schema["properties"].get(key)
        if entry is None:
            yield place
        elif not isinstance(value, kinds[entry["type"]]):
            yield f"{place} is no {entry['type']}"
        elif entry["type"] == "object":
            yield from unknown_keys(value, entry, place + ".")
        elif entry["type"] in ("integer", "number") and not entry["minimum"] <= value <= entry["maximum"]:
            yield f"{place} is out of range"
        elif value not in entry.get("enum", [value]):
            yield f"{place} is none of its words"


def layers(suite):
    """What comes later beats what comes earlier; a file beats what it includes."""
    (suite.scratch / "parts").mkdir()
    suite.write("parts/a.json", '{"engine": {"num_blocks": 100, "block_size": 32}}')
    suite.write("parts/b.json", '{"engine": {"max_model_len": 640}}')
    suite.write("run.json", '{"include": ["parts/a.json", "parts/b.json"], "engine": {"num_blocks": 200}}')
    suite.write("later.json", '{"engine": {"block_size": 64}}')

    def blocks(*args):
        result = suite.run("size", "--format", "json", *args)
        return json.loads(result.out) if result.status == 0 else result.err

    found = blocks("--config", "run.json")
    suite.check("a file beats what it includes", (found["blocks"]["ids"], found["blocks"]["block_size"],
                found["longest_request"]["blocks_needed"]) == (200, 32, 20), str(found))
    found = blocks("--config", "run.json", "--config", "later.json")
    suite.check("a later file beats an earlier one", found["blocks"]["block_size"] == 64, str(found))
    found = blocks("--config", "later.json", "--config", "run.json")
    suite.check("a later file's includes beat an earlier file", found["blocks"]["block_size"] == 32,
                str(found))
    suite.write("twice.json", '{"include": ["parts/a.json", "run.json"]}')
    # Its own settings clash with the first file's, which is said too.
    suite.check("an included file includes nothing", blocks("--config", "twice.json").splitlines(True)[0] ==
                "pinfold: error: run.json:1:2: include: found an include in a file that is itself included, "
                "expected included files without includes (include both in the outer file; included by "
                "twice.json:1:30)\n", blocks("--config", "twice.json"))
    suite.write("clash.json", '{"include": ["parts/a.json", "later.json"]}')
    suite.check("two included files do not set one option", blocks("--config", "clash.json") ==
                "pinfold: error: later.json:1:27: engine.block_size: found a second included file that sets "
                "it, expected one (the first is parts/a.json:1:46; included by clash.json:1:30)\n",
                blocks("--config", "clash.json"))


def main():
    suite = Suite()
    layers(suite)
    suite.check("configs/config.schema.json is what `pinfold schema` prints (else write it anew: "
                "build/pinfold schema > configs/config.schema.json)",
                suite.run("schema").out == SCHEMA.read_text(encoding="utf-8"))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    trace = suite.write("t.csv", HEADER + "2023-11-16 18:15:46,100,3\n2023-11-16 18:15:47,200,1\n")
    parts = [path for folder in ("runs", "models", "engines") for path in (CONFIGS / folder).iterdir()]
    suite.check("there are some", len(parts) >= 14, str(parts))
    for path in sorted(parts):
        name = path.relative_to(ROOT)
        suite.check(f"{name}: the schema has all of it", not list(unknown_keys(content(path), schema)),
                    str(list(unknown_keys(content(path), schema))))
        text = path.read_text(encoding="utf-8")
        suite.check(f"{name}: begins with a comment that says what it is", text.startswith("// "))
        if path.parent.name == "models":
            sized = suite.run("size", "--config", path, "--set", "engine.block_size=128",
                              "--available-gib", "40", "--format", "json")
            suite.check(f"{name}: has a size", sized.status == 0 and
                        json.loads(sized.out)["blocks"]["block_bytes"] > 0, sized.err)
        if path.parent.name == "runs":
            ran = suite.run("run", trace, "--config", path, "--format", "json")
            suite.check(f"{name}: runs", ran.status == 0 and json.loads(ran.out)["completed"] == 2, ran.err)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
