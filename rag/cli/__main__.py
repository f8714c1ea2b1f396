"""`python -m rag.cli`, where no `attest` was installed."""

from rag.cli import main

main()
