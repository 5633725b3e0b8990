"""Lines in wordings that no symptom knows: what they are taken for, and when nothing is said."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor import ruledb, texts
from gpudoctor.derive.view import as_texts
from gpudoctor.explanation import explain
from gpudoctor.explanation.reading import Quoted, Reading
from gpudoctor.explanation.unfamiliar import MOST_LINES, said_otherwise
from gpudoctor.model import Certainty, Severity
from gpudoctor.pattern_forms import PEOPLE, plain
from gpudoctor.unfamiliar import likeness
from gpudoctor.unfamiliar.phrases import Phrases
from gpudoctor.unfamiliar.spoken import Speech
from gpudoctor.unfamiliar.words import LONGEST, MOST_WORDS, words_of
from tests.explain.shipped import database, findings

UNRELATED = (Path(__file__).parent / "unrelated.txt").read_text("utf-8").splitlines()


@cache
def speech() -> Speech:
    """Return what the shipped tables know of things and troubles."""
    return Speech(database().tables, database().symptoms)


def read_as(line: str) -> list[str]:
    """Return the symptoms that a suspicious line in no known wording is taken for."""
    quoted = Quoted(text=line, source="log:1")
    return [said.id for said in said_otherwise(Reading(suspicious=(quoted,)), database())]


def faults(text: str) -> list[str]:
    """Return the faults that are told of a text."""
    found = findings(text)
    return [finding.cause for finding in found if finding.severity.is_fault]


@pytest.mark.parametrize("line", [
    "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice", "CUDA error: no devices",
])
def test_an_identifier_is_the_words_that_it_is_made_of(line: str) -> None:
    """Whoever joins them with underscores or capitals says the same."""
    assert words_of(line) == ["cuda", "error", "no", "device"]


@pytest.mark.parametrize("line", [
    "failed to open the library", "couldn't open library", "could not open your library",
    "was unable to open libraries", "isn't able to open the library", "Error while opening library",
])
def test_a_refusal_is_one_word(line: str) -> None:
    """"failed to", "couldn't" and "unable to" are all "cannot"."""
    assert words_of(line) == ["cannot", "open", "library"]


def test_a_phrase_with_a_star_takes_any_ending() -> None:
    """cudnn* is in libraries' names too."""
    phrases = Phrases([("library", "cudnn*"), ("toolkit", "cuda toolkit")])
    assert [named.name for named in phrases.named(words_of("cudnn64_8.dll and the CUDA toolkits"))] == [
        "library", "toolkit"]


@pytest.mark.parametrize(("line", "symptom"), [
    ("renderer: cannot enumerate any CUDA-capable card", "program-no-device"),
    ("[engine] the GPU driver is far too old for this release", "program-asks-newer-driver"),
    ("could not dlopen the cuDNN shared object", "cudnn-library-missing"),
    ("solver: cusparse.h was not found", "source-build-failed"),
    ("this program was built without CUDA", "torch-compiled-without-cuda"),
    ("no kernel for a GPU of architecture sm_120", "cuda-no-binary-for-gpu"),
    ("access to /dev/nvidia0 was denied", "device-node-denied"),
    ("yesterday the GPU stopped being used", "people-wants-gpu"),
    ("the job cannot use my GPU", "people-wants-gpu"),
    ("the NVIDIA driver is gone behind the reboot", "nvml-driver-not-loaded"),
    ("conda moved TensorFlow from GPU to MKL", "people-cpu-build-installed"),
    ("we suspect a failure of SELinux with our GPU", "selinux-refuses-in-words"),
    ("we are unable to install TensorFlow there", "people-cannot-install"),
    ("that requirement overwrote nvidia-nccl-cu12", "people-libraries-replaced"),
    ("the setup is uninstalling my tensorflow-gpu", "people-other-tensorflow-came"),
    ("this wheel and my JetPack are incompatible", "people-jetpack-does-not-fit"),
])
def test_a_line_is_read_by_what_it_names_and_says_of_it(line: str, symptom: str) -> None:
    """The words are the tables'; the symptom's own wordings are others."""
    assert symptom in read_as(line)


def test_a_number_is_the_error_of_the_interface_that_the_line_names() -> None:
    """In any program's words; what a process returned is none."""
    assert speech().meanings(words_of("cuCtxCreate went wrong, errno=100"))[0].symptom == "cuda-no-device"
    assert speech().meanings(words_of("our CUDA wrapper: error 802"))[0].symptom == "cuda-system-not-ready"
    assert all(one.symptom != "cuda-no-device"
               for one in speech().meanings(words_of("the CUDA build ended with exit code 100")))


def test_other_hardware_is_not_taken_for_a_gpu() -> None:
    """Printers have drivers and cameras are devices."""
    assert read_as("printer driver not found") == []
    assert read_as("camera device is busy") == []


@pytest.mark.parametrize(("line", "symptoms"), [
    ("the engine requires CUDA 12.4 but found 11.8", ["torch-extension-other-cuda"]),
    ("this program needs CUDA 11.8, you have CUDA 12.4", ["torch-extension-other-cuda"]),
    ("solver: expected cuDNN 9.1, got 8.9.7", ["tf-cudnn-older-than-build"]),
    ("solver: expected cuDNN 8.9.7, got 9.1", ["cudnn-version-mismatch"]),
])
def test_two_versions_in_a_line_are_compared(line: str, symptoms: list[str]) -> None:
    """Which one is asked for, and whether the other is older, is what the line says."""
    assert [one.symptom for one in speech().meanings(words_of(line))] == symptoms


@pytest.mark.parametrize("line", [
    "the engine requires CUDA 12.4 and has CUDA 12.4.1", "it requires 3 files but found 2",
    "the player requires FFmpeg 6.1 but found 4.4",
])
def test_versions_that_agree_or_are_of_other_programs_say_nothing(line: str) -> None:
    """As far as both are written out."""
    assert speech().meanings(words_of(line)) == ()


def test_what_stands_beside_a_framework_is_of_a_gpu_too() -> None:
    """Other programs lack instructions of the processor as well: what a framework says is meant."""
    assert read_as("jaxlib wants AVX2, and this processor does not support it") == [
        "tf-cpu-lacks-instructions"]
    assert read_as("the player wants AVX2, and this processor does not support it") == []


@pytest.mark.parametrize("line", UNRELATED)
def test_no_fault_is_made_of_other_programs_errors_or_of_success(line: str) -> None:
    """Nor of a training that goes well."""
    assert faults(f"{line}\n") == []


def test_what_is_told_is_likely_and_says_that_the_wording_is_unknown() -> None:
    """With the known message that it was taken for, and the question that decides."""
    text = "[renderer] Can't enumerate any CUDA-capable GPU\n"
    first = findings(text)[0]
    assert first.certainty is Certainty.LIKELY
    assert first.asks
    assert first.evidence[0].saw == text.strip()
    assert "a wording that is not known" in first.evidence[0].source


def test_known_wordings_that_explain_a_fault_are_not_read_again() -> None:
    """The tables of words are not even looked at."""
    class Closed(dict[str, object]):
        def __getitem__(self, name: str) -> object:
            assert not name.startswith("spoken_")
            return database().tables[name]

    from dataclasses import replace
    closed = replace(database(), tables=Closed(dict.fromkeys(database().tables)))  # type: ignore[arg-type]
    text = "Failed to initialize NVML: Driver/library version mismatch\ncan't open the CUDA card\n"
    assert explain(texts.read_text(text, closed), closed).findings[0].cause == (
        "driver-kernel-userspace-mismatch")


def test_a_text_with_an_enclosure_for_a_card_is_read() -> None:
    """A pattern of people's words, without its article, is too short to look for."""
    assert texts.read_text("the card sits in an eGPU box\n", database()).said


@pytest.mark.parametrize("table", ["spoken_things", "spoken_troubles"])
def test_no_phrase_is_worn_down_to_a_word_that_says_something_else(table: str) -> None:
    """Of "update your" only "update" would be looked for, of "in use" every "use"."""
    harmless = {"or newer", "or higher"}
    for row in database().tables[table].rows:
        for phrase in as_texts(row["phrases"]):
            left = words_of(phrase.replace("*", ""))
            assert len(left) > 1 or len(phrase.split()) == 1 or phrase in harmless, phrase


def test_no_sentence_of_people_is_worn_down_to_what_any_sentence_has() -> None:
    """Without its article "my graphics card is" would be found in every "the GPU is"."""
    for symptom in database().symptoms:
        for pattern in symptom.patterns if symptom.program == PEOPLE else ():
            left = plain(pattern)
            assert len(left.split()) > 1 or left in ("egpu", pattern.lower()), pattern
            assert left not in ("gpu is", "gpu in", "is gpu"), pattern


@pytest.mark.parametrize(("is_warning", "resembles"), [(False, True), (True, False)])
def test_what_a_warning_resembles_is_no_fault_yet(is_warning: bool, resembles: bool) -> None:
    """Only what it names and says of it counts."""
    line = Quoted(text="this TensorFlow binary initialises NVML driver library version", source="log:1",
                  is_warning=is_warning)
    found = said_otherwise(Reading(suspicious=(line,)), database())
    assert any(said.because.startswith("it resembles") for said in found) is resembles


@pytest.mark.parametrize(("sentence", "severity"), [
    ("I don't have a GPU in my laptop.", Severity.BENIGN), ("I do have a GPU.", Severity.ERROR),
])
def test_who_has_no_card_needs_no_library_of_it(sentence: str, severity: Severity) -> None:
    """And who has one does: the message is the same."""
    text = f"{sentence}\nCould not load dynamic library 'cudart64_101.dll'; dlerror: cudart64_101.dll\n"
    assert findings(text)[0].severity is severity


def test_what_is_in_use_is_occupied() -> None:
    """Neither word says so alone."""
    assert "cuda-device-unavailable" in read_as("error: the GPU is in use")
    assert "cuda-device-unavailable" not in read_as("error: how do I use the GPU")


def test_a_sentence_is_read_beside_the_wording_that_is_known_in_it() -> None:
    """People say several things in one line."""
    text = "SELinux failure: GPU not detected in podman\n"
    assert faults(text)[0] == "selinux-container"


@pytest.mark.parametrize(("text", "cause"), [
    ("My notebook on colab cannot use the GPU.", "colab-runtime"),
    ("tensorflow from conda: the GPU is not used", "conda-resolved-cpu-build"),
    ("sbatch job on our slurm cluster: GPU not detected", "slurm-no-gres"),
    ("framework: tensorflow 2.16.1\npip install tensorflow[and-cuda]\nI get an empty list, GPU not detected",
     "pip-nvidia-libs-not-found"),
    ("os: Windows 11\nframework: tensorflow 2.17\nTensorFlow does not use my GPU",
     "windows-native-tf-dropped"),
])
def test_an_unused_card_is_weighed_by_where_it_is_and_what_was_installed(text: str, cause: str) -> None:
    """The complaint itself says nothing of a cause."""
    assert faults(f"{text}\n")[0] == cause


@pytest.mark.parametrize(("text", "cause"), [
    ("singularity exec image.sif python train.py sees no GPU", "singularity-no-nv"),
    ("salloc -N1, then in python: no cuda gpus are available\nplatform: slurm", "slurm-no-gres"),
])
def test_a_command_in_a_line_hides_nothing_of_what_it_says(text: str, cause: str) -> None:
    """A place, or how something was run, is no fault that would explain the line."""
    assert faults(f"{text}\n")[0] == cause


@pytest.mark.parametrize("question", [
    "Why doesn't my node recognize the GPU?", "why can't PyTorch see the GPU", "Why isn't my GPU detected?",
])
def test_a_question_is_read_as_it_would_be_told(question: str) -> None:
    """Its verb stands far from its denial."""
    assert "program-no-device" in read_as(question)


def test_a_denial_belongs_to_what_is_denied() -> None:
    """"GPU is not utilized" says that it is idle; "GPU not" alone was heard as that there is none."""
    meanings = speech().meanings(words_of("GPU is not utilized at all"))
    assert [meaning.symptom for meaning in meanings] == ["people-wants-gpu"]


@pytest.mark.parametrize(("text", "cause"), [
    ("For some reason GPU is not utilized with standard llama-cpp-python", "cpu-only-build"),
    ("I had installed both onnxruntime and onnxruntime-gpu, CUDA is not listed", "wheel-file-collision"),
    ("Singularity> train.py\n But your machine only has: []\nplatform: singularity", "singularity-no-nv"),
    ("NCCL WARN Failed to open libibverbs.so[.1]\nNCCL INFO Launch mode Group/CGMD\n*hangs*", "nccl-network"),
])
def test_what_a_program_lacks_by_itself_is_weighed_beside_the_complaint(text: str, cause: str) -> None:
    """The package, the container or the message before it says which of many causes it is."""
    assert faults(text)[0] == cause


def test_resemblance_finds_the_message_itself_first_and_nothing_in_strange_words() -> None:
    """A known message resembles itself most; what shares no word resembles nothing."""
    known = likeness.index(ruledb.load_shipped("whole").symptoms)
    among = frozenset(known.symptoms)
    how_far, symptom = likeness.alike("Failed to initialize NVML: Driver/library version mismatch", known,
                                      among)[0]
    assert symptom == "nvml-version-mismatch"
    assert 0.95 < how_far < 1.01
    assert likeness.alike("qwertz zuiop asdfgh", known, among) == []
    assert likeness.alike("CUDA error 12345", known, among) == []  # words that a great many messages have
    assert likeness.of_raw(likeness.as_raw(known)) == known == database().words[0]


@given(st.text(max_size=3 * LONGEST))
def test_words_are_bounded_whatever_is_written(line: str) -> None:
    """And reading them again changes nothing that matters: they are plain."""
    words = words_of(line)
    assert len(words) <= MOST_WORDS
    assert all(word == word.lower() and " " not in word for word in words)


@given(st.lists(st.one_of(st.text(max_size=200), st.sampled_from(UNRELATED)), max_size=60))
def test_any_lines_are_read_within_bounds(lines: list[str]) -> None:
    """Few lines are taken for messages, each for a symptom that there is, for less than the message."""
    quoted = tuple(Quoted(text=line, source=f"log:{number}") for number, line in enumerate(lines))
    said = said_otherwise(Reading(suspicious=quoted), database())
    assert len({line.source for line in said}) <= MOST_LINES
    assert {line.id for line in said} <= {symptom.id for symptom in database().symptoms}
    assert all(0 < line.likeness < 1 and line.because for line in said)


def test_every_meaning_is_of_a_thing_and_a_trouble_that_have_words_and_of_a_symptom_that_there_is() -> None:
    """The three tables hold together."""
    tables = database().tables
    things = {row["thing"] for row in tables["spoken_things"].rows}
    troubles = {row["trouble"] for row in tables["spoken_troubles"].rows}
    symptoms = {symptom.id for symptom in database().symptoms}
    meanings = tables["spoken_meanings"].rows
    assert {row["symptom"] for row in meanings} <= symptoms
    of_none = {"GPU computing", "graph of CUDA", "GPU of a browser", "figures of a GPU"}  # told apart
    assert {row["thing"] for row in meanings} | of_none == things
    assert {row["trouble"] for row in meanings} | {"not wanted"} == troubles
    assert {row["errors"] for row in tables["spoken_things"].rows if "errors" in row} <= set(tables)


@pytest.mark.parametrize(("text", "cause"), [
    ("My GTX 1050 does not work with nvidia driver 595, it is not found.", "driver-dropped-gpu"),
    ("RTX 5090 with driver version 535, torch 2.9: cuda is not available", "driver-too-old"),
])
def test_what_two_statements_are_to_one_another_outweighs_a_guess(text: str, cause: str) -> None:
    """Regression: a sentence that was taken for a known message kept what the tables know from being told."""
    assert faults(text)[0] == cause
