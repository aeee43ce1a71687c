"""What doctests cannot be collected from here: modules of an extra that is not installed.

`make test-deep` installs jax and collects them; `make test-integrations` installs Opacus.
"""

from importlib.util import find_spec

collect_ignore_glob = (
    [] if find_spec("jax") else ["*/mechanisms/adaptation/*.py", "*/training/jax/*.py"]
)
for module, library in {
    "flower": "flwr",
    "huggingface": "transformers",
    "lightning": "lightning",
    "nvflare": "nvflare",
}.items():
    if not find_spec(library):
        collect_ignore_glob.append(f"*/integrations/guards/{module}.py")
if not find_spec("opacus"):
    collect_ignore_glob.append("*/integrations/opacus.py")
if not find_spec("torch") or not find_spec("opacus"):
    collect_ignore_glob.append("*/training/torch/*.py")
