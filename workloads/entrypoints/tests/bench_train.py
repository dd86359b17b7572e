"""Compares our training loop with bare LLaMA-Factory, and says what a checkpoint costs.

    python tests/bench_train.py [steps]

Both train the same small model on the same rows, in turn, twice each. The bare one logs nothing and
counts no tokens. Ours has everything that a run has: the question to the driver at each step, over
a real Ray, the look at each loss, and progress. Figures, no gate.
"""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import llm_finetune
from raylib import checkpoints, cluster, inputs, llm_config, llm_loop, params, sealed, tiny_llm
from raylib.run import Run
from raylib.trainer import Board, Place


def settings(root: pathlib.Path, steps: int) -> llm_finetune.Settings:
    """Returns the knobs of all trainings."""
    knobs = {
        "DEVICE": "cpu",
        "PRECISION": "fp32",
        "CUTOFF_LEN": 256,
        "BATCH_SIZE": 8,
        "ACCUMULATE": 1,
        "MAX_STEPS": steps,
        "CHECKPOINT_STEPS": 10 * steps,
        "LOG_STEPS": steps,
        "PREPROCESSING_WORKERS": 1,
        "GRADIENT_CHECKPOINTING": "false",
        "SCRATCH": root / "scratch",
    }
    return params.load(llm_finetune.Settings, {f"LLM_{k}": str(v) for k, v in knobs.items()})


# What our arguments have beside what LLaMA-Factory needs.
LOOKS = ("logging_steps", "logging_nan_inf_filter", "include_num_input_tokens_seen")


def timer():
    """Returns a callback that measures steps a second, without the first steps."""
    from transformers import TrainerCallback

    class Timer(TrainerCallback):
        """Looks at the clock after the third and after the last step."""

        def on_step_end(self, args, state, control, **_):
            """Keeps time and tokens a step."""
            if state.global_step == 3:
                self.start, self.tokens = time.perf_counter(), state.num_input_tokens_seen
            if state.global_step == state.max_steps:
                steps = state.max_steps - 3
                self.rate = steps / (time.perf_counter() - self.start)
                # The bare one counts none; its rows are the same.
                self.tokens = (state.num_input_tokens_seen - self.tokens) / steps

    return Timer()


def main(steps: int) -> None:
    """Runs the comparison and prints one line of JSON."""
    import llamafactory.train.tuner as tuner
    import ray

    root = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
    knobs = settings(root, steps)
    for relative, write in ((knobs.base, tiny_llm.qwen), (knobs.data, tiny_llm.write_data)):
        (root / relative).mkdir(parents=True)
        write(root / relative)
        sealed.seal(root / relative, {})
    ray.init(num_cpus=1, include_dashboard=False)
    cluster.connect()
    place = Place(ray.remote(num_cpus=0)(Board).remote(), 0, 1)
    run_exp = tuner.run_exp
    rates: dict[str, list[float]] = {"bare": [], "ours": []}
    for turn in range(4):
        kind, clock = ("bare", "ours")[turn % 2], timer()
        if kind == "bare":
            base, data = (inputs.find(root / p, p, "") for p in (knobs.base, knobs.data))
            out = root / f"out-{turn}"
            arguments = llm_config.arguments(knobs, base.path, data.path, out, None)
            plain = {k: v for k, v in arguments.items() if k not in LOOKS}
            run_exp({**plain, "logging_strategy": "no"}, [clock])
        else:
            tuner.run_exp = lambda args, callbacks, c=clock: run_exp(args, [*callbacks, c])
            run = Run(id=f"r{turn}", storage=str(root), output=str(root / f"run-{turn}"))
            llm_loop.train(place, knobs, run, "config")
            tuner.run_exp = run_exp
        rates[kind].append(clock.rate)
    store = checkpoints.Store(root / "store", "c", "a")
    files = {p.name: p for p in (root / "out-0").iterdir() if p.is_file()}
    began = time.perf_counter()
    store.save(1, files)
    cost = time.perf_counter() - began
    ours, bare = max(rates["ours"]), max(rates["bare"])
    report = {
        "bare_tokens_per_second": round(bare * clock.tokens),
        "our_tokens_per_second": round(ours * clock.tokens),
        "ratio": round(ours / bare, 3),
        "checkpoint_seconds": round(cost, 3),
        "checkpoint_bytes": sum(p.stat().st_size for p in files.values()),
        "steps": steps,
    }
    print(json.dumps(report), flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
