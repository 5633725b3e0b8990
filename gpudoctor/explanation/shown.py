"""Facts of a text that its symptoms show: libraries that it misses, frameworks that speak, what is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive.view import as_texts
from gpudoctor.explanation.reading import Said
from gpudoctor.facts import CATALOGUE, LISTS, FactType
from gpudoctor.model import Absent, Fact, Facts, Known, SymptomPattern, Tables, rows_of, value_of

LISTED = tuple(spec.name for spec in CATALOGUE.values() if spec.probe == "text" and spec.type in LISTS)
SINGLE = tuple(spec.name for spec in CATALOGUE.values() if spec.probe == "text" and spec.type not in LISTS)
FRAMEWORKS: Mapping[str, str] = {"paddlepaddle": "paddle", "paddlepaddle-gpu": "paddle", "torch": "pytorch"}
_MISSING = ("-not-loaded", "-missing", "-not-found")  # how the id of a symptom ends that misses a library
_NOT_SAID = Absent(source="the text does not say it")


def facts(said: Sequence[Said], stated: Facts, symptoms: Mapping[str, SymptomPattern],
          tables: Tables) -> dict[str, Fact]:
    """Return every `text.*` fact but the relations: what the text states, and what its symptoms add.

    Lists are always known; a single value that is neither stated nor shown is absent.
    """
    found: dict[str, Fact] = {name: stated.get(name, _NOT_SAID) for name in SINGLE}
    lists = {name: dict.fromkeys(as_texts(value_of(stated, name)), "") for name in LISTED}
    lists["text.symptoms"] |= {line.id: line.source for line in said}
    for line in said:
        symptom = symptoms[line.id]
        if line.likeness < 1.0:
            continue  # a guess at what a line means shows nothing else that the known message would
        for library in _libraries(line, symptom):
            if not library.isalpha() or family(library, tables):  # "could not load dynamic library error"
                lists["text.libraries"].setdefault(library, line.source)
        for name, value in _given(line, symptom):
            if name in lists:
                lists[name].setdefault(value, line.source)
            elif not isinstance(found[name], Known):
                found[name] = Known(value=value, source=f"{line.source}: {line.text}")
        if symptom.framework is not None:
            lists["text.frameworks"].setdefault(symptom.framework, line.source)
    lists["text.library_families"] |= _families(lists["text.libraries"], tables)
    found.update({name: Known(value=tuple(items), source=_sources(items, stated.get(name)))
                  for name, items in lists.items()})
    if not isinstance(found["text.framework"], Known) and lists["text.frameworks"]:
        first, where = next(iter(lists["text.frameworks"].items()))
        found["text.framework"] = Known(value=first, source=where or "the text")
    return found


def _sources(items: Mapping[str, str], stated: Fact | None) -> str:
    where = dict.fromkeys(source for source in items.values() if source)
    first = [stated.source] if isinstance(stated, Known) else []
    return "; ".join([*first, *list(where)[:3]]) or "the text"


def _libraries(line: Said, symptom: SymptomPattern) -> Iterator[str]:
    """Yield the libraries that could not be loaded; one that was loaded stands in a harmless symptom."""
    if symptom.benign and not symptom.id.endswith(_MISSING):
        return
    for hole in ("library", "libraries"):
        for word in line.captures.get(hole, "").replace(",", " ").replace(":", " ").replace(";", " ").split():
            name = word.strip("'\"`.;()[]").rpartition("/")[2]
            yield f"{name}.so.{line.captures['soversion']}" if "soversion" in line.captures else name


def _given(line: Said, symptom: SymptomPattern) -> Iterator[tuple[str, str]]:
    """Yield the facts that a line gives: a hole's words, or a quoted word of the symptom's author."""
    for name, what in symptom.gives.items():
        value = what[1:-1] if what.startswith("'") else line.captures.get(what, "")
        if value:
            yield name, _counted(name, value)


def _counted(name: str, value: str) -> str:
    """Return a version of CUDA as people write it: PyTorch tells the 11040 of CUDA's own function."""
    is_number = CATALOGUE[name].type is FactType.CUDA_VERSION and value.isdecimal()
    return (versions.of_cuda_number(int(value)) if is_number else None) or value


def family(library: str, tables: Tables) -> str | None:
    """Return the family of a library's file name, by the longest beginning that the table has."""
    name = library.lower()
    best: tuple[int, str] | None = None
    for row in rows_of(tables, "library_families"):
        beginning = str(row["beginning"])
        if name.startswith(beginning) and (best is None or len(beginning) > best[0]):
            best = len(beginning), str(row["family"])
    return best[1] if best else None


def _families(libraries: Mapping[str, str], tables: Tables) -> dict[str, str]:
    named: Iterable[tuple[str | None, str]] = (
        (family(library, tables), where) for library, where in libraries.items())
    return {name: where for name, where in named if name is not None}
