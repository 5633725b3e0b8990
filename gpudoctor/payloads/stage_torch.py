"""PyTorch, for the framework stages."""

import importlib
import importlib.util
import os
import shutil
import sysconfig
import tempfile

from .stage_adapter import Adapter, Skipped, memory_limit_bytes


class Torch(Adapter):
    """The stages in PyTorch."""

    def __init__(self):
        Adapter.__init__(self)
        self.folder = None

    def variables(self, request):
        """Keep the compiler's caches in a folder that `close` removes, and its helpers in this process."""
        try:
            self.folder = tempfile.mkdtemp(prefix="gpudoctor-")
        except OSError:
            return {}
        return {
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(self.folder, "inductor"),
            "TRITON_CACHE_DIR": os.path.join(self.folder, "triton"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }

    def close(self):
        """Remove the caches."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def load(self, request):
        """Import PyTorch."""
        self.torch = importlib.import_module("torch")
        self.memory_limit_bytes = memory_limit_bytes(request)
        return str(self.torch.__version__)

    def gpus(self):
        """List the GPUs, as `torch.cuda.is_available` allows."""
        cuda = self.torch.cuda
        self.cards = ["cuda:%d" % i for i in range(cuda.device_count())] if cuda.is_available() else []
        return list(self.cards)

    def prepare(self):
        """Limit the memory (the allocator takes no more than it needs by itself)."""
        limit = getattr(self.torch.cuda, "set_per_process_memory_fraction", None)  # from 1.8 on
        if limit:
            for index in range(len(self.cards)):
                total = self.torch.cuda.get_device_properties(index).total_memory
                limit(min(1.0, float(self.memory_limit_bytes) / total), index)
        self.place = self.torch.device(self.cards[0] if self.cards else "cpu")

    def matmul(self, left, right):
        """Multiply; in FP32 as long as nobody asked for TF32."""
        return self.torch.matmul(self._made(left), self._made(right))

    def convolution(self, image, window):
        """Convolve."""
        return self.torch.nn.functional.conv2d(self._made(image), self._made(window))

    def compiled(self, values):
        """Compute the curve through torch.compile."""
        torch = self.torch
        if not hasattr(torch, "compile"):
            raise Skipped("this PyTorch has no torch.compile")
        if not self.cards:
            raise Skipped("PyTorch lists no GPU, and compiling for the CPU would try nothing of a GPU's")
        self._must_have_tools()
        return self._by_inductor(values)

    def _must_have_tools(self):
        """Skip where a tool is not there that Triton needs to build its launcher."""
        if importlib.util.find_spec("triton") is None:
            raise Skipped("torch.compile needs triton, which is not installed")
        compiler = os.environ.get("CC")
        if not any(shutil.which(name) for name in ([compiler] if compiler else ["gcc", "clang", "cc"])):
            raise Skipped("torch.compile needs a C compiler, and there is none")
        if not os.path.isfile(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
            raise Skipped("torch.compile needs this Python's C headers, and they are not installed")
        if self.folder is None:
            raise Skipped("no temporary folder can be made for what torch.compile writes")
        if os.statvfs(self.folder).f_flag & getattr(os, "ST_NOEXEC", 0):
            raise Skipped("torch.compile loads what it writes, and nothing in %s may be run" % self.folder)
        self._must_have_triton_for_the_card()

    def _must_have_triton_for_the_card(self):
        """Skip where PyTorch itself says that Triton has no code for the card; old ones do not say."""
        try:
            has_triton = importlib.import_module("torch.utils._triton").has_triton()
        except Exception:  # noqa: BLE001 - it is not PyTorch's public word: without it, it is tried
            return
        if not has_triton:
            raise Skipped("PyTorch says that Triton, its compiler, is not for this card")

    def _by_inductor(self, values):
        torch = self.torch

        def curve(x):
            return torch.tanh(x) * torch.exp(-x * x) + 0.5 * torch.sin(x)

        try:
            compiled = torch.compile(curve)
        except RuntimeError as error:  # nothing has run yet: it is not for this Python, or this system
            raise Skipped("torch.compile cannot be used here: %s" % error) from error
        return compiled(self._made(values))

    def reduced(self, precision, left, right):
        """Multiply in the precision."""
        torch = self.torch
        if precision == "tf32":
            return self._in_tf32(left, right)
        if not hasattr(torch, precision):
            raise Skipped("this PyTorch knows no %s" % precision)
        kind = getattr(torch, precision)
        return torch.matmul(self._made(left).to(kind), self._made(right).to(kind))

    def _in_tf32(self, left, right):
        switches = getattr(getattr(self.torch.backends, "cuda", None), "matmul", None)
        if switches is None or not hasattr(switches, "allow_tf32"):  # from 1.7 on
            raise Skipped("this PyTorch knows no TF32")
        before, switches.allow_tf32 = switches.allow_tf32, True
        try:
            return self.matmul(left, right)
        finally:
            switches.allow_tf32 = before

    def all_reduce(self, parts):
        """Add up through NCCL."""
        tensors = [self.torch.tensor(part, dtype=self.torch.float32, device=card)
                   for part, card in zip(parts, self.cards)]
        nccl = importlib.import_module("torch.cuda.nccl")
        if not nccl.is_available(tensors):
            raise Skipped("this PyTorch was built without NCCL")
        nccl.all_reduce(tensors)
        return tensors

    def _made(self, values):
        return self.torch.tensor(values, dtype=self.torch.float32, device=self.place)

    def listed(self, tensor):
        """Return the values as nested lists."""
        return tensor.to("cpu").to(self.torch.float32).tolist()

    def pointer(self, tensor):
        """Return where the values lie."""
        return tensor.data_ptr()

    def device(self, tensor):
        """Return PyTorch's own word for where the tensor lies."""
        return str(tensor.device)
