"""What a full check has to do with TensorFlow at the least: import it; on a GPU, run each operation once."""

import tensorflow as tf  # type: ignore[import-untyped]

if tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("GPU")[0], True)
    square = tf.random.uniform((256, 256))
    print(float(tf.reduce_sum(square @ square)))
    image, kernel = tf.random.uniform((1, 32, 32, 8)), tf.random.uniform((3, 3, 8, 8))
    print(float(tf.reduce_sum(tf.nn.conv2d(image, kernel, strides=1, padding="SAME"))))
    compiled = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * x), jit_compile=True)
    print(float(compiled(square)))
    half = tf.cast(square, tf.float16)
    print(float(tf.reduce_sum(tf.cast(half @ half, tf.float32))))
