# Two images from one file:
#   docker build --target view  -t kernel-reach:view .     browse and export, no torch, no grading
#   docker build --target grade -t kernel-reach:grade .    the same and the grader, for CUDA machines
FROM debian:bookworm-slim AS base
ENV LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# Not pinned: Debian removes a version when a security update replaces it.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        chromium \
        fonts-dejavu-core \
        fonts-noto-color-emoji \
        python3 \
        tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 reach \
    && useradd --no-log-init --create-home --uid 10001 --gid reach reach \
    && install --directory --owner=reach --group=reach /data

# The packages are installed in stages of their own: pip and its tools stay out of the images.
FROM base AS view-packages
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/venv
COPY requirements-view.txt /tmp/requirements/
RUN /opt/venv/bin/pip install --no-cache-dir -r /tmp/requirements/requirements-view.txt

FROM view-packages AS grade-packages
COPY requirements.txt /tmp/requirements/
RUN /opt/venv/bin/pip install --no-cache-dir -r /tmp/requirements/requirements.txt

FROM nvidia/cuda:13.0.1-devel-ubuntu22.04 AS cuda

FROM base AS grade
# The toolkit builds candidates written in CUDA (load_inline); g++, make's replacement ninja (from
# pip) and Python's headers belong to it, and Triton compiles a small launcher in C. The runtime
# libraries come with torch, the driver from the host (NVIDIA Container Toolkit).
COPY --from=cuda /usr/local/cuda-13.0 /usr/local/cuda
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ libc6-dev python3-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=grade-packages /opt/venv /opt/venv
COPY . /app
WORKDIR /app
ENV PATH=/opt/venv/bin:/usr/local/cuda/bin:$PATH \
    CUDA_HOME=/usr/local/cuda \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    KERNEL_REACH_DATA=/data
USER 10001:10001
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "scripts/healthy.py"]
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["python", "scripts/serve.py", "--address", "0.0.0.0"]

# Last, so that a build without --target makes the lean one.
FROM base AS view
COPY --from=view-packages /opt/venv /opt/venv
COPY . /app
WORKDIR /app
ENV PATH=/opt/venv/bin:$PATH \
    KERNEL_REACH_DATA=/data
USER 10001:10001
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "scripts/healthy.py"]
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["python", "scripts/serve.py", "--address", "0.0.0.0"]
