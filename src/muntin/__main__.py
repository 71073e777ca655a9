"""Run the command line as `python -m muntin`."""

from muntin.cli import main

if __name__ == "__main__":
    main(prog_name="muntin")
