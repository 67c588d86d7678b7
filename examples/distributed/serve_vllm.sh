#!/usr/bin/env bash
# Starts a vLLM server that spade-train can sample from ([rollout] engine = "vllm-server").
#   examples/distributed/serve_vllm.sh MODEL PORT [further options of vLLM, such as --tensor-parallel-size 4]
# spade-train must be installed beside vLLM. The development mode has the endpoint that reloads
# weights and lets anyone who reaches the port use it: listen on a trusted network only.
set -euo pipefail
model="$1" port="$2"
shift 2
export VLLM_SERVER_DEV_MODE=1
exec "${PYTHON:-python}" -m vllm.entrypoints.openai.api_server \
  --model "$model" --host "${HOST:-127.0.0.1}" --port "$port" \
  --worker-extension-cls spade_train.engines.vllm_worker.WorkerExtension \
  --logprobs-mode processed_logprobs --generation-config vllm \
  --enable-prefix-caching "$@"
