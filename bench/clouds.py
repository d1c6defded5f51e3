"""The emulators of clouds that rows of storage read from, on loopback ports; see servers.py.

Both keep their objects in files, below a directory that goes away at the end.
"""

import os

import servers

BUCKET = "bench"
ACCOUNT, ACCOUNT_KEY = "bench", "YmVuY2ggYmVuY2ggYmVuY2g="


def gcs(place, name):
    """Starts fake-gcs-server with the files of a set; returns their address."""
    root, port = place.scratch(), servers.free_port()
    url = f"http://127.0.0.1:{port}"
    command = [servers.program("gcs"), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", "127.0.0.1"]
    servers.start(place.stack, [*command, "-backend", "filesystem", "-filesystem-root", root, "-log-level", "error"], url, {})
    os.environ |= {"STORAGE_EMULATOR_HOST": url}

    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage

    bucket = storage.Client(credentials=AnonymousCredentials(), project="bench").create_bucket(BUCKET)
    for path in sorted((place.directory / name).glob("*.parquet")):
        bucket.blob(f"{name}/{path.name}").upload_from_filename(path)
    return f"gs://{BUCKET}/{name}"


def azurite(place, name):
    """Starts Azurite with the files of a set; returns their address."""
    root, port = place.scratch(), servers.free_port()
    url = f"http://127.0.0.1:{port}"
    command = [servers.program("azurite"), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", root, "--silent"]
    accounts = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{ACCOUNT_KEY}"}
    servers.start(place.stack, [*command, "--skipApiVersionCheck", "--disableTelemetry"], url, accounts)
    connection = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};BlobEndpoint={url}/{ACCOUNT};"
    os.environ |= {"AZURE_STORAGE_CONNECTION_STRING": connection}

    from azure.storage.blob import BlobServiceClient

    container = BlobServiceClient.from_connection_string(connection).create_container(BUCKET)
    for path in sorted((place.directory / name).glob("*.parquet")):
        with path.open("rb") as content:
            container.upload_blob(f"{name}/{path.name}", content)
    return f"az://{BUCKET}/{name}"
