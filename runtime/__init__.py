"""From a Python function to a finished launch: jit, specialisation, devices."""
