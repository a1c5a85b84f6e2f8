#!/usr/bin/env python3
"""`pinfold size` against what engines log of their own memory, and its own promises.

  size_test.py PROGRAM

kv_capacity.csv holds 52 public start-up logs. 41 have both the memory left for caches and the tokens that
the engine made of it: from that memory as logged (two decimals) all but the pipeline-parallel rows must
come out within 0.1 %. A pipeline's log shows one of its ranks only, so these are 1.3 and 1.4 % off here.
"""

import csv
import json
import sys

from program import ROOT, Suite

MODELS = ROOT / "configs/models"
ENGINES = ROOT / "configs/engines"


def logs():
    with open(ROOT / "tests/cli/kv_capacity.csv", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def model_of(row):
    """A configuration with the model's shape on one rank of a pipeline."""
    return {"model": {"layers": int(row["layers"]) // int(row["pipeline_parallel"]),
                      "kv_heads": int(row["kv_heads"]), "head_dim": int(row["head_dim"]),
                      "kv_bytes_per_element": int(row["kv_bytes_per_element"])},
            "engine": {"block_size": int(row["block_size"]),
                       "tensor_parallel_size": int(row["tensor_parallel"])}}


def sized(suite, config, *args):
    suite.write("row.json", json.dumps(config))
    result = suite.run("size", "--config", "row.json", *args, "--format", "json")
    return json.loads(result.out) if result.status == 0 else {"error": result.err}


def from_available(suite, rows):
    """Tokens from the available memory that the log shows."""
    close, off = 0, []
    for row in rows:
        if not (row["available_gib"] and row["kv_tokens"]):
            continue
        found = sized(suite, model_of(row), "--available-gib", row["available_gib"])
        tokens, logged = found["blocks"]["tokens"], int(row["kv_tokens"])
        error = 100 * abs(tokens - logged) / logged
        suite.check(f"{row['model']}: a block's bytes are those of the log", found["blocks"]["block_bytes"]
                    == int(row["kv_bytes_per_token_per_gpu"]) * int(row["block_size"]), str(row))
        if error < 0.1:
            close += 1
        else:
            off.append((row["pipeline_parallel"], round(error, 1)))
    suite.check("39 of 41 logs are met within 0.1 %", close == 39, f"{close}, the others: {off}")
    suite.check("two pipeline-parallel ones are 1.3 and 1.4 % off", sorted(off) == [("2", 1.4), ("4", 1.3)],
                str(off))


def from_blocks(suite, rows):
    """Tokens and bytes from the block count that the log shows."""
    count = 0
    for row in rows:
        if not row["gpu_blocks"]:
            continue
        count += 1
        found = sized(suite, model_of(row), "--num-blocks", row["gpu_blocks"])
        blocks = found["blocks"]
        suite.check(f"{row['model']}: the block count's tokens are the log's",
                    blocks["tokens"] == int(row["kv_tokens"]) and blocks["usable"] == blocks["ids"] - 1,
                    str(found))
        suite.check(f"{row['model']}: bytes follow, memory is not known",
                    found["memory_bytes"]["blocks"] == blocks["ids"] * blocks["block_bytes"]
                    and found["memory_bytes"]["budget"] is None, str(found))
    suite.check("40 logs have a block count", count == 40, str(count))


def from_device(suite, rows):
    """The split of a vLLM 0.19 log, summed by us: what is left is what the engine says is left."""
    count = 0
    for row in rows:
        if "v0.19.0" not in row["path"] or row["pipeline_parallel"] != "1":
            continue
        count += 1
        gpus = int(row["tensor_parallel"])
        config = model_of(row)
        config["model"]["weights_gib"] = round(float(row["weights_gib_per_gpu"]) * gpus, 2)
        config["memory"] = {"device_gib": float(row["device_gib"]),
                            "utilization": float(row["utilization"]),
                            "activation_peak_gib": float(row["activation_peak_gib"]),
                            "non_torch_gib": float(row["non_torch_gib"])}
        memory = sized(suite, config)["memory_bytes"]
        left = (memory["blocks"] + memory["remainder"]) / 2**30
        # Five figures of two decimals each, and a utilisation of one.
        suite.check(f"{row['path']}: what is left is what the engine says",
                    abs(left - float(row["available_gib"])) <= 0.04, f"{left} {row['available_gib']}")
    suite.check("30 logs of vLLM 0.19 have a split", count == 30, str(count))


def rule_of_thumb(suite, rows):
    """configs/engines/vllm_h100.json in place of the log's own split."""
    errors = []
    for row in rows:
        if "v0.19.0" not in row["path"] or row["pipeline_parallel"] != "1":
            continue
        config = model_of(row)
        config["include"] = [str(ENGINES / "vllm_h100.json")]
        config["model"]["weights_gib"] = round(float(row["weights_gib_per_gpu"])
                                               * int(row["tensor_parallel"]), 2)
        config["memory"] = {"utilization": float(row["utilization"])}
        memory = sized(suite, config)["memory_bytes"]
        left = (memory["blocks"] + memory["remainder"]) / 2**30
        errors.append((abs(left - float(row["available_gib"])), row["model"]))
    errors.sort()
    suite.check("the engine file is within 0.5 GiB of every log but CodeLlama's",
                errors[-2][0] <= 0.5 and "CodeLlama" in errors[-1][1], str(errors[-3:]))


def formats(suite):
    files = ["--config", MODELS / "llama_3_1_8b.json", "--config", ENGINES / "vllm_h100.json"]
    text = suite.run("size", *files, "--prompt-tokens", "1000", "--output-tokens", "500")
    suite.check("size prints a split", text.status == 0 and text.err == "" and
                "Block ids, block 0 counted:              27663\n" in text.out, text.out + text.err)
    suite.check("size prints what binds", "Bound by:                                blocks\n" in text.out,
                text.out)
    found = json.loads(suite.run("size", *files, "--prompt-tokens", "1000", "--output-tokens", "500",
                                 "--format", "json").out)
    # 1000 + 500 - 1 rows and one overrun row in blocks of 16; 27,662 usable blocks.
    suite.check("size counts a request's blocks", found["request"]["blocks_needed"] == 94, str(found))
    suite.check("size counts the requests that fit", found["request"]["by_blocks"] == 27662 // 94 and
                found["request"]["concurrency"] == 256 and found["request"]["binds"] == "run_limit",
                str(found))
    suite.check("size knows the longest requests", found["longest_request"]["concurrency"] ==
                27662 // 8192, str(found))
    slots = suite.run("size", "--config", MODELS / "v4_like.json", "--config",
                      ENGINES / "deepinfer_h200.json")
    suite.check("size prints state slots", "State ids, slot 0 counted:               308\n" in slots.out,
                slots.out + slots.err)


def imports(suite):
    files = ["--config", MODELS / "llama_3_1_8b.json", "--config", ENGINES / "vllm_h100.json"]
    flags = ("vllm serve meta-llama/Llama-3.1-8B --gpu_memory_utilization=0.95 --max-model-len 8k "
             "--block-size 32 -tp 2 --port 8000")
    plain = suite.run("size", *files, "--format", "json", "--set", "memory.utilization=0.95", "--set",
                      "engine.max_model_len=8000", "--set", "engine.block_size=32", "--set",
                      "engine.tensor_parallel_size=2")
    imported = suite.run("size", *files, "--format", "json", "--vllm-args", flags)
    suite.check("an engine's flags say what --set says", imported.out == plain.out and plain.status == 0,
                imported.err + plain.err)
    suite.check("what is not simulated is listed", imported.err ==
                "pinfold: note: --vllm-args: ignored meta-llama/Llama-3.1-8B: the model comes from the "
                "configuration\npinfold: note: --vllm-args: ignored --port 8000: it is not simulated\n",
                imported.err)
    count = suite.run("size", *files, "--vllm-args",
                      "--num-gpu-blocks-override 500 --gpu-memory-utilization 0.5", "--format", "json")
    suite.check("a block count overrides memory, and the useless flag is named",
                json.loads(count.out)["blocks"]["ids"] == 500 and
                "--gpu-memory-utilization 0.5: without effect: memory.utilization counts only where "
                "memory.device_gib sizes the pool" in count.err, count.err)
    over = suite.run("size", *files, "--vllm-args", "--block-size 32", "--set", "engine.block_size=64",
                     "--format", "json")
    suite.check("--set beats an engine's flags", json.loads(over.out)["blocks"]["block_size"] == 64)

    suite.write("t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,100,3\n")
    run = suite.run("run", "t.csv", "-o", "out", *files, "--vllm-args", flags)
    resolved = json.loads((suite.scratch / "out/config.resolved.json").read_text())
    suite.check("what a flag became is in the resolved configuration",
                run.status == 0 and resolved["memory"]["utilization"] == 0.95 and
                resolved["engine"]["block_size"] == 32 and resolved["engine"]["max_model_len"] == 8000 and
                resolved["engine"]["tensor_parallel_size"] == 2, run.err + str(resolved))
    again = suite.run("run", "t.csv", "--config", "out/config.resolved.json", "--format", "json")
    suite.check("the resolved configuration repeats a run sized from memory",
                again.out == (suite.scratch / "out/summary.json").read_text(), again.err)


# Each case: what is wrong, the arguments, what the message must contain.
MISTAKES = [
    ("nothing to size from", [], "found no memory to size a pool from", "--available-gib"),
    ("one block", ["--num-blocks", "1"], "--num-blocks 1: engine.num_blocks: found 1",
     "block 0 is never issued"),
    ("a negative count", ["--num-blocks", "-3"], "found -3", "an integer from 2"),
    ("two sources", ["--num-blocks", "9", "--available-gib", "1"],
     "--available-gib 1: memory.available_gib: found a second figure that sizes the pool"),
    ("memory without a model", ["--available-gib", "1"], "found a model whose caches have no size",
     "include a file of configs/models"),
    ("one length only", ["--num-blocks", "9", "--prompt-tokens", "5"], "expected both"),
    ("a prompt of nothing", ["--num-blocks", "9", "--prompt-tokens", "0", "--output-tokens", "1"],
     "--prompt-tokens: found \"0\"", "a number of tokens from 1"),
    ("a request that is too long", ["--num-blocks", "9", "--prompt-tokens", "131072", "--output-tokens",
                                    "2"], "found 131073 positions", "engine.max_model_len = 131072"),
    ("a table format", ["--num-blocks", "9", "--format", "csv"], "text, json"),
    ("a misspelt engine flag", ["--num-blocks", "9", "--vllm-args", "--max-num-seq 3"],
     "did you mean --max-num-seqs?"),
    ("a flag's bad value", ["--num-blocks", "9", "--vllm-args", "--block-size 0"],
     "--vllm-args --block-size 0: engine.block_size: found 0", "an integer from 1 to 65536"),
    ("a model too large for the GPU", ["--config", MODELS / "llama_3_1_70b.json", "--config",
                                       ENGINES / "vllm_h100.json"],
     "vllm_h100.json:", "memory.device_gib: found weights (131.42 GiB)", "62.40 GiB more than the 71.27"),
    ("a block size that the model cannot have", ["--config", MODELS / "v4_like.json", "--config",
                                                 ENGINES / "deepinfer_h200.json", "--set",
                                                 "engine.block_size=64"],
     "engine.block_size: found a block size of 64", "a multiple of the compression ratio 128"),
]


def mistakes(suite):
    for what, args, *parts in MISTAKES:
        result = suite.run("size", *args)
        suite.check(f"size with {what}: exit status 2, nothing on stdout",
                    result.status == 2 and result.out == "", result.err)
        for part in parts:
            suite.check(f"size with {what}: says {part}", part in result.err, result.err)


def main():
    suite = Suite()
    rows = logs()
    suite.check("there are 52 logs", len(rows) == 52, str(len(rows)))
    from_available(suite, rows)
    from_blocks(suite, rows)
    from_device(suite, rows)
    rule_of_thumb(suite, rows)
    formats(suite)
    imports(suite)
    mistakes(suite)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
