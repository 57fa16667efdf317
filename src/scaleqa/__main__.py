"""`python -m scaleqa`: the command without its script, as worker processes are started."""

from scaleqa.cli.app import main

if __name__ == "__main__":
    main()
