"""The reference task: which digit is on an image of 8x8 pixels.

A sample has two members: `pixels`, 64 bytes of 0..16 row by row, and `cls`, the digit as text.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from argosy.steps.digits_hyperparameters import DigitsHyperparameters

SIDE = 8
DEEPEST = 16
"""The value of a black pixel."""
CLASSES = 10


class Digits:
    Hyperparameters = DigitsHyperparameters

    def __init__(self, hyperparameters: DigitsHyperparameters) -> None:
        self.hyperparameters = hyperparameters

    def model(self) -> nn.Module:
        """(batch, 1, 8, 8) pixels in 0..1 -> (batch, 10) logits."""
        channels = self.hyperparameters.channels
        return nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, 2 * channels, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(self.hyperparameters.dropout),
            nn.Linear(2 * channels * (SIDE // 2) ** 2, CLASSES),
        )

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            parameters, lr=self.hyperparameters.learning_rate, weight_decay=self.hyperparameters.weight_decay
        )

    def sample(self, members: Mapping[str, bytes]) -> tuple[Tensor, Tensor]:
        """(1, 8, 8) pixels in 0..1, and the digit as a scalar."""
        try:
            pixels, digit = members["pixels"], members["cls"]
        except KeyError as missing:
            raise ValueError(f"has no member {missing}") from None
        if len(pixels) != SIDE * SIDE or max(pixels) > DEEPEST:
            raise ValueError(f"pixels are not {SIDE * SIDE} bytes of 0..{DEEPEST}")
        if not (digit.isdigit() and int(digit) < CLASSES):
            raise ValueError(f"cls is {digit!r} and not a digit")
        image = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(1, SIDE, SIDE)
        return image.float() / DEEPEST, torch.tensor(int(digit))

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, targets)

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return outputs.argmax(dim=1) == targets
