"""The command line of the exercises: `python -m attention_lib.exercises --help`."""

import argparse
import importlib.util
import math
import os
import secrets
import signal
import sys
import textwrap
import time
from pathlib import Path

from .catalogue import EXERCISES
from .report import cells, finding, grades, keeping, page, pool, sandbox, writing
from .report.rows import OUTCOMES, Row

DESCRIPTION = (
    "Run students' notebooks, each in a process of its own, and print what check says to each exercise. The answers "
    "are judged in this process: what a notebook does to check or to NumPy changes nothing here. An answer that calls "
    "the library's own function is right. This executes the students' code: on Linux with bubblewrap in a sandbox, "
    "without network and without your files; elsewhere, or with --sandbox off, with your rights, and then nothing "
    "keeps a notebook from reading or deleting your files. Where notebooks of several students lie in one folder, "
    "each goes into the sandbox alone."
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
            ["outcomes:", *(f"  {name:15}{words}" for name, words in OUTCOMES.items())]
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
        type=_output_file,
        metavar="FILE",
        help="write the rows to this file as CSV too; with -, print them as CSV instead of the table",
    )
    reporting.add_argument(
        "--grades",
        type=_output_file,
        metavar="FILE",
        help="write a row per student, a column per exercise and a total to this file, as CSV",
    )
    reporting.add_argument(
        "--form",
        choices=grades.FORMS,
        default="table",
        help="whose gradebook is to read the grades (default: table, for a spreadsheet)",
    )
    reporting.add_argument(
        "--html",
        type=_output_file,
        metavar="FILE",
        help="write a page to this file: exercises by students, and the mistakes by frequency",
    )
    reporting.add_argument(
        "--sandbox",
        choices=("auto", "required", "off"),
        default="auto",
        help="run in a sandbox if there is one (auto), or not at all without one (required), or as you (off)",
    )
    reporting.add_argument(
        "--seed",
        metavar="N",
        help="draw the inputs of the run that printed this number (default: new ones)",
    )
    reporting.add_argument(
        "--handed-out",
        type=Path,
        metavar="NOTEBOOK",
        help="the notebook with the exercises, to see which are missing (default: those that most ask)",
    )
    reporting.add_argument(
        "--resume",
        type=_output_file,
        metavar="FILE",
        help="keep finished notebooks in this file, and take from it those that have not changed",
    )
    reporting.add_argument(
        "--seconds",
        type=_positive(float),
        default=120,
        metavar="N",
        help="time for each notebook (default: 120); a cell may take half of what is left",
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
    if importlib.util.find_spec("IPython") is None:
        sys.exit("The report needs IPython, which runs the cells: pip install ipykernel")
    limits, how = _place(options)
    seed = options.seed or str(secrets.randbelow(10**6))
    note = f"{how} Inputs drawn with --seed {seed}."
    submissions, not_run = finding.find(options.paths)
    rows_of, complete = _run(options, submissions, limits, seed)
    rows = [row for one in submissions for row in rows_of.get(one.name, [])]
    rows += [Row(name, "", "not run", reason) for name, reason in not_run]
    rows.sort(key=lambda row: row.file)
    if options.csv == "-":
        sys.stdout.reconfigure(encoding="utf-8")
        print(writing.as_csv(rows), end="")
    else:
        sys.stdout.reconfigure(errors="backslashreplace")  # for names that a terminal cannot show
        print(note, writing.as_table(rows), writing.summary(rows), sep="\n\n")
    _write(options, rows, submissions, note)
    return 0 if complete else 130  # as the shell has it


def _place(options):
    """Return the limits of the sandbox, or None without one, and a sentence that says which."""
    reason = "it was switched off" if options.sandbox == "off" else sandbox.missing()
    if not reason:
        return sandbox.Limits(
            cpu=math.ceil(2 * options.seconds)
        ), f"Run in a sandbox ({sandbox.version()})."
    if options.sandbox == "required":
        sys.exit(f"There is no sandbox: {reason}. Nothing was run.")
    return None, f"Run without a sandbox, with your rights: {reason}."


def _run(options, submissions, limits, seed):
    """Return the rows by notebook, and whether all of them have run."""
    exercises = None
    if options.handed_out:
        code = cells.code_of(options.handed_out)
        exercises = list(dict.fromkeys(name for cell in code for name in cells.asked_in(cell)))
    kept = keeping.Kept(options.resume and Path(options.resume), (options.seconds, limits))
    rows_of, start = {}, time.monotonic()
    running = pool.run(
        submissions,
        seed=seed,
        seconds=options.seconds,
        limits=limits,
        jobs=options.jobs,
        exercises=exercises,
        kept=kept,
    )
    try:
        for one, rows in running:
            rows_of[one.name] = rows
            if len(submissions) > 1:
                _tell(len(rows_of), len(submissions), one.name, time.monotonic() - start)
    except KeyboardInterrupt:
        running.close()
        print(f"Stopped: {len(rows_of)} of {len(submissions)} notebooks are done.", file=sys.stderr)
        return rows_of, False
    return rows_of, True


def _tell(done, total, name, seconds):
    """Say how far the run is, and how long the rest will take."""
    left = seconds / done * (total - done)
    words = f"{left / 60:.0f} min left" if left >= 90 else f"{left:.0f} s left"
    print(
        f"{done} of {total}  {name}" + (f"  (about {words})" if done < total else ""),
        file=sys.stderr,
    )


def _write(options, rows, submissions, note):
    """Write the files that were asked for; one that cannot be written does not cost the others."""
    lines = grades.as_lines(rows, submissions, options.form)
    files = {
        options.csv if options.csv != "-" else None: lambda path: writing.write_csv(
            path, writing.as_csv(rows)
        ),
        options.grades: lambda path: writing.write_csv(path, writing.table_as_csv(lines)),
        options.html: lambda path: path.write_text(
            page.as_page(rows, submissions, note), encoding="utf-8"
        ),
    }
    problems = []
    for path, write in files.items():
        try:
            if path:
                write(Path(path))
        except OSError as error:
            problems.append(f"{path} was not written: {error}")
    if problems:
        sys.exit("\n".join(problems))


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


def _output_file(text):
    """Return a file that can be written to, or -; before an hour of work, not after it."""
    path = Path(text)
    if path.suffix == ".ipynb":
        raise argparse.ArgumentTypeError(
            f"it must not be a notebook, which it would replace. Got {text!r}."
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
