from hyperplane import world

vms = '/api/vmm/v4.2/ahv/config/vms'

with world('host-failure', clock={'mode': 'frozen'}) as (call, control):
    host = call('GET', '/api/clustermgmt/v4.2/config/hosts').data[0]
    vm = call('GET', f"{vms}?$filter=name eq 'vm-1'").data[0]
    path = f'{vms}/{vm["extId"]}'
    assert vm['powerState'] == 'ON'

    event = {'type': 'HOST_FAILS', 'host': host['hostName']}
    control('POST', '/events', {'event': event, 'duration': 'PT50S'})
    control('POST', '/clock/$actions/advance', {'duration': 'PT45S'})
    read = call('GET', path)
    assert read.data['powerState'] == 'UNDETERMINED'
    assert call('POST', f'{path}/$actions/power-off', If_Match=read.headers['ETag']).status == 409

    control('POST', '/clock/$actions/advance', {'duration': 'PT45S'})
    assert call('GET', path).data['powerState'] == 'ON'
