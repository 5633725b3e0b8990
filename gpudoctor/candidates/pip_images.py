"""Images into which each build of a release was installed by pip: named by the form of their tags, and judged
as that build is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from gpudoctor import versions
from gpudoctor.candidates.ground import version_of, with_facts
from gpudoctor.candidates.judging import Judge, Judged
from gpudoctor.derive.stacks import Stack, stacks_of
from gpudoctor.model import Rejection, Row, Tables, Unknown, rows_of

PLATFORM = "linux_x86_64"  # for others these images hold builds for the CPU
_SINCE = "each_cuda_since"
_GLIBC = Unknown(reason="the image has the one that its release was built for", asked=False)


def rows(framework: str, tables: Tables) -> Iterator[Row]:
    """Yield what is known of each, the newest build first."""
    for form in rows_of(tables, "image_tags"):
        if form.get("framework") != framework or _SINCE not in form:
            continue
        for stack in stacks_of(framework, PLATFORM, tables):
            cudnn = str(stack.row.get("cudnn", ""))
            if stack.is_prerelease or not stack.cuda or not cudnn or (
                    versions.parse(stack.version) < versions.parse(str(form[_SINCE]))):
                continue
            tag = str(form["form"]).format(version=stack.version, cuda=versions.minor_of(stack.cuda),
                                           cudnn=versions.parse(cudnn).major)
            yield {"image": form["image"], "tag": tag, "framework": stack.version, "cuda": stack.cuda,
                   "cudnn": cudnn, "release": stack.release, "source": form["source"],
                   "note": f"named by the form of its tags and judged by the build in it, "
                           f"{stack.release}: the image was not read"}


class Inside:
    """A machine that runs images: such a one brings its Python and its C library."""

    def __init__(self, judge: Judge) -> None:
        """Take who judges builds on the machine: where its C library would do, so does the image's."""
        self.base, self._on_host = judge.base, judge

    @cached_property
    def _judge(self) -> Judge:
        return Judge(with_facts(self.base, {"system.glibc": _GLIBC}))

    @cached_property
    def _builds(self) -> Mapping[str, Stack]:
        tables = self.base.database.tables
        names = {str(form["framework"]) for form in rows_of(tables, "image_tags") if _SINCE in form}
        return {one.release: one for name in names for one in stacks_of(name, PLATFORM, tables)}

    def judged(self, row: Row) -> Judged:
        """Return what speaks against an image; what a fix would have to change in it does, too."""
        stack = self._builds[str(row["release"])]
        glibc, floor = version_of(self.base.fact("system.glibc")), str(stack.row.get("glibc", "0"))
        would_do = glibc is not None and versions.parse(glibc) >= versions.parse(floor)
        judged = (self._on_host if would_do else self._judge).by_rules((stack,))
        unfixed = tuple(Rejection(rule=finding.rule, message=finding.message)
                        for finding, _ in judged.remedies)
        return replace(judged, objections=judged.objections or unfixed)
