"""One worker's part of llm_finetune. Needs torch, transformers and LLaMA-Factory.

LLaMA-Factory writes to the node's own disk; its checkpoints are copied to the mount as they are
saved, whole, by the first worker. Only the states of random numbers are each worker's own, and the
others send theirs to the first.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import shutil
from collections.abc import Mapping
from typing import Any

from raylib import adapters, checkpoints, device, files, inputs, llm_config, llm_train, log, trainer
from raylib.errors import Interrupted, ResultError, StorageError
from raylib.run import Run, attempt_id

ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")


def train(
    place: trainer.Place,
    settings: Any,
    run: Run,
    config: str,
    pinned: Mapping[str, str] | None = None,
) -> None:
    """Trains from the newest checkpoint to the end. Raises Interrupted if asked to stop before.

    `pinned` are the digests of `base` and `data` that the run began with, else the newest are used.
    """
    want = pinned or {}
    scratch = pathlib.Path(settings.scratch)
    # Its own Ray mode would start a second training from within this one.
    os.environ.pop("USE_RAY", None)
    os.environ.setdefault("HF_HOME", os.fspath(scratch / "huggingface"))
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    device.choose(settings)
    attempt = trainer.agree(place, attempt_id())
    here = scratch / "llm" / attempt / f"rank-{place.rank}"
    base, data = (
        inputs.find(run.path(path), what, made_by, want.get(key, ""))
        for key, path, what, made_by in (
            ("base", settings.base, "the base model", llm_train.BASE_BY),
            ("data", settings.data, "the data", llm_train.DATA_BY),
        )
    )
    store = checkpoints.Store(
        run.folder() / "checkpoints", config, attempt, settings.keep_checkpoints
    )
    try:
        made = _restore(place, store, here)
        # transformers would make one more step, although all are made.
        if made is None or not _all_steps_made(made):
            resume, made = made, here / "out"
            local = (inputs.local(base, scratch), inputs.local(data, scratch))
            arguments = llm_config.arguments(settings, *local, made, resume)
            _learn(place, settings, run, store, arguments)
        if place.rank == 0:
            place.say(summary=_export(settings, run, made, attempt, base.digest))
    finally:
        shutil.rmtree(here, ignore_errors=True)


def _learn(
    place: trainer.Place,
    settings: Any,
    run: Run,
    store: checkpoints.Store,
    arguments: dict[str, Any],
) -> None:
    import llamafactory.train.tuner as tuner

    mirror = _mirror(place, settings, run, store)
    tuner.run_exp(args=arguments, callbacks=[mirror])
    if mirror.stopped:
        raise Interrupted(f"stopped after step {mirror.step}")


def _all_steps_made(checkpoint: pathlib.Path) -> bool:
    """Tells whether a checkpoint is of the last step: the run ended before it said so."""
    state = json.loads((checkpoint / "trainer_state.json").read_text())
    return bool(state["global_step"] >= state["max_steps"])


def _restore(
    place: trainer.Place, store: checkpoints.Store, here: pathlib.Path
) -> pathlib.Path | None:
    """Copies the newest valid checkpoint to this node; the first worker says which one it is."""
    found = store.newest() if place.rank == 0 else None
    path = trainer.agree(place, str(found.path) if found else "")
    if not path:
        return None
    found = found or store.at(pathlib.Path(path))
    target = here / "restored" / f"checkpoint-{found.step}"
    target.mkdir(parents=True)
    for name, _, checksum in found.files:
        if files.copy(found.path / name, target / name) != checksum:
            raise StorageError(f"{found.path / name} was read with another content than before")
    log.event("resumed", step=found.step, path=path)
    return target


def _mirror(place: trainer.Place, settings: Any, run: Run, store: checkpoints.Store) -> Any:
    """Returns the callback that looks at the loss, copies checkpoints, and stops when asked."""
    from transformers import TrainerCallback

    class Mirror(TrainerCallback):
        """Sees every step of the training on this worker."""

        def __init__(self) -> None:
            """Has seen nothing yet."""
            self.step = 0
            self.stopped = False
            self.progress: log.Progress | None = None
            self.tokens = 0

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Counts time and tokens from here; a restored state has those of earlier attempts."""
            self.step, self.tokens = state.global_step, int(state.num_input_tokens_seen)
            if place.rank == 0:
                self.progress = log.Progress(state.max_steps, "tokens", settings.log_steps, run.id)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Asks all workers together whether to stop here, with a checkpoint."""
            self.step = state.global_step
            if self.step < state.max_steps and trainer.together(place, place.stopping()):
                self.stopped = control.should_save = control.should_training_stop = True

        def on_log(self, args: Any, state: Any, control: Any, logs: Any, **_: Any) -> None:
            """Reports progress. A loss that is not finite ends the run before it is saved."""
            if "loss" not in logs:
                return
            loss, norm = float(logs["loss"]), float(logs.get("grad_norm", 0.0))
            if not (math.isfinite(loss) and math.isfinite(norm)):
                raise ResultError(
                    f"step {state.global_step} has the loss {loss} and gradients of norm {norm}"
                )
            if self.progress is None:
                return
            seen = int(state.num_input_tokens_seen)
            items, self.tokens = seen - self.tokens, seen
            self.progress.step(state.global_step, items, loss=loss, gradient_norm=norm)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Copies the checkpoint to the mount, before the next step is made."""
            local = pathlib.Path(args.output_dir) / f"checkpoint-{state.global_step}"
            rng = f"rng_state_{place.rank}.pth"
            mine = (rng, (local / rng).read_bytes()) if place.rank else None
            others = trainer.gather(place, mine)
            if place.rank:
                return
            sources: dict[str, pathlib.Path | bytes] = {
                p.name: p for p in sorted(local.iterdir()) if p.is_file()
            }
            sources.update(dict(o for o in others if o))
            saved = store.save(state.global_step, sources)
            log.event("checkpoint_saved", step=saved.step, path=str(saved.path))

    return Mirror()


def _export(settings: Any, run: Run, made: pathlib.Path, attempt: str, base: str) -> dict[str, Any]:
    """Registers the adapter in `made`, complete or not at all, and returns the summary."""
    from safetensors import safe_open

    folder = made / "adapter"
    folder.mkdir()
    for name in ADAPTER_FILES:
        if not (made / name).is_file():
            raise ResultError(f"LLaMA-Factory has written no {name}")
    config = json.loads((made / ADAPTER_FILES[0]).read_text())
    # Where this node had its copy means nothing to a reader.
    config["base_model_name_or_path"] = settings.base
    # Sets come in another order in each process; the same adapter must have the same content.
    config = {k: sorted(v) if isinstance(v, list) else v for k, v in config.items()}
    (folder / ADAPTER_FILES[0]).write_text(json.dumps(config, indent=1, sort_keys=True))
    shutil.copyfile(made / ADAPTER_FILES[1], folder / ADAPTER_FILES[1])
    with safe_open(folder / ADAPTER_FILES[1], "pt") as weights:
        trainable = sum(math.prod(weights.get_slice(k).get_shape()) for k in weights.keys())  # noqa: SIM118
        if any(not weights.get_tensor(k).isfinite().all() for k in weights.keys()):  # noqa: SIM118
            raise ResultError("the adapter has weights that are not finite")
    state = json.loads((made / "trainer_state.json").read_text())
    steps = state["global_step"]
    about = {"rank": config["r"], "base": base, "steps": steps, "dataset": settings.dataset}
    about["output"] = str(run.folder())
    registry = adapters.Registry(run.path(llm_train.ADAPTERS), settings.task)
    registered = registry.put(folder, run.id, attempt, about)
    losses = [h["loss"] for h in state["log_history"] if "loss" in h]
    summary = {
        "steps": steps,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "trainable": trainable,
        "adapter": registered.digest,
        "adapter_path": str(registered.path),
    }
    files.write_json(run.folder() / f"metrics.{attempt}.json", {**summary, "losses": losses})
    return summary
