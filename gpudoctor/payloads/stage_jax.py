"""JAX, for the framework stages."""

import importlib
import os

from .stage_adapter import Adapter, Skipped, memory_share

_NEW_SHARE = "XLA_CLIENT_MEM_FRACTION"
_GPU_PLATFORMS = ("gpu", "cuda", "rocm")


class Jax(Adapter):
    """The stages in JAX."""

    def variables(self, request):
        """Take memory only as it is needed, no more than the limit, and leave no compiled program on disk.

        JAX can be held to a share of a card: without preallocation its allocator grows up to that share. Of a
        card whose size is not known nothing can be said; then the inputs take a few MB beside the libraries'
        own workspaces. The allocator stays the user's: "platform", which heeds no share, has crashed
        (jax-ml/jax#18663), and some releases put one behind it that heeds no other variable (#39145). The
        variable has two names, and jaxlib refuses to start with both: a user's newer one is set in its place.
        """
        variables = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAX_ENABLE_COMPILATION_CACHE": "false"}
        share = memory_share(request)
        if share is not None:
            name = _NEW_SHARE if os.environ.get(_NEW_SHARE) else "XLA_PYTHON_CLIENT_MEM_FRACTION"
            variables[name] = "%.6f" % share
        return variables

    def load(self, request):
        """Import JAX."""
        self.jax = importlib.import_module("jax")
        self.lax = importlib.import_module("jax.lax")
        self.numpy = importlib.import_module("jax.numpy")
        return str(self.jax.__version__)

    def gpus(self):
        """List the GPUs of JAX's default backend; that starts the backend."""
        devices = self.jax.local_devices()
        self.cards = [device for device in devices if device.platform in _GPU_PLATFORMS]
        return [str(device) for device in self.cards]

    def prepare(self):
        """Choose the first GPU, or the CPU when none is listed."""
        self.place = self.cards[0] if self.cards else self.jax.devices("cpu")[0]

    def matmul(self, left, right):
        """Multiply in FP32."""
        return self.lax.dot(self._made(left), self._made(right), precision=self.lax.Precision.HIGHEST)

    def convolution(self, image, window):
        """Convolve."""
        return self.lax.conv(self._made(image), self._made(window), (1, 1), "VALID")

    def compiled(self, values):
        """Compute the curve through XLA."""
        numpy = self.numpy

        def curve(x):
            return numpy.tanh(x) * numpy.exp(-x * x) + 0.5 * numpy.sin(x)

        return self.jax.jit(curve)(self._made(values))

    def reduced(self, precision, left, right):
        """Multiply in the precision; JAX's default for FP32 is TF32 on a card that has it."""
        left, right = self._made(left), self._made(right)
        if precision != "tf32":
            left, right = left.astype(precision), right.astype(precision)
        return self.lax.dot(left, right, precision=self.lax.Precision.DEFAULT)

    def all_reduce(self, parts):
        """Add up through NCCL, which XLA uses between GPUs."""
        jax, lax = self.jax, self.lax
        if not hasattr(jax, "pmap"):
            raise Skipped("this JAX has no pmap")
        summed = jax.pmap(lambda row: lax.psum(row, "cards"), axis_name="cards", devices=self.cards)
        total = summed(self._array(parts))
        shards = getattr(total, "addressable_shards", None)
        if shards is not None:
            return [shard.data.reshape(len(parts[0])) for shard in shards]
        return [total[index] for index in range(len(parts))]

    def _array(self, values):
        return importlib.import_module("numpy").array(values, dtype="float32")

    def _made(self, values):
        return self.jax.device_put(self._array(values), self.place)

    def listed(self, tensor):
        """Return the values as nested lists."""
        return importlib.import_module("numpy").asarray(tensor).astype("float32").tolist()

    def pointer(self, tensor):
        """Return where the values lie."""
        if hasattr(tensor, "unsafe_buffer_pointer"):
            return tensor.unsafe_buffer_pointer()
        return tensor.device_buffer.unsafe_buffer_pointer()  # before 0.2

    def device(self, tensor):
        """Return JAX's own word for where the array lies."""
        if hasattr(tensor, "devices"):
            return " ".join(sorted(str(device) for device in tensor.devices()))
        return str(tensor.device_buffer.device())
