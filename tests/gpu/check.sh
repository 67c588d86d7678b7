#!/usr/bin/env bash
# The check of one GPU, in about ten minutes: what of the trainer can only be seen there.
#   tests/gpu/check.sh [FOLDER OF A MODEL] [OUTPUT FOLDER]
# Needs torch for CUDA, vLLM and this project in one environment: pip install -e '.[client,train,vllm]'.
# Without a folder the bundled tiny model is used; a small real one, such as Qwen3-0.6B, says more.
# Prints one JSON object and exits with 0 if every step passed. The output folder keeps the logs.
set -euo pipefail
cd "$(dirname "$0")/../.."
model="${1:-nano}"
out="${2:-gpu-check}"
mkdir -p "$out"
exec "${PYTHON:-python}" tests/gpu/check.py --model "$model" --out "$out"
