"""Lines in another spelling than the program's: broken by a console, typed by hand, retold in words."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation.wording import joined
from gpudoctor.pattern_forms import plain


def symptoms_of(text: str) -> set[str]:
    """Return the symptoms of a text, by the rules that come with the program."""
    return {said.id for said in texts.read_text(text, ruledb.load_shipped()).said}


@pytest.mark.parametrize(("written", "meant"), [
    ("TensorFlow does not detect my GPU", "tensorflow doesn't detect gpu"),
    ("Tensorflow doesn\u2019t detect the graphics card", "tensorflow doesn't detect gpu"),
    ("It CANNOT find **any** GPU", "it can't find gpu"),
    ("they dont see it", "they don't see it"),
])
def test_a_sentence_has_one_spelling(written: str, meant: str) -> None:
    """Capitals, apostrophes, emphasis and articles do not matter."""
    assert plain(written) == meant


def test_a_console_of_eighty_columns_breaks_lines_that_are_joined() -> None:
    """The number is that of the first of them."""
    whole = ("2020-01-02 03:04:05.678901: W tensorflow/stream_executor/platform/default/dso_loader.cc:59] "
             "Could not load dynamic library 'cudart64_100.dll'; dlerror: cudart64_100.dll not found"
             + "." * 80)
    broken = [whole[start:start + 80] for start in range(0, len(whole), 80)]
    assert [one.text for one in joined([*broken, "next"])] == [whole]
    assert [one.line for one in joined(["before", *broken, "next"])] == [2]


def test_lines_of_different_lengths_are_not_joined() -> None:
    """They ended where their writer ended them."""
    assert not list(joined(["a" * 80, "b" * 75, "c" * 90, "short"]))


def test_a_broken_message_is_found() -> None:
    """No single line holds it."""
    whole = ("2020-01-02 03:04:05.678901: W tensorflow/stream_executor/platform/default/some_folder/dso_loa"
             "der.cc:59] Could not load dynamic library 'cudart64_100.dll'; dlerror: cudart64_100.dll not "
             "found; this goes on and on until there are three lines of the same length in this console")
    broken = "\n".join(whole[start:start + 80] for start in range(0, len(whole), 80))
    assert "tf-library-not-loaded" in symptoms_of(broken)


@pytest.mark.parametrize(("line", "symptom"), [
    ("the error `illegal instruction (core dumped)` comes at once", "process-illegal-instruction-signal"),
    ("Pytorch: No CUDA GPUS are available", "torch-no-gpus"),
    ("DLL: Error en una rutina de inicializacion de biblioteca de vinculos dinamicos (DLL)",
     "windows-initialization-failed"),
    ("Why is the GPU not detected by it?", "people-wants-gpu"),
    ("it works fine with Sudo", "people-works-as-root"),
])
def test_what_people_retell_is_found(line: str, symptom: str) -> None:
    """In whatever case they wrote it."""
    assert symptom in symptoms_of(line)


def test_a_line_in_a_programs_own_words_stays_what_it_is() -> None:
    """A number in capitals is another message than the words in small letters."""
    found = symptoms_of("E cuda_driver.cc:313] failed call to cuInit: UNKNOWN ERROR (34)")
    assert "tf-cuinit-failed" in found
    assert "cuda-unknown" not in found
