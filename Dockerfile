# gpudoctor's own pre-flight image: is the GPU usable from a container on this node?
#   docker build -t gpudoctor .
#   docker run --rm --gpus all gpudoctor
#   docker run --rm --gpus all gpudoctor check --format json --require "gpu>=8"
# Where no image registry can be reached: --build-arg BASE=IMAGE, any Linux image with Python 3.10 or newer and venv.
ARG BASE=python:3-slim

FROM ${BASE} AS build
COPY . /source
RUN python3 -m venv /opt/gpudoctor \
 && /opt/gpudoctor/bin/python -m pip install --no-cache-dir --no-compile \
        --constraint /source/constraints/development.txt /source \
 && /opt/gpudoctor/bin/python -m pip uninstall --yes pip

FROM ${BASE}
COPY --from=build /opt/gpudoctor /opt/gpudoctor
# What the NVIDIA runtime mounts into the container: compute is libcuda, utility is NVML.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    PATH=/opt/gpudoctor/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
ENTRYPOINT ["gpudoctor"]
CMD ["check"]
