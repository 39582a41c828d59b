"""What ranks do in the tests. Each is called with its World, in a process of its own."""

import contextlib
import errno
import io
from pathlib import Path

import torch
from torch import distributed, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from argosy.steps.stage.failures import Wrong
from argosy.steps.train.checkpoints import Checkpoints
from argosy.steps.train.checkpoints.folder import Folder

DATA = "0" * 32
NUMBERS = 50_000


class Values:
    """A part that is a dictionary."""

    def __init__(self, **values):
        self.values = values

    def state_dict(self):
        return self.values

    def load_state_dict(self, values):
        self.values = values


def opened(world, folder, store=Folder, kept=2, **options):
    return Checkpoints(store(Path(folder)), world, kept=kept, dataset_hash=DATA, **options)


def of_step(step, rank):
    """A state of which everything follows from the step, so that a torn one is seen."""
    return {
        "replicated": torch.full((NUMBERS,), step, dtype=torch.int64),
        "more": [torch.full((100, 3), float(step)), step, {"text": f"step {step}"}],
        "own": {f"rank {rank}": torch.full((7,), 1000 * rank + step)},
    }


def require_of_step(step, values):
    """Raises where this is not all of one step."""
    for name, own in values["own"].items():
        assert torch.equal(own, torch.full((7,), 1000 * int(name.split()[1]) + step)), name
    for name in ("replicated", "more"):
        require_same(values[name], of_step(step, 0)[name], name)


def require_same(one, other, name):
    """Raises where these are not the same, bit for bit."""
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype, name
        assert torch.equal(one, other), name
    elif isinstance(one, (dict, list, tuple)):
        assert len(one) == len(other), name
        for key in one if isinstance(one, dict) else range(len(one)):
            require_same(one[key], other[key], f"{name}/{key}")
    else:
        assert one == other, name


def saves_until_killed(world, folder, said):
    """Resumes, and saves as fast as it can. Into the file `said` go the step resumed at, and all that were begun."""
    part = Values(**of_step(0, world.rank))
    checkpoints = opened(world, folder)
    step = checkpoints.resume({"part": part})
    if step:
        require_of_step(step, part.values)
    log = Path(said).open("ab", buffering=0) if world.rank == 0 else io.BytesIO()  # noqa: SIM115 - until it is killed
    with log:
        log.write(b"resumed %d\n" % step)
        while True:
            step += 1
            part.values = of_step(step, world.rank)
            checkpoints.save(step, {"part": part})
            log.write(b"begun %d\n" % step)


def saves(world, folder, steps):
    """Saves after these steps. Returns what is committed then."""
    part = Values()
    checkpoints = opened(world, folder)
    for step in steps:
        part.values = of_step(step, world.rank)
        checkpoints.save(step, {"part": part})
    checkpoints.finish()
    return checkpoints.committed


def resumes(world, folder, damaged=""):
    """The step, the names of ranks that it holds, and what was said. `damaged`: a file that rank 1 alone cannot see."""
    part = Values(**of_step(0, world.rank))
    store = type("Blind", (Folder,), {"read": blind_to(damaged)}) if damaged and world.rank == 1 else Folder
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        step = opened(world, folder, store).resume({"part": part})
    if step:
        require_of_step(step, part.values)
    return step, sorted(part.values["own"]), said.getvalue()


def blind_to(name):
    def read(self, checkpoint, *words):
        if checkpoint.startswith(name):
            raise Wrong("its disk is blind")
        Folder.read(self, checkpoint, *words)

    return read


def fails_on_one_rank(world, folder):
    """Rank 1 has no room. What each rank is told, and by which call."""

    class Full(Folder):
        def write(self, name, part, content):
            super().write(name, part, content)
            if world.rank == 1:
                with self._explained(len(content)):
                    raise OSError(errno.ENOSPC, "No space left on device")

    part = Values(**of_step(1, world.rank))
    checkpoints = opened(world, folder, Full)
    checkpoints.save(1, {"part": part})
    try:
        checkpoints.save(2, {"part": part})
    except BaseException as error:  # noqa: BLE001 - the test looks at it
        return type(error).__name__, int(error.exit_code), error.message
    return None


def other_shapes(world, folder):
    checkpoints = opened(world, folder)
    checkpoints.save(1, {"part": Values(mine=torch.zeros(world.rank + 1))})


class Sharded:
    """A model under FSDP2, with an optimiser."""

    def __init__(self, world):
        if world.size == 1:
            distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(7, 13), nn.ReLU(), nn.Linear(13, 5), nn.LayerNorm(5))
        mesh = init_device_mesh("cpu", (world.size,))
        for layer in (self.model[0], self.model[2], self.model):
            fully_shard(layer, mesh=mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        self.parts = {"model": _Model(self), "optimizer": _Optimizer(self)}

    def train(self, world, step):
        """On the same samples whatever the number of ranks."""
        torch.manual_seed(step)
        samples = torch.randn(24, 7)
        self.optimizer.zero_grad()
        self.model(samples[world.rank :: world.size]).square().mean().backward()
        self.optimizer.step()

    def whole(self):
        return get_state_dict(self.model, self.optimizer, options=StateDictOptions(full_state_dict=True))


class _Model:
    def __init__(self, owner):
        self.owner = owner

    def state_dict(self):
        return get_model_state_dict(self.owner.model)

    def load_state_dict(self, state):
        set_model_state_dict(self.owner.model, state)


class _Optimizer(_Model):
    def state_dict(self):
        return get_optimizer_state_dict(self.owner.model, self.owner.optimizer)

    def load_state_dict(self, state):
        set_optimizer_state_dict(self.owner.model, self.owner.optimizer, state)


def trains_sharded(world, folder, record):
    """Resumes, compares with what was recorded whole when it was saved, and goes on for two steps."""
    torch.set_num_threads(1)
    sharded = Sharded(world)
    checkpoints = opened(world, folder)
    start = checkpoints.resume(sharded.parts)
    if start:
        recorded = torch.load(f"{record}-{start}", weights_only=True)
        require_same(sharded.whole(), recorded, "recorded")
    for step in (start + 1, start + 2):
        sharded.train(world, step)
        checkpoints.save(step, sharded.parts)
    whole = sharded.whole()
    if world.rank == 0:
        torch.save(whole, f"{record}-{start + 2}")
    checkpoints.finish()
    return start, sum(path.stat().st_size for path in Path(folder).glob(f"step-{start + 2:08d}-*/*.bin"))


def saves_apart(world, folder):
    """Each node has a folder of its own by the same name."""

    class Apart(Folder):
        def write(self, name, part, content):
            Folder(Path(folder) / f"node-{world.rank}").write(name, part, content)

        def commit(self, name, manifest):
            Folder(Path(folder) / "node-0").commit(name, manifest)

    checkpoints = opened(world, folder, Apart)
    checkpoints.save(1, {"part": Values(**of_step(1, world.rank))})
    checkpoints.finish()
