"""The ACL runtime through ctypes: bindings, devices, streams, events, memory, errors.

Nothing here is loaded before the first launch on an NPU. `prototypes` has every function that is
used, `codes` every error that is translated.
"""
