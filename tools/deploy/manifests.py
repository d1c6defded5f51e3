"""Validates manifests: manifests.py MANIFEST... --schemas CRD... Unknown fields are errors, as are misspelt copies that pass."""

from __future__ import annotations

import argparse
import copy
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml

KUBERNETES = "1.37"  # of the schemas in kubernetes-validate

# Fields that the misspelt copies misspell, at any depth. Each document has one of them at least.
CONTROLS = ("volumeMounts", "restartPolicy", "clusterIP", "numNodes", "hostPath", "portNumber")

Validate = Callable[[dict[str, Any]], None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifests", nargs="+", type=Path)
    parser.add_argument("--schemas", nargs="+", type=Path, default=[], metavar="CRD")
    given = parser.parse_args()
    validators = dict(custom(path) for path in given.schemas)
    wrong = [f"{path}: {what}" for path in given.manifests for what in check(path, validators)]
    unused = set(validators) - {key for path in given.manifests for key in map(key_of, documents(path))}
    wrong += [f"{kind} of {version}: no manifest uses this schema" for version, kind in unused]
    for line in wrong:
        print(f"deploy: {line}", file=sys.stderr)
    return 1 if wrong else 0


def check(path: Path, validators: dict[tuple[str, str], Validate]) -> Iterator[str]:
    """Yields what is wrong with a file."""
    found = list(documents(path))
    if not found:
        yield "no document"
    for document in found:
        version, kind = key_of(document)
        validate = validators.get((version, kind), builtin)
        problem = problem_of(validate, document)
        if problem:
            yield f"{kind}: {problem}"
            continue
        yield from (f"{kind}: {lack}" for lack in volumes(document))
        controls = list(misspelt(document))
        if not controls:
            yield f"{kind}: has none of {', '.join(CONTROLS)}, which the misspelt copies misspell"
        for name, control in controls:
            if "misspelt" not in problem_of(validate, control):
                yield f"{kind}: a copy with a misspelt {name} passes"
        print(f"deploy: {path}: {kind} of {version}: ok, and {len(controls)} misspelt copies fail")


def documents(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the documents of a file; of a page, those in blocks that are whole manifests."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        text = "\n---\n".join(block for block in blocks if block.startswith("apiVersion:"))
    yield from (document for document in yaml.load_all(text, yaml.CSafeLoader) if document is not None)


def key_of(document: dict[str, Any]) -> tuple[str, str]:
    return str(document.get("apiVersion")), str(document.get("kind"))


def problem_of(validate: Validate, document: dict[str, Any]) -> str:
    """Returns what is wrong with a document, or an empty text."""
    try:
        validate(document)
    except (jsonschema.ValidationError, kubernetes_validate.ValidationError) as e:
        return f"{'.'.join(map(str, e.path))}: {e.message}"
    except kubernetes_validate.SchemaNotFoundError as e:
        return f"no schema: {e}"
    return ""


def builtin(document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, KUBERNETES, strict=True)


def custom(path: Path) -> tuple[tuple[str, str], Validate]:
    """Returns the version and kind of a custom resource, and what validates it."""
    spec = next(documents(path))["spec"]
    [version] = [v for v in spec["versions"] if v["storage"]]
    schema = closed(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    validator = jsonschema.Draft4Validator(schema)

    def validate(document: dict[str, Any]) -> None:
        error = jsonschema.exceptions.best_match(validator.iter_errors(document))
        if error is not None:
            raise error

    return (f"{spec['group']}/{version['name']}", spec["names"]["kind"]), validate


def closed(schema: Any) -> Any:
    """Returns a schema that refuses the fields that a server would drop."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        word: {name: closed(of) for name, of in value.items()} if word == "properties" else closed(value) for word, value in schema.items()
    }
    if "properties" in made and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def volumes(document: dict[str, Any]) -> Iterator[str]:
    """Yields what pods mount and do not have, and the reverse, which no schema sees."""
    for pod in (at(document, path[:-1]) for path in paths(document) if path[-1] == "containers"):
        have = {volume["name"] for volume in pod.get("volumes", ())}
        containers = [*pod.get("initContainers", ()), *pod["containers"]]
        mounted = {mount["name"] for container in containers for mount in container.get("volumeMounts", ())}
        yield from (f"{name} is mounted and is no volume of the pod" for name in sorted(mounted - have))
        yield from (f"the volume {name} is not mounted" for name in sorted(have - mounted))


def at(node: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        node = node[part]
    return node


def misspelt(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields copies of a document, in each of which one field is misspelt."""
    for path in paths(document):
        if path[-1] in CONTROLS:
            control = copy.deepcopy(document)
            holder = at(control, path[:-1])
            holder["misspelt"] = holder.pop(path[-1])
            yield path[-1], control


def paths(node: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of each field."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        if isinstance(node, dict):
            yield (*above, key)
        yield from paths(value, (*above, key))


if __name__ == "__main__":
    sys.exit(main())
