"""Read parts of published wheels through the package index that pip is configured with.

Wheels are zip files: an HTTP Range request reaches the directory at the end, another one any single member.
"""

import ast
import io
import os
import re
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urljoin

import requests
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from pip._internal.models.index import PyPI
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

CONNECTIONS = 6
TIMEOUT_SECONDS = 120
BUFFER_BYTES = 1 << 18
# For a member that is most of its wheel: by small parts it would take an hour.
LARGE_BUFFER_BYTES = 1 << 24
READ_ATTEMPTS = 4
JSON_INDEX = "application/vnd.pypi.simple.v1+json"
SYSTEMS = {"manylinux": "linux", "linux": "linux", "win": "windows", "macosx": "macos"}
MACHINES = ("x86_64", "aarch64", "arm64", "amd64", "i686", "ppc64le", "s390x", "universal2", "intel")


@dataclass(frozen=True, kw_only=True)
class WheelFile:
    """One wheel as the index lists it; `platform` is such as linux_x86_64, or any."""

    project: str
    version: str
    filename: str
    url: str
    sha256: str
    uploaded: str
    platform: str
    pythons: tuple[str, ...]
    platform_tags: tuple[str, ...]
    yanked: bool = False


def configured_index() -> str:
    """Return the simple index that pip would ask: by its environment variable, its files, its own default."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    for name in (":env:.index-url", "global.index-url"):
        if name in settings:
            return str(ast.literal_eval(settings[name])).rstrip("/")
    return str(PyPI.simple_url).rstrip("/")


def open_session() -> requests.Session:
    """Return a session that keeps few connections and repeats what fails for a passing reason."""
    session = requests.Session()
    retry = Retry(total=6, backoff_factor=1, status_forcelist=(429, 500, 502, 503, 504), allowed_methods=None)
    adapter = HTTPAdapter(max_retries=retry, pool_maxsize=CONNECTIONS, pool_block=True)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    session.headers["User-Agent"] = "gpudoctor-update-tables"
    if certificates := os.environ.get("PIP_CERT"):
        session.verify = certificates
    return session


class WheelIndex:
    """The index and the one session through which everything is asked."""

    def __init__(self) -> None:
        self.base_url = configured_index()
        self.session = open_session()

    def wheels(self, project: str) -> list[WheelFile]:
        """Return every wheel of a project; an empty list for a project that the index does not have."""
        page_url = f"{self.base_url}/{canonicalize_name(project)}/"
        response = self.session.get(
            page_url, headers={"Accept": f"{JSON_INDEX}, text/html;q=0.5"}, timeout=TIMEOUT_SECONDS
        )
        if response.status_code == 404:
            return []
        response.raise_for_status()
        if JSON_INDEX in response.headers.get("Content-Type", ""):
            entries = [_entry_of_json(file) for file in response.json()["files"]]
        else:
            entries = _entries_of_html(response.text)
        found = (_wheel_file(project, page_url, *entry) for entry in entries)
        return [wheel for wheel in found if wheel is not None]

    def metadata_text(self, wheel: WheelFile) -> str:
        """Return a wheel's METADATA: the file beside the wheel (PEP 658), else the member in it."""
        response = self.session.get(f"{wheel.url}.metadata", timeout=TIMEOUT_SECONDS)
        if response.ok and response.text.startswith("Metadata-Version"):
            return response.text
        with self.open(wheel) as archive:
            return read_text(archive, dist_info_member(archive, "METADATA"))

    def open(self, wheel: WheelFile, *, buffer_bytes: int = BUFFER_BYTES) -> zipfile.ZipFile:
        """Open a wheel for reading single members by Range requests of `buffer_bytes`."""
        raw = RangeFile(session=self.session, url=wheel.url)
        return zipfile.ZipFile(io.BufferedReader(raw, buffer_size=buffer_bytes))


class RangeFile(io.RawIOBase):
    """A remote file that is read by Range requests."""

    def __init__(self, *, session: requests.Session, url: str) -> None:
        super().__init__()
        self._session = session
        self._url = url
        self._position = 0
        response = session.head(url, timeout=TIMEOUT_SECONDS, allow_redirects=True)
        response.raise_for_status()
        self._size = int(response.headers["Content-Length"])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = origin + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        end = min(self._position + len(buffer), self._size)
        if end <= self._position:
            return 0
        wanted = {"Range": f"bytes={self._position}-{end - 1}", "Accept-Encoding": "identity"}
        for attempt in range(1, READ_ATTEMPTS + 1):
            try:
                response = self._session.get(self._url, headers=wanted, timeout=TIMEOUT_SECONDS)
                break
            except requests.RequestException:  # also one that ends amid the answer, which is never repeated
                if attempt == READ_ATTEMPTS:
                    raise
                time.sleep(attempt)
        if response.status_code != 206:
            raise OSError(f"{self._url}: status {response.status_code} for a Range request")
        data = response.content
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def preference(wheel: WheelFile) -> tuple[Any, ...]:
    """Order the wheels of one release for one platform as pip does: what it would install comes last.

    The newer platform tag counts first, then the build number of a wheel that was published again.
    """
    build = parse_wheel_filename(wheel.filename)[2]
    return max(wheel.platform_tags), build, wheel.filename


def read_text(archive: zipfile.ZipFile, member: str) -> str:
    """Return a member as text."""
    return archive.read(member).decode("utf-8", "replace")


def dist_info_member(archive: zipfile.ZipFile, name: str) -> str:
    """Return the path of a file of the wheel's own .dist-info folder."""
    pattern = re.compile(rf"[^/]+\.dist-info/{re.escape(name)}")
    return next(member for member in archive.namelist() if pattern.fullmatch(member))


def platform_of(tag: str) -> str:
    """Translate a platform tag: manylinux_2_17_x86_64 -> linux_x86_64, win_amd64 -> windows_x86_64."""
    system = next((name for prefix, name in SYSTEMS.items() if tag.startswith(prefix)), None)
    machine = next((name for name in MACHINES if tag.endswith(name)), None)
    if system is None or machine is None:
        return tag
    return f"{system}_{'x86_64' if machine in ('amd64', 'intel') else machine}"


def _wheel_file(
    project: str, page_url: str, href: str, sha256: str, uploaded: str, yanked: bool
) -> WheelFile | None:
    filename = unquote(href.rsplit("/", 1)[-1])
    try:
        _, version, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return None  # a source archive or a name from before the rules for names
    platforms = sorted({tag.platform for tag in tags})
    return WheelFile(
        project=str(canonicalize_name(project)),
        version=str(version),
        filename=filename,
        url=urljoin(page_url, href),
        sha256=sha256,
        uploaded=uploaded[:10],
        platform=platform_of(platforms[0]),
        pythons=tuple(sorted({tag.interpreter for tag in tags if not tag.abi.endswith("t")})),
        platform_tags=tuple(platforms),
        yanked=yanked,
    )


def _entry_of_json(file: dict[str, Any]) -> tuple[str, str, str, bool]:
    # A withdrawn file has its reason there, which may be an empty text.
    withdrawn = file.get("yanked", False) is not False
    return file["url"], file["hashes"].get("sha256", ""), file.get("upload-time", ""), withdrawn


def _entries_of_html(page: str) -> list[tuple[str, str, str, bool]]:
    parser = _Links()
    parser.feed(page)
    return parser.entries


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.entries: list[tuple[str, str, str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: unescape(value or "") for name, value in attrs}
        href, _, fragment = attributes.get("href", "").partition("#")
        if tag == "a" and href:
            sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
            withdrawn = "data-yanked" in attributes
            self.entries.append((href, sha256, attributes.get("data-upload-time", ""), withdrawn))
