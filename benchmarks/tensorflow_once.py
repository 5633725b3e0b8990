"""What a full check has to do with TensorFlow at the least: import it; on a GPU, run each operation once.

The operations of gpudoctor's stages in their shapes and precisions (payloads/stage_work.py, whose references
are not worked out here). As there, nothing is run where TensorFlow lists no GPU, but with `anywhere`.
"""

import runpy
import sys
from pathlib import Path

import tensorflow as tf  # type: ignore[import-untyped]

PAYLOADS = Path(__file__).parents[1] / "gpudoctor" / "payloads"


def told(name: str, result: tf.Tensor) -> None:
    """Fetch a result, as whoever looks at it must."""
    print(name, result.numpy().shape, result.dtype.name)


def main() -> None:
    """Run all stages that one card has."""
    cards = tf.config.list_physical_devices("GPU")
    if not cards and "anywhere" not in sys.argv:
        return
    for card in cards:
        tf.config.experimental.set_memory_growth(card, True)
    work = runpy.run_path(str(PAYLOADS / "stage_work.py"))
    square = tf.random.uniform((work["MATMUL_SIZE"], work["MATMUL_SIZE"]))
    told("matmul", tf.matmul(square, square))
    image = tf.random.uniform((1, work["IMAGE_SIZE"], work["IMAGE_SIZE"], work["CHANNELS_IN"]))
    window = tf.random.uniform((work["WINDOW"], work["WINDOW"], work["CHANNELS_IN"], work["CHANNELS_OUT"]))
    told("convolution", tf.nn.conv2d(image, window, strides=1, padding="VALID"))
    curve = tf.function(lambda x: tf.tanh(x) * tf.exp(-x * x) + 0.5 * tf.sin(x), jit_compile=True)
    told("compiled", curve(tf.random.uniform((work["CURVE_VALUES"],))))
    left = tf.random.uniform((work["REDUCED_ROWS"], work["REDUCED_DEPTH"]))
    for precision in ("float16", "bfloat16"):
        told(precision, tf.matmul(tf.cast(left, precision), tf.cast(tf.transpose(left), precision)))
    tf.config.experimental.enable_tensor_float_32_execution(True)
    told("tf32", tf.matmul(left, tf.transpose(left)))


main()
