"""All tests run in float64, as notebooks, docs and the command line do.

Programs are compiled without XLA's costly optimisations: the tests run each of them a
few times only.
"""

import os

FAST = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FAST}".strip()

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

collect_ignore = ["batch_on_hosts.py", "in_a_new_process.py", "kept_programs.py"]
"""What tests run in processes of their own."""
