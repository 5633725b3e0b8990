"""`python -m gpudoctor`: the interpreter that runs it is the one it examines."""

from gpudoctor.cli import main

main()
