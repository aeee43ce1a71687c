"""Run by `make wheel` inside a clean environment: the installed wheel is whole and names nothing else."""

import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path


def main() -> None:
    import dpcheck
    import dpcheck.audits
    import dpcheck.mechanisms

    assert "site-packages" in dpcheck.__file__, dpcheck.__file__
    for name in ("mechanisms", "audits"):
        assert importlib.util.find_spec(name) is None, f"a top-level module {name} was installed"
    files = importlib.metadata.files("dpcheck") or []
    tops = {Path(str(file)).parts[0] for file in files}
    foreign = {t for t in tops if not t.startswith("dpcheck") and t != ".."}
    assert not foreign, foreign
    assert any(str(f) == "dpcheck/py.typed" for f in files)
    bound = dpcheck.epsilon(dpcheck.PureDP(0.5) * 2)
    assert bound.upper == 1.0, bound
    script = Path(sys.executable).with_name("dpcheck")
    shown = subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout
    assert dpcheck.__version__ in shown, shown
    print(f"wheel ok: dpcheck {dpcheck.__version__}, {len(files)} files")


if __name__ == "__main__":
    main()
