"""What every path through the public SDKs needs: URL and PASSWORD from the command line, clients, and tasks followed to their ends."""

import sys
import time
import urllib.parse

import ntnx_prism_py_client as prism
import urllib3

urllib3.disable_warnings()
url = urllib.parse.urlparse(sys.argv[1])
password = sys.argv[2]


def client(package):
    configuration = package.Configuration()
    configuration.host, configuration.port, configuration.scheme = url.hostname, url.port, url.scheme
    configuration.username, configuration.password = "admin", password
    configuration.verify_ssl = False
    return package.ApiClient(configuration=configuration)


tasks = prism.TasksApi(client(prism))


def step(text):
    print(f"ok - {text}", flush=True)


def finished(reference):
    """Follows a task to its end, as clients do."""
    task_id = reference.ext_id
    assert task_id.startswith("ZXJnb24=:"), task_id
    progress = 0
    for _ in range(600):
        task = tasks.get_task_by_id(task_id).data
        assert task.progress_percentage >= progress, "progress never falls"
        progress = task.progress_percentage
        if task.status in ("SUCCEEDED", "FAILED", "CANCELED"):
            assert task.status == "SUCCEEDED", [message.message for message in task.error_messages or []]
            assert progress == 100
            return task
        time.sleep(0.05)
    raise AssertionError("the task did not end")


def affected(task, rel):
    return next(entity.ext_id for entity in task.entities_affected if entity.rel == rel)


def wait_for(read, holds, text):
    for _ in range(200):
        value = read()
        if holds(value):
            return value
        time.sleep(0.1)
    raise AssertionError(f"{text}: {value}")


def tag(package_client, entity):
    return package_client.get_etag(entity)
