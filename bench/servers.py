"""The servers that the rows of storage read from, real ones on loopback ports, and the proxies before them.

Each ends with this process, however that ends: it runs under a shell that kills it when its standard input ends.
"""

import contextlib
import json
import os
import pathlib
import secrets
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).parent
REMOTE = HERE.parent / "bin" / "remote"
READY_WITHIN = 60  # seconds
BUCKET = "bench"
KEY = {"AWS_ACCESS_KEY_ID": "shardfeedbench", "AWS_SECRET_ACCESS_KEY": "shardfeedbenchsecret"}
# Nothing of the user's own may lead elsewhere.
AWS = KEY | {
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
ELSEWHERE = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE", "AWS_ENDPOINT_URL_S3", "HADOOP_CONF_DIR", "HADOOP_HOME")
BLOCK = 128 << 20  # of HDFS: its default
UNDER_WATCH = ("sh", "-c", '"$@" </dev/null & server=$!; cat >/dev/null; kill -9 $server', "watch")


class Missing(Exception):
    """A server that isn't installed and can't be."""


class Servers:
    """Starts each server when it is first asked for; close() ends all of them."""

    def __init__(self, directory):
        self.directory = directory  # of the sets; what is uploaded is kept below it
        self.stack = contextlib.ExitStack()
        self.endpoint = self.cluster = None
        self.in_hdfs = set()  # names of sets
        for name in ELSEWHERE:
            os.environ.pop(name, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def scratch(self):
        """A directory that goes away at the end."""
        return pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="shardfeed-bench-")))

    def s3(self):
        """The S3 server's host:port."""
        if self.endpoint is None:
            root = self.directory / "s3"
            root.mkdir(parents=True, exist_ok=True)
            self.endpoint = start_s3(self.stack, root)
            os.environ |= AWS | {"AWS_ENDPOINT_URL": f"http://{self.endpoint}"}
        return self.endpoint

    def put(self, name, prefix=None, files=0):
        """Uploads a set, or its first files, unless it is there; returns its address."""
        prefix = prefix or name
        self.s3()
        source = self.directory / name
        stamp = self.directory / "s3" / f".{prefix}.json"
        wanted = {"set": json.loads((source / "_complete.json").read_text()), "files": files, "written": source.stat().st_mtime}
        if not stamp.exists() or json.loads(stamp.read_text()) != wanted:
            subprocess.run([REMOTE, "put", "--bucket", BUCKET, "--prefix", prefix, "--files", str(files), source], check=True)
            stamp.write_text(json.dumps(wanted))
        return f"s3://{BUCKET}/{prefix}"

    def hdfs(self, name):
        """Uploads a set into HDFS; returns its address."""
        if self.cluster is None:
            self.cluster = Cluster(self.stack, self.scratch())
        if name not in self.in_hdfs:
            self.in_hdfs.add(name)
            for path in sorted((self.directory / name).glob("*.parquet")):
                self.cluster.command("put", str(path), f"/{name}/{path.name}", f"blocksize={BLOCK}")
        return f"hdfs://{self.cluster.namenode}/{name}"

    def java(self):
        """The command that runs a class of Hadoop's, or a source file that uses them."""
        return ("java", "-Xmx1g", "-cp", self.cluster.classpath)

    @contextlib.contextmanager
    def delayed(self, latency):
        """A proxy before the S3 server that delays each request; the environment that leads through it."""
        with proxy(self.s3(), "--latency", latency) as address:
            yield {"AWS_ENDPOINT_URL": f"http://{address}"}

    @contextlib.contextmanager
    def logged(self, latency=None):
        """A proxy before the S3 server; the environment that leads through it, and the function that ends it and returns its log."""
        with tempfile.NamedTemporaryFile(prefix="shardfeed-bench-") as log, contextlib.ExitStack() as stack:
            target = self.s3()
            if latency:
                target = stack.enter_context(proxy(target, "--latency", latency))
            address = stack.enter_context(proxy(target, "--log", log.name))

            def entries():
                stack.close()
                return [json.loads(line) for line in pathlib.Path(log.name).read_text().splitlines()]

            yield {"AWS_ENDPOINT_URL": f"http://{address}"}, entries


def program(name):
    """The path of a server that tools/server knows; it is installed when it isn't there yet."""
    done = subprocess.run([HERE.parent / "tools" / "server", name], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Missing(f"{name} is not there and could not be installed")
    return done.stdout.strip()


def start_s3(stack, root):
    address = f"127.0.0.1:{free_port()}"
    environment = {"ROOT_ACCESS_KEY": KEY["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEY["AWS_SECRET_ACCESS_KEY"]}
    start(stack, [program("versitygw"), "--port", address, "--keep-alive", "--quiet", "posix", root], f"http://{address}/", environment)
    return address


def start(stack, command, url, environment):
    """Starts a server and waits until the URL answers."""
    server = subprocess.Popen([*UNDER_WATCH, *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    stack.callback(end, server)
    for _ in range(READY_WITHIN * 20):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return  # it refuses who doesn't sign
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise Missing(f"{command[0]} doesn't answer within {READY_WITHIN} s")


def free_port():
    """A port of the loopback that nothing listens on.

    The kernel gives higher ports to outgoing connections, which could take one of these before its
    server listens.
    """
    first, end, tries = 16384, 32768, 100
    for left in reversed(range(tries)):
        port = first + secrets.randbelow(end - first)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                if not left:
                    raise
            else:
                return port


class Cluster:
    """A namenode and a datanode of Hadoop's in one JVM, that takes commands."""

    def __init__(self, stack, directory):
        script = program("hdfsmini")
        conf, data = directory / "conf", directory / "data"
        conf.mkdir()
        (conf / "core-site.xml").write_text("<configuration/>\n")  # Hadoop's shell refuses to start without one
        command = [script, data, "1", "dfs.replication=1"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        stack.callback(end, self.process)
        said = self.process.stdout.readline().split()
        if said[:1] != ["READY"]:
            raise Missing(f"HDFS did not start: {' '.join(said)}")
        self.namenode = said[1]
        self.classpath = f"{conf}:{pathlib.Path(script).parent}/lib/*"

    def command(self, *words):
        self.process.stdin.write(" ".join(urllib.parse.quote_plus(word, safe="/=") for word in words) + "\n")
        answer = self.process.stdout.readline().strip()
        if not answer.startswith("OK"):
            raise Missing(f"{' '.join(words)}: {answer}")


@contextlib.contextmanager
def proxy(target, *arguments):
    """A proxy before a server; its host:port."""
    process = subprocess.Popen([REMOTE, "proxy", "--target", target, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[1]
    finally:
        end(process)


def end(process):
    """Ends a server by the end of its standard input."""
    process.stdin.close()
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
