"""asctrace: plain Python functions become Ascend C kernels."""

__version__ = "0.1.0"
