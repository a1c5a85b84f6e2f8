"""Sweeps on a Ray cluster: `python -m pinfold.ray SWEEP.json --address ADDRESS -o DIR`.

One task a run. The driver plans, and writes each finished run to the same store as `pinfold sweep`; workers get
a trace's bytes through the object store, once a node, and send back figures alone.
"""

import argparse
import os
import sys
import tempfile

import ray

import pinfold
from pinfold import _core

_traces = {}  # of this worker, by digest


def _trace(content, name, digest):
    """The trace whose file has this content."""
    if digest not in _traces:
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, os.path.basename(name))
        try:
            with open(path, "wb") as file:
                file.write(content)
            trace = pinfold.Trace(path)
        finally:
            os.unlink(path)
            os.rmdir(folder)
        if trace.digest != digest:
            raise pinfold.TraceError(f"{name}: found trace {trace.digest}, expected {digest}")
        _traces[digest] = trace
    return _traces[digest]


def run_cell(content, name, digest, config_json, config_digest):
    """One run, on a worker."""
    return _core.run_one(_trace(content, name, digest)._core, config_json, config_digest)


def computer(address=None, *, retries=10, ahead=2):
    """What `pinfold.sweep(compute=...)` takes. `address` is a cluster's, or nothing for one of this machine.

    A task whose worker or node is lost is started again, up to `retries` times. At most `ahead` tasks a CPU
    of the cluster are submitted at once, so that the driver's memory does not grow with the sweep.
    """
    def compute(tasks, done):
        mine = not ray.is_initialized()
        if mine:
            ray.init(address=address, include_dashboard=False, log_to_driver=False)
        try:
            _compute(tasks, done, retries, ahead)
        finally:
            if mine:
                ray.shutdown()
    return compute


def _compute(tasks, done, retries, ahead):
    remote = ray.remote(num_cpus=1, max_retries=retries)(run_cell)
    contents, running, waiting = {}, {}, list(enumerate(tasks))[::-1]
    while waiting or running:
        most = max(1, ahead * int(ray.cluster_resources().get("CPU", 1)))
        while waiting and len(running) < most:
            place, (name, digest, config_json, config_digest) = waiting.pop()
            if digest not in contents:
                with open(name, "rb") as file:
                    contents[digest] = ray.put(file.read())
            running[remote.remote(contents[digest], name, digest, config_json,
                                  config_digest)] = place
        ready, _ = ray.wait(list(running), num_returns=1, timeout=1.0)  # wakes up for Ctrl-C
        for reference in ready:
            if not done(running.pop(reference), ray.get(reference)):
                return


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m pinfold.ray", description=__doc__.split("\n")[0])
    parser.add_argument("sweep", help="sweep file")
    parser.add_argument("--address", help="the cluster; without it, one of this machine")
    parser.add_argument("-o", dest="output", required=True, help="folder for sweep.sqlite and summary.csv")
    parser.add_argument("--resume", action="store_true", help="go on from what the folder has")
    given = parser.parse_args(arguments)
    try:
        result = pinfold.sweep(given.sweep, output=given.output, resume=given.resume, engine="ray",
                               address=given.address)
    except pinfold.Error as error:
        print(f"pinfold: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, pinfold.ConfigError) else 1
    statuses = [cell["status"] for cell in result.cells]
    print(", ".join(f"{statuses.count(status)} {status}" for status in ("ok", "failed", "invalid")))
    return 3 if "failed" in statuses else 0


if __name__ == "__main__":
    sys.exit(main())
