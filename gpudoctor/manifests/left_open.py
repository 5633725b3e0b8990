"""What of files could not be judged, and whether that a GPU is used may hang on it (decision 34)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from gpudoctor.candidates.ground import Ground
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.manifests import (
    choosing, images, other_packages, reaching, releases, said, starting, tags, torch_indexes,
)
from gpudoctor.manifests.choices import Chosen
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.later_breaks import Break
from gpudoctor.manifests.laying import Laid, brings_another
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Asked, Environment, Image, Wish
from gpudoctor.model import Known, Snapshot, Tables, Unknown

_MINORS = 99  # of Python 3, that have been or may come
_ARM = ("linux/arm", "linux/arm64", "linux/aarch64", "arm64")
_OF_CUDA = ("nvidia/", "nvcr.io/nvidia/", "pytorch/pytorch", "tensorflow/tensorflow")


@frozen
class Note:
    """What was left alone, in words; `matters` where it is not known whether a GPU is used because of it.

    `is_unknown`: a release is asked for that these rules do not know.
    """

    place: Place
    said: str
    matters: bool = False
    is_unknown: bool = False


def of_statements(environment: Environment, tables: Tables, *, is_wanted: bool) -> Iterator[Note]:
    """Yield what was written and not understood; it matters only where a GPU is meant to be used."""
    for each in environment.images:
        tag = tags.judged(images.base_of(each.reference, tables), tables) if each.reference else None
        if tag is not None and tag.unknown:
            is_inside = each in environment.feeding or each == environment.image
            yield Note(place=each.place, matters=is_wanted and tag.is_newer and is_inside, said=(
                f"whether there is an image {each.reference} is not known to these rules: its tag "
                f"{tag.unknown}"))
    image = environment.image
    if is_wanted and image is not None and image.reference is not None:
        yield from _of_moving(images.base_of(image.reference, tables), image.place, tables)
    if image is not None and image.reference is None:
        known = image.name is not None and not image.name.startswith(_OF_CUDA)
        yield Note(place=image.place, matters=is_wanted and not known, said=(
            f"which image it is only the build knows: a variable has no value ({image.told_by})"))
    if image is not None and image.platform.startswith(_ARM) and not _is_known_for_arm(environment, image):
        yield Note(place=image.place, matters=is_wanted, said=(
            f"it is built for {image.platform}, but judged with the "
            f"{'' if is_for_arm(image) else 'wheels, '}images and markers for x86-64"))
    yield from _of_other_pythons(environment, is_wanted=is_wanted)
    yield from of_releases(environment, tables, is_wanted=is_wanted)
    for one in environment.unread:
        if is_wanted or one.of_framework or one.ends:
            yield Note(place=one.place, said=one.why, matters=one.ends or (is_wanted and one.of_framework))


def has_card(machine: Snapshot) -> bool:
    """Return whether it is known for which card files are judged."""
    cards = () if isinstance(machine.gpus, Unknown) else machine.gpus
    return any(isinstance(card.get("gpu.compute_capability"), Known) for card in cards)


def is_for_arm(image: Image | None) -> bool:
    """Return whether an image is built for a processor of ARM for which there are wheels."""
    return image is not None and image.platform.startswith(_ARM[1:])


def _is_known_for_arm(environment: Environment, image: Image) -> bool:
    """Return whether what is known of an image is so for each processor, and no marker asks for one."""
    name, _ = images.split(image.reference or "")
    return is_for_arm(image) and name != images.CUDA_IMAGE and images.is_plain(image.reference) and not any(
        "platform_machine" in one.text for one in environment.asked)


def of_releases(environment: Environment, tables: Tables, *, is_wanted: bool) -> Iterator[Note]:
    """Yield what may be on no index: a label without one, and without a GPU what is newer than the rules."""
    for framework, some in releases.frameworks_asked(environment.asked, environment.python).items():
        for one in some:
            index, text = torch_indexes.index_of_label(framework, one, tables), one.text.strip()
            if index is not None and not (one.command and said.is_told_all(environment)):
                yield Note(place=one.place, said=(
                    f"{text} is not on the default index, which takes no release with a label: pip looks "
                    f"for it where it is told --index-url {index}, here or by who calls it"))
            newest = releases.newest_before(framework, one, tables) if not is_wanted else None
            if newest is not None:
                yield Note(place=one.place, is_unknown=True, said=(
                    f"whether there is {text} is not known to these rules: it is newer than {newest}, the "
                    "newest that they know"))


def _of_other_pythons(environment: Environment, *, is_wanted: bool) -> Iterator[Note]:
    """Yield frameworks that are asked for with some Pythons alone, where nobody knows which there is."""
    if environment.python is not None:
        return
    counted = {str(one.name) for asked in releases.of_frameworks(environment.asked, None)
               if (one := releases.requirement_of(asked)) is not None}
    for asked in environment.asked:
        one = releases.requirement_of(asked)
        if (one is not None and one.name.lower() in FRAMEWORKS and not releases.applies(one, None)
                and any(releases.applies(one, f"3.{minor}") for minor in range(_MINORS))):
            yield Note(place=asked.place, matters=is_wanted and one.name not in counted, said=(
                f"{asked.text.strip()} is for some Pythons alone, and which one there is nobody says here: "
                "--assume python=VERSION does"))


def _of_moving(base: Base, place: Place, tables: Tables) -> Iterator[Note]:
    """Yield that nobody knows which release an image brings; one for the CPU is a finding in any."""
    if base.build != "cpu" and tags.moves(base, tables):
        yield Note(place=place, said=(
            f"which release {base.reference} brings is settled when it is pulled, so whether that runs with "
            "the driver and on the card was not judged: a tag that names its release would be"))


def unsaid(asked: Asked) -> Note:
    """Return what is said of a framework that may use a GPU, and of which no file says so."""
    return Note(place=asked.place, said=(
        f"{asked.text.strip()} was judged without a GPU: nothing here shows that it is to use one; --gpu, or "
        "a driver or a card by --assume, judges it for one"))


def of_others(environment: Environment, tables: Tables) -> Iterator[Note]:
    """Yield what is for GPUs and in no table; nothing of what is to run without."""
    for asked in () if environment.refuses_gpu else other_packages.unjudged(environment, tables):
        yield Note(place=asked.place, said=(
            f"{asked.text.strip()} was not judged: for which CUDA and which cards it is built is in no "
            "table"))


def of_hiding(environment: Environment, wish: Wish) -> Iterator[Note]:
    """Yield that a variable keeps the GPU away from what is otherwise made for one; nothing without it."""
    if environment.hiding is not None:
        setting = environment.settings[environment.hiding]
        yield Note(place=setting.place, said=(
            f"{environment.hiding} keeps every GPU away here, so all was judged as meant for the CPU, though "
            f"{wish.why}; --gpu judges it for one"))


def of_handing(environment: Environment, wishes: Sequence[Wish], *, wants_gpu: bool) -> Iterator[Note]:
    """Yield that who starts what is made for a GPU hands it none: the engine's default may do so yet."""
    if environment.given is False and wishes:
        yield Note(place=environment.place, matters=wants_gpu, said=(
            f"{environment.name} is made for a GPU ({wishes[0].why}) and is given none here: in compose "
            "write gpus: all, in a pod the limit nvidia.com/gpu: 1. Without it there is one only where "
            "NVIDIA's runtime is the engine's default, or where another file gives it"))


def of_break(found: Break, *, is_wanted: bool) -> Iterator[Note]:
    """Yield what is said of a package that breaks a framework, if it is taken; nothing where it is."""
    if found.open_:
        yield Note(place=found.asked.place, matters=found.is_python and is_wanted, said=(
            f"{found.one.asked.text.strip()} cannot be imported with {found.taken}, which is taken unless "
            f"{found.open_} ({found.row['reason']}): ask for {found.row['pin']} beside it"))


def of_processor(one: Chosen) -> Note:
    """Return what is said of a build for the CPU where nobody but the caller spoke of a GPU."""
    return Note(place=one.asked.place, said=(
        f"{one.asked.text.strip()} installs a build for the CPU, and was not judged for the GPU that was "
        "assumed; --gpu judges it"))


def of_host(environment: Environment, faults: Sequence[str]) -> Iterator[Note]:
    """Yield why no GPU works on the host, whatever is installed there; nothing where one works."""
    if faults:
        yield Note(place=environment.place, matters=True, said=(
            f"on the host that was named no GPU works: {'; '.join(faults)}. It was judged for one that "
            "works"))


def of_build(environment: Environment, base: Base | None, laid: Laid, found: AbstractSet[Place],
             ground: Ground, *, has_card: bool, observed: bool) -> Iterator[Note]:
    """Yield what frameworks for a GPU leave open; `found` are the places where something else is wrong."""
    for one in choosing.kept_for_cpu(laid.chosen):
        why = "only another package asks for it" if one.asked.is_brought else "it is called so"
        yield Note(place=one.asked.place, said=(
            f"{one.asked.text.strip()} is a build for the CPU ({why}), beside another framework that is not: "
            "it was taken to be meant so"))
    for one in laid.chosen:
        text, place = one.asked.text.strip(), one.asked.place
        lacking = [extra for extra in releases.extras_of(one.asked) if extra.startswith("cuda")]
        if one.framework == "jax" and one.build == "cpu" and one.stack is not None and lacking:
            yield Note(place=place, said=(
                f"jax {one.stack.version}, which {one.asked.tool} would take here, has no extra "
                f"{lacking[0]}: that ends in a warning, and in JAX for the CPU alone"))
        if one.stack is None and not found & {place, *(bound.place for bound in one.asked.bounds)}:
            why = torch_indexes.unknown(one.asked, ground.database.tables) or (
                f"these rules know no release that {one.asked.tool} would take for it here")
            yield Note(place=place, matters=one.build != "cpu", is_unknown=True, said=(
                f"{text} was not judged: {why}"))
        elif one.stack is not None and not one.is_measured and one.build != "cpu" and has_card:
            why = torch_indexes.unknown(one.asked, ground.database.tables) or (
                "this build of it is in no table" if one.is_other else "no table has its device code")
            yield Note(place=place, matters=True, said=(
                f"whether {text} has code for the card was not judged: {why}"))
    if laid.of_image and environment.image is not None and has_card:
        yield Note(place=environment.image.place, matters=True, said=(
            f"whether {laid.of_image} of the image has code for the card was not judged: this build of it is "
            "in no table"))
    if base is not None and environment.image is not None and (why := starting.left_open(base, ground)):
        yield Note(place=environment.image.place, matters=True, said=(
            f"whether {base.reference} starts on the driver {ground.driver} was not judged: {why}"))
    yield from _of_capabilities(environment, laid)
    if ground.driver is not None and not laid.kept_away:
        yield from _of_libcuda(environment, base, ground)
    waiting = [one for one in laid.chosen if one.stack and one.build != "cpu" and not one.brings_libraries]
    if waiting and waiting[-1].asked.place not in found:
        yield from _of_libraries(waiting[-1], environment, base, laid, observed=observed)


def _of_libraries(one: Chosen, environment: Environment, base: Base | None, laid: Laid, *, observed: bool
                  ) -> Iterator[Note]:
    """Yield why it is not known whether a framework finds CUDA libraries that are not installed with it."""
    text, place = one.asked.text.strip(), one.asked.place
    if not environment.in_container:
        if one.needs_system and not observed:
            yield Note(place=place, said=(
                f"{text} needs CUDA libraries of the machine, of which nothing is known here: "
                "`gpudoctor check` there tells"))
    elif environment.brought and environment.image is None and one.framework == "tensorflow":
        own = ", ".join(f"CUDA {other.cuda} ({other.text})" for other in environment.brought)
        why = "TensorFlow's wheels look into the environment's lib only where LD_LIBRARY_PATH names it"
        if brings_another(environment, [one]):
            why = f"{text} is built for CUDA {one.stack.cuda if one.stack else one.cuda}"
        yield Note(place=place, matters=True, said=(
            f"conda brings {own}, and {why}: whether it finds its libraries was not judged"))
    elif environment.alters_libraries or any(other.is_other and not other.by_conda for other in laid.chosen):
        yield Note(place=place, matters=True, said=(
            f"CUDA comes in a way that is not read here, so whether {text} finds its libraries was "
            "not judged"))
    elif base is None or base.libraries is None:
        yield Note(place=place, said=(
            f"whether {text} finds the CUDA libraries is up to the image, of which these rules know "
            "nothing: `gpudoctor check` in it tells"))


def _of_capabilities(environment: Environment, laid: Laid) -> Iterator[Note]:
    """Yield that NVML is withheld: the tables do not say which releases load it."""
    setting = environment.settings.get(reaching.CAPABILITIES)
    value = setting.value if setting is not None and setting.value is not None else ""
    given = {part.strip() for part in value.split(",")}
    if setting is not None and "compute" in given and not given & {"utility", "all"}:
        yield Note(place=setting.place, matters=bool(laid.chosen), said=(
            "without the capability utility there is no NVML (libnvidia-ml.so.1) in the container: "
            "nvidia-smi is missing, NCCL does not start, by which several cards work together, and a "
            "framework that loads NVML lists no GPU. Which one does was not judged: add utility"))


def _of_libcuda(environment: Environment, base: Base | None, ground: Ground) -> Iterator[Note]:
    """Yield what is not known of another libcuda that LD_LIBRARY_PATH has in front of the driver's."""
    setting = environment.settings.get(reaching.SEARCHED)
    folder = reaching.first_libcuda(environment, base)
    stubs = [one for one in (setting.stated.split(":") if setting else ()) if one.endswith("/stubs")]
    if setting is None or not environment.in_container:
        return
    if folder is not None:
        branch = reaching.compat_branch(base, ground.database.tables)
        yield Note(place=setting.place, matters=True, said=(
            f"{folder} has a libcuda of its own{f' (of the driver {branch})' if branch else ''}, which is "
            f"found before that of the driver {ground.driver}: whether the two fit, and it serves the "
            "card, was not judged. Take the folder out: the container runtime finds it by itself where it is "
            "needed"))
    elif stubs and base is not None and base.toolkits:
        yield Note(place=setting.place, said=(
            f"{stubs[0]} is for the linker: what asks there for libcuda.so, without .1, gets a placeholder "
            "that refuses to start. LIBRARY_PATH is enough for a build"))


def of_supposed(one: Chosen, causes: Sequence[str]) -> Note:
    """Return what is said of a release that stands in for one that cannot be known."""
    text, release = one.asked.text.strip(), one.stack.release if one.stack else ""
    if causes:
        return Note(place=one.asked.place, matters=True, said=(
            f"{text} {one.supposed}; was it {release}, this would be found: {', '.join(causes)}"))
    return Note(place=one.asked.place,
                said=f"{text} {one.supposed}; judged as {release}, nothing is wrong with it")
