from hyperplane import completed, world

vms = '/api/vmm/v4.2/ahv/config/vms'


def create_patiently(call, name, cluster):
    """Code under test: a creation that is tried up to three times."""
    body = {'name': name, 'memorySizeBytes': 2**30, 'cluster': {'extId': cluster}}
    for attempt in 1, 2, 3:
        if completed(call, call('POST', vms, body))['status'] == 'SUCCEEDED':
            return attempt


with world('flaky-task') as (call, control):
    [cluster] = call('GET', "/api/clustermgmt/v4.2/config/clusters?$filter=name eq 'tiny'").data

    control('POST', '/faults', {
        'match': {'namePattern': 'web-*', 'taskStep': {'task': 'vmm.create-vm', 'step': 'define'}},
        'trigger': {'next': 1},
        'effect': {'error': 'BACKEND_TIMEOUT', 'arguments': {'fault': 'The hypervisor did not answer.'}},
    })

    assert create_patiently(call, 'web-1', cluster['extId']) == 2
    assert len(call('GET', f"{vms}?$filter=name eq 'web-1'").data) == 1
