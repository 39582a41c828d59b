"""A rank: `python -m argosy.steps.train.worker ATTEMPT-FOLDER`, started by torchrun."""

import os
import sys
import threading
from pathlib import Path

from argosy.steps.train.attempt import Attempt, Outcome


def main(attempt: Attempt) -> None:
    stop = attempt.follow_leash()
    try:
        _train(attempt, stop)
    except BaseException as error:  # noqa: BLE001 - the supervisor must learn of whatever it was
        attempt.report_failure(int(os.environ["RANK"]), error)
        # Python's own exit would wait for collectives that can no longer end.
        os._exit(1)


def _train(attempt: Attempt, stop: threading.Event) -> None:
    from argosy.steps import samples, staged, task
    from argosy.steps.train import world
    from argosy.steps.train.checkpoints import Checkpoints
    from argosy.steps.train.run import Run
    from argosy.steps.train.trainer import Trainer

    inputs = attempt.inputs
    user_task = task.made(inputs.task, inputs.hyperparameters)
    with staged.data(inputs) as data:
        training, validation = (samples.load(user_task, data, split) for split in ("train", "validation"))
    run = Run(inputs)
    with world.joined(gpus=inputs.gpus > 0) as ranks:
        ranks.refuse_other_data(inputs.dataset_hash)
        trainer = Trainer(inputs, user_task, training, ranks, Checkpoints(run.checkpoints, inputs.checkpoints_kept))
        trainer.resume()
        trainer.train(stop)
        outcome = Outcome(resumed_at_step=trainer.resumed_at, step=trainer.step)
        if trainer.is_finished:
            measures = {
                "loss": trainer.loss,
                "validation_accuracy": trainer.validated(validation),
                "samples_per_second": trainer.samples_per_second,
            }
    if ranks.rank != 0:
        return
    if trainer.is_finished:
        from argosy.steps.train.export import export

        card = export(
            trainer.model.cpu(),
            training.inputs[0],
            run.model,
            task=inputs.task,
            hyperparameters=user_task.hyperparameters.model_dump(mode="json"),
            training={"steps": trainer.step, **measures},
        )
        outcome = Outcome(resumed_at_step=trainer.resumed_at, step=trainer.step, model_hash=card.sha256, **measures)
    attempt.report_outcome(outcome)


if __name__ == "__main__":
    main(Attempt(Path(sys.argv[1])))
