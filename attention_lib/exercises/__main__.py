"""The command line of the exercises: `python -m attention_lib.exercises --help`."""

import argparse
import math
import os
import signal
import sys
import textwrap
from pathlib import Path

from . import report
from .catalogue import EXERCISES

DESCRIPTION = (
    "Run students' notebooks, each in a kernel and in its own folder, and print what check said to each exercise. "
    "This executes the students' code on this machine, with your rights: nothing keeps a notebook from reading or "
    "deleting your files. Report on what you would also open and run by hand."
)


def main(arguments=None):
    """Run the command line; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except BrokenPipeError:  # whoever read the table, as head does, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m attention_lib.exercises",
        description="The exercises of the notebooks, for whoever teaches with them.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    reporting = commands.add_parser(
        "report",
        help="run students' notebooks, and say how far they got",
        description=textwrap.fill(DESCRIPTION, 88),
        epilog="\n".join(
            ["outcomes:", *(f"  {name:15}{words}" for name, words in report.OUTCOMES.items())]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reporting.set_defaults(command=_report)
    reporting.add_argument(
        "paths",
        nargs="+",
        metavar="NOTEBOOK_OR_FOLDER",
        help="a notebook, or a folder to search for notebooks, with the folders in it",
    )
    reporting.add_argument(
        "--csv",
        type=_table_file,
        metavar="FILE",
        help="write the rows to this file as CSV too; with -, print them as CSV instead of the table",
    )
    reporting.add_argument(
        "--seconds",
        type=_positive(float),
        default=120,
        metavar="N",
        help="time for each notebook (default: 120)",
    )
    reporting.add_argument(
        "--jobs",
        type=_positive(int),
        metavar="N",
        help="how many notebooks to run at once (default: as many as there are CPUs)",
    )
    listing = commands.add_parser(
        "list", help="list the exercises, and how many mistakes each knows"
    )
    listing.set_defaults(command=_list)
    return parser


def _report(options):
    """Print the report. stdout has nothing else: progress is told on stderr."""
    notebooks = report.find_notebooks(options.paths)
    rows_of, exit_code = {}, 0
    try:
        for notebook, rows in report.run(notebooks, options.seconds, options.jobs):
            rows_of[notebook] = rows
            if len(notebooks) > 1:
                print(f"{len(rows_of)} of {len(notebooks)}  {notebook.name}", file=sys.stderr)
    except ImportError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print(f"Stopped: {len(rows_of)} of {len(notebooks)} notebooks are done.", file=sys.stderr)
        exit_code = 130  # as the shell has it
    rows = [row for notebook in notebooks for row in rows_of.get(notebook, [])]
    if options.csv == "-":
        sys.stdout.reconfigure(encoding="utf-8")
        print(report.as_csv(rows), end="")
        return exit_code
    sys.stdout.reconfigure(errors="backslashreplace")  # for a file name that a terminal cannot show
    print(report.as_table(rows), report.summary(rows), sep="\n\n")
    if options.csv:
        try:
            Path(options.csv).write_text(report.as_csv(rows), encoding="utf-8", newline="")
        except OSError as error:
            sys.exit(f"The CSV file was not written: {error}")
    return exit_code


def _list(_options):
    width = max(map(len, EXERCISES))
    for name, exercise in EXERCISES.items():
        print(f"{name:{width}}  {len(exercise.mistakes):2} known mistakes")
    return 0


def _positive(number):
    """Return what reads an option that must be above 0."""

    def read(text):
        try:
            value = number(text)
        except ValueError:
            value = 0
        if not 0 < value < math.inf:
            kind = "a whole number" if number is int else "a number"
            raise argparse.ArgumentTypeError(f"it must be {kind} above 0. Got {text!r}.")
        return value

    return read


def _table_file(text):
    """Return a file that CSV can be written to, or -; before an hour of work, not after it."""
    path = Path(text)
    if path.suffix == ".ipynb":
        raise argparse.ArgumentTypeError(
            f"it must not be a notebook, which CSV would replace. Got {text!r}."
        )
    if text != "-" and (path.is_dir() or not path.parent.is_dir()):
        raise argparse.ArgumentTypeError(
            f"it must be a file in a folder that exists, or -. Got {text!r}."
        )
    return text


if __name__ == "__main__":
    # A run that is terminated ends as with Ctrl-C: its kernels with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
