"""PaddlePaddle 2 and newer, for the framework stages."""

import importlib
import os
import socket

from .stage_adapter import Adapter, Skipped, Told, memory_limit_bytes, pointer_in_capsule, told
from .stage_peers import Peers

# Where the processes of the user's own job would meet, which is asked before PADDLE_TRAINER_ENDPOINTS.
_MEETING_OF_OTHERS = ("MASTER_ADDR", "MASTER_PORT", "PADDLE_MASTER")


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
        self.request = request
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
        """Compute the curve through CINN; what `to_static` makes by itself is a graph, no machine code."""
        paddle = self.paddle
        if not getattr(paddle, "is_compiled_with_cinn", lambda: False)():
            raise Skipped("this Paddle was built without CINN, its compiler")
        if not self.cards:
            raise Skipped("Paddle lists no GPU, and compiling for the CPU would try nothing of a GPU's")

        def curve(x):
            return paddle.tanh(x) * paddle.exp(-x * x) + 0.5 * paddle.sin(x)

        try:
            compiled = paddle.jit.to_static(curve, backend="CINN", full_graph=True)
        except TypeError as error:  # before 2.6
            raise Skipped("this Paddle's to_static cannot ask for CINN: %s" % error) from error
        return compiled(self._made(values))

    def reduced(self, precision, left, right):
        """Multiply in the precision."""
        if precision == "tf32":
            return self._in_tf32(left, right)
        kinds = [self.paddle.cast(self._made(matrix), precision) for matrix in (left, right)]
        return self.paddle.matmul(*kinds)

    def _in_tf32(self, left, right):
        inner = getattr(self.paddle, "base", None) or getattr(self.paddle, "fluid", None)  # the older
        core = getattr(inner, "core", None)
        if core is None or not hasattr(core, "set_cublas_switch"):
            raise Skipped("this Paddle has no switch for TF32")
        before = core.get_cublas_switch()
        core.set_cublas_switch(True)
        try:
            return self.matmul(left, right)
        finally:
            core.set_cublas_switch(before)

    def all_reduce(self, parts):
        """Add up as Paddle does it: in a process for each card, of which this one is the first's."""
        is_available = getattr(self.paddle.distributed, "is_available", None)  # from 2.4 on
        if is_available is not None and not is_available():
            raise Skipped("this Paddle was built without its distributed part")
        endpoints = _free_endpoints(len(parts))
        requests = [dict(self.request, rank=rank, endpoints=endpoints, part=parts[rank])
                    for rank in range(1, len(parts))]
        with Peers(requests) as peers:
            peers.hear()  # that each has imported Paddle: nobody comes to a meeting that cannot be
            try:
                first = told(self, self.part_of_sum(0, endpoints, parts[0]))
            except Exception as error:  # noqa: BLE001 - whatever it is, it may be another's fault
                peers.hear_why(error)
            return [first] + [Told(**one) for one in peers.hear()]

    def part_of_sum(self, rank, endpoints, part):
        """Join the others and add up; return the sum on the card of this rank."""
        for name in _MEETING_OF_OTHERS:
            os.environ.pop(name, None)
        os.environ.update({
            "PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": str(len(endpoints)),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints), "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
            "FLAGS_selected_gpus": str(rank)})
        self.paddle.set_device(self.cards[rank])
        self.paddle.distributed.init_parallel_env()
        tensor = self._made(part)
        self.paddle.distributed.all_reduce(tensor)
        return tensor

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


def _free_endpoints(count):
    """Return addresses of this machine alone, of ports that nobody listens to now."""
    listening = [socket.socket() for _ in range(count)]
    try:
        for one in listening:
            one.bind(("127.0.0.1", 0))
        return ["127.0.0.1:%d" % one.getsockname()[1] for one in listening]
    finally:
        for one in listening:
            one.close()
