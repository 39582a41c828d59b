"""A Metaflow flow of trivial steps side by side: `metaflow_fan.py run --steps N --max-workers M`."""

from metaflow import FlowSpec, Parameter, step


class Fan(FlowSpec):
    steps = Parameter("steps", type=int)

    @step
    def start(self) -> None:
        self.numbers = list(range(self.steps))
        self.next(self.nothing, foreach="numbers")

    @step
    def nothing(self) -> None:
        self.next(self.join)

    @step
    def join(self, inputs: object) -> None:  # noqa: ARG002 - Metaflow knows a join by it
        self.next(self.end)

    @step
    def end(self) -> None:
        pass


if __name__ == "__main__":
    Fan()
