"""The part of the build that pyproject.toml cannot say: find packages under the mapped roots."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent


def find_packages() -> list[str]:
    """Dotted names of all packages; `tracer/vm` is `asctrace.tracer.vm`."""
    packages = []
    for root in ("asctrace", "tracer", "lowering", "runtime"):
        for init in (ROOT / root).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT).parts
            packages.append(".".join(parts if root == "asctrace" else ("asctrace", *parts)))
    return sorted(packages)


if __name__ == "__main__":
    from setuptools import setup

    setup(packages=find_packages())
