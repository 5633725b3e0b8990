"""A command of ours that is suggested is about the same patient, and a variable is set where it belongs."""

from __future__ import annotations

import shlex

import pytest

from gpudoctor import derive, remedy, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Fact, Finding, Known, RuleDatabase, Scope, Value


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return ruledb.load(None, None)


def finding(database: RuleDatabase, cause: str, **values: Value) -> Finding:
    facts: dict[str, Fact] = {
        name.replace("__", "."): Known(value=value, source="test") for name, value in values.items()}
    judgement = remedy.diagnose(lay(database.base, facts, database.tables, source="test"), database)
    return next(found for found in judgement.findings if found.cause == cause)


HUNG = ({"stage": "matmul", "card": "0", "outcome": "timed-out", "reason": "no end within 5 s"},)


@pytest.mark.parametrize(("facts", "options"), [
    ({"python__chosen_because": "--python /home/ana/my venv/bin/python"},
     " --python '/home/ana/my venv/bin/python'"),
    ({"python__chosen_because": "--kernel my: /usr/share/jupyter/kernels/my/kernel.json starts it"},
     " --kernel my"),
    ({"python__chosen_because": "process 7 runs it: its venv", "process__id": 7}, " --pid 7"),
    ({"python__chosen_because": "VIRTUAL_ENV names its environment"}, ""),
])
def test_what_is_asked_next_names_the_same_patient(
        facts: dict[str, Value], options: str, database: RuleDatabase) -> None:
    hangs = finding(database, "framework-hangs", release="torch==2.10.0", framework__import_outcome="passed",
                    framework__seen_gpus=1, framework__stages=HUNG, framework__log=(), **facts)
    assert f"gpudoctor check{options} --smoke-timeout" in " ".join(ask.command for ask in hangs.asks)


@pytest.mark.parametrize(("facts", "place"), [
    ({"python__chosen_because": "--kernel my: /srv/my/kernel.json starts it; it sets X"},
     '"env" of /srv/my/kernel.json'),
    ({"process__id": 7}, "where that process gets its environment from"),
])
def test_a_variable_is_set_where_the_patient_gets_it_from(
        facts: dict[str, Value], place: str, database: RuleDatabase) -> None:
    hidden = finding(database, "cuda-visible-devices", environment__CUDA_VISIBLE_DEVICES="", **facts)
    assert place in hidden.fixes[0].title


IN_IMAGE = {"image__reference": "my/app:1", "image__is_running": False, "image__engine": "docker"}
RUNNING = {"image__reference": "web", "image__is_running": True, "image__engine": "podman"}


@pytest.mark.parametrize(("facts", "words"), [
    (IN_IMAGE, "gpudoctor check --image my/app:1 --smoke-timeout 1800"),
    (RUNNING, "gpudoctor check --container web --smoke-timeout 1800")])
def test_an_image_is_named_once(facts: dict[str, Value], words: str, database: RuleDatabase) -> None:
    """It was named twice."""
    hangs = finding(database, "framework-hangs", release="torch==2.10.0", framework__import_outcome="passed",
                    framework__seen_gpus=1, framework__stages=HUNG, framework__log=(), **facts)
    assert [ask.command for ask in hangs.asks] == [words]


@pytest.mark.parametrize(("facts", "where"), [
    ({}, ""), ({**IN_IMAGE, "image__gpu_request": "nvidia"},
               "docker run --gpus all --rm --entrypoint sh my/app:1 -c "),
    (IN_IMAGE, "docker run --rm --entrypoint sh my/app:1 -c "), (RUNNING, "podman exec web sh -c ")])
def test_what_the_patient_is_asked_is_asked_where_it_is(facts: dict[str, Value], where: str,
                                                        database: RuleDatabase) -> None:
    """The path of the image's Python was printed as one of the machine's."""
    rule = next(rule for rule in database.rules if rule.id == "GPD6010")
    values = {"release": "torch==2.10.0", **facts}
    known: dict[str, Fact] = {name.replace("__", "."): Known(value=value, source="test")
                              for name, value in values.items()}
    subjects = derive.subjects(lay(database.base, known, database.tables, source="test"), database)
    ask, = remedy.asked(rule.ask, subjects[Scope.FRAMEWORK][0], database.tables)
    command = '/home/user/venv/bin/python -c "import torch; print(torch.__version__, torch.version.cuda)"'
    assert ask.command == (f"{where}{shlex.quote(command)}" if where else command)


@pytest.mark.parametrize(("facts", "is_said"), [({}, False), (IN_IMAGE, True), (RUNNING, True)])
def test_packages_of_an_image_are_changed_in_its_dockerfile(facts: dict[str, Value], is_said: bool,
                                                            database: RuleDatabase) -> None:
    wrong = finding(database, "cpu-only-build", release="torch==2.10.0", framework__build="cpu", **facts)
    assert ("RUN in its Dockerfile" in wrong.fixes[0].title) == is_said


def test_in_a_shell_nothing_is_added(database: RuleDatabase) -> None:
    hidden = finding(database, "cuda-visible-devices", environment__CUDA_VISIBLE_DEVICES="")
    assert "shell" not in hidden.fixes[0].title


@pytest.mark.parametrize(("prefix", "command"), [
    ("/opt/conda/envs/tf", "conda install --prefix /opt/conda/envs/tf -c conda-forge 'pytorch=*=cuda*'"),
    ("/home/ana/my env", "conda install --prefix '/home/ana/my env' -c conda-forge 'pytorch=*=cuda*'"),
])
def test_conda_installs_where_the_patient_lives(prefix: str, command: str, database: RuleDatabase) -> None:
    """Whichever environment is active: it installed into that one."""
    found = finding(database, "conda-resolved-cpu-build", release="torch==2.10.0", framework__build="cpu",
                    framework__installer="conda", python__environment="conda", python__prefix=prefix)
    assert [fix.commands for fix in found.fixes] == [(command,)]
