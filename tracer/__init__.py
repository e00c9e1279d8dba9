"""From Python bytecode to an op trace."""
