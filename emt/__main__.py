"""``python -m emt``: the same as the command ``emt``."""

from emt.command import main

if __name__ == "__main__":
    main()
