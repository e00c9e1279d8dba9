"""What a kernel author touches: dtypes, enums, parameter structs, scalars, tensors, queues."""
