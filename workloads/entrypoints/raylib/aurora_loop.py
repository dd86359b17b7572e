"""One worker's part of aurora_finetune. Needs torch and aurora."""

from __future__ import annotations

import concurrent.futures
import io
import json
import math
import pathlib
import random
from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch
import torch.distributed as dist
from aurora import Batch

from raylib import (
    adapters,
    aurora_data,
    aurora_model,
    aurora_train,
    checkpoints,
    device,
    files,
    inputs,
    log,
    trainer,
)
from raylib.errors import Interrupted, ResultError
from raylib.run import Run, attempt_id


class Training:
    """One worker's part of a training. Gradients of the few LoRA weights are averaged by hand."""

    def __init__(
        self,
        place: trainer.Place,
        settings: Any,
        run: Run,
        config: str,
        pinned: Mapping[str, Any] | None = None,
    ) -> None:
        """Builds the model and finds the samples; nothing is learnt yet.

        `pinned` are the digests that the run began with, else the newest inputs are used: `base`,
        `static`, and `states` by name.
        """
        self.place, self.settings, self.run_ = place, settings, run
        self.attempt = attempt_id()
        self.device = device.choose(settings)
        want = pinned or {}
        self.states = aurora_data.States(
            run.path(settings.data), want.get("states"), want.get("static", "")
        )
        self.samples = self.states.samples(settings.lead_hours, settings.init_times)
        self.store = checkpoints.Store(
            run.folder() / "checkpoints", config, self.attempt, settings.keep_checkpoints
        )
        self.base = inputs.find(
            run.path(settings.base), "the base model", aurora_train.BASE_BY, want.get("base", "")
        )
        folder = inputs.local(self.base, pathlib.Path(settings.scratch))
        torch.manual_seed(settings.seed)
        self.model = aurora_model.build(settings.model, settings.autocast)
        aurora_model.load_base(self.model, folder / aurora_model.CHECKPOINTS[settings.model])
        learning = aurora_model.add_lora(
            self.model, settings.lora_rank, settings.lora_alpha, settings.seed
        )
        if settings.activation_checkpointing:
            self.model.configure_activation_checkpointing()
        self.model.train().to(self.device)
        self.learning = [p for p in self.model.parameters() if p.requires_grad]
        log.event("model", trainable=sum(p.numel() for p in learning), samples=len(self.samples))
        self.optimizer = torch.optim.AdamW(
            self.learning, lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        warm = max(settings.warmup_steps, 1)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: min(1.0, (step + 1) / warm)
        )
        self.losses: list[float] = []
        self.done = 0
        self.reader = concurrent.futures.ThreadPoolExecutor(1)
        self.ahead: concurrent.futures.Future[Any] | None = None

    def run(self) -> None:
        """Goes on from the newest checkpoint to the last step."""
        s = self.settings
        self.restore()
        progress = log.Progress(s.max_steps, "samples", s.log_steps, self.run_.id)
        saved = self.done
        while self.done < s.max_steps:
            loss, norm = self.step()
            self.done += 1
            self.losses.append(loss)
            items = s.batch_size * s.accumulate * self.place.world
            if self.place.rank == 0:
                progress.step(self.done, items, loss=loss, gradient_norm=norm)
            last = self.done == s.max_steps
            stop = not last and trainer.together(self.place, self.place.stopping())
            if last or stop or self.done % s.checkpoint_steps == 0:
                if self.place.rank == 0 and saved != self.done:
                    self.save()
                saved = self.done
            if stop:
                raise Interrupted(f"stopped after step {self.done}")
        if self.place.rank == 0:
            self.export()

    def step(self) -> tuple[float, float]:
        """Makes one optimizer step and returns the loss and the norm of its gradients."""
        s, total = self.settings, 0.0
        hours = s.lead_hours // 6
        read = (self.ahead or self.reader.submit(self.read, self.done)).result()
        # Reading takes as long as computing where states are large: the next step's are read now.
        if self.done + 1 < s.max_steps:
            self.ahead = self.reader.submit(self.read, self.done + 1)
        for chosen, start, truth in read:
            loss = aurora_model.loss(
                self.model, start.to(self.device), truth, hours, s.surface_weight
            )
            if not torch.isfinite(loss):
                times = [aurora_data.name(c.init) for c in chosen]
                raise ResultError(f"the loss of step {self.done + 1} is {loss.item()} ({times})")
            (loss / s.accumulate).backward()
            total += loss.item() / s.accumulate
        total = self.average(total)
        norm = float(torch.nn.utils.clip_grad_norm_(self.learning, s.clip_norm))
        if not math.isfinite(norm) or norm == 0:
            raise ResultError(f"the gradients of step {self.done + 1} have the norm {norm}")
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total, norm

    def read(self, step: int) -> list[tuple[list[aurora_data.Sample], Batch, Batch]]:
        """Reads this worker's initial states and truths of a step."""
        return [
            (
                chosen,
                aurora_model.batch(self.states, [c.init for c in chosen]),
                aurora_model.batch(self.states, [c.truth for c in chosen], history=False),
            )
            for chosen in self.order(step)
        ]

    def order(self, step: int) -> list[list[aurora_data.Sample]]:
        """Returns this worker's samples of a step. It depends on the step and the seed alone."""
        s, world, rank = self.settings, self.place.world, self.place.rank
        each = s.batch_size * s.accumulate
        first = (step * world + rank) * each
        picked = []
        for position in range(first, first + each):
            epoch, index = divmod(position, len(self.samples))
            shuffled = list(range(len(self.samples)))
            random.Random(f"{s.seed}/{epoch}").shuffle(shuffled)
            picked.append(self.samples[shuffled[index]])
        return [picked[i : i + s.batch_size] for i in range(0, each, s.batch_size)]

    def average(self, loss: float) -> float:
        """Averages gradients and loss over the workers."""
        if self.place.world == 1:
            return loss
        grads = [p.grad for p in self.learning if p.grad is not None]
        flat = torch.cat([g.flatten() for g in grads] + [grads[0].new_tensor([loss])])
        dist.all_reduce(flat)
        flat /= self.place.world
        at = 0
        for g in grads:
            g.copy_(flat[at : at + g.numel()].view_as(g))
            at += g.numel()
        return float(flat[-1])

    def save(self) -> None:
        """Saves all that the next steps depend on."""
        buffer = io.BytesIO()
        torch.save(
            {
                "lora": aurora_model.lora_weights(self.model),
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(),
                "random": torch.get_rng_state(),
                "losses": self.losses,
            },
            buffer,
        )
        saved = self.store.save(self.done, {"state.pt": buffer.getvalue()})
        log.event("checkpoint_saved", step=self.done, path=str(saved.path))

    def restore(self) -> None:
        """Goes back to the newest valid checkpoint, if there is one, the same on all workers."""
        found = self.store.newest() if self.place.rank == 0 else None
        path = trainer.agree(self.place, str(found.path) if found else "")
        if path and found is None:
            found = self.store.at(pathlib.Path(path))
        if found is None:
            return
        state = torch.load(found.path / "state.pt", map_location="cpu", weights_only=True)
        aurora_model.set_lora(self.model, state["lora"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["random"])
        self.losses, self.done = list(state["losses"]), found.step
        log.event("resumed", step=self.done, path=str(found.path))

    def export(self) -> None:
        """Registers the adapter and tells the driver the summary."""
        s, run = self.settings, self.run_
        folder = pathlib.Path(s.scratch) / "adapters" / self.attempt
        folder.mkdir(parents=True)
        weights = aurora_model.lora_weights(self.model)
        about = {
            "model": s.model,
            "rank": s.lora_rank,
            "alpha": s.lora_alpha,
            "lead_hours": s.lead_hours,
            "steps": self.done,
            "base": self.base.digest,
        }
        safetensors.torch.save_file(weights, folder / "aurora_lora.safetensors")
        (folder / "adapter_config.json").write_text(json.dumps(about, indent=1, sort_keys=True))
        made = adapters.Registry(run.path(aurora_train.ADAPTERS), aurora_train.TASK).put(
            folder, run.id, self.attempt, {**about, "output": str(run.folder())}
        )
        files.remove(folder, "adapter_config.json")
        summary = {
            "steps": self.done,
            "first_loss": self.losses[0],
            "last_loss": self.losses[-1],
            "trainable": sum(w.numel() for w in weights.values()),
            "adapter": made.digest,
            "adapter_path": str(made.path),
        }
        metrics = {**summary, "losses": self.losses}
        files.write_json(run.folder() / f"metrics.{self.attempt}.json", metrics)
        self.place.say(summary=summary)
