"""YAML with the place of everything: mappings, lists and texts as nodes. PyYAML is optional."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from gpudoctor.frozen import frozen
from gpudoctor.manifests.shellwords import words_of
from gpudoctor.manifests.spans import ManifestError, Place, Source, traced

MAX_CHARACTERS = 1 << 18
_MOST_NODES = 20_000
_EMPTY = ("", "~", "null", None)
_NUMBERS = ("int", "float", "bool")  # what YAML takes a text without quotes for
Shape = Literal["text", "number", "list", "mapping", "nothing"]
_OF_YAML = "tag:yaml.org,2002:"


@frozen
class Node:
    """A value: `text` of a scalar, `entries` of a mapping, `items` of a list.

    `whole`: its text stands in the file as it is, but for one pair of quotes around it. `tag` is its type,
    `style` the mark of a block (| or >).
    """

    place: Place
    text: str | None = None
    entries: tuple[tuple[Node, Node], ...] = ()
    items: tuple[Node, ...] = ()
    whole: bool = False
    tag: str = ""
    style: str = ""

    @property
    def is_null(self) -> bool:
        """Return whether nothing stands there, and no empty text either."""
        return self.tag == "null"

    def get(self, *path: str) -> Node | None:
        """Return what lies below these keys, None where nothing does."""
        node: Node | None = self
        for name in path:
            node = next((value for key, value in node.entries if key.text == name), None) if node else None
        return node

    def texts(self) -> list[Node]:
        """Return its scalars: itself, or those of the list that it is."""
        return [self] if self.text is not None else [one for one in self.items if one.text is not None]


def documents(source: Source) -> list[Node]:
    """Return the documents of a file; raise `ManifestError` where it is no YAML, or PyYAML is not there."""
    try:
        import yaml
    except ImportError:
        raise ManifestError(source.file, "to read YAML, gpudoctor needs PyYAML in its own environment: "
                            "there, pip install pyyaml (with pipx: pipx inject gpudoctor-cli pyyaml; with "
                            "uvx: uvx --with pyyaml)") from None
    if len(source.text) > MAX_CHARACTERS:
        raise ManifestError(source.file, f"larger than {MAX_CHARACTERS >> 10} KiB, which no such file is")
    try:
        composed = [*yaml.compose_all(source.text, Loader=yaml.SafeLoader)]
        budget = [_MOST_NODES]
        return [_node(one, source, budget, ()) for one in composed if one is not None]
    except ManifestError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = mark.index if mark is not None else 0
        said = f"is no YAML: {error.problem or error.context}"
        raise source.error(min(at, len(source.text)), said) from None
    except yaml.reader.ReaderError as error:
        raise source.error(error.position, "holds a character that YAML does not allow") from None
    except RecursionError:
        raise ManifestError(source.file, "is nested too deeply to be read") from None
    except (ValueError, OverflowError):  # what PyYAML leaves to Python: "\UFFFFFFFF"
        raise ManifestError(source.file, "is no YAML: it names a character that there is not") from None


def require_list(node: Node | None, what: str, remedy: str) -> None:
    """Raise `ManifestError` where something stands that is neither a list nor empty."""
    if node is not None and (node.text not in _EMPTY or node.entries):
        raise ManifestError(node.place, f"{what} is no list: {remedy}")


def require_mapping(node: Node | None, what: str, remedy: str) -> None:
    """Raise `ManifestError` where something stands that is neither a mapping nor empty."""
    if node is not None and (node.text not in _EMPTY or node.items):
        raise ManifestError(node.place, f"{what} is no mapping: {remedy}")


def shape_of(node: Node) -> Shape:
    """Return what YAML reads; 12:30 is a number to PyYAML alone, as in YAML 1.1, and so it is a text."""
    if node.items or node.tag == "seq":
        return "list"
    if node.entries or node.tag == "map":
        return "mapping"
    if node.is_null or (node.tag.startswith("!") and node.text in _EMPTY):
        return "nothing"
    return "number" if node.tag in _NUMBERS and ":" not in (node.text or "") else "text"


def _node(one: Any, source: Source, budget: list[int], above: tuple[Any, ...]) -> Node:
    """Return a node of ours; what links make large or endless ends with an error."""
    budget[0] -= 1
    place = source.place(one.start_mark.index, one.end_mark.index)
    if budget[0] < 0:
        raise ManifestError(place, f"with this there are more than {_MOST_NODES} values, links followed")
    if any(one is each for each in above):
        raise ManifestError(place, "holds itself: a link (*NAME) in it leads back to it")
    within = (*above, one)
    tag = one.tag.removeprefix(_OF_YAML)
    if one.id == "scalar":
        whole = source.text[place.start:place.end] == one.value
        quotes = 1 if one.style in ("'", '"') else 0
        inner = source.place(place.start + quotes, place.end - quotes) if quotes else place
        whole = whole or source.text[inner.start:inner.end] == one.value
        return Node(place=inner if whole else place, text=one.value, whole=whole, tag=tag,
                    style=one.style or "")
    if one.id == "mapping":
        return Node(place=place, tag=tag, entries=_merged(tuple(
            (_node(key, source, budget, within), _node(value, source, budget, within))
            for key, value in one.value)))
    return Node(place=place, tag=tag, items=tuple(_node(item, source, budget, within) for item in one.value))


def _merged(entries: tuple[tuple[Node, Node], ...]) -> tuple[tuple[Node, Node], ...]:
    """Return the entries of a mapping with those that `<<` takes in and that are not there themselves."""
    taken = [pair for key, value in entries if key.text == "<<"
             for other in (value, *value.items) for pair in other.entries]
    own = {key.text for key, _ in entries}
    return (*entries, *(pair for pair in taken if pair[0].text not in own)) if taken else entries


def filled(text: str) -> str | None:
    """Return a text of a compose file with its variables' defaults, None where one has none.

    A text without variables is what it says, also an empty one, and one with blanks.
    """
    if "$" not in text:
        return text
    words = words_of(traced(text.replace("$$", "\\$"), 0), {})
    return words[0].text if len(words) == 1 and words[0].known else None


def pairs(node: Node | None) -> Iterator[tuple[str, str, Place]]:
    """Yield names and values of an environment, in either form that compose takes.

    One without a value has that of the shell, and is not there where that has none.
    """
    for key, value in node.entries if node else ():
        if key.text is not None and value.text is not None and not value.is_null:
            yield key.text, value.text, value.place
    for item in node.items if node else ():
        name, equals, given = (item.text or "").partition("=")
        if equals:
            yield name, given, item.place
