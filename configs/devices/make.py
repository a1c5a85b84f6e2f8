#!/usr/bin/env python3
"""Makes the device files beside it from published kernel times.

  make.py MEASURED [--check]

MEASURED is a folder with `fits/*.json` (coefficients fitted per model, GPU, engine, tensor-parallel
degree and variant), `tables/*.csv` (measured kernel times) and `systems.csv` (data sheet values).
Writes one file per model, GPU and engine. --check writes nothing and exits with 1 where a file
differs from what would be written.

What is copied and what is composed here:
  linear, roofline, knots  copied from the fits. The fits have no variant with dynamic fp8 scales and an
                           fp8 cache (`fp8_kv8`); its knots are the dense part of `fp8` and the attention
                           part of `fp8s_kv8`, and it has no linear and no roofline model.
  table                    composed from the tables by the rules of `Composition`, and checked against
                           the dense part of the fits' knots, which come from the same rules. Where
                           nothing was fitted but all kernels were measured (Llama-3.1-8B on 8 GPUs), an
                           entry has this model only.
"""

import argparse
import bisect
import collections
import csv
import json
import pathlib
import sys

COMMIT = "095f58a51c4ca8e61b66ec108d86f223f8d559ce"
SOURCE = f"ai-dynamo/aiconfigurator@{COMMIT}"


class Model:
    """The shapes that decide kernel times, from the models' public configurations."""

    def __init__(self, layers, hidden, q_heads, kv_heads, ffn, vocab):
        self.layers, self.hidden, self.q_heads = layers, hidden, q_heads
        self.kv_heads, self.ffn, self.vocab = kv_heads, ffn, vocab


HEAD_DIM = 128
MODELS = {
    "llama-3.1-8b": Model(32, 4096, 32, 8, 14336, 128256),
    "llama-3.1-70b": Model(80, 8192, 64, 8, 28672, 128256),
    "qwen3-32b": Model(64, 5120, 64, 8, 25600, 151936),
}
VARIANTS = ["bf16", "fp8", "fp8_kv8", "fp8s_kv8"]
PADDED_ROWS = 512  # engines pad batches up to here, so a smaller one never takes longer
FUSED_BYTES_PER_S_PERCENT = 80  # of the nominal bandwidth, for kernels that only move rows
LAUNCH_NS = 3000  # each of those kernels
LEFT_OUT = 1000
POSITIONS_MIN = 4096  # a smaller cache serves nobody

# --- Curves: {x: time} ---------------------------------------------------------------------------


def at(curve, x):
    """Linear between the nodes, the first node's time below them, proportional beyond the last."""
    xs = sorted(curve)
    if x <= xs[0]:
        return curve[xs[0]]
    if x >= xs[-1]:
        return curve[xs[-1]] * x / xs[-1]
    i = bisect.bisect_right(xs, x)
    low, high = xs[i - 1], xs[i]
    return curve[low] + (curve[high] - curve[low]) * (x - low) / (high - low)


def between(low, high, low_x, high_x, x):
    """The curve at x between the curves at low_x and at high_x."""
    return {m: low[m] + (high[m] - low[m]) * (x - low_x) / (high_x - low_x)
            for m in low if m in high}


def padded(curve):
    """t(m) becomes the least t(m') over m' >= m, for m up to PADDED_ROWS."""
    out, least = {}, None
    for m in sorted(curve, reverse=True):
        least = curve[m] if least is None else min(least, curve[m])
        out[m] = least if m <= PADDED_ROWS else curve[m]
    return out


# --- The tables ----------------------------------------------------------------------------------


class NotMeasured(Exception):
    """A shape that lies beyond what was measured."""


class Measured:
    def __init__(self, folder):
        tables = folder / "tables"

        def rows(path):
            with open(path, newline="", encoding="utf-8") as file:
                yield from csv.DictReader(file)

        self.gemm = collections.defaultdict(lambda: collections.defaultdict(dict))
        for r in rows(tables / "gemm_measured.csv"):
            shapes = self.gemm[r["gpu"], r["engine"], r["dtype"]]
            shapes[int(r["n_out"]), int(r["k_in"])][int(r["m_rows"])] = int(r["time_ns"])
        self.reduce = collections.defaultdict(dict)
        for r in rows(tables / "allreduce_measured.csv"):
            key = r["gpu"], r["kernel"], int(r["tp"])
            self.reduce[key][int(r["message_bytes"])] = int(r["time_ns"])
        self.quant = collections.defaultdict(dict)
        for r in rows(tables / "fp8_quant_measured.csv"):
            key = r["gpu"], r["engine"], r["op"], int(r["k_in"])
            self.quant[key][int(r["m_rows"])] = int(r["time_ns"])
        self.decode = collections.defaultdict(lambda: collections.defaultdict(dict))
        for r in rows(tables / "attn_decode_measured.csv"):
            key = r["gpu"], r["engine"], r["kv_dtype"], int(r["q_heads"]), int(r["kv_heads"])
            context = int(r["kv_positions_per_row"])
            self.decode[key][int(r["batch_rows"])][context] = int(r["time_ns"])
        self.prefill = collections.defaultdict(dict)
        for r in rows(tables / "attn_prefill_measured.csv"):
            if int(r["batch"]) == 1:
                key = (r["gpu"], r["engine"], r["attn_dtype"], r["kv_dtype"], int(r["q_heads"]),
                       int(r["kv_heads"]))
                self.prefill[key][int(r["chunk_tokens"])] = int(r["time_ns"])
        self.system = {r["gpu"]: r for r in rows(folder / "systems.csv")}
        self._gemm_curves = {}

    def gemm_curve(self, key, n, k):
        """Time over rows of an n x k weight: a measured shape, or linear in n, or linear in k."""
        name = key, n, k
        if name not in self._gemm_curves:
            self._gemm_curves[name] = self._interpolated(self.gemm[key], n, k)
        return self._gemm_curves[name]

    def _interpolated(self, shapes, n, k):
        def at_k(k):
            widths = sorted(width for width, depth in shapes if depth == k)
            below = [w for w in widths if w <= n]
            above = [w for w in widths if w >= n]
            if not below:
                return None
            low = padded(shapes[below[-1], k])
            if below[-1] == n:
                return low
            if not above:  # wider than anything measured: as many times longer as it is wider
                return {m: time * n / below[-1] for m, time in low.items()}
            return between(low, padded(shapes[above[0], k]), below[-1], above[0], n)

        depths = sorted({depth for _, depth in shapes if at_k(depth) is not None})
        if k in depths:
            return at_k(k)
        low = max(d for d in depths if d < k)
        high = min(d for d in depths if d > k)
        return between(at_k(low), at_k(high), low, high, k)

    def quant_curve(self, gpu, engine, op, k):
        depths = sorted(d for g, e, o, d in self.quant if (g, e, o) == (gpu, engine, op))
        if k in depths:
            return self.quant[gpu, engine, op, k]
        if not depths or k < depths[0]:
            raise NotMeasured
        low = max(d for d in depths if d < k)
        high = min(d for d in depths if d > k)
        return between(self.quant[gpu, engine, op, low], self.quant[gpu, engine, op, high], low, high,
                       k)


# --- A step's parts ------------------------------------------------------------------------------


class Composition:
    """One model on one GPU, engine, degree and variant."""

    def __init__(self, measured, model, gpu, engine, tp, variant):
        self.measured, self.model, self.gpu, self.engine, self.tp = measured, model, gpu, engine, tp
        self.static_scales = variant == "fp8s_kv8"
        self.weights = "bf16" if variant == "bf16" else "fp8"
        self.kv = "fp8" if variant.endswith("_kv8") else "bf16"
        self.prefill = "fp8" if self.kv == "fp8" and engine == "trtllm" else "bf16"
        self.system = measured.system[gpu]
        m = model
        self.shapes = {
            "qkv": ((m.q_heads + 2 * m.kv_heads) // tp * HEAD_DIM, m.hidden),
            "o": (m.hidden, m.q_heads * HEAD_DIM // tp),
            "gate_up": (2 * m.ffn // tp, m.hidden),
            "down": (m.hidden, m.ffn // tp),
        }

    @property
    def kv_bytes_per_position(self):
        element = 1 if self.kv == "fp8" else 2
        return 2 * self.model.layers * self.heads[1] * HEAD_DIM * element

    def positions_max(self):
        """Positions that fit: 0.9 of the nominal memory less weights less 4 GiB, as the fits have it."""
        m = self.model
        layer = (m.q_heads + 2 * m.kv_heads) * HEAD_DIM * m.hidden
        layer += m.hidden * m.q_heads * HEAD_DIM + 3 * m.ffn * m.hidden
        linear_bytes = m.layers * layer * (2 if self.weights == "bf16" else 1)
        weights = linear_bytes + 2 * 2 * m.vocab * m.hidden
        memory = int(self.system["mem_capacity_bytes_nominal"])
        left = 9 * memory // 10 - weights // self.tp - (4 << 30)
        return left // self.kv_bytes_per_position

    @property
    def heads(self):
        return self.model.q_heads // self.tp, max(1, self.model.kv_heads // self.tp)

    def gemm_ns(self, name, rows):
        n, k = self.shapes[name]
        time = at(self.measured.gemm_curve((self.gpu, self.engine, self.weights), n, k), rows)
        if not self.static_scales:
            return time
        # Measured with dynamic scales: with static ones no scale is computed, and the layers whose
        # inputs come quantised from the kernel before do not quantise them again.
        measured = self.measured
        time -= at(measured.quant_curve(self.gpu, self.engine, "compute_scale", k), rows)
        if name in ("o", "down"):
            time -= at(measured.quant_curve(self.gpu, self.engine, "scale_matrix", k), rows)
        bytes_ns = (n * k + rows * k + 2 * rows * n) * 1e9 / int(
            self.system["mem_bytes_per_s_nominal"])
        flops_ns = 2 * rows * n * k * 1e9 / int(self.system["fp8_flops_nominal"])
        return max(time, bytes_ns, flops_ns)

    def moved_ns(self, bytes_per_row, rows):
        """A kernel that only moves rows. Not measured: nominal bandwidth and a launch."""
        bandwidth = int(self.system["mem_bytes_per_s_nominal"]) * FUSED_BYTES_PER_S_PERCENT / 100
        return bytes_per_row * rows * 1e9 / bandwidth + LAUNCH_NS

    def dense_ns(self, rows):
        m, tp = self.model, self.tp
        layer = sum(self.gemm_ns(name, rows) for name in self.shapes)
        if tp > 1:
            kernel = "custom_graph" if self.engine == "vllm" else "trtllm"
            message = rows * m.hidden * 2
            layer += 2 * at(self.measured.reduce[self.gpu, kernel, tp], message)
        layer += 2 * self.moved_ns(2 * 4 * m.hidden, rows)  # add and norm
        layer += self.moved_ns(2 * 3 * m.ffn // tp, rows)  # activation times gate
        layer += self.moved_ns(2 * 2 * (m.q_heads + 2 * m.kv_heads) // tp * HEAD_DIM, rows)  # rope
        return m.layers * layer + self.moved_ns(2 * 2 * m.hidden, rows)  # embedding

    def head_ns(self, rows):
        curve = self.measured.gemm_curve((self.gpu, self.engine, "bf16"), self.model.vocab // self.tp,
                                         self.model.hidden)
        return at(curve, rows)

    def dense_rows(self):
        n, k = next(s for s in self.shapes.values()
                    if s in self.measured.gemm[self.gpu, self.engine, self.weights])
        return sorted(self.measured.gemm[self.gpu, self.engine, self.weights][n, k])

    def table(self):
        rows = self.dense_rows()
        dense = [round(self.dense_ns(r)) for r in rows]
        head_rows = [r for r in rows if r <= PADDED_ROWS]
        decode = self.measured.decode[(self.gpu, self.engine, self.kv) + self.heads]
        prefill = self.measured.prefill[(self.gpu, self.engine, self.prefill, self.kv) + self.heads]
        batch = sorted(decode)
        context = sorted({c for curve in decode.values() for c in curve})
        grid = []
        for b in batch:
            # Only the long end of a row may be missing: it did not fit the GPU.
            present = sorted(decode[b])
            assert present == context[:len(present)], (self.gpu, self.engine, b)
            grid.append([decode[b][c] for c in present])
        return {
            "layers": self.model.layers,
            "range": {
                "prompt_rows_max": rows[-1],
                "past_rows_max": max(prefill),
                "decode_rows_max": batch[-1],
                "context_per_row_min": context[0],
                "context_per_row_max": context[-1],
            },
            "dense": curve_json(dict(zip(rows, dense))),
            "head": curve_json({r: round(self.head_ns(r)) for r in head_rows}),
            "decode_attention": {
                "rows": batch,
                "context": context,
                "layer_ns": grid,
            },
            "prompt_attention": {
                "rows": sorted(prefill),
                "layer_ns": [prefill[r] for r in sorted(prefill)],
            },
        }


def curve_json(curve):
    rows = sorted(curve)
    kept = sorted({rows[0], rows[-1]} | inner_nodes(curve, rows))
    return {"rows": kept, "ns": [curve[r] for r in kept]}


def inner_nodes(curve, rows):
    """The nodes to keep between the first and the last: those left out are missed by less than one
    part in LEFT_OUT (Douglas and Peucker's way of thinning a line)."""
    low, high = rows[0], rows[-1]
    ends = {low: curve[low], high: curve[high]}
    miss = {r: abs(at(ends, r) - curve[r]) / curve[r] for r in rows[1:-1]}
    worst = max(miss, key=miss.get, default=None)
    if worst is None or miss[worst] * LEFT_OUT < 1:
        return set()
    cut = rows.index(worst)
    return {worst} | inner_nodes(curve, rows[:cut + 1]) | inner_nodes(curve, rows[cut:])


# --- The files -----------------------------------------------------------------------------------


def error_json(fit):
    error = fit["err_heldout"]["all"]
    return {"median_percent": error["median_pct"], "p90_percent": error["p90_pct"]}


def linear_json(fit):
    return {
        "step_ns": fit["t0_ns"],
        "prompt_row_ps": fit["a_ps_per_prefill_token"],
        "decode_row_ps": fit["b_ps_per_decode_row"],
        "context_position_ps": fit["c_ps_per_kv_position"],
        "pair_fs": fit["d_fs_per_pair"],
        "held_out_error": error_json(fit),
    }


def roofline_json(fit):
    return {
        "step_ns": fit["t0_ns"],
        "knee_rows": fit["knee_rows"],
        "row_from_knee_ps": fit["g_ps_per_row"],
        "row_ps": fit["e_ps_per_row"],
        "decode_row_ps": fit["b_ps_per_decode_row"],
        "context_position_ps": fit["c_ps_per_kv_position"],
        "pair_fs": fit["d_fs_per_pair"],
        "held_out_error": error_json(fit),
    }


def knots_json(dense, attention):
    knots = {
        "dense": {"rows": dense["dense_rows"], "ns": dense["dense_ns"]},
        "head": {"rows": dense["head_rows"], "ns": dense["head_ns"]},
        "any_decode_ns": attention["ad_ns"],
        "decode_row_ps": attention["b_ps_per_decode_row"],
        "context_position_ps": attention["c_ps_per_kv_position"],
        "chunk_ns": attention["ap_ns_per_chunk"],
        "prompt_position_ps": attention["k_ps_per_prefill_kv_position"],
        "pair_fs": attention["d_fs_per_pair"],
    }
    if dense is attention:
        knots["held_out_error"] = error_json(dense)
    return knots


def range_json(positions_max):
    return {
        "prompt_rows_max": 8192,
        "chunks_max": 3,
        "chunk_rows_min": 32,
        "chunk_rows_max": 8192,
        "past_rows_max": 16384,
        "decode_rows_max": 512,
        "context_per_row_min": 64,
        "context_per_row_max": 32768,
        "positions_max": positions_max,
    }


def entry_json(measured, fits, model_name, gpu, engine, tp, variant):
    """One degree and variant, or None where it does not fit or was not measured."""
    if variant != "bf16" and gpu == "a100_sxm":
        return None  # no fp8
    if tp > 1 and (gpu, "trtllm", tp) not in measured.reduce:
        return None
    own = fits.get((model_name, gpu, engine, tp, variant))
    parts = [fits.get((model_name, gpu, engine, tp, v)) for v in ("fp8", "fp8s_kv8")]
    composition = Composition(measured, MODELS[model_name], gpu, engine, tp, variant)
    positions_max = composition.positions_max()
    if positions_max < POSITIONS_MIN:
        assert own is None, (model_name, gpu, engine, tp, variant)
        return None
    try:
        table = composition.table()
    except NotMeasured:
        assert own is None, (model_name, gpu, engine, tp, variant)
        return None
    entry = {
        "tensor_parallel_size": tp,
        "variant": variant,
        "weights": {"bf16": "bf16", "fp8s_kv8": "fp8, static scales"}.get(variant,
                                                                       "fp8, dynamic scales"),
        "kv_cache": composition.kv,
        "kv_bytes_per_position": composition.kv_bytes_per_position,
        "range": range_json(positions_max),
    }
    if own is not None:
        check_dense(composition, own)
        fitted_max = own["valid"]["kv_positions_resident_max"]
        assert abs(positions_max - fitted_max) <= 1 + fitted_max / 500, (positions_max, fitted_max)
        entry["range"] = range_json(fitted_max)
        entry["linear"] = linear_json(own["models"]["linear"])
        entry["roofline"] = roofline_json(own["models"]["roofline"])
        entry["knots"] = knots_json(own["models"]["knots"], own["models"]["knots"])
        table["held_out_error"] = error_json(own["models"]["grid_thinned_by_2"])
    elif variant == "fp8_kv8" and None not in parts:
        entry["knots"] = knots_json(parts[0]["models"]["knots"], parts[1]["models"]["knots"])
    entry["table"] = table
    return entry


def check_dense(composition, fit):
    """The fits' knots come from the same rules; a difference means that a rule was misread."""
    knots = fit["models"]["knots"]
    for name, compose in (("dense", composition.dense_ns), ("head", composition.head_ns)):
        for rows, expected in zip(knots[f"{name}_rows"], knots[f"{name}_ns"]):
            found = compose(rows)
            assert abs(found - expected) <= 1 + expected / 100_000, (fit["model"], name, rows, found,
                                                                  expected)


COPY_NOTE = ("A copy reads and writes the GPU's memory: half the nominal bandwidth (data sheet). "
             "Latency is one kernel launch for all copies of a step (assumed); pieces cost nothing "
             "beside their bytes (assumed). No copy was measured.")


def file_name(model_name, gpu, engine):
    return f"{model_name}_{gpu}_{engine}".replace("-", "_").replace(".", "_")


def device_json(measured, fits, model_name, gpu, engine):
    entries = []
    for tp in (1, 2, 4, 8):
        for variant in VARIANTS:
            entry = entry_json(measured, fits, model_name, gpu, engine, tp, variant)
            if entry is not None:
                entries.append(entry)
    version = next(f["engine_version"] for key, f in sorted(fits.items())
                   if key[:3] == (model_name, gpu, engine))
    model = MODELS[model_name]
    return {
        "name": file_name(model_name, gpu, engine),
        "model": model_name,
        "gpu": gpu,
        "engine": engine,
        "engine_version": version,
        "source": SOURCE,
        "licence": "Apache-2.0",
        "notes": "Kernel times measured one by one and summed over a step; host, launch and sampling "
                 "time is not in them. Kernels that only move rows, and chunks with a past, are "
                 "modelled, not measured. held_out_error: of a fit, over 300 steps held out from "
                 "it, against the tables; of the table, with every second node removed, against "
                 "all nodes. Range: what was fitted or measured.",
        "copy": {
            "bytes_per_s": int(measured.system[gpu]["mem_bytes_per_s_nominal"]) // 2,
            "latency_ns": LAUNCH_NS,
            "piece_ps": 0,
            "pieces_per_block": 2 * model.layers,
            "notes": COPY_NOTE,
        },
        "entries": entries,
    }


def text_of(value, depth=0):
    """JSON with a line a member down to an entry's models, which take a line each."""
    if depth == MODEL_DEPTH or not isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"))
    pad = "  " * (depth + 1)
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {text_of(v, depth + 1)}" for key, v in value.items()]
    else:
        items = [text_of(v, depth + 1) for v in value]
    left, right = "{}" if isinstance(value, dict) else "[]"
    return f"{left}\n{pad}" + f",\n{pad}".join(items) + f"\n{pad[2:]}{right}"


MODEL_DEPTH = 3  # document, entries, entry


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    measured = Measured(arguments.measured)
    fits = {}
    for path in sorted((arguments.measured / "fits").glob("*.json")):
        fit = json.loads(path.read_text(encoding="utf-8"))
        variant = path.stem.split(f"_tp{fit['tp']}_")[1]
        fits[fit["model"], fit["gpu"], fit["engine"], fit["tp"], variant] = fit

    here = pathlib.Path(__file__).parent
    different = 0
    for model_name, gpu, engine in sorted({key[:3] for key in fits}):
        device = device_json(measured, fits, model_name, gpu, engine)
        path = here / f"{device['name']}.json"
        text = text_of(device) + "\n"
        same = path.exists() and path.read_text(encoding="utf-8") == text
        if same:
            continue
        different += 1
        print(f"{'differs' if arguments.check else 'written'}: {path.name}")
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
    return 1 if arguments.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
