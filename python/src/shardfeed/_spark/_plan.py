"""A name for the contents of a Spark DataFrame: equal frames have the same name in every run.

Spark's canonical plan is not enough for that. It leaves out the files of a relation and their
options, rows of frames made from memory, and the code of functions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from . import _files

# The layout of the written files. A new number changes all names.
_LAYOUT = 1

# Nodes of a plan whose text says all that they do.
_TOLD = re.compile(
    r"Aggregate|CTERelation(Def|Ref)|DataFrameDropColumns|Deduplicate|Distinct|Except|Expand|Filter|Generate|Intersect|Join"
    r"|(Global|Local)Limit|LogicalRelation|Offset|OneRowRelation|Project|Range|RebalancePartitions|Repartition(ByExpression)?"
    r"|ResolvedHint|Sample|Sort|SubqueryAlias|Tail|Union|Unpivot|View|Window|WithCTE"
)
# Expressions that run code, or a plan of their own, which their text does not say.
_UNTOLD = re.compile(
    r"UD[AT]?F|Aggregator|Python|Invoke|NewInstance|MapObjects|ApplyFunction|Reflection|VariableReference|Subquery$|\.ListQuery$|\.Exists$"
)

# Settings of a session that change values.
_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.caseSensitive")


def name(frame: Any, version: str | None, **options: Any) -> str:
    """Returns 16 hexadecimal digits that identify the rows of a frame and how they are written.

    If the plan does not determine the rows, the name belongs to the Spark application, so
    that another one writes them again. A version takes the application's place.
    """
    session = frame.sparkSession
    execution = frame._jdf.queryExecution()
    canonical = execution.analyzed().canonicalized()
    tree = re.sub(r'"jvmId":"[^"]*"', '"jvmId":""', canonical.toJSON())  # the driver's number
    relations = list(_relations(execution.analyzed()))
    what = [
        _LAYOUT,
        tree,
        canonical.toString(),
        [_text(relation) for relation in relations if relation is not None],
        _files.versions(session, _inputs(frame, execution, relations)),
        frame.schema.json(),
        [session.conf.get(setting, None) for setting in _SETTINGS],
        sorted(options.items()),
        version,
    ]
    if version is None and not _is_told(json.loads(tree), relations):
        what.append([session.sparkContext.applicationId, canonical.hashCode()])
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]


def _is_told(nodes: list[dict[str, Any]], relations: list[Any]) -> bool:
    """Whether the tree of a plan and its relations say all that the rows depend on."""
    if None in relations or not all(_TOLD.fullmatch(_class(node)) for node in nodes):
        return False
    return not any(_UNTOLD.search(kind) for node in nodes for kind in _classes(node))


def _class(node: dict[str, Any]) -> str:
    return node["class"].rpartition(".")[2]


def _classes(tree: Any) -> Iterator[str]:
    """The classes of all expressions in a tree."""
    if isinstance(tree, dict):
        if isinstance(kind := tree.get("class"), str):
            yield kind
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            yield from _classes(branch)


def _relations(plan: Any) -> Iterator[Any]:
    """The relations of files in a plan, and None for each source that has no files."""
    leaves = plan.collectLeaves()
    for leaf in (leaves.apply(i) for i in range(leaves.size())):
        kind = leaf.getClass().getSimpleName()
        if kind == "LogicalRelation":
            relation = leaf.relation()
            yield relation if relation.getClass().getSimpleName() == "HadoopFsRelation" else None
        elif kind not in ("Range", "OneRowRelation", "CTERelationRef"):
            yield None


def _text(relation: Any) -> list[str]:
    """How the files of a relation are read."""
    schema = [relation.dataSchema().json(), relation.partitionSchema().json()]
    return [relation.fileFormat().toString(), ",".join(sorted(_pairs(relation.options()))), *schema]


def _pairs(options: Any) -> Iterator[str]:
    pairs = options.toSeq()
    return (pairs.apply(i).toString() for i in range(pairs.size()))


def _inputs(frame: Any, execution: Any, relations: list[Any]) -> list[str]:
    """The files that a frame reads. Spark does not say them of a frame that is cached."""
    if "InMemoryRelation" not in execution.optimizedPlan().toString():
        return list(frame.inputFiles())
    return [file for relation in relations if relation is not None for file in relation.location().inputFiles()]
