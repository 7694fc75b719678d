# SPDX-License-Identifier: Apache-2.0
from typing import Any, Sequence, Union

import numpy

__version__: str

class Tensor:
    """An input or output of a model."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> "numpy.dtype[Any]": ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def dims(self) -> list[int]:
        """By axis: which of the open dimensions, -1: fixed. Empty: all are."""

class Step:
    """What one step of a run takes."""

    @property
    def kernel(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def nodes(self) -> list[str]: ...
    @property
    def seconds(self) -> float: ...
    @property
    def flops(self) -> float: ...
    @property
    def bytes(self) -> float: ...

class Module:
    """A compiled model: module(x, ...) runs it."""

    def __init__(self, folder: str, threads: int = 0) -> None: ...
    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """One array, or a tuple of several. Inputs by place, by name, or both."""
    def run_into(self, outputs: Union[Any, Sequence[Any]], /, *inputs: Any, **named: Any) -> None:
        """Run and write the results into arrays of the caller's."""
    def profile(self, *inputs: Any, runs: int = 30, **named: Any) -> list[Step]:
        """The median time of each step, in the order of running; of random inputs if none are given."""
    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def manifest(self) -> str:
        """JSON: tensors, steps, what the CPU must have, hashes, licences."""
    @property
    def inputs(self) -> tuple[Tensor, ...]: ...
    @property
    def outputs(self) -> tuple[Tensor, ...]: ...
    @property
    def dims(self) -> dict[str, list[int]]:
        """Open dimensions by name, and the sizes that they may have."""
    @property
    def threads(self) -> int:
        """Of each run."""
    @property
    def contexts(self) -> int:
        """As many as ever ran at once."""
