"""Which driver a fix may name: branches and kernel modules that serve the cards here, and whose packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive.view import View, as_texts, floor_row, text_in
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Facts, Known, Table, Tables, Unknown, Value

Row = Mapping[str, Value]
DISPLAY_CLASS = "0x03"
FOR_GUESTS = "vfio-pci"
_OTHERS = "any"
_JETSON = "jetson"
_WSL = "wsl"
_OPEN = "open"


@frozen
class Served:
    """What serves every card here: the kernel modules, the better one first, and the branches."""

    flavours: tuple[str, ...]
    first_branch: int = 0
    last_branch: int | None = None

    def allows(self, branch: int) -> bool:
        """Return whether a driver branch serves the cards."""
        return branch >= self.first_branch and (self.last_branch is None or branch <= self.last_branch)


def major(version: Value) -> int:
    """Return the branch of a driver, or the major of another version; 0 where it starts with no number."""
    head = str(version).partition(".")[0]
    return int(head) if head.isdigit() else 0


# -- what serves the cards -----------------------------------------------------------------------------------


def served(view: View) -> Served:
    """Return which kernel modules and branches serve every card here; the table says so of each generation.

    The cards' PCI device ids tell it without any driver; where the bus shows none, their compute capability.
    """
    rows = _generations(view)
    flavours = [name for name in (_OPEN, "proprietary")
                if all(name in as_texts(row["flavours"]) for row in rows)]
    if view.value("driver.kernel_flavour") == "proprietary":
        flavours.reverse()  # whoever runs it may have a reason
    lasts = [major(row["last_branch"]) for row in rows if "last_branch" in row]
    return Served(
        flavours=tuple(flavours),
        first_branch=max((major(row["first_branch"]) for row in rows if "first_branch" in row), default=0),
        last_branch=min(lasts, default=None),
    )


def _generations(view: View) -> list[Row]:
    table = view.table("kernel_modules")
    devices = [text_in(record, "device") for record in view.records("system.pci_nvidia")
               if text_in(record, "class").startswith(DISPLAY_CLASS) and text_in(record, "device")]
    rows = [row for device in devices if (row := of_device(table, device)) is not None]
    capability = view.value("system.oldest_card")
    if capability is not None:
        row = floor_row(table, "first_capability", str(capability))
        rows += [] if row is None else [_with_own(row, str(capability), view.tables)]
    return rows


def of_device(table: Table, device: str) -> Row | None:
    """Return the row of a PCI device id."""
    below = [row for row in table.rows if str(row["first_device"]) <= device.lower().zfill(4)]
    return max(below, key=lambda row: str(row["first_device"]), default=None)


def fit(card: Facts, driver: str, host: Facts, tables: Tables) -> Fact:
    """Return whether drivers of this branch serve a card: "serves", "too-new" or "too-old".

    Nobody can tell of a card that the tables do not have, nor where branches are numbered otherwise: a
    Jetson's driver comes with its board, and the one under WSL is that of Windows.
    """
    bound = card.get("gpu.pci_driver")
    if isinstance(bound, Known) and bound.value == FOR_GUESTS:
        return Absent(source="the card is set aside for virtual machines")
    for name in ("system.jetson", "system.wsl"):
        if not isinstance(host.get(name, Absent(source="")), Absent):
            return Absent(source=f"{name}: its drivers are no branches for cards on PCIe")
    row = row_of_card(card, tables)
    if row is None:
        return Unknown(reason="the rule database does not know which drivers serve this card", asked=False)
    branch, generation = major(driver), row["generation"]
    if "last_branch" in row and branch > major(row["last_branch"]):
        return Known(value="too-new", source=f"{row['source']}: branch {row['last_branch']} is the last for "
                                             f"{generation}")
    if "first_branch" in row and branch < major(row["first_branch"]):
        return Known(value="too-old", source=f"{row['source']}: no branch before {row['first_branch']} "
                                             f"serves {generation}")
    return Known(value="serves", source=f"rules/tables/kernel_modules.toml: {generation}")


def row_of_card(card: Facts, tables: Tables) -> Row | None:
    """Return the row of a card by its compute capability; by its PCI device where nobody tells that."""
    modules, known = tables.get("kernel_modules"), tables.get("architectures")
    if modules is None or known is None:
        return None
    capability, device = card.get("gpu.compute_capability"), card.get("gpu.pci_device_id")
    if isinstance(capability, Known):
        is_listed = any(row["compute_capability"] == capability.value for row in known.rows)
        row = floor_row(modules, "first_capability", str(capability.value)) if is_listed else None
        return None if row is None else _with_own(row, str(capability.value), tables)
    return of_device(modules, str(device.value)) if isinstance(device, Known) else None


def _with_own(row: Row, capability: str, tables: Tables) -> Row:
    """Return the row of a generation with what is said of one compute capability alone."""
    known = tables.get("architectures")
    own = next((one for one in (known.rows if known else ()) if one["compute_capability"] == capability), {})
    if "first_branch" not in own:
        return row
    return {**row, "first_branch": own["first_branch"], "generation": own["architecture"],
            "source": own["source"]}


# -- the distribution ----------------------------------------------------------------------------------------


def package_row(view: View) -> Row:
    """Return the row of this distribution, else of the first it says it is like, else the one for all."""
    rows = view.table("driver_packages").rows
    version = major(view.value("system.distribution_version") or "")
    for family in _families(view):
        fitting = [row for row in rows
                   if row["distribution"] == family and major(row["first_version"]) <= version]
        if fitting:
            return max(fitting, key=lambda row: major(row["first_version"]))
    return {"source": "rules/tables/driver_packages.toml has no row for this distribution"}


def _families(view: View) -> Sequence[str]:
    if isinstance(view.fact("system.jetson"), Known):
        return (_JETSON,)  # its driver comes with the board's system, whatever the distribution says
    if isinstance(view.fact("system.wsl"), Known):
        return (_WSL,)  # its driver is that of Windows: nothing is to be installed inside
    if isinstance(view.fact("system.distribution"), Absent):
        return (_OTHERS,)
    return (view.need_text("system.distribution"), *view.texts("system.distribution_like"), _OTHERS)


def cell(view: View, column: str) -> Fact:
    """Return a cell of the distribution's row."""
    row = package_row(view)
    if column not in row:
        distribution = view.value("system.distribution") or "this system"
        return Absent(source=f"the rule database has no {column} for {distribution}")
    return Known(value=row[column], source=str(row["source"]))


def _in_flavour(view: View, column: str) -> tuple[str, str] | None:
    """Return the cell for the best kernel module that serves the cards and has one, and that module."""
    row = package_row(view)
    for flavour in served(view).flavours:
        name = column if flavour == _OPEN else f"{flavour}_{column}"
        if name in row:
            return str(row[name]), flavour
    return None


def _brings(view: View, flavour: str) -> str | None:
    """Return the oldest driver that the distribution's packages bring, None where it has none of its own."""
    row = package_row(view)
    found = row.get(f"{flavour}_driver", row.get("driver"))
    return None if found is None else str(found)


def package_command(view: View) -> Fact:
    """Return the command that installs the distribution's own driver, where that serves the cards."""
    found = _in_flavour(view, "command")
    driver = None if found is None else _brings(view, found[1])
    if found is None or driver is None or not served(view).allows(major(driver)):
        return Absent(source="the distribution's own packages have no driver for the cards here")
    return Known(value=found[0], source=str(package_row(view)["source"]))


def guide(view: View) -> Fact:
    """Return where it is written down how the driver is installed on this distribution."""
    row = package_row(view)
    names = ("guide",) if _OPEN in served(view).flavours else ("proprietary_guide", "guide")
    for name in names:
        if name in row:
            return Known(value=row[name], source=str(row["source"]))
    rows = view.table("driver_packages").rows
    fallback = next((r for r in rows if r["distribution"] == _OTHERS and "guide" in r), None)
    if fallback is None:
        return Absent(source="the rule database names no guide")
    return Known(value=fallback["guide"], source=str(fallback["source"]))


def repository_command(view: View) -> Fact:
    """Return the command that adds the repository which the driver's branches come from."""
    row = package_row(view)
    version, machine = _version_of(row, view), _machine_of(row, view)
    if "repository_command" not in row or version is None or machine is None:
        return Absent(source="the distribution's own repository has it, or none is known for this version")
    text = str(row["repository_command"]).replace("VERSION", version).replace("ARCH", machine)
    return Known(value=text, source=str(row["source"]))


def _version_of(row: Row, view: View) -> str | None:
    """Return the distribution's version as the repository spells it, None where it serves another one."""
    version = str(view.value("system.distribution_version") or "")
    if "versions" not in row:
        return version
    spelled = (version, version.partition(".")[0])
    return next((text for text in spelled if text in as_texts(row["versions"])), None)


def _machine_of(row: Row, view: View) -> str | None:
    machine = str(view.value("system.architecture") or "")
    if "architectures" not in row:
        return machine
    pairs = (text.partition("=") for text in as_texts(row["architectures"]))
    return next((repository or name for name, _, repository in pairs if name == machine), None)


# -- the branch ----------------------------------------------------------------------------------------------


def _release(view: View, minimum: str) -> tuple[str, str] | None:
    """Return the oldest driver that is new enough and of the oldest branch worth naming, and why that one.

    Branches that are still maintained come first; then the last one for cards that none of them serves; then
    the minimum itself, when a branch that nobody maintains for long is the only one that will do.
    """
    cards = served(view)
    rows = sorted(view.table("driver_lifecycle").rows, key=lambda row: (row["maintained"] is not True,
                                                                       major(row["branch"])))
    for row in rows:
        branch = major(row["branch"])
        if branch < major(minimum) or not cards.allows(branch):
            continue
        if row["maintained"] is not True and branch != cards.last_branch:
            continue
        newest = max(str(row["first_release"]), minimum, key=versions.parse)
        return newest, f"branch {row['branch']}, {row['designation']} ({row['source']})"
    if major(minimum) and cards.allows(major(minimum)):
        return minimum, "no maintained branch is new enough"
    return None


def maintained_driver(view: View, minimum: str) -> Fact:
    """Return the driver that a fix may name when at least `minimum` is needed."""
    found = _release(view, minimum)
    if found is None:
        return Absent(source=f"no driver of {minimum} or newer serves the cards here")
    return Known(value=found[0], source=found[1])


def branch_command(view: View, minimum: str) -> Fact:
    """Return the command that installs that driver; a repository that it needs must be known as well."""
    nothing = Absent(source="no command is known that installs this driver here")
    found = _release(view, minimum)
    row = package_row(view)
    if found is None or ("repository" in row and not isinstance(repository_command(view), Known)):
        return nothing
    maintained = {major(r["branch"]) for r in view.table("driver_lifecycle").rows if r["maintained"] is True}
    branch = major(found[0])
    chosen = _in_flavour(view, "branch_command") or _in_flavour(view, "command")
    if chosen is None:
        return nothing
    text, flavour = chosen
    if "BRANCH" in text:
        return Known(value=text.replace("BRANCH", str(branch)),
                     source=str(row["source"])) if branch in maintained else nothing
    driver = _brings(view, flavour)
    if driver is None or versions.parse(driver) < versions.parse(minimum):
        return nothing
    if not served(view).allows(major(driver)):
        return nothing
    return Known(value=text, source=str(row["source"]))


def for_fact(make: Callable[[View, str], Fact], minimum: str) -> Callable[[View], Fact]:
    """Return a derivation that takes the driver which is needed from the fact called `minimum`."""
    return lambda view: make(view, view.need_text(minimum))


def for_cards(make: Callable[[View, str], Fact]) -> Callable[[View], Fact]:
    """Return a derivation for whatever branch serves the cards, however old."""
    return lambda view: make(view, "0")
