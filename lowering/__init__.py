"""From the trace to Ascend C: checks (`checks`), tables (`report`) and the text (`text`).

Imports `tracer` only.
"""
