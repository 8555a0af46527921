"""Grades GPU kernels in the KernelBench format so that a result cannot be faked.

`from evaluator import check` is the scale-invariant replacement for `torch.allclose`
(docs/check.md); `python -m evaluator --help` grades, lists problems and audits the benchmark's
own check. Importing this package does not import torch: the command line, the store and the
pages read the vocabulary in `evaluator.contract` without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluator.contract import EVALUATOR_VERSION as __version__

if TYPE_CHECKING:
    from evaluator.comparison import check

__all__ = ["__version__", "check"]


def __getattr__(name: str) -> Any:
    """Loads `check`, and with it torch, when it is first asked for."""
    if name == "check":
        from evaluator.comparison import check

        return check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
