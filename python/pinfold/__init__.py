"""Pinfold: a simulator of the memory allocator and scheduler of an LLM inference engine.

    result = pinfold.run("trace.csv", config="run.json", **{"engine.block_size": 64})
    result["p99_ttft_ms"]                       # every name of `pinfold run --format json`
    result.e2el_ms                              # by request, as NumPy arrays

Everything is computed by the library that the program `pinfold` is made of: equal inputs give equal digests.
"""

import collections.abc
import decimal
import html
import json
import os

import numpy as np

from pinfold import _core
from pinfold.errors import ConfigError, Error, Stall, TraceError, Violation

__all__ = ["Config", "ConfigError", "Error", "Result", "Stall", "Sweep", "Trace", "TraceError",
           "Violation", "capacity", "explore", "run", "sweep"]
__version__ = _core.version


# --- Options ---------------------------------------------------------------------------------------

def _option_paths():
    """Every option's path, from the schema."""
    if not _option_paths.found:
        def walk(node, prefix):
            for name, child in node.get("properties", {}).items():
                if "properties" in child:
                    walk(child, f"{prefix}{name}.")
                else:
                    _option_paths.found.append(prefix + name)
        walk(json.loads(_core.schema()), "")
    return _option_paths.found


_option_paths.found = []


def _path_of(key):
    """`engine.block_size` from itself, from `engine__block_size`, or from `block_size` alone."""
    key = key.replace("__", ".")
    if "." in key or key in _option_paths():
        return key  # the program names its mistakes better
    fits = [path for path in _option_paths() if path.rsplit(".", 1)[-1] == key]
    if len(fits) > 1:
        raise ConfigError(f"{key}: found an option of {len(fits)} groups, expected one of "
                          + ", ".join(fits))
    return fits[0] if fits else key


def _text(value):
    """A value as `--set` takes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        value = value.item()
    return json.dumps(value)


def _overrides(options):
    return [f"{_path_of(key)}={_text(value)}" for key, value in options.items()]


class Config:
    """A complete, valid configuration.

    `config` is a file, a dict, another Config, or a list of these, of which later ones win; without it, the
    defaults. Options beat it: `engine__block_size=64`, or `block_size=64` where only one group has it.
    """

    def __init__(self, config=None, *, vllm_args=None, **options):
        parts = config if isinstance(config, (list, tuple)) else [] if config is None else [config]
        self._files, self._documents = [], []
        for part in parts:
            if isinstance(part, Config):
                self._documents.append(part.json)
            elif isinstance(part, dict):
                self._documents.append(json.dumps(part))
            elif self._documents:  # a file behind an object beats it
                raise ConfigError("config: found a file behind an object, expected files first")
            else:
                self._files.append(os.fspath(part))
        self._core = _core.Config(self._files, self._documents, _overrides(options), vllm_args)

    @property
    def json(self):
        """The resolved configuration, which `pinfold run --config` takes."""
        return self._core.json

    @property
    def digest(self):
        return self._core.digest

    def to_dict(self):
        return json.loads(self.json)

    def __getitem__(self, path):
        value = self.to_dict()
        for name in _path_of(path).split("."):
            value = value[name]
        return value

    def __eq__(self, other):
        return isinstance(other, Config) and self.json == other.json

    def __hash__(self):
        return hash(self.digest)

    def __repr__(self):
        return f"<pinfold.Config {self.digest}>"


# --- Traces ----------------------------------------------------------------------------------------

def _seconds(time):
    """A time in seconds as a decimal with nine digits behind the point."""
    return None if time is None else format(decimal.Decimal(round(time * 1_000_000_000)).scaleb(-9), "f")


class Trace:
    """A request trace in memory, in any format that the program reads.

    `arrival_ns`, `prompt_tokens` and `output_tokens` are read-only arrays on the trace's own memory. The
    options are the flags of `pinfold run` for traces: times in seconds, `columns` a dict of fields and the
    names of their columns, `shard` a pair (k, n) of the k-th of n shares.
    """

    def __init__(self, path, *, format=None, columns=None, id_block=None, on_unordered=None, zero_output=None,
                 on_error=None, start=None, end=None, shard=None, limit=None, repeat=None):
        if isinstance(path, _core.Trace):
            self._core = path
            return
        texts = {"trace_format": format, "id_block": id_block, "on_unordered": on_unordered,
                 "zero_output": zero_output, "on_error": on_error, "limit": limit, "repeat": repeat,
                 "start": _seconds(start), "end": _seconds(end),
                 "columns": columns and ",".join(f"{field}={column}" for field, column in columns.items()),
                 "shard": shard and "/".join(map(str, shard))}
        given = {name: str(text) for name, text in texts.items() if text is not None}
        self._core = _core.Trace(os.fspath(path), given)

    @classmethod
    def from_arrays(cls, arrival_ns, prompt_tokens, output_tokens):
        """A trace of arrays; times count from its first arrival. The arrays are copied."""
        return cls(_core.Trace.of_arrays(arrival_ns, prompt_tokens, output_tokens))

    @property
    def name(self):
        return self._core.name

    @property
    def digest(self):
        return self._core.digest

    @property
    def arrival_ns(self):
        return self._core.arrival_ns

    @property
    def prompt_tokens(self):
        return self._core.prompt_tokens

    @property
    def output_tokens(self):
        return self._core.output_tokens

    def __len__(self):
        return len(self._core)

    def __repr__(self):
        return f"<pinfold.Trace {self.name}: {len(self)} requests, {self.digest}>"

    def to_pandas(self):
        import pandas
        return pandas.DataFrame({name: getattr(self, name) for name in
                                 ("arrival_ns", "prompt_tokens", "output_tokens")})

    def to_parquet(self, path):
        self.to_pandas().to_parquet(path)


# --- Results ---------------------------------------------------------------------------------------

def _table(rows):
    return "<table>" + "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows) + "</table>"


class Result(collections.abc.Mapping):
    """What a run found: a mapping with the names of `pinfold run --format json`, and arrays by request.

    `result["blocks.usable"]` is `result["blocks"]["usable"]`.
    """

    _shown = ("verdict", "requests", "completed", "duration_s", "output_throughput", "mean_ttft_ms",
              "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms", "p99_e2el_ms", "preemptions", "digest")

    def __init__(self, core):
        self._core = core
        self._figures = json.loads(core.json)

    def __getitem__(self, name):
        if name in self._figures:
            return self._figures[name]
        value = self._figures
        for part in name.split("."):
            if not isinstance(value, dict) or part not in value:
                raise KeyError(name)
            value = value[part]
        return value

    def __iter__(self):
        return iter(self._figures)

    def __len__(self):
        return len(self._figures)

    @property
    def json(self):
        """The bytes of `pinfold run --format json`."""
        return self._core.json

    @property
    def text(self):
        """The report for people."""
        return self._core.text

    @property
    def trace(self):
        return Trace(self._core.trace)

    @property
    def arrival_ns(self):
        """Since the trace's first arrival, like all times here; -1 where it never came. Not copied."""
        return self._core.arrival_ns

    @property
    def first_token_ns(self):
        return self._core.first_token_ns

    @property
    def end_ns(self):
        return self._core.end_ns

    @property
    def ttft_ms(self):
        """Time to the first token; NaN for a request without one."""
        return self._since_arrival(self.first_token_ns)

    @property
    def e2el_ms(self):
        return self._since_arrival(self.end_ns)

    def _since_arrival(self, times):
        known = (times >= 0) & (self.arrival_ns >= 0)
        return np.where(known, (times - self.arrival_ns) / 1e6, np.nan)

    def to_pandas(self):
        """A row a request, in the trace's order."""
        import pandas
        trace = self.trace
        return pandas.DataFrame({
            "arrival_ns": self.arrival_ns, "first_token_ns": self.first_token_ns,
            "end_ns": self.end_ns, "prompt_tokens": trace.prompt_tokens,
            "output_tokens": trace.output_tokens, "ttft_ms": self.ttft_ms, "e2el_ms": self.e2el_ms})

    def to_parquet(self, path):
        self.to_pandas().to_parquet(path)

    def __repr__(self):
        return f"<pinfold.Result {self['verdict']}: {self['completed']} of {self['requests']} requests>"

    def _repr_html_(self):
        rows = [(name, self[name]) for name in self._shown if name in self]
        return (_table(rows) + "<details><summary>report</summary><pre>" + html.escape(self.text)
                + "</pre></details>")


def _as_config(config, options):
    return config if isinstance(config, Config) and not options else Config(config, **options)


def _as_trace(trace):
    return trace if isinstance(trace, Trace) else Trace(trace)


def run(trace, config=None, *, shadow=False, ledger=True, goodput=None, check=True, **options):
    """Replays a trace on the engine that a configuration describes.

    `trace` is a path or a Trace, `config` and `options` are Config's. `goodput` is a dict of limits in ms:
    `{"ttft": 500, "tpot": 50, "e2el": 10000}`. A run that ends early raises Stall or Violation with its
    result, or returns it with `check=False`. Other threads run meanwhile, and Ctrl-C ends it.
    """
    goodput = dict(goodput or {})
    limits = [goodput.pop(name, None) for name in ("ttft", "tpot", "e2el")]
    if goodput:
        raise ConfigError(f"goodput: found {sorted(goodput)}, expected ttft, tpot and e2el")
    config = _as_config(config, options)
    result = Result(_core.run(_as_trace(trace)._core, config._core, shadow, ledger, *limits))
    if check and result["verdict"] != "ok":
        ended = Stall if result["verdict"] == "stall" else Violation
        raise ended(f"{result['verdict']}: {result._core.detail}", result)
    return result


# --- Sweeps and exploration ------------------------------------------------------------------------

def _said(code, text):
    """The exception for an exit code and what stood on stderr."""
    errors = [line.split("pinfold: error: ", 1)[1] for line in text.splitlines()
              if line.startswith("pinfold: error: ")]
    return {1: TraceError, 2: ConfigError}.get(code, Error)("\n".join(errors) or text)


class Sweep(collections.abc.Mapping):
    """What a sweep found: a mapping with the names of `pinfold sweep --format json`."""

    def __init__(self, text):
        self.json = text
        self._figures = json.loads(text)

    def __getitem__(self, name):
        return self._figures[name]

    def __iter__(self):
        return iter(self._figures)

    def __len__(self):
        return len(self._figures)

    @property
    def cells(self):
        return self["cells"]

    def to_pandas(self):
        """A row a cell: its settings, then its figures."""
        import pandas
        rows = []
        for cell in self.cells:
            row = {}
            for name, value in cell.items():
                if isinstance(value, dict):
                    row.update(value)
                else:
                    row[name] = value
            rows.append(row)
        return pandas.DataFrame(rows)

    def to_parquet(self, path):
        self.to_pandas().to_parquet(path)

    def _repr_html_(self):
        return self.to_pandas().to_html()


def sweep(file=None, *, traces=(), config=(), grid=None, seeds=None, hold=None, output=None, jobs=None,
          resume=False, engine="threads", address=None, compute=None, **options):
    """Runs many settings, each the run that its settings say.

    `file` is a sweep file; or `traces`, `config` (paths) and `grid` (`{"engine.block_size": [16, 32]}`)
    say it. `output` is a folder for sweep.sqlite and summary.csv, the same bytes whoever computes.
    `engine="ray"` computes on a Ray cluster (`address`; see pinfold.ray), `compute` wherever it likes.
    """
    if engine not in ("threads", "ray"):
        raise ConfigError(f"engine: found {engine!r}, expected 'threads' or 'ray'")
    if engine == "ray" and compute is None:
        from pinfold import ray
        compute = ray.computer(address)
    one = lambda value: [os.fspath(value)] if isinstance(value, (str, os.PathLike)) else [
        os.fspath(path) for path in value]
    lists = [f"{_path_of(key)}={','.join(_text(value) for value in values)}"
             for key, values in (grid or {}).items()]
    seeds = None if seeds is None else ",".join(str(seed) for seed in seeds)
    code, out, err = _core.sweep(
        None if file is None else os.fspath(file), one(traces), one(config), _overrides(options), lists,
        seeds, hold, None if output is None else os.fspath(output), jobs or os.cpu_count() or 1, resume,
        compute)
    if not out:
        raise _said(code, err)
    return Sweep(out)


def capacity(trace, config=None, *, slo, vary="rate", tolerance="1%", **options):
    """The largest request rate (or, with `vary="memory"`, the smallest pool) that meets objectives.

    `slo` is text, as "p99_ttft_ms<=500,p99_tpot_ms<=50". Returns what `pinfold capacity --format json` prints as
    a dict: "verdict" ("found", "none", "unbounded"), "best" and "failing", the two ends of the bracket, and "runs".
    """
    if vary not in ("rate", "memory"):
        raise ConfigError(f"vary: found {vary!r}, expected 'rate' or 'memory'")
    return json.loads(_core.capacity(_as_trace(trace)._core, _as_config(config, options)._core, slo,
                                     vary == "memory", tolerance))


def explore(scenario, **options):
    """Every order of a scenario's events (docs/explore.md): `pinfold explore --json` as a dict.

    A counter-example is a result like any other: look at its "verdict".
    """
    code, out, err = _core.explore(os.fspath(scenario), _overrides(options))
    if not out:
        raise _said(code, err)
    return json.loads(out)
