"""Calls a running Hyperplane with the standard library only."""
import base64, contextlib, json, os, time, types, urllib.error, urllib.parse, urllib.request, uuid

url = os.environ.get('API_URL', 'http://127.0.0.1:9440')
basic = base64.b64encode(f'admin:{os.environ["HYPERPLANE_ADMIN_PASSWORD"]}'.encode()).decode()


def call(method, path, body=None, **headers):
    """Returns status, data and headers, also of a refusal. `If_Match=tag` sends the header If-Match."""
    request = urllib.request.Request(url + urllib.parse.quote(path, safe="/?&=$'"), method=method)
    own = {'Authorization': f'Basic {basic}', 'SVC-Request-Id': str(uuid.uuid4())}
    for name, value in (own | {name.replace('_', '-'): value for name, value in headers.items()}).items():
        request.add_header(name, value)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header('Content-Type', 'application/json')
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError as refusal:
        answer = refusal
    text = answer.read()
    return types.SimpleNamespace(
        status=answer.status, headers=answer.headers, data=json.loads(text).get('data') if text else None)


@contextlib.contextmanager
def world(name, **settings):
    """A world for one test: yields `call` for its API and `control` for its control interface."""
    def control(method, path, body=None):
        answer = call(method, f'/control/v1/worlds{path}', body)
        assert answer.status < 300, answer.data
        return answer.data

    control('POST', '', {'name': name, 'preset': 'tiny', 'rateLimits': 'off'} | settings)
    try:
        yield (lambda *args, **headers: call(*args, X_World=name, **headers),
               lambda method, path, body=None: control(method, f'/{name}{path}', body))
    finally:
        control('DELETE', f'/{name}')


def completed(call, started):
    """Waits until the task of a 202 answer has ended, and returns it."""
    assert started.status == 202, started.data
    while True:
        task = call('GET', f'/api/platform/v4.3/config/tasks/{started.data["extId"]}').data
        if task['status'] in ('SUCCEEDED', 'FAILED', 'CANCELED'):
            return task
        time.sleep(0.02)
