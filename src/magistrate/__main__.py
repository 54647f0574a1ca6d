"""``python -m magistrate`` is the ``magistrate`` command."""

from magistrate.cli.main import run

if __name__ == "__main__":
    run()
