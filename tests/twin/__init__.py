"""The host twin: emitted text compiled by g++ and run against the simulator's memories.

Scalar code and control flow run natively; each Ascend C call goes back to Python, where the op row
that the header says it is runs on a core of the simulator. The text is the only thing that the
twin knows of a kernel, so a fault of lowering makes its results differ from the simulator's.
"""
