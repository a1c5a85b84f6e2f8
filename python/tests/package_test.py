"""The package is the program: same bytes, same words, no copies."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pinfold


def printed(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          check=False)


# --- One run ---------------------------------------------------------------------------------------

def test_run_is_the_programs(program, small):
    settings = {"engine.block_size": 32, "engine.num_blocks": 200}
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    expected = printed(program, "run", small, "--format", "json", *sets)
    assert expected.returncode == 0
    assert pinfold.run(small, **settings).json == expected.stdout


def test_names_are_a_mapping(small):
    result = pinfold.run(small)
    assert set(result) == set(json.loads(result.json))
    assert result["blocks.usable"] == result["blocks"]["usable"] == 262143  # block 0 is nobody's
    assert "no_such" not in result
    assert result["requests"] == result["completed"] == 40


def test_arrays_say_what_the_figures_say(small):
    result = pinfold.run(small)
    # The figures are exact decimals of integer ns, the arrays floating point.
    assert np.isclose(result.ttft_ms.mean(), float(result["mean_ttft_ms"]), atol=1e-3)
    assert np.isclose(np.percentile(result.e2el_ms, 99), float(result["p99_e2el_ms"]), atol=1e-3)
    assert result.end_ns.max() - result.arrival_ns.min() == round(float(result["duration_s"]) * 1e9)


def test_arrays_are_views_that_keep_their_memory(small):
    result = pinfold.run(small)
    ends = result.end_ns
    assert not ends.flags.owndata and not ends.flags.writeable
    assert ends.__array_interface__["data"][0] == result.end_ns.__array_interface__["data"][0]
    before = ends.sum()
    del result
    gc.collect()
    assert ends.sum() == before
    prompts = pinfold.Trace(small).prompt_tokens
    gc.collect()
    assert prompts.strides[0] > 4 and prompts[0] == 50


def test_pandas_and_parquet(small, tmp_path):
    pandas = pytest.importorskip("pandas")
    result = pinfold.run(small)
    frame = result.to_pandas()
    assert len(frame) == 40 and (frame.end_ns >= frame.first_token_ns).all()
    result.to_parquet(tmp_path / "requests.parquet")
    assert pandas.read_parquet(tmp_path / "requests.parquet").equals(frame)


def test_html_escapes(small):
    html = pinfold.run(small)._repr_html_()
    assert "p99_ttft_ms" in html and "<pre>" in html


# --- Configurations and traces ---------------------------------------------------------------------

def test_options_by_every_name():
    one = pinfold.Config(**{"engine.block_size": 64})
    assert one == pinfold.Config(engine__block_size=64) == pinfold.Config(block_size=64)
    assert one == pinfold.Config({"engine": {"block_size": 64}}) == pinfold.Config(one)
    assert one["engine.block_size"] == 64
    assert pinfold.Config({"engine": {"block_size": 64}}, block_size=32)["block_size"] == 32


def test_digest_is_the_programs(program, root, small):
    path = root / "configs/runs/llama_3_1_70b_4xh100.json"
    expected = json.loads(printed(program, "run", small, "--config", path, "--format", "json").stdout)
    assert pinfold.Config(path).digest == expected["config_digest"]
    assert pinfold.Trace(small).digest == expected["trace_digest"]


def test_trace_of_arrays_is_the_files(small):
    trace = pinfold.Trace(small)
    again = pinfold.Trace.from_arrays(trace.arrival_ns + 5, trace.prompt_tokens, trace.output_tokens)
    assert again.digest == trace.digest and len(again) == 40
    assert len(pinfold.Trace(small, limit=7)) == 7


def test_trace_options_are_the_flags(program, small, tmp_path):
    table = tmp_path / "own.csv"
    table.write_text("ts,in,out\n0,10,2\n5,20,2\n3,30,0\n")
    trace = pinfold.Trace(table, columns={"arrival_ms": "ts", "prompt": "in", "output": "out"},
                          on_unordered="sort", zero_output="drop")
    assert list(trace.prompt_tokens) == [10, 20] and list(trace.arrival_ns) == [0, 5_000_000]
    half = pinfold.Trace(small, shard=(1, 2), start=0.5, end=3, repeat=2)
    expected = printed(program, "run", small, "--shard", "1/2", "--start", "0.5", "--end", "3",
                       "--repeat", "2", "--format", "json").stdout
    assert half.digest == json.loads(expected)["trace_digest"]


@pytest.mark.parametrize("vary", ["rate", "memory"])
def test_capacity_is_the_programs(program, small, vary):
    slo = "p99_ttft_ms<=100" if vary == "rate" else "preemptions==0"
    expected = printed(program, "capacity", small, "--slo", slo, "--vary", vary, "--limit", "30",
                       "--set", "engine.num_blocks=300", "--format", "json").stdout
    found = pinfold.capacity(pinfold.Trace(small, limit=30), slo=slo, vary=vary, num_blocks=300)
    assert found == json.loads(expected) and found["verdict"] == "found" and found["runs"]
    with pytest.raises(pinfold.ConfigError, match="slo: .*p99_ttf"):
        pinfold.capacity(small, slo="p99_ttf<=5")
    with pytest.raises(pinfold.ConfigError, match="a percentage"):
        pinfold.capacity(small, slo=slo, tolerance="1")


@pytest.mark.parametrize("options, word", [
    ({"shard": (3, 2)}, "shard: found \"3/2\""),
    ({"start": -1}, "start: found \"-1.000000000\""),
    ({"on_unordered": "sorted"}, "on_unordered: found \"sorted\", expected one of error, sort, segments"),
    ({"limit": 0}, "limit: found \"0\""),
])
def test_trace_options_that_are_wrong(small, options, word):
    with pytest.raises(pinfold.TraceError, match=word):
        pinfold.Trace(small, **options)


@pytest.mark.parametrize("arrays, word", [
    (([], [], []), "no request"),
    (([0, 1], [1], [1]), "different lengths"),
    (([0], [0], [1]), "no prompt token"),
    (([5, 1], [1, 1], [1, 1]), "before the one before it"),
])
def test_arrays_that_are_no_trace(arrays, word):
    with pytest.raises(pinfold.TraceError, match=word):
        pinfold.Trace.from_arrays(*arrays)


# --- Errors ----------------------------------------------------------------------------------------

def test_config_errors_have_the_programs_words(program, small, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text('{"engine": {"blok_size": 16}}')
    several = tmp_path / "several.json"
    several.write_text('{"engine": {"blok_size": 16, "num_blocks": "many"}, "workload": {"stop": "sometimes"}}')
    for arguments, options in [(["--config", broken], {"config": broken}),
                               (["--config", several], {"config": several}),
                               (["--set", "engine.block_size=0"], {"engine.block_size": 0})]:
        expected = printed(program, "run", small, *arguments)
        assert expected.returncode == 2
        with pytest.raises(pinfold.ConfigError) as error:
            pinfold.run(small, **options)
        assert expected.stderr == "".join(f"pinfold: error: {line}\n" for line in str(error.value).split("\n"))
        assert len(str(error.value).split("\n")) == (3 if several in arguments else 1)


def test_trace_errors_have_the_programs_words(program, tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text("arrival_ms,prompt,output\n0,ten,1\n")
    for path in (broken, tmp_path / "missing.csv"):
        expected = printed(program, "run", path)
        assert expected.returncode == 1
        with pytest.raises(pinfold.TraceError) as error:
            pinfold.run(path)
        assert expected.stderr == f"pinfold: error: {error.value}\n"


# A copy whose end the host never learns of, and an engine whose copy lane does not wait for steps that still use a
# block (configs/zoo/43_copy_lane.fence_unordered_writers.json): runs that end early by themselves.
STALLS = {"workload": {"samples": 2}, "fault": {"copy_lost": 1}}
BREAKS = {"engine__fence": "unordered_writers", "fork__copy_lane": "separate", "engine__num_blocks": 900,
          "prefix__reuse": "off"}  # a store refuses it


def test_a_stall_carries_its_result(program, root):
    trace = root / "traces/azure/slices/conv_600.csv"
    expected = printed(program, "run", trace, "--set", "workload.samples=2", "--set", "fault.copy_lost=1", "--format", "json")
    assert expected.returncode == 3
    with pytest.raises(pinfold.Stall, match="the host waits for the copies of step 3, and their event was lost") as error:
        pinfold.run(trace, STALLS)
    assert f"pinfold: error: {error.value}" in expected.stderr
    assert error.value.result["digest"] == json.loads(expected.stdout)["digest"]
    assert error.value.result["verdict"] == pinfold.run(trace, STALLS, check=False)["verdict"] == "stall"


def test_a_violation_carries_its_result(root):
    trace = root / "traces/azure/slices/conv_600.csv"
    config = root / "configs/runs/everything.json"
    with pytest.raises(pinfold.Violation, match="findings in shadow memory") as error:
        pinfold.run(trace, config, shadow=True, **BREAKS)
    assert error.value.result["verdict"] == "violation"
    # Nobody looks, nobody knows: the figures of a run without shadow memory come to the end.
    assert pinfold.run(trace, config, **BREAKS)["verdict"] == "ok"


# --- Threads and signals ---------------------------------------------------------------------------

def long_trace():
    count = 60_000
    return pinfold.Trace.from_arrays(np.arange(count) * 10_000_000, np.full(count, 200),
                                     np.full(count, 400))


def test_other_threads_run_meanwhile():
    trace, ticks, ended = long_trace(), [], threading.Event()

    def tick():
        while not ended.is_set():
            ticks.append(1)
            time.sleep(0.001)
    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    pinfold.run(trace)
    during = len(ticks) - before
    ended.set()
    thread.join()
    assert during > 10  # with Python's lock held it would be 0 or 1


def test_ctrl_c_ends_a_run():
    # A loop without bytecode: nobody but the run itself looks at signals, and it would go on for ever. What a shell
    # starts in the background ignores SIGINT, and Python leaves it so.
    code = ("import collections, itertools, signal, sys; sys.path[:0] = [%r]\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "import package_test, pinfold\n"
            "run = (package_test.long_trace()._core, pinfold.Config()._core, False, True, None, None, None)\n"
            "print('running', flush=True)\n"
            "try:\n"
            "    collections.deque(itertools.starmap(pinfold._core.run, itertools.repeat(run)), 0)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n" % os.path.dirname(__file__))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "running\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    try:
        assert child.communicate(timeout=60)[0] == "interrupted\n"
    finally:
        child.kill()
    assert child.returncode == 0


# --- Sweeps and exploration ------------------------------------------------------------------------

GRID = {"engine.block_size": [16, 32], "engine.max_num_seqs": [4, 8, 16]}


def test_sweep_is_the_programs(program, small, tmp_path):
    lists = [word for key, values in GRID.items()
             for word in ("-L", f"{key}={','.join(map(str, values))}")]
    expected = printed(program, "sweep", "--trace", small, *lists, "-o", tmp_path / "program",
                       "--format", "json")
    result = pinfold.sweep(traces=small, grid=GRID, output=tmp_path / "package", jobs=2)
    assert result.json == expected.stdout and len(result.cells) == 6
    for name in ("sweep.sqlite", "summary.csv"):
        assert ((tmp_path / "package" / name).read_bytes()
                == (tmp_path / "program" / name).read_bytes())


def test_sweep_errors(small):
    with pytest.raises(pinfold.ConfigError, match="no trace"):
        pinfold.sweep(grid=GRID)
    with pytest.raises(pinfold.ConfigError, match="did you mean|expected"):
        pinfold.sweep(traces=small, grid={"engine.blok_size": [1]})


def test_somebody_else_may_compute(small):
    """What pinfold.ray does, in one process and backwards."""
    def compute(tasks, done):
        trace = pinfold.Trace(tasks[0][0])
        for place in reversed(range(len(tasks))):
            _, digest, config, config_digest = tasks[place]
            assert digest == trace.digest
            assert done(place, pinfold._core.run_one(trace._core, config, config_digest))
    elsewhere = pinfold.sweep(traces=small, grid=GRID, compute=compute)
    assert elsewhere.json == pinfold.sweep(traces=small, grid=GRID).json


def test_explore_is_the_programs(program, root):
    path = root / "configs/zoo/02_fork_holds_the_pool.demote_off.json"
    assert pinfold.explore(path) == json.loads(printed(program, "explore", path, "--format",
                                                       "json").stdout)


def test_stubs_name_what_there_is(root):
    import ast
    tree = ast.parse((root / "python/pinfold/__init__.pyi").read_text())
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            real = getattr(pinfold, node.name)
            for member in node.body:
                if isinstance(node, ast.ClassDef) and isinstance(member, ast.FunctionDef):
                    assert hasattr(real, member.name), f"{node.name}.{member.name}"
    named = {node.name for node in tree.body if hasattr(node, "name")}
    named |= {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom)
              for alias in node.names if alias.asname}
    assert set(pinfold.__all__) <= named
