from hyperplane import world

vms = '/api/vmm/v4.2/ahv/config/vms'

# The rate windows follow a frozen clock, so the second does not end on a slow machine either.
with world('rate-limit', rateLimits='on', limits='world-clock', clock={'mode': 'frozen'}) as (call, control):
    answered = 0
    while (answer := call('GET', vms)).status == 200:
        answered += 1
    assert (answered, answer.status) == (10, 429)

    seconds = answer.headers['Retry-After']
    control('POST', '/clock/$actions/advance', {'duration': f'PT{seconds}S'})
    assert call('GET', vms).status == 200
