"""PaddlePaddle 2 and newer, for the framework stages."""

import importlib

from .stage_adapter import Adapter, Skipped, memory_limit_bytes, pointer_in_capsule


class Paddle(Adapter):
    """The stages in PaddlePaddle."""

    def variables(self, request):
        """Let memory grow to the limit."""
        return {
            "FLAGS_allocator_strategy": "auto_growth",
            "FLAGS_gpu_memory_limit_mb": str(memory_limit_bytes(request) >> 20),
        }

    def load(self, request):
        """Import Paddle."""
        self.paddle = importlib.import_module("paddle")
        return str(self.paddle.__version__)

    def gpus(self):
        """List the GPUs; a build without CUDA has none."""
        paddle = self.paddle
        count = paddle.device.cuda.device_count() if paddle.is_compiled_with_cuda() else 0
        self.cards = ["gpu:%d" % index for index in range(count)]
        return list(self.cards)

    def prepare(self):
        """Put everything on the first GPU, or on the CPU when none is listed."""
        if not hasattr(self.paddle, "to_tensor"):
            raise Skipped("the stages need Paddle 2")
        self.paddle.set_device(self.cards[0] if self.cards else "cpu")

    def matmul(self, left, right):
        """Multiply."""
        return self.paddle.matmul(self._made(left), self._made(right))

    def convolution(self, image, window):
        """Convolve."""
        return self.paddle.nn.functional.conv2d(self._made(image), self._made(window))

    def compiled(self, values):
        """Skip: what `to_static` makes by itself is a graph, no machine code."""
        has_compiler = getattr(self.paddle, "is_compiled_with_cinn", lambda: False)()
        raise Skipped("gpudoctor does not try CINN, Paddle's compiler" if has_compiler
                      else "this Paddle was built without CINN, its compiler")

    def reduced(self, precision, left, right):
        """Multiply in the precision."""
        if precision == "tf32":
            raise Skipped("Paddle cannot be told in the program to use TF32")
        kinds = [self.paddle.cast(self._made(matrix), precision) for matrix in (left, right)]
        return self.paddle.matmul(*kinds)

    def _made(self, values):
        return self.paddle.to_tensor(values, dtype="float32")

    def listed(self, tensor):
        """Return the values as nested lists."""
        return self.paddle.cast(tensor, "float32").numpy().tolist()

    def pointer(self, tensor):
        """Return where the values lie."""
        if hasattr(tensor, "data_ptr"):
            return tensor.data_ptr()
        return pointer_in_capsule(importlib.import_module("paddle.utils.dlpack").to_dlpack(tensor))

    def device(self, tensor):
        """Return Paddle's own word for where the tensor lies."""
        return str(tensor.place)
