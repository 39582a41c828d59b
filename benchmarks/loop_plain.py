"""The same training as argosy's loop makes of `loop_task.Wide`, as a person writes it for torchrun:

    loop_plain.py DATA BATCH-SIZE EPOCHS

Its samples come through argosy's loader, too: `benchmarks/loader.py` measures that. Nothing is checked, kept or resumed
here, and no loss is read.
"""

import sys
from pathlib import Path

import loop_task
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from argosy.steps.digits_hyperparameters import DigitsHyperparameters
from argosy.steps.shards.indexing import index
from argosy.steps.train.data.loader import Loader


def main(data: Path, batch_size: int, epochs: int) -> None:
    distributed.init_process_group("gloo")
    rank, size = distributed.get_rank(), distributed.get_world_size()
    task = loop_task.Wide(DigitsHyperparameters())
    loader = Loader(
        task, index(data, "train"), batch_size=batch_size, epochs=epochs, seed=0, rank=rank, size=size, workers=0
    )
    model = DistributedDataParallel(task.model())
    optimizer = task.optimizer(model.parameters())
    for step, batch in enumerate(loader.batches(0)):
        optimizer.zero_grad()
        (task.loss(model(batch.inputs), batch.targets) * batch.weight).backward()
        optimizer.step()
        if step == 0 and rank == 0:
            print("step", file=sys.stderr, flush=True)
    distributed.destroy_process_group()


main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
