"""TensorFlow 2.0 and newer, for the framework stages."""

import importlib

from .stage_adapter import Adapter, Skipped, memory_limit_bytes, pointer_in_capsule


class TensorFlow(Adapter):
    """The stages in TensorFlow."""

    channels_first = False  # its convolution on the CPU has no other order

    def variables(self, request):
        """Let memory grow, and let the log name the library that cannot be opened.

        Measured on a scripted driver, importing and listing the GPUs. Bytes on stderr for 2.20 (all libraries
        there) and 2.21 (cuSOLVER missing): nothing set 932 and 1572, and no library is named;
        TF_CPP_MAX_VLOG_LEVEL=1 4854 and 3984; =2 4854 and 4624; =3 4854 and 4766; TF_CPP_VMODULE=dso_loader=1
        2372 and 2786, and that says of each library, in dlopen's words, why it could not be opened.
        """
        return {
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
            "TF_CPP_MIN_LOG_LEVEL": "0",
            "TF_CPP_MAX_VLOG_LEVEL": "0",
            "TF_CPP_VMODULE": "dso_loader=1",
        }

    def load(self, request):
        """Import TensorFlow."""
        self.tf = importlib.import_module("tensorflow")
        self.memory_limit_bytes = memory_limit_bytes(request)
        return str(self.tf.__version__)

    def gpus(self):
        """List the GPUs; none is made ready by that."""
        config = self.tf.config
        listing = getattr(config, "list_physical_devices", None) or config.experimental.list_physical_devices
        self.physical = listing("GPU")
        self.cards = ["/GPU:%d" % index for index in range(len(self.physical))]
        return [device.name for device in self.physical]

    def prepare(self):
        """Forbid TensorFlow to move an operation to the CPU by itself, and limit its memory."""
        if not self.tf.executing_eagerly():
            raise Skipped("the stages need TensorFlow 2, with eager execution")
        config = self.tf.config
        config.set_soft_device_placement(False)
        old = config.experimental
        limited = getattr(config, "LogicalDeviceConfiguration", None) or old.VirtualDeviceConfiguration
        limit = getattr(config, "set_logical_device_configuration", None)
        limit = limit or old.set_virtual_device_configuration
        for device in self.physical:
            limit(device, [limited(memory_limit=self.memory_limit_bytes >> 20)])
        self.place = self.cards[0] if self.cards else "/CPU:0"

    def matmul(self, left, right):
        """Multiply."""
        with self.tf.device(self.place):
            return self.tf.matmul(self._made(left), self._made(right))

    def convolution(self, image, window):
        """Convolve."""
        with self.tf.device(self.place):
            return self.tf.nn.conv2d(self._made(image), self._made(window), strides=1, padding="VALID")

    def compiled(self, values):
        """Compute the curve through XLA."""
        tf = self.tf

        def curve(x):
            return tf.tanh(x) * tf.exp(-x * x) + 0.5 * tf.sin(x)

        with tf.device(self.place):
            return self._by_xla(curve)(self._made(values))

    def _by_xla(self, function):
        for option in ("jit_compile", "experimental_compile"):
            try:
                return self.tf.function(function, **{option: True})
            except TypeError:
                continue
        raise Skipped("this TensorFlow's tf.function cannot ask for XLA")

    def reduced(self, precision, left, right):
        """Multiply in the precision."""
        tf = self.tf
        if precision == "tf32":
            switch = getattr(tf.config.experimental, "enable_tensor_float_32_execution", None)
            if switch is None:
                raise Skipped("this TensorFlow knows no TF32")
            switch(True)
            return self.matmul(left, right)
        with tf.device(self.place):
            return tf.matmul(tf.cast(self._made(left), precision), tf.cast(self._made(right), precision))

    def all_reduce(self, parts):
        """Add up through NCCL; what the strategy does beside that may need the CPU."""
        tf = self.tf
        tf.config.set_soft_device_placement(True)
        strategy = tf.distribute.MirroredStrategy(self.cards, cross_device_ops=tf.distribute.NcclAllReduce())
        run = getattr(strategy, "run", None) or strategy.experimental_run_v2
        rows = self._made(parts)

        def step():
            context = tf.distribute.get_replica_context()
            row = tf.gather(rows, context.replica_id_in_sync_group)
            return context.all_reduce(tf.distribute.ReduceOp.SUM, row)

        return list(strategy.experimental_local_results(tf.function(lambda: run(step))()))

    def _made(self, values):
        return self.tf.constant(values, dtype=self.tf.float32)

    def listed(self, tensor):
        """Return the values as nested lists."""
        return tensor.numpy().astype("float32").tolist()

    def pointer(self, tensor):
        """Return where the values lie; None before TensorFlow 2.2, which has no DLPack."""
        dlpack = getattr(self.tf.experimental, "dlpack", None)
        return pointer_in_capsule(dlpack.to_dlpack(tensor)) if dlpack else None

    def device(self, tensor):
        """Return TensorFlow's own word for where the tensor lies."""
        return str(getattr(tensor, "backing_device", "") or tensor.device)
