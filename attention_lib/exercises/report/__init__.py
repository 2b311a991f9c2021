"""The report of a class: run the notebooks of students, and judge their answers from outside.

    python -m attention_lib.exercises report NOTEBOOK_OR_FOLDER...

The process that makes the report holds the exercises, their inputs and the comparison. A
student's notebook runs in a process of its own, which only computes: `check` hands its answer
over, and the answer is called there when it is asked, on inputs that arrive one at a time.
What the notebook does to `check`, to NumPy or to its own memory changes nothing here.

    finding.py     which files are submissions, whose they are, and why others are not run
    cells.py       what stands in a notebook
    sandbox.py     where a notebook runs: bubblewrap's command line, and the limits
    kernel.py      the student's process: runs cells, and calls answers
    wire.py        what goes between the two processes: JSON, arrays by value
    running.py     the student's process as seen from here
    judging.py     a notebook from its first cell to its last, as rows
    rows.py        what the report says, and the accounts: everything asked has a row
    writing.py     rows as a table, a summary, CSV
    grades.py      a row per student, for a gradebook
    page.py        one page to look at
    keeping.py     rows kept from a run that was stopped
"""
