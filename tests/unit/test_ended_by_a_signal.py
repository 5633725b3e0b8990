"""An end by a signal that falls where Python wraps what is raised: it is no failure of ours."""

from __future__ import annotations

import pytest

from gpudoctor import cli


@pytest.mark.parametrize(("raised", "code"), [(SystemExit(143), 143), (SystemExit(), 0)])
def test_an_end_inside_another_error_ends_with_its_code(
        raised: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
        ) -> None:
    """Regression: SIGTERM while a class was made was called a failure of gpudoctor's own."""
    def made() -> int:
        raise RuntimeError("Error calling __set_name__") from raised

    monkeypatch.setattr(cli, "_plain_command", made)
    assert cli.run() == code
    assert capsys.readouterr().err == ""


def test_ctrl_c_inside_another_error_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> int:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(cli, "_plain_command", made)
    with pytest.raises(KeyboardInterrupt):
        cli.run()
