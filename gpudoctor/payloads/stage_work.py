"""What the framework stages compute: inputs, results worked out in plain Python, and how far off is right.

Nothing of a framework or of NumPy takes part in the references, so that a broken one cannot vouch for itself.
"""

import math
import operator

MATMUL_SIZE = 128
REDUCED_ROWS, REDUCED_DEPTH = 32, 128
IMAGE_SIZE, CHANNELS_IN, CHANNELS_OUT, WINDOW = 12, 4, 8, 3
CURVE_VALUES = 4096
REDUCE_VALUES = 1024
# Digits of the significand in binary, the leading one counted.
SIGNIFICAND_BITS = {"float16": 11, "bfloat16": 8, "tf32": 11}
# The largest |left| and |right| whose sums of 128 products stay below 2 ** SIGNIFICAND_BITS.
REDUCED_LARGEST = {"float16": (4, 3), "bfloat16": (1, 1), "tf32": (4, 3)}
# Winograd's transforms are not whole numbers. Rounded to the digits of TF32 or FP16 they put this very case
# off by up to 0.0052 of its largest value (tiles of 4 x 4). Less than 1 in all: a wrong sum is off by that.
CONVOLUTION_TOLERANCE = 2e-2
# The worst that a compiler may choose is the hardware's tanh.approx.f32, within 2 ** -11 of a value below 1;
# the other functions and all roundings together are off by less than 4e-6.
CURVE_TOLERANCE = 1e-3


class Case:
    """One computation: its inputs, the right result and the largest error that is no fault."""

    def __init__(self, name, inputs, expected, tolerance):
        self.name = name
        self.inputs = inputs
        self.expected = expected
        self.tolerance = tolerance


def matmul():
    """Return the FP32 product of two matrices of small whole numbers.

    Tolerance 0: every number has at most 4 digits (FP32, TF32 and FP16 hold them), every sum stays below
    128 * 8 * 8 = 2 ** 13, so that nothing is rounded in any order of adding.
    """
    left, right = _whole(MATMUL_SIZE, MATMUL_SIZE, 8, 1), _whole(MATMUL_SIZE, MATMUL_SIZE, 8, 2)
    return Case("float32", (left, right), _product(left, right), 0.0)


def reduced(precision):
    """Return a product whose every partial sum the precision itself can hold, so that any order gives it.

    Tolerance: one rounding of the largest value, for cards that round what need not be. It is less than 1,
    the least that a wrong sum of whole numbers is off.
    """
    largest_left, largest_right = REDUCED_LARGEST[precision]
    left = _whole(REDUCED_ROWS, REDUCED_DEPTH, largest_left, 3)
    right = _whole(REDUCED_DEPTH, REDUCED_ROWS, largest_right, 4)
    expected = _product(left, right)
    largest = max(abs(value) for row in expected for value in row)
    return Case(precision, (left, right), expected, largest * 2.0 ** -SIGNIFICAND_BITS[precision])


def convolution(channels_first):
    """Return a 3 x 3 convolution without padding.

    Image and result are [1, row, column, channel] and the filter [row, column, in, out]; with
    `channels_first` they are [1, channel, row, column] and [out, in, row, column].
    """
    image = [_whole(IMAGE_SIZE, CHANNELS_IN, 2, 5 + row) for row in range(IMAGE_SIZE)]
    window = [[_whole(CHANNELS_IN, CHANNELS_OUT, 2, 50 + 3 * row + column) for column in range(WINDOW)]
              for row in range(WINDOW)]
    result = _convolved(image, window)
    largest = max(abs(value) for row in result for pixel in row for value in pixel)
    if channels_first:
        image, result = _channels_first(image), _channels_first(result)
        side = range(WINDOW)
        window = [[[[window[row][column][source][target] for column in side] for row in side]
                   for source in range(CHANNELS_IN)] for target in range(CHANNELS_OUT)]
    return Case("float32", ([image], window), [result], CONVOLUTION_TOLERANCE * largest)


def curve():
    """Return tanh(x) * exp(-x * x) + sin(x) / 2, of which a compiler needs NVIDIA's libdevice."""
    values = [(index - CURVE_VALUES // 2) / 512.0 for index in range(CURVE_VALUES)]  # exact in FP32
    expected = [math.tanh(x) * math.exp(-x * x) + 0.5 * math.sin(x) for x in values]
    return Case("float32", (values,), expected, CURVE_TOLERANCE)


def all_reduce(cards):
    """Return one list of whole numbers for each card, and what every card holds afterwards (tolerance 0)."""
    parts = [[float((index + card) % 61 - 30) for index in range(REDUCE_VALUES)] for card in range(cards)]
    return Case("float32", (parts,), [sum(column) for column in zip(*parts)], 0.0)


def compared(values, expected, tolerance):
    """Return (largest finite error, what is wrong or None) of two nested lists."""
    shape, flat = _flattened(values)
    right_shape, right = _flattened(expected)
    if shape != right_shape:
        return 0.0, "the result's shape is %s, not %s" % (_shown(shape), _shown(right_shape))
    largest, wrong, first = 0.0, 0, None
    for index, (got, want) in enumerate(zip(flat, right)):
        error = abs(got - want)
        if math.isfinite(error):
            largest = max(largest, error)
        if not error <= tolerance:  # so that NaN is wrong too
            wrong += 1
            first = index if first is None else first
    if first is None:
        return largest, None
    return largest, "%d of %d values are wrong; number %d is %r, not %r" % (
        wrong, len(right), first, flat[first], right[first])


def _whole(rows, columns, largest, seed):
    """Return a matrix of whole numbers from -largest to largest, the same at each call."""
    state, matrix = seed, []
    for _ in range(rows):
        row = []
        for _ in range(columns):
            state = (state * 1103515245 + 12345) % 2147483648
            row.append(float((state >> 16) % (2 * largest + 1) - largest))
        matrix.append(row)
    return matrix


def _product(left, right):
    columns = list(zip(*right))
    return [[sum(map(operator.mul, row, column)) for column in columns] for row in left]


def _convolved(image, window):
    """Slide the window over the image: each result row is a product of the patches and the filters."""
    filters = [row for line in window for pixel in line for row in pixel]
    side = IMAGE_SIZE - WINDOW + 1
    result = []
    for top in range(side):
        patches = [
            [value for row in image[top:top + WINDOW] for pixel in row[left:left + WINDOW] for value in pixel]
            for left in range(side)]
        result.append(_product(patches, filters))
    return result


def _channels_first(image):
    return [[[pixel[channel] for pixel in row] for row in image] for channel in range(len(image[0][0]))]


def _flattened(nested):
    """Return the shape of nested lists and their numbers in order; a ragged one has shape None."""
    shape, level = [], nested
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        level = level[0] if level else None
    flat = [nested]
    for length in shape:
        if any(not isinstance(part, (list, tuple)) or len(part) != length for part in flat):
            return None, []
        flat = [item for part in flat for item in part]
    if any(isinstance(item, (bool, complex)) or not isinstance(item, (int, float)) for item in flat):
        return None, []
    return tuple(shape), flat


def _shown(shape):
    return "x".join(str(length) for length in shape) if shape is not None else "no shape of numbers"
