#!/usr/bin/env python3
"""Ten configurations as people break them. Each is refused before anything runs: place, JSON path, what was
found, what was expected, and where a word is close to a known one, which.

  broken_configurations_test.py PROGRAM
"""

import sys

from program import HEADER, ROOT, ROW, Suite

MODELS = ROOT / "configs/models"
ENGINES = ROOT / "configs/engines"

# Each case: what is wrong, the file, and the four parts of the message: place and JSON path, found,
# expected, hint.
CASES = [
    ("a misspelt option", """{
  "engine": {
    "block_szie": 32
  }
}""", "broken.json:3:5: engine.block_szie: ", "found an unknown option", "an option of `pinfold schema`",
     "did you mean engine.block_size?"),
    ("an option in the wrong section", """{
  "model": {"layers": 32},
  "engine": {"kv_heads": 8}
}""", "broken.json:3:14: engine.kv_heads: ", "found an unknown option", "an option of `pinfold schema`",
     "did you mean model.kv_heads?"),
    ("a word that no option takes", """{
  "workload": {"stop": "hiden"}
}""", "broken.json:2:24: workload.stop: ", "found \"hiden\"", "\"hidden\" or \"known\"",
     "did you mean hidden?"),
    ("a percentage for a fraction", """{
  "include": ["MODELS/llama_3_1_8b.json"],
  "memory": {
    "device_gib": 79.19,
    "utilization": 95
  }
}""", "broken.json:5:20: memory.utilization: ", "found 95", "a decimal from 0 to 1 of device_gib", ""),
    ("a pool of one block", """{
  "engine": {"num_blocks": 1}
}""", "broken.json:2:28: engine.num_blocks: ", "found 1", "an integer from 2 to 67108864 block ids",
     "block 0 is never issued"),
    ("a block size for which compressed rows have no place", """{
  "include": ["MODELS/v4_like.json"],
  "engine": {"block_size": 64}
}""", "broken.json:3:28: engine.block_size: ", "found a block size of 64",
     "a multiple of the compression ratio 128", "block_size/ratio rows of each compressed cache"),
    ("a model that the GPU cannot hold", """{
  "include": ["MODELS/llama_3_1_70b.json", "ENGINES/vllm_h100.json"],
  "engine": {"max_model_len": 8192}
}""", "vllm_h100.json:14:19: memory.device_gib: ", "found weights (131.42 GiB)",
     "room for at least 2 blocks", "more GPUs, a smaller model, or fewer state slots"),
    ("a file that is not there", """{
  "include": ["modles/llama_3_1_8b.json"]
}""", "modles/llama_3_1_8b.json: ", "found no file of this name", "a configuration (JSON)",
     "included by broken.json:2:15"),
    ("two figures for one pool", """{
  "include": ["MODELS/llama_3_1_8b.json"],
  "engine": {"num_blocks": 29751},
  "memory": {"available_gib": 58.11}
}""", "broken.json:4:31: memory.available_gib: ", "found a second figure that sizes the pool",
     "engine.num_blocks, memory.available_gib or memory.device_gib alone", "engine.num_blocks is given too"),
    ("a comma too many", """{
  "engine": {
    "block_size": 32,   // positions
  }
}""", "broken.json:4:3: ", "found \"}\"", "a key in double quotes", ""),
]


def main():
    suite = Suite()
    suite.write("t.csv", HEADER + ROW)
    for what, text, place, found, expected, hint in CASES:
        suite.write("broken.json", text.replace("MODELS", str(MODELS)).replace("ENGINES", str(ENGINES)))
        before = suite.files()
        # The trace does not exist: a configuration is refused before anything else is looked at.
        for args in (["run", "t.csv", "-o", "result"], ["run", "none.csv"], ["size"]):
            result = suite.run(*args, "--config", "broken.json")
            name = f"{what}, {' '.join(args)}"
            suite.check(f"{name}: exit status 2", result.status == 2, f"{result.status} {result.err}")
            for part in (place, found, f"expected {expected}", hint):
                suite.check(f"{name}: says {part}", part in result.err, result.err)
            suite.check(f"{name}: one line, and nothing on stdout",
                        result.out == "" and result.err.count("\n") == 1 and
                        result.err.startswith("pinfold: error: "), result.out + result.err)
        suite.check(f"{what}: nothing written", suite.files() == before, str(suite.files().keys()))
    suite.check("there are ten", len(CASES) == 10)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
