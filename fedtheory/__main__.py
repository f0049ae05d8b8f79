"""`python -m fedtheory`: the command `fedtheory`."""

from fedtheory.cli import main

if __name__ == "__main__":
    main()
