"""Faults that are injected into training, and what ``stats()["wait"]`` and the verdict make of them.

Each case is a training of one or two ranks, each a process of its own, on one or two nodes: engines
with directories of their own. One or two faults slow it down, on one rank or on all. Within ten
seconds the figures must name the fault that costs the most, and its rank.

    faults.py    the kinds of faults, and cases drawn from their numbers
    tables.py    the data
    turns.py     bytes that pass at a rate
    link.py      a link to a store that is slow, or a store that refuses requests
    disk.py      a disk whose reads are slow
    volume.py    a cache on a slow disk
    host.py      a process with torch imported, which the ranks are forked from
    trainer.py   the loop of a rank, and its reports
    case.py      runs a case
    judge.py     the cause and the rank that reports name, and whether their sums are right
"""
