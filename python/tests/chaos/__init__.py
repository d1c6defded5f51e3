"""Whole training jobs under faults, with every row checked against the order.

Ranks, engines, servers, disks and cache files fail while a job runs.

`python -m chaos --jobs 30` runs jobs of random kinds, and `--job N` runs one again: a job is drawn
from its number, and is the same for the same options and version of this package.
`--seconds 500 --at-once 16 --results FILE` ends in time; jobs that run then are given up.

A machine without pyarrow, Pillow and servers needs numpy, torch, psutil and pytest, the tables of
`--make-data DIR` as `--data DIR`, and versitygw by its path in CHAOS_VERSITYGW; `--without hdfs`
leaves Java out. Jobs under frameworks, and StatefulDataLoader, are left out where these are absent.

    scenario.py   what a job reads, on how many ranks, and which faults it meets
    tables.py     the data, whose columns all follow from a row's id
    stores.py     a local directory, an S3 server, HDFS; they can be stopped and started
    nodes.py      the engines of a job, each with a cache
    streams.py    what is read, by which options
    values.py     the rows of a batch, and their values
    trainer.py    one rank: reads, checks the values of its rows, and notes the rows and the state;
                  lightning_loop.py and trainer_loop.py read by a framework
    counted.py    loaders whose states have forms of their own
    trace.py      what a rank notes
    attempt.py    the ranks that run at the same time, between one resume and the next
    faults.py     what happens to them meanwhile
    verify.py     the rows that were noted, against the order
    leftovers.py  memory, and what a job leaves behind
    job.py        one job from its first attempt to its verdict
"""
