from hyperplane import world

categories = '/api/platform/v4.3/config/categories'


def describe(call, path, description):
    """Code under test: a change that is repeated on the new version after somebody else has written."""
    attempts = 0
    while True:
        attempts += 1
        read = call('GET', path)
        body = read.data | {'description': description}
        if call('PUT', path, body, If_Match=read.headers['ETag']).status != 412:
            return attempts


with world('stale-tag') as (call, control):
    category = call('POST', categories, {'key': 'team', 'value': 'blue'}).data
    path = f'{categories}/{category["extId"]}'

    # Twice, another client writes between the GET and the PUT.
    rule = control('POST', '/faults', {
        'match': {'operation': 'updateCategoryById'},
        'trigger': {'next': 2},
        'effect': {'competingWrite': True},
    })

    assert describe(call, path, 'Whoever is on call') == 3
    assert call('GET', path).data['description'] == 'Whoever is on call'
    assert control('GET', f'/faults/{rule["extId"]}')['timesFired'] == 2
