"""gpudoctor finds out why a framework does not use the GPU, and says what to do about it.

    >>> import gpudoctor
    >>> report = gpudoctor.check(depth="static")
    >>> print(report.verdict, [finding.cause for finding in report.findings])
    >>> report = gpudoctor.explain("CUDA driver version is insufficient for CUDA runtime version")
    >>> print([(finding.cause, finding.certainty) for finding in report.findings])
"""

__version__ = "0.1.0"

__all__ = ["Certainty", "Evidence", "Finding", "Remedy", "Report", "Severity", "Undecided", "Verdict",
           "__version__", "check", "explain"]

TYPE_CHECKING = False  # as in `typing`, which would take long to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from typing import Literal

    from gpudoctor.model import Certainty, Evidence, Finding, Remedy, Report, Severity, Undecided, Verdict


def check(python: "str | PathLike[str] | None" = None, *,
          depth: "Literal['static', 'import', 'smoke']" = "smoke",
          require: "Sequence[str]" = (), gpu: "Sequence[str]" = (), stages: "Sequence[str]" = (),
          fail_on: "Literal['error', 'warning', 'info']" = "error", timeout_seconds: float = 20.0,
          stage_seconds: float = 120.0) -> "Report":
    """Look at this machine as `gpudoctor check` does, and judge it.

    `python` is the interpreter to examine, this one unless another is named. `require`, `gpu` and `stages`
    are what the options of these names take. What is examined runs in processes of its own, so that nothing
    is imported here and no memory of a card is kept. Raises ValueError, in one line, for what cannot be
    followed.
    """
    from gpudoctor import api

    return api.check(python, depth, require, gpu, stages, fail_on, timeout_seconds, stage_seconds)


def explain(text: "str | bytes", *, fail_on: "Literal['error', 'warning', 'info']" = "error") -> "Report":
    """Name the causes of what stands in a text, as `gpudoctor explain` does.

    The text is a log, a traceback, the output of a tool or a whole bug report, as it was printed or as the
    bytes of its file (packed ones too). Raises ValueError, in one line, for what holds no text.
    """
    from gpudoctor import api

    return api.explain(text, fail_on)


if not TYPE_CHECKING:  # for whom any name would be one
    def __getattr__(name: str) -> object:
        """Import a type of a report when it is first asked for: `import gpudoctor` alone stays cheap."""
        if name not in __all__:
            raise AttributeError(f"module 'gpudoctor' has no attribute '{name}'")
        from gpudoctor import model

        return getattr(model, name)


def __dir__() -> "list[str]":
    """Name what is public, whether it was imported yet or not."""
    return [*__all__, *(name for name in globals() if name not in __all__)]
