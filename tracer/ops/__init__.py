"""The op table: one module a family of Ascend C functions, one `OpSpec` an operation."""
