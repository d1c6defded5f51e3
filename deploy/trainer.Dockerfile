# A trainer: torch, the wheel of make release, and your train.py.
#
#   make release VERSION=snapshot
#   docker build -f deploy/trainer.Dockerfile -t registry.example.com/trainer:1 dist/snapshot
#
# The context is the directory of a release, into which train.py is copied. For GPUs take torch's CUDA index.
FROM python:3.12.12-slim-bookworm AS build
ARG TORCH=2.10.0
ARG INDEX=https://download.pytorch.org/whl/cpu
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir --index-url "${INDEX}" "torch==${TORCH}" numpy==2.3.5
RUN --mount=type=bind,target=/release /venv/bin/pip install --no-cache-dir /release/shardfeed-*_"$(uname -m)".whl

FROM python:3.12.12-slim-bookworm
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH SHARDFEED_CACHE_DIR=/cache
RUN install -d -o 65532 -g 65532 -m 0700 /cache
USER 65532:65532
WORKDIR /app
COPY train.py .
ENTRYPOINT ["python", "train.py"]
