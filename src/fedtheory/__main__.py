"""`python -m fedtheory`: the command."""

from fedtheory.cli import main

if __name__ == "__main__":
    main()
