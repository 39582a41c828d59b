"""FSDP2 with mixed precision: weights and optimiser are sharded over the ranks, and computed with in bfloat16.

A checkpoint of four ranks is taken up by two or three as well. The samples are the script's own: drawn anew for each
step from the seed and the step, so that a resumed training needs no other position.
"""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional

from argosy.steps import samples
from argosy.steps.train.session import joined

WIDTH = 128


def network() -> nn.Sequential:
    layers = [layer for _ in range(3) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), nn.Linear(64, WIDTH), nn.ReLU(), *layers, nn.Linear(WIDTH, 10))


with joined() as session:
    torch.manual_seed(session.seed)
    model = network().to(session.device)
    mesh = init_device_mesh(session.device.type, (session.size,))
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh, mp_policy=precision)
    fully_shard(model, mesh=mesh, mp_policy=precision)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.002)

    batch_size = session.hyperparameters["batch_size"]
    training = samples.load(session.task, session.data, "train")
    total = session.hyperparameters["epochs"] * len(training) // batch_size
    session.resume(model=model, optimizer=optimizer)
    for step in session.steps(total):
        drawn = torch.Generator().manual_seed(session.seed + step)
        batch = torch.randint(len(training), (batch_size,), generator=drawn)[session.rank :: session.size]
        outputs = model(training.inputs[batch].to(session.device))
        loss = functional.cross_entropy(outputs.float(), training.targets[batch].to(session.device))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        session.report(loss=loss, samples=batch_size)

    # torch.export takes a whole model: a new one, with the weights of all ranks.
    session.export(session.unsharded(model, into=network()), torch.zeros(1, 8, 8))
