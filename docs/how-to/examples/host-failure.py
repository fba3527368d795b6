from hyperplane import world

vms = '/api/vmm/v4.2/ahv/config/vms'

with world('host-failure', preset='demo', clock={'mode': 'frozen'}) as (call, control):
    vm = call('GET', f"{vms}?$filter=name eq 'web-01'").data[0]
    path, lost = f'{vms}/{vm["extId"]}', vm['host']['extId']

    control('POST', '/events', {'event': {'type': 'HOST_FAILS', 'host': lost}, 'duration': 'PT10M'})
    control('POST', '/clock/$actions/advance', {'duration': 'PT45S'})
    read = call('GET', path)
    assert read.data['powerState'] == 'UNDETERMINED'
    assert call('POST', f'{path}/$actions/power-off', If_Match=read.headers['ETag']).status == 409

    control('POST', '/clock/$actions/advance', {'duration': 'PT45S'})
    restarted = call('GET', path).data
    assert restarted['powerState'] == 'ON'
    assert restarted['host']['extId'] != lost
    tasks = call('GET', "/api/platform/v4.3/config/tasks?$filter=operation eq 'VmHaRestart'").data
    assert vm['extId'] in [task['entitiesAffected'][0]['extId'] for task in tasks]

    control('POST', '/clock/$actions/advance', {'duration': 'PT10M'})
    assert call('GET', path).data['host'] == restarted['host']
