"""What the programs in this folder share: parameters, run identity, checkpoints, adapters, engines.

Modules import nothing but the standard library at the top unless their docstring says otherwise,
so that `--help` and `--check-config` work where neither torch nor Ray is installed.
"""
