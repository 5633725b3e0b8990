"""What `uv run` installs before it runs, which project options mean, and what `uv export` gives to pip."""

from __future__ import annotations

import pytest

from gpudoctor.manifests.statements import Environment
from tests.unit.test_manifest_projects import BESIDE, HELD, SLIM, built, texts
from tests.unit.test_manifest_troubles import docker, judged

ALL = [*HELD, "six==1.17"]
IN_FOLDER = {f"services/api/{name}": text for name, text in BESIDE.items()}


def read(*lines: str, **files: str) -> Environment:
    return built({**docker(SLIM, *lines), **IN_FOLDER, **files})


@pytest.mark.parametrize(("run", "expected"), [
    ("uv run python -c 'import torch'", ALL), ("uv run --no-dev --frozen python train.py", HELD),
    ("uv run --no-dev -- python train.py --extra more", HELD),
    ("uv run --no-dev --extra more -m app", [*HELD, "jax==0.5.3"]),
    ("uv run --with ipython --env-file .env --no-dev app", HELD), ("uv run --no-sync app", []),
    ("uv run --no-project app", []), ("uv run --no-dev pip install paddlepaddle-gpu==2.6.2",
                                     [*HELD, "paddlepaddle-gpu==2.6.2"]),
    ("uv run --no-sync uv pip install jax==0.5.0", ["jax==0.5.0"]),
    ("uv --quiet --color never sync --no-dev", HELD),
    ("uv --no-progress pip install jax==0.5.0", ["jax==0.5.0"]),
])
def test_uv_brings_the_project_up_to_date_before_it_runs_a_command(run: str, expected: list[str]) -> None:
    assert texts(f"RUN {run}") == expected


def test_a_script_with_requirements_of_its_own_is_run_elsewhere() -> None:
    """In an environment that is gone afterwards, without the project."""
    plain = {**docker(SLIM, "COPY . .", "RUN uv run --no-dev load.py"), **BESIDE, "load.py": "import torch\n"}
    assert [one.text for one in built(plain).asked] == HELD
    own = {**plain, "load.py": "# /// script\n# dependencies = ['requests']\n# ///\n"}
    assert built(own).asked == ()


SCRIPT = "# /// script\n# dependencies = ['torch==2.6.0', 'numpy']\n# ///\nimport torch\n"
ONCE = {"load.py": SCRIPT, "plain.py": "import torch\n", "list.txt": "torch==2.6.0+cpu\n", "six.txt": "six\n",
        "six.py": SCRIPT.replace("torch==2.6.0", "six")}


@pytest.mark.parametrize(("command", "named"), [
    ("uv run --with torch==2.6.0+cpu plain.py", "torch==2.6.0+cpu"),
    ("uv run --with=six,torch plain.py", "six,torch"),
    ("uv run -w jax -- python plain.py", "jax"), ("uv run --with six plain.py", None),
    ("uv run --no-project --with-requirements list.txt plain.py", "list.txt"),
    ("uv run --with-requirements six.txt plain.py", None),
    ("uv run --with-requirements load.py six.py", "load.py"),
    ("uv run load.py", "load.py"), ("uv run six.py", None), ("uv run python load.py", None),
    ("uvx --with torch==2.6.0 tool", "torch==2.6.0"), ("uv tool run --from jax[cuda12] tool", "jax[cuda12]"),
    ("uvx tool --with torch", None), ("uv run plain.py --with torch", None)])
def test_what_uv_installs_for_one_command_is_left_open(command: str, named: str | None) -> None:
    """It was passed over in silence: in a RUN, and in what the container starts."""
    words = ", ".join(f'"{word}"' for word in command.split())
    for line in (f"RUN {command}", f"CMD {command}", f"CMD [{words}]", f"ENTRYPOINT [{words}]"):
        found = judged({**docker("# --gpus all", SLIM, "COPY . .", line), **ONCE})
        said = [one.said for one in found.notes if one.matters]
        told = f" from {named} is installed for this command alone"
        assert [told in one for one in said] == [True] * bool(named)


@pytest.mark.parametrize(("lines", "expected"), [
    (('CMD ["uv", "run", "--no-dev", "app"]',), HELD), (("CMD exec uv run --no-dev app",), HELD),
    (('ENTRYPOINT ["uv", "run"]', 'CMD ["--no-dev", "app"]'), HELD), (('CMD ["app"]',), []),
    (('CMD ["uv", "run", "app"]', 'CMD ["app"]'), []), (("ENV UV_NO_SYNC=1", 'CMD ["uv", "run", "app"]'), []),
    (('CMD ["uv", "run", "--no-dev", "app", "--device", "cuda"]',), HELD),
    (('CMD ["sh", "-c", "cd /app && exec uv run --no-dev app"]',), HELD)])
def test_what_uv_run_installs_as_a_container_starts(lines: tuple[str, ...], expected: list[str]) -> None:
    found = built({**docker(SLIM, "COPY . .", *lines), **BESIDE})
    assert ([one.text for one in found.asked], found.alters_libraries) == (expected, False)


def test_without_a_project_uv_only_runs() -> None:
    found = built(docker(SLIM, "RUN uv pip install torch==2.6.0", "RUN uv run python -c 1"))
    assert ([one.text for one in found.asked], found.unread) == (["torch==2.6.0"], ())


@pytest.mark.parametrize(("copy", "command"), [
    ("COPY . .", "uv sync --no-dev --project services/api"),
    ("COPY . .", "uv --directory services/api sync --no-dev"),
    ("COPY . .", "uv sync --no-dev --directory=services --project=api"),
    ("COPY . /app", "uv run --no-dev --project /app/services/api serve"),
    ("COPY . /app", "uv run --no-dev --project services/api serve"),  # with WORKDIR /app
    ("COPY services/api /srv/api", "uv sync --no-dev --project /srv/api"),
    ("COPY services/api/pyproject.toml services/api/uv.lock /srv/", "uv sync --no-dev --project /srv"),
    ("COPY services/api api", "uv sync --no-dev --project api"),
    ("COPY . .", "poetry -C services/api install --without dev"),
    ("COPY . .", "poetry install --directory services/api --without dev"),
    ("COPY . .", "pdm install -p services/api --prod"),
])
def test_a_project_is_looked_for_where_the_command_says(copy: str, command: str) -> None:
    assert [one.text for one in read(copy, f"RUN {command}").asked] == HELD


@pytest.mark.parametrize("command", ["uv sync --project other", "uv run --project /srv/api serve"])
def test_a_project_that_is_not_where_the_command_says_is_left_open(command: str) -> None:
    found = read("COPY . /app", f"RUN {command}")
    assert found.asked == ()
    assert [one.of_framework for one in found.unread] == [True]


def test_uv_pip_reads_lists_in_the_folder_that_it_goes_into() -> None:
    found = read("COPY . .", "RUN uv pip install --directory services/api -r list.txt",
                 **{"services/api/list.txt": "torch==2.6.0", "list.txt": "torch==2.5.0"})
    assert [one.text for one in found.asked] == ["torch==2.6.0"]


@pytest.mark.parametrize("run", [
    "uv export --no-dev | pip install -r -", "uv export --no-dev | uv pip install --system -r /dev/stdin",
    "uv export --no-dev > requirements.txt && pip install -r requirements.txt",
    "uv export --no-dev --format requirements-txt -o /tmp/all.txt && pip install --no-deps -r /tmp/all.txt",
    "uv export --no-dev --output-file=all.txt\nRUN pip install -r ./all.txt",
])
def test_what_uv_exports_is_what_pip_installs(run: str) -> None:
    assert texts(f"RUN {run}") == HELD


@pytest.mark.parametrize("run", [
    "uv export | grep -v torch | pip install -r -", "uv export --no-emit-package torch | pip install -r -",
    "uv export -o one.txt && pip install -r two.txt", "[ -e x ] && uv export -o a.txt; pip install -r a.txt",
])
def test_what_is_exported_in_part_or_perhaps_is_left_open(run: str) -> None:
    found = built({**docker(SLIM, "COPY . .", f"RUN {run}"), **BESIDE})
    assert found.asked == ()
    assert [one.of_framework for one in found.unread] == [True]


@pytest.mark.parametrize(("command", "expected"), [
    ("pdm install --no-default", ["six==1.17"]), ("pdm sync --prod --no-default -G more", ["jax==0.5.3"]),
    ("pdm install --prod", HELD)])
def test_pdm_leaves_out_the_default_group(command: str, expected: list[str]) -> None:
    assert texts(f"RUN {command}") == expected
