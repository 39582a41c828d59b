"""A call of a step from a template: which arguments it is given, and which inputs the template needs for them.

Both are derived from the step's contract (`argosy.steps.contracts`), so that manifest and pod cannot disagree. A
value is one element of argv, `--name=value`: there is no shell to quote for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_origin

from hera.workflows.models import Parameter, ValueFrom
from pydantic.fields import FieldInfo

from argosy.steps import values
from argosy.steps.contracts import CONTRACTS, RECORD, Step, option


class Tag(str):
    """Text in which Argo replaces `{{...}}`; any other text is kept from that."""

    __slots__ = ()


def text(value: object) -> str:
    """A value as text; a whole number is written as one, since pydantic has made 50.0 of a person's 50."""
    return values.encode(int(value) if isinstance(value, float) and value.is_integer() else value)


@dataclass(frozen=True)
class Call:
    """A step with some of its input fixed; the template's inputs provide the rest."""

    step: Step
    fixed: Mapping[str, object]
    """Field -> the value that stands in the manifest."""

    defaults: Mapping[str, str] = field(default_factory=dict)
    """Name of an input -> its default as text, where the contract has none or another."""

    keys: Sequence[str] = ()
    """The keys of the contract's field that is a dict: an input for each."""

    def arguments(self) -> list[str]:
        """The arguments after `argosy.pipelines.started.COMMAND`."""
        words: list[str] = [self.step]
        for name, info in CONTRACTS[self.step][0].model_fields.items():
            value = self.fixed.get(name)
            if isinstance(value, Mapping):
                words += [f"--{option(name)}.{key}={_word(one)}" for key, one in value.items()]
            elif name in self.fixed:
                words.append(f"--{option(name)}={_word(value)}")
            elif _is_dict(info):
                words += [f"--{option(name)}.{key}={{{{inputs.parameters.{key}}}}}" for key in self.keys]
            elif _is_needed(info):
                words.append(f"--{option(name)}={{{{inputs.parameters.{option(name)}}}}}")
        return words

    def inputs(self) -> list[Parameter]:
        """The inputs that the arguments name."""
        return [self._input(name, default) for name, default in self._open()]

    def outputs(self) -> list[Parameter]:
        """Each field of what the step gives, and the record of them all."""
        folder = self.fixed["output"]
        files = {option(name): option(name) for name in CONTRACTS[self.step][1].model_fields} | {"record": RECORD}
        return [Parameter(name=name, value_from=ValueFrom(path=f"{folder}/{file}")) for name, file in files.items()]

    def _open(self) -> Iterator[tuple[str, str | None]]:
        """Name and contract's default of each input."""
        for name, info in CONTRACTS[self.step][0].model_fields.items():
            if name in self.fixed:
                continue
            if _is_dict(info):
                yield from ((key, None) for key in self.keys)
            elif _is_needed(info):
                yield option(name), None if info.is_required() else text(info.default)

    def _input(self, name: str, default: str | None) -> Parameter:
        return Parameter(name=name, default=self.defaults.get(name, default))


def _word(value: object) -> str:
    return value if isinstance(value, Tag) else text(value)


def _is_dict(info: FieldInfo) -> bool:
    return get_origin(info.annotation) is dict


def _is_needed(info: FieldInfo) -> bool:
    return info.is_required() or info.default is not None
