# One process that serves the page and the API over the library in /data.
# Build: docker build -t attest .   Run: see compose.yaml and docs/how-to/serve.md
FROM python:3.11-slim AS build
# A compiler makes the kernels of transformer/native; without them all works, more slowly.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# The CPU build of torch; name another index with --build-arg PIP_ARGS="--index-url …".
ARG PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"
# What else is to be in it: --build-arg EXTRAS="[postgres]"
ARG EXTRAS=""
RUN python -m venv /opt/attest \
    && /opt/attest/bin/pip install --no-cache-dir -c constraints.txt $PIP_ARGS ".$EXTRAS"

FROM python:3.11-slim
# libgomp1: threads of torch and FAISS. tesseract: scanned pages, with ATTEST_OCR=1.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        libgomp1 tesseract-ocr tesseract-ocr-kor \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 attest \
    && install -d -o attest -g attest /data /models
COPY --from=build /opt/attest /opt/attest
ENV PATH=/opt/attest/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ATTEST_HOME=/data \
    ATTEST_MODELS_DIR=/data/models \
    ATTEST_HOST=0.0.0.0 \
    ATTEST_LOG_LEVEL=info
USER attest
VOLUME /data
EXPOSE 7860
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:7860/health', timeout=4)"]
ENTRYPOINT ["attest"]
CMD ["serve"]
