"""Names that sound like a framework's: which are wrong, what was meant, and which are real."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb
from gpudoctor.manifests.names import misnamed
from tests.unit.test_manifest_troubles import causes, judged


@pytest.mark.parametrize(("name", "nearest"), [
    ("pytorch", ("torch",)), ("PyTorch", ("torch",)), ("torch-gpu", ("torch",)), ("torch_cuda12", ("torch",)),
    ("gpu-torch", ("torch",)), ("pytorch-cpu", ("torch",)), ("troch", ("torch",)), ("torrch", ("torch",)),
    ("tensorflw", ("tensorflow",)), ("tesnorflow", ("tensorflow",)), ("tenserflow", ("tensorflow",)),
    ("tensorflow.cuda", ("tensorflow[and-cuda]", "tensorflow")),
    ("tf", ("tensorflow[and-cuda]", "tensorflow")),
    ("jax-cuda", ("jax[cuda12]", "jax[cuda13]")), ("jax-gpu", ("jax[cuda12]", "jax[cuda13]")),
    ("jaxlib_cuda12", ("jax[cuda12]", "jax[cuda13]")), ("paddle", ("paddlepaddle-gpu", "paddlepaddle")),
    ("paddle-gpu", ("paddlepaddle-gpu",)), ("paddlepadle-gpu", ("paddlepaddle-gpu",)),
    ("torchvison", ("torchvision",)),
    ("nvidia-cudnn", ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13")),
])
def test_a_wrong_name_has_a_right_one(name: str, nearest: tuple[str, ...]) -> None:
    found = misnamed(name, frozenset(), ruledb.load().tables)
    assert found is not None
    assert found.nearest == nearest


@pytest.mark.parametrize("name", [
    "torch", "tensorflow", "tensorflow-cpu", "paddlepaddle_gpu", "jax", "jaxlib", "jax-cuda12-plugin",
    "jax-cuda13-pjrt", "tf-nightly", "tf-keras", "tensorflow-io", "tensorflow-gnn", "tensorflow-text",
    "tensorflowjs", "tensorflew", "torchx", "torc", "touch", "torch-geometric", "torchmetrics", "gpytorch",
    "pytorch-lightning", "pytorch-cuda-tools", "sensorflow", "cupy-cuda12x", "onnxruntime-gpu", "faiss-gpu",
    "lax", "gpu", "cuda", "-",
    "tensorflow" * 100,
])
def test_a_real_name_is_left_alone(name: str) -> None:
    assert misnamed(name, frozenset(), ruledb.load().tables) is None


def test_where_another_index_may_have_it_nothing_is_said() -> None:
    """Named to pip, or by the package that makes NVIDIA's own index known; conda's names are its own."""
    for text in ("--index-url https://mine.example/simple\npytorch\n", "nvidia-pyindex\nnvidia-tensorflow\n",
                 "pytorch ; sys_platform == 'win32'\n"):
        assert causes(judged({"requirements.txt": text})) == []
    assert causes(judged({"environment.yml": "dependencies:\n- pytorch\n- tensorflow-gpu=2.4\n"})) == []
    found = judged({"environment.yml": "dependencies:\n- pip:\n  - pytorch\n"})
    assert causes(found) == ["distribution-misnamed"]
