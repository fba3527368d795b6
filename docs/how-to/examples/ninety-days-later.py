from hyperplane import world

users = '/api/iam/v4.1.b2/authn/users'

with world('ninety-days', clock={'mode': 'frozen', 'startTime': '2026-01-01T00:00:00Z'}) as (call, control):
    robot = call('POST', users, {'username': 'robot', 'userType': 'SERVICE_ACCOUNT'}).data
    keys = f'{users}/{robot["extId"]}/keys'
    key = call('POST', keys, {'name': 'nightly', 'keyType': 'API_KEY', 'expiryTime': '2026-03-02T00:00:00Z'}).data
    as_robot = {'Authorization': '', 'X_SVC_Api_Key': key['keyDetails']['apiKey']}
    assert call('GET', keys, **as_robot).status == 200

    moved = control('POST', '/clock/$actions/advance', {'duration': 'P90D'})
    assert moved['clock']['time'] == '2026-04-01T00:00:00.000000Z'

    assert call('GET', keys, **as_robot).status == 401
    assert call('GET', f'{keys}/{key["extId"]}').data['status'] == 'EXPIRED'
