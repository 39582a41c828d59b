"""Plain DDP: the loop is the script's own, the samples come through argosy's loader.

As `Training(task="argosy.steps.digits:Digits", script="docs/examples/ddp.py")` it is supervised. By hand, on a folder
of shards, it is `torchrun --nproc-per-node=2 docs/examples/ddp.py`, with `joined(Alone(task=..., data=...))` in it.
"""

import torch
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from argosy.steps.train.data.loader import Loader
from argosy.steps.train.session import joined

with joined() as session:
    torch.manual_seed(session.seed)
    model = DistributedDataParallel(session.task.model().to(session.device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loader = Loader(
        session.task,
        session.dataset("train"),
        batch_size=session.hyperparameters["batch_size"],
        epochs=session.hyperparameters["epochs"],
        seed=session.seed,
        rank=session.rank,
        size=session.size,
        workers=0,
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, loader.total)

    # What is given here is kept in every checkpoint, and comes back after a stop, a kill or a lost node.
    first = session.resume(model=model, optimizer=optimizer, scheduler=scheduler)
    batches = loader.batches(first)
    for _ in session.steps(loader.total):
        batch = next(batches)
        outputs = model(batch.inputs.to(session.device))
        loss = functional.cross_entropy(outputs, batch.targets.to(session.device)) * batch.weight
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        session.report(loss=loss, samples=batch.samples, learning_rate=scheduler.get_last_lr()[0])
        scheduler.step()
    session.export(model, torch.zeros(1, 8, 8))
