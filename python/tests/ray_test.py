"""A sweep on a Ray cluster is the sweep of one machine, also when a worker is killed in the middle."""

import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

import pinfold

ray = pytest.importorskip("ray", reason="Ray is not installed")

GRID = {"engine.block_size": [16, 32], "engine.max_num_seqs": [8, 16, 32]}
CELLS = 6


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with a processor each."""
    from ray.cluster_utils import Cluster
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={
        "num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False})
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """One that takes a second or so, so that cells are running when the worker is killed."""
    path = tmp_path_factory.mktemp("trace") / "long.csv"
    count = 30_000
    rows = [f"{10 * n},{100 + 7 * n % 300},{100 + 11 * n % 400}" for n in range(count)]
    path.write_text("arrival_ms,prompt,output\n" + "\n".join(rows) + "\n")
    return path


def running_workers():
    """{process: its raylet} of this cluster's workers that compute a cell now. Ray names a process after
    its task."""
    def parent(process):
        return int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1].split()[1])
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::run_cell"):
                raylet = parent(folder.name)
                if parent(raylet) == os.getpid():
                    found[int(folder.name)] = raylet
        except OSError:
            pass  # it ended meanwhile
    return found


def test_a_killed_worker_changes_nothing(cluster, trace, tmp_path):
    from pinfold.ray import computer
    local = pinfold.sweep(traces=trace, grid=GRID, output=tmp_path / "local", jobs=2)

    killed, nodes = [], set()

    def kill_one():
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            running = running_workers()
            if len(running) >= 2:
                nodes.update(running.values())
                killed.append(min(running))
                os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.01)

    killer = threading.Thread(target=kill_one)
    killer.start()
    done = []

    def compute(tasks, take):
        def counted(place, record):
            done.append(place)
            return take(place, record)
        computer()(tasks, counted)

    remote = pinfold.sweep(traces=trace, grid=GRID, output=tmp_path / "ray", compute=compute)
    killer.join()
    assert len(killed) == 1 and len(nodes) == 2  # a cell ran on each node when one worker died
    assert sorted(done) == list(range(CELLS))  # every cell exactly once
    assert remote.json == local.json
    for name in ("sweep.sqlite", "summary.csv"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    with sqlite3.connect(tmp_path / "ray" / "sweep.sqlite") as store:
        assert store.execute("SELECT count(*) FROM runs").fetchone() == (CELLS,)


def test_the_command(cluster, small, tmp_path):
    """`python -m pinfold.ray` joins a running cluster and writes what `pinfold sweep` writes."""
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps({"traces": [small.name], "grid": {"engine.block_size": [16, 32]}}))
    # A crash of the interpreter says where.
    ran = subprocess.run([sys.executable, "-X", "faulthandler", "-m", "pinfold.ray", file, "--address", cluster.address,
                          "-o", tmp_path / "ray"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "2 ok, 0 failed, 0 invalid\n"), ran.stderr
    pinfold.sweep(file, output=tmp_path / "local")
    assert ((tmp_path / "ray" / "sweep.sqlite").read_bytes()
            == (tmp_path / "local" / "sweep.sqlite").read_bytes())
