"""pyasc's package of the same name; `runtime` is in it."""
