"""A scripted NVIDIA driver: C sources of libnvidia-ml.so.1 and libcuda.so.1, and how they are built."""
