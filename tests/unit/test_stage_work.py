"""The framework stages' references, what counts as a right result, and what counts as proof of a card."""

from __future__ import annotations

import ctypes
import math
import mmap
import random
import struct
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.payloads import stage_libraries, stage_proof
from gpudoctor.payloads import stage_work as work
from gpudoctor.probes import stages
from tests.shim import build
from tests.unit.driver_answers import TWO_CARDS, machine

REPOSITORY = Path(__file__).parents[2]
CASES = {
    "matmul": work.matmul(),
    "convolution": work.convolution(channels_first=False),
    "convolution, channels first": work.convolution(channels_first=True),
    "curve": work.curve(),
    "all-reduce": work.all_reduce(3),
    **{precision: work.reduced(precision) for precision in work.SIGNIFICAND_BITS},
}


def flat(nested: Any) -> list[float]:
    return [item for part in nested for item in flat(part)] if isinstance(nested, list) else [nested]


def rounded_to(bits: int, value: float) -> float:
    """Return the nearest number whose significand has that many binary digits."""
    if value == 0:
        return value
    _, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(value, bits - exponent)), exponent - bits)


def bent(nested: Any, where: int, by: float) -> Any:
    """Return nested lists with one number changed."""
    values = iter([value + by if index == where else value for index, value in enumerate(flat(nested))])

    def filled(part: Any) -> Any:
        return [filled(item) for item in part] if isinstance(part, list) else next(values)

    return filled(nested)


@pytest.mark.parametrize("name", CASES)
def test_the_reference_itself_is_right(name: str) -> None:
    """Nothing is off, and nothing is wrong."""
    case = CASES[name]
    assert work.compared(case.expected, case.expected, case.tolerance) == (0.0, None)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=20)
@given(data=st.data())
def test_one_wrong_number_is_found_wherever_it_is(name: str, data: st.DataObject) -> None:
    """A little more than the tolerance is too much, in either direction; NaN and infinity are wrong."""
    case = CASES[name]
    where = data.draw(st.integers(0, len(flat(case.expected)) - 1))
    by = data.draw(st.sampled_from([1.0, -1.0, math.nan, math.inf]))
    error, wrong = work.compared(bent(case.expected, where, by), case.expected, case.tolerance)
    assert wrong is not None
    assert f"1 of {len(flat(case.expected))} values are wrong; number {where}" in wrong
    assert math.isfinite(error)


@pytest.mark.parametrize("values", [
    None, 0.0, [], [[0.0]], [0.0, 0.0, 0.0], [0.0, [0.0]], [[0.0], 0.0],
    ["0", "0"], [True, False], [0j, 0j], [None, None],
])
def test_another_shape_is_wrong(values: Any) -> None:
    """And whatever is no number."""
    assert work.compared(values, [0.0, 0.0], 9.0)[1] is not None


def test_the_product_is_what_exact_arithmetic_gives() -> None:
    """Checked against fractions, in rows and columns picked out."""
    case = work.matmul()
    left, right = case.inputs
    for row, column in [(0, 0), (127, 127), (5, 99), (64, 1)]:
        exact = sum(Fraction(left[row][k]) * Fraction(right[k][column]) for k in range(work.MATMUL_SIZE))
        assert Fraction(case.expected[row][column]) == exact


def test_fp32_and_tf32_hold_the_product_exactly() -> None:
    """Inputs fit the 11 digits of TF32, and any sum of the products' sizes fits the 24 of FP32."""
    left, right = work.matmul().inputs
    assert all(rounded_to(11, value) == value for value in flat(left) + flat(right))
    largest = max(abs(value) for value in flat(left)) * max(abs(value) for value in flat(right))
    assert largest * work.MATMUL_SIZE < 2 ** 24


@pytest.mark.parametrize("precision", work.SIGNIFICAND_BITS)
def test_any_order_of_adding_in_the_precision_itself_gives_the_product(precision: str) -> None:
    """No partial sum needs a digit that the precision lacks, so that no right card can be called wrong."""
    bits = work.SIGNIFICAND_BITS[precision]
    case = work.reduced(precision)
    left, right = case.inputs
    assert all(rounded_to(bits, value) == value for value in flat(left) + flat(right))
    for row, column in zip(left, zip(*right, strict=True), strict=True):
        assert sum(abs(a * b) for a, b in zip(row, column, strict=True)) <= 2 ** bits
    assert 0 < case.tolerance < 1


def test_fp16_is_told_from_a_card_that_drops_its_low_digits() -> None:
    """Results cut to 5 digits are out of tolerance."""
    case = work.reduced("float16")
    cut = [[rounded_to(5, value) for value in row] for row in case.expected]
    assert work.compared(cut, case.expected, case.tolerance)[1] is not None


def test_the_convolution_is_the_sum_over_its_window() -> None:
    """Both orders of the channels, at corners and in the middle."""
    last, first = work.convolution(channels_first=False), work.convolution(channels_first=True)
    image, window = last.inputs
    other_image, other_window = first.inputs
    taps = [(r, c, k) for r in range(3) for c in range(3) for k in range(work.CHANNELS_IN)]
    for row, column, out in [(0, 0, 0), (9, 9, 7), (4, 7, 3)]:
        sums = (sum(image[0][row + r][column + c][k] * window[r][c][k][out] for r, c, k in taps),
                sum(other_image[0][k][row + r][column + c] * other_window[out][k][r][c] for r, c, k in taps))
        assert sums == (last.expected[0][row][column][out], first.expected[0][out][row][column])


WINOGRAD_IMAGE = ((4, 0, -5, 0, 1, 0), (0, -4, -4, 1, 1, 0), (0, 4, -4, -1, 1, 0),
                  (0, -2, -1, 2, 1, 0), (0, 2, -1, -2, 1, 0), (0, 4, 0, -5, 0, 1))
WINOGRAD_FILTER = ((1 / 4, 0, 0), (-1 / 6, -1 / 6, -1 / 6), (-1 / 6, 1 / 6, -1 / 6),
                   (1 / 24, 1 / 12, 1 / 6), (1 / 24, -1 / 12, 1 / 6), (0, 0, 1))
WINOGRAD_RESULT = ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1))


def on_both_sides(matrix: Any, tile: Any) -> list[list[float]]:
    """Return matrix x tile x the matrix transposed."""
    half = [[sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*tile, strict=True)]
            for row in matrix]
    return [[sum(a * b for a, b in zip(row, other, strict=True)) for other in matrix] for row in half]


@pytest.mark.parametrize(("bits", "right"), [(24, True), (11, True), (5, False)])
def test_winograds_rounding_is_no_fault(bits: int, right: bool) -> None:
    """Tiles of 4 x 4 whose transforms keep the digits of FP32, those of TF32, and next to none."""
    case = work.convolution(channels_first=True)
    image, window = case.inputs[0][0], case.inputs[1]
    channels = range(work.CHANNELS_IN)

    def kept(tile: list[list[float]]) -> list[list[float]]:
        return [[rounded_to(bits, value) for value in row] for row in tile]

    results: list[Any] = []
    for filters in window:
        turned = [kept(on_both_sides(WINOGRAD_FILTER, filters[k])) for k in channels]
        cut = [kept(on_both_sides(WINOGRAD_IMAGE, [row[:6] for row in image[k][:6]])) for k in channels]
        products = [[sum(turned[k][i][j] * cut[k][i][j] for k in channels) for j in range(6)]
                    for i in range(6)]
        results.append(on_both_sides(WINOGRAD_RESULT, products))
    expected = [[row[:4] for row in plane[:4]] for plane in case.expected[0]]
    assert (work.compared(results, expected, case.tolerance)[1] is None) is right


def test_fp32_computes_the_curve_within_the_tolerance() -> None:
    """Each step rounded to FP32 stays far closer than the tolerance; BF16's digits do not."""
    case = work.curve()

    def near(bits: int) -> list[float]:
        def cut(value: float) -> float:
            return rounded_to(bits, value)

        return [cut(cut(cut(math.tanh(x)) * cut(math.exp(cut(-x * x)))) + cut(0.5 * cut(math.sin(x))))
                for x in case.inputs[0]]

    assert all(struct.unpack("f", struct.pack("f", x)) == (x,) for x in case.inputs[0])
    error, wrong = work.compared(near(24), case.expected, case.tolerance)
    assert (wrong, error < case.tolerance / 10) == (None, True)
    assert work.compared(near(8), case.expected, case.tolerance)[1] is not None


def test_all_cards_of_an_all_reduce_hold_the_sum() -> None:
    """Each card gives something else, and a card left out changes the sum."""
    case = work.all_reduce(4)
    parts = case.inputs[0]
    assert len({tuple(part) for part in parts}) == 4
    assert case.expected == [float(sum(column)) for column in zip(*parts, strict=True)]
    without_one = [sum(column) for column in zip(*parts[:3], strict=True)]
    assert work.compared(without_one, case.expected, case.tolerance)[1] is not None


@pytest.mark.parametrize(("proof", "missing"), [
    ({"memory_type": 2, "ordinal": 0, "readable_here": False}, ""),
    ({"memory_type": 1, "ordinal": 0, "readable_here": False}, "does not say"),
    ({"memory_type": 2, "ordinal": 0, "readable_here": True}, "can read"),
    ({"memory_type": 2, "ordinal": 0}, "can read"),
    ({"error": "why"}, "why"),
    ({}, "does not say"),
])
def test_only_unreadable_device_memory_is_a_proof(proof: dict[str, object], missing: str) -> None:
    """Everything else says what is missing."""
    answer = stage_proof.missing(proof)
    assert (answer == "") == (missing == "")
    assert missing in answer


def test_without_a_driver_in_the_process_there_is_no_proof() -> None:
    """None is loaded for asking."""
    value = ctypes.c_float()
    for pointer in (None, 0, "7", ctypes.addressof(value)):
        assert stage_proof.missing(stage_proof.examined(pointer))
    assert not any("libcuda.so" in path for path in stage_libraries.mapped_files())


def test_host_memory_is_no_proof_even_where_a_driver_calls_it_a_device_s(tmp_path: Path) -> None:
    """A scripted driver says "device" of its own memory, which this process can read."""
    proof, missing = asked_of_scripted_driver(tmp_path, "")
    assert "'memory_type': 2" in proof
    assert missing == "the result lies in memory that this process itself can read"


def test_managed_memory_is_called_so(tmp_path: Path) -> None:
    """Both can read there, so that it proves nothing."""
    _, missing = asked_of_scripted_driver(tmp_path, "managed=1\n")
    assert missing.endswith("can read, which the driver moves to and fro")


def test_a_thread_without_a_context_is_given_one_for_asking(tmp_path: Path) -> None:
    """And has none afterwards, as before."""
    without = ("driver.cuCtxSetCurrent(None); kind = ctypes.c_uint(); "
               "assert driver.cuPointerGetAttribute(ctypes.byref(kind), 2, memory) == 201")
    proof, _ = asked_of_scripted_driver(tmp_path, "pointer_needs_context=1\n", without)
    assert "'memory_type': 2" in proof
    assert "'ordinal': 0" in proof


def asked_of_scripted_driver(folder: Path, lines: str, before: str = "pass") -> list[str]:
    """Return what is said of memory of a scripted driver, and what is missing to a proof."""
    driver = machine(folder, TWO_CARDS + lines, cuda=build.cuda(driver_version="570.86.15"))
    script = (
        "import ctypes; from gpudoctor.payloads import stage_proof\n"
        "driver = ctypes.CDLL('libcuda.so.1'); context, memory = ctypes.c_void_p(), ctypes.c_uint64()\n"
        "assert driver.cuInit(0) == 0 and driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0\n"
        "assert driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == 0\n"
        f"{before}; driver.cuCtxGetCurrent(ctypes.byref(context)); was = context.value\n"
        "proof = stage_proof.examined(memory.value); print(proof); print(stage_proof.missing(proof))\n"
        "assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context.value == was\n")
    variables = {"LD_LIBRARY_PATH": str(driver), "GPUDOCTOR_SHIM": str(driver / "script")}
    ran = subprocess.run([sys.executable, "-c", script], env=variables, cwd=REPOSITORY,
                         capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


@pytest.mark.parametrize(("name", "counts"), [
    ("libcuda.so.1", True), ("libcublasLt.so.12.9.1.4", True), ("libcudart-1b201d85.so.10.1", True),
    ("libnvidia-ptxjitcompiler.so.570.86.15", True), ("libnvJitLink.so.12", True), ("libnccl.so.2", True),
    ("libcurl.so.4", False), ("libcups.so.2", False), ("libc.so.6", False), ("libcublas.txt", False),
])
def test_mapped_gpu_libraries_are_known_by_name(name: str, counts: bool, tmp_path: Path) -> None:
    """Seen in the process's own maps."""
    path = tmp_path / name
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        assert (str(path) in stage_libraries.gpu_libraries()) is counts
    assert str(path) not in stage_libraries.gpu_libraries()


def test_the_ptx_compiler_is_told_in_every_stage_with_the_work_of_that_stage(tmp_path: Path) -> None:
    """A regression: it was told once, so that only the stage in which it came could be compiling."""
    told: list[tuple[str, str, float, float]] = []
    watch = stage_libraries.Watch(lambda *seen: told.append(seen), limit_seconds=1.0)
    watch.start()
    path = tmp_path / "libnvidia-ptxjitcompiler.so.570.86.15"
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        watch.begin("busy")
        while not [one for one in told if one[2] > 1]:  # what it does is work
            pass
        watch.begin("asleep")
        while not [one for one in told if one[0] == "asleep" and one[2] > 1]:
            time.sleep(0.05)
    watch.end()
    assert {one[1] for one in told} == {str(path)}
    shares = {stage: busy / seconds for stage, _, seconds, busy in told}
    assert shares["asleep"] < stages._BUSY_SHARE
    assert shares["busy"] > 2 * shares["asleep"]


def test_nothing_is_told_while_no_ptx_compiler_is_there() -> None:
    """A stage that takes long is not compiling by that alone."""
    told: list[object] = []
    watch = stage_libraries.Watch(lambda *seen: told.append(seen), limit_seconds=1.0)
    watch.start()
    watch.begin("busy")
    time.sleep(3 * stage_libraries._LOOK_EVERY_SECONDS)
    watch.end()
    assert told == []


def test_a_process_knows_for_how_long_it_has_been_there() -> None:
    """Counted from its start, not from its first line of Python."""
    script = ("import time; time.sleep(1); from gpudoctor.payloads import stage_libraries;"
              "print(stage_libraries.process_seconds())")
    begun = time.monotonic()
    ran = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True,
                         check=True)
    assert 0.9 < float(ran.stdout) < time.monotonic() - begun + 0.1


def test_inputs_are_the_same_each_time() -> None:
    """Whatever else uses random numbers."""
    before = work.matmul().inputs
    random.seed(7)
    assert work.matmul().inputs == before
