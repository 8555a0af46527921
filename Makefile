# make app    the dashboard on http://127.0.0.1:8501 (PORT=8601 make app for another port)
# make test   all tests, with ruff, pyright and hadolint among them
# make lint   ruff and pyright alone
# Each sets up .venv first and says what it installs; nothing to do takes no time.
PYTHON ?= python3
PORT ?= 8501
ADDRESS ?= 127.0.0.1

.PHONY: app test lint set-up

set-up:
	@$(PYTHON) scripts/set_up.py

app: set-up
	@.venv/bin/python scripts/serve.py --address $(ADDRESS) --port $(PORT)

lint: set-up
	.venv/bin/ruff check
	.venv/bin/pyright

test:
	@$(PYTHON) scripts/set_up.py --browser
	.venv/bin/python -m pytest
